#include "config.h"

#include "sim/cache/cache_count.h"

#include <inttypes.h>

static void count_extent(struct kv_cache *cache, const struct kv_extent *extent, uint32_t e,
                         struct kv_cache_count *count)
{
	uint64_t blocks = extent->hi - extent->lo;

	KV_ASSERT(extent->lo < extent->hi, "extent %u is empty", e);
	if (extent->first_hold == KV_NONE) {
		count->cached += blocks;
		return;
	}
	count->held += blocks;
	for (uint32_t h = extent->first_hold; h != KV_NONE; h = cache->hold[h].extent_next)
		KV_ASSERT(cache->hold[h].extent == e, "hold %u of extent %u points to %u", h, e, cache->hold[h].extent);
}

static void count_chains(struct kv_cache *cache, struct kv_cache_count *count)
{
	for (uint32_t n = 0; n < cache->content.used; n++)
		for (uint32_t g = 0; g < cache->groups; g++) {
			uint32_t last = KV_NONE;

			for (uint32_t e = kv_chain_of(cache, n, g)->first; e != KV_NONE; e = cache->extent[e].next) {
				const struct kv_extent *extent = &cache->extent[e];

				KV_ASSERT(extent->node == n && extent->group == g && extent->prev == last,
				          "chain of node %u", n);
				KV_ASSERT(last == KV_NONE || kv_chain_of(cache, n, g)->overlaps ||
				                  cache->extent[last].hi <= extent->lo,
				          "extents of node %u overlap", n);
				count_extent(cache, extent, e, count);
				last = e;
			}
			KV_ASSERT(kv_chain_of(cache, n, g)->last == last, "last extent of node %u", n);
		}
}

static void count_ordered(const struct kv_extent *extent, unsigned queue, uint64_t *cached, uint64_t *blank)
{
	KV_ASSERT(extent->queue == queue, "an extent of queue %u stands in queue %u", extent->queue, queue);
	*(extent->node == KV_NONE ? blank : cached) += extent->hi - extent->lo;
}

/* The order must hold exactly the extents without holders; blank entries are only there. */
static void count_order(struct kv_cache *cache, struct kv_cache_count *count)
{
	uint64_t cached = 0;

	for (unsigned q = 0; q < cache->queues; q++) {
		const struct kv_order *order = &cache->order[q];
		uint64_t blocks = cached + count->blank_ordered;

		if (cache->eviction->hooks.eviction.release_order)
			for (uint32_t e = order->first; e != KV_NONE; e = cache->extent[e].order_next)
				count_ordered(&cache->extent[e], q, &cached, &count->blank_ordered);
		for (uint32_t i = 0; i < order->size; i++) {
			KV_ASSERT(cache->extent[order->heap[i]].order_next == i, "heap position %u", i);
			count_ordered(&cache->extent[order->heap[i]], q, &cached, &count->blank_ordered);
		}
		KV_ASSERT(cached + count->blank_ordered - blocks == cache->order_blocks[q], "blocks in queue %u", q);
	}
	KV_ASSERT(cached == count->cached, "%" PRIu64 " blocks in the order, %" PRIu64 " without holders", cached,
	          count->cached);
}

void kv_cache_count(struct kv_cache *cache, struct kv_cache_count *count)
{
	*count = (struct kv_cache_count){0};
	count_chains(cache, count);
	count_order(cache, count);
}
