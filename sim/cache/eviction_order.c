/* The order among evictable extents: by the policy's rank, then release call, then the deeper block first.
 *
 * Policies that rank by release call alone keep a list, whose ends are all that is needed; the others a 4-ary heap of
 * extents with their positions stored in them. Either way a run of blocks is one entry, taken from its tail. */
#include "config.h"

#include "sim/cache/cache.h"

#include "sim/base/memory.h"

static bool is_list(const struct kv_cache *cache)
{
	return cache->eviction->hooks.eviction.release_order;
}

/* --- list ------------------------------------------------------------------------------------------------------------- */

static void list_insert_before(struct kv_cache *cache, uint32_t e, uint32_t next)
{
	uint32_t prev = next == KV_NONE ? cache->order_last : cache->extent[next].order_prev;

	cache->extent[e].order_next = next;
	cache->extent[e].order_prev = prev;
	*(next == KV_NONE ? &cache->order_last : &cache->extent[next].order_prev) = e;
	*(prev == KV_NONE ? &cache->order_first : &cache->extent[prev].order_next) = e;
}

static void list_remove(struct kv_cache *cache, uint32_t e)
{
	uint32_t next = cache->extent[e].order_next;
	uint32_t prev = cache->extent[e].order_prev;

	*(next == KV_NONE ? &cache->order_last : &cache->extent[next].order_prev) = prev;
	*(prev == KV_NONE ? &cache->order_first : &cache->extent[prev].order_next) = next;
}

/* --- heap ------------------------------------------------------------------------------------------------------------- */

static bool goes_before(const struct kv_extent *a, const struct kv_extent *b)
{
	if (kv_rank_less(a->rank, b->rank) || kv_rank_less(b->rank, a->rank))
		return kv_rank_less(a->rank, b->rank);
	if (a->release != b->release)
		return a->release < b->release;
	return a->hi > b->hi;
}

static void heap_place(struct kv_cache *cache, uint32_t position, uint32_t e)
{
	cache->heap[position] = e;
	cache->extent[e].order_next = position;
}

static void heap_sift_up(struct kv_cache *cache, uint32_t position, uint32_t e)
{
	while (position > 0) {
		uint32_t parent = (position - 1) / 4;

		if (!goes_before(&cache->extent[e], &cache->extent[cache->heap[parent]]))
			break;
		heap_place(cache, position, cache->heap[parent]);
		position = parent;
	}
	heap_place(cache, position, e);
}

static void heap_sift_down(struct kv_cache *cache, uint32_t position, uint32_t e)
{
	for (;;) {
		uint32_t child = position * 4 + 1;
		uint32_t end = child + 4 < cache->heap_size ? child + 4 : cache->heap_size;
		uint32_t best = child;

		if (child >= cache->heap_size)
			break;
		for (uint32_t c = child + 1; c < end; c++)
			if (goes_before(&cache->extent[cache->heap[c]], &cache->extent[cache->heap[best]]))
				best = c;
		if (!goes_before(&cache->extent[cache->heap[best]], &cache->extent[e]))
			break;
		heap_place(cache, position, cache->heap[best]);
		position = best;
	}
	heap_place(cache, position, e);
}

static void heap_push(struct kv_cache *cache, uint32_t e)
{
	cache->heap = kv_grow(cache->heap, &cache->heap_capacity, cache->heap_size + 1, sizeof *cache->heap);
	heap_sift_up(cache, cache->heap_size++, e);
}

static void heap_remove(struct kv_cache *cache, uint32_t e)
{
	uint32_t position = cache->extent[e].order_next;
	uint32_t last = cache->heap[--cache->heap_size];

	if (last == e)
		return;
	heap_sift_up(cache, position, last);
	heap_sift_down(cache, cache->extent[last].order_next, last);
}

/* --- the order -------------------------------------------------------------------------------------------------------- */

static void add(struct kv_cache *cache, uint32_t e)
{
	struct kv_extent *extent = &cache->extent[e];

	extent->rank = cache->eviction->hooks.eviction.release(cache->eviction_state, extent->state, extent->release);
	if (is_list(cache))
		list_insert_before(cache, e, KV_NONE);
	else
		heap_push(cache, e);
}

void kv_order_add(struct kv_cache *cache, uint32_t e)
{
	cache->extent[e].release = cache->releases;
	cache->cached += cache->extent[e].hi - cache->extent[e].lo;
	add(cache, e);
}

void kv_order_add_blank(struct kv_cache *cache, uint32_t lo, uint32_t hi, uint64_t release)
{
	uint32_t e = kv_extent_take(cache);

	cache->extent[e] = (struct kv_extent){
		.node = KV_NONE, .lo = lo, .hi = hi, .first_hold = KV_NONE, .last_hold = KV_NONE, .release = release
	};
	cache->blank_ordered += hi - lo;
	add(cache, e);
}

static void take_out(struct kv_cache *cache, uint32_t e)
{
	if (is_list(cache))
		list_remove(cache, e);
	else
		heap_remove(cache, e);
}

void kv_order_take_out(struct kv_cache *cache, uint32_t e)
{
	cache->cached -= cache->extent[e].hi - cache->extent[e].lo;
	take_out(cache, e);
}

void kv_order_add_split(struct kv_cache *cache, uint32_t lower, uint32_t upper)
{
	if (is_list(cache)) {
		list_insert_before(cache, upper, lower);
		return;
	}
	heap_sift_down(cache, cache->extent[lower].order_next, lower);
	heap_push(cache, upper);
}

uint64_t kv_order_consume(struct kv_cache *cache, uint64_t n)
{
	uint64_t evicted = 0;
	uint64_t blank = kv_min(n, cache->blank);

	cache->blank -= blank;
	n -= blank;
	while (n > 0) {
		uint32_t e = is_list(cache) ? cache->order_first : cache->heap[0];
		struct kv_extent *extent = &cache->extent[e];
		uint32_t taken = (uint32_t)kv_min(n, extent->hi - extent->lo);

		extent->hi -= taken;
		n -= taken;
		if (extent->node == KV_NONE) {
			cache->blank_ordered -= taken;
		} else {
			cache->cached -= taken;
			evicted += taken;
			cache->content.node[extent->node].evicted = cache->now;
		}
		if (extent->lo == extent->hi) {
			take_out(cache, e);
			kv_extent_remove(cache, e);
		}
	}
	cache->evicted += evicted;
	return evicted;
}
