/* The order among evictable extents: by the policy's rank, then release call, then the deeper block first; in one or
 * more queues, among which the policy picks.
 *
 * Policies that rank by release call alone keep lists, whose ends are all that is needed; the others 4-ary heaps of
 * extents with their positions stored in them. Either way a run of blocks is one entry, taken from its tail. */
#include "config.h"

#include "sim/cache/eviction_order.h"

#include <string.h>

#include "sim/base/memory.h"
#include "sim/cache/extent.h"

static const struct kv_eviction_hooks *hooks_of(const struct kv_cache *cache)
{
	return &cache->eviction->hooks.eviction;
}

static bool is_list(const struct kv_cache *cache)
{
	return hooks_of(cache)->release_order;
}

static struct kv_order *order_of(struct kv_cache *cache, uint32_t e)
{
	return &cache->order[cache->extent[e].queue];
}

/* --- list --------------------------------------------------------------------------------------------------------- */

static void list_insert_before(struct kv_cache *cache, uint32_t e, uint32_t next)
{
	struct kv_order *order = order_of(cache, e);
	uint32_t prev = next == KV_NONE ? order->last : cache->extent[next].order_prev;

	cache->extent[e].order_next = next;
	cache->extent[e].order_prev = prev;
	*(next == KV_NONE ? &order->last : &cache->extent[next].order_prev) = e;
	*(prev == KV_NONE ? &order->first : &cache->extent[prev].order_next) = e;
}

static void list_remove(struct kv_cache *cache, uint32_t e)
{
	struct kv_order *order = order_of(cache, e);
	uint32_t next = cache->extent[e].order_next;
	uint32_t prev = cache->extent[e].order_prev;

	*(next == KV_NONE ? &order->last : &cache->extent[next].order_prev) = prev;
	*(prev == KV_NONE ? &order->first : &cache->extent[prev].order_next) = next;
}

/* --- heap --------------------------------------------------------------------------------------------------------- */

static bool goes_before(const struct kv_extent *a, const struct kv_extent *b)
{
	if (kv_rank_less(a->rank, b->rank) || kv_rank_less(b->rank, a->rank))
		return kv_rank_less(a->rank, b->rank);
	if (a->release != b->release)
		return a->release < b->release;
	return a->hi > b->hi;
}

static void heap_place(struct kv_cache *cache, struct kv_order *order, uint32_t position, uint32_t e)
{
	order->heap[position] = e;
	cache->extent[e].order_next = position;
}

static void heap_sift_up(struct kv_cache *cache, struct kv_order *order, uint32_t position, uint32_t e)
{
	while (position > 0) {
		uint32_t parent = (position - 1) / 4;

		if (!goes_before(&cache->extent[e], &cache->extent[order->heap[parent]]))
			break;
		heap_place(cache, order, position, order->heap[parent]);
		position = parent;
	}
	heap_place(cache, order, position, e);
}

static void heap_sift_down(struct kv_cache *cache, struct kv_order *order, uint32_t position, uint32_t e)
{
	for (;;) {
		uint32_t child = position * 4 + 1;
		uint32_t end = child + 4 < order->size ? child + 4 : order->size;
		uint32_t best = child;

		if (child >= order->size)
			break;
		for (uint32_t c = child + 1; c < end; c++)
			if (goes_before(&cache->extent[order->heap[c]], &cache->extent[order->heap[best]]))
				best = c;
		if (!goes_before(&cache->extent[order->heap[best]], &cache->extent[e]))
			break;
		heap_place(cache, order, position, order->heap[best]);
		position = best;
	}
	heap_place(cache, order, position, e);
}

static void heap_push(struct kv_cache *cache, uint32_t e)
{
	struct kv_order *order = order_of(cache, e);

	order->heap = kv_grow(order->heap, &order->capacity, order->size + 1, sizeof *order->heap);
	heap_sift_up(cache, order, order->size++, e);
}

static void heap_remove(struct kv_cache *cache, uint32_t e)
{
	struct kv_order *order = order_of(cache, e);
	uint32_t position = cache->extent[e].order_next;
	uint32_t last = order->heap[--order->size];

	if (last == e)
		return;
	heap_sift_up(cache, order, position, last);
	heap_sift_down(cache, order, cache->extent[last].order_next, last);
}

/* --- the order ---------------------------------------------------------------------------------------------------- */

static uint32_t length_of(const struct kv_cache *cache, uint32_t e)
{
	return cache->extent[e].hi - cache->extent[e].lo;
}

/* Puts an extent where its rank and state say. */
static void put_in(struct kv_cache *cache, uint32_t e)
{
	struct kv_extent *extent = &cache->extent[e];

	extent->queue = hooks_of(cache)->queue == NULL ? 0 : hooks_of(cache)->queue(extent->state);
	cache->order_blocks[extent->queue] += length_of(cache, e);
	if (is_list(cache))
		list_insert_before(cache, e, KV_NONE);
	else
		heap_push(cache, e);
}

static void take_out(struct kv_cache *cache, uint32_t e)
{
	cache->order_blocks[cache->extent[e].queue] -= length_of(cache, e);
	if (is_list(cache))
		list_remove(cache, e);
	else
		heap_remove(cache, e);
}

void kv_order_begin_release(struct kv_cache *cache, uint32_t prompt, uint32_t blocks)
{
	struct kv_release *release = &cache->release;

	release->call++;
	release->now = cache->now;
	release->prompt_tokens = prompt;
	release->blocks = blocks;
	if (cache->remembers)
		for (unsigned q = 0; q < cache->queues; q++)
			release->ghosts[q] = cache->ghosts.blocks[q];
	cache->cuts = hooks_of(cache)->cut == NULL ? 0 :
	                                             hooks_of(cache)->cut(cache->eviction_state, release, cache->cut);
}

/* Of the blocks [lo, hi), the lowest from which on none of the call's cuts lies between them. */
static uint32_t last_cut(const struct kv_cache *cache, uint32_t lo, uint32_t hi)
{
	for (unsigned c = 0; c < cache->cuts; c++)
		if (cache->cut[c] > lo && cache->cut[c] < hi)
			lo = cache->cut[c];
	return lo;
}

static uint64_t ghost_key(const struct kv_cache *cache, const struct kv_extent *extent)
{
	return cache->content.node[extent->node].hash + extent->group * UINT64_C(0x9e3779b97f4a7c15);
}

uint32_t kv_order_cut(struct kv_cache *cache, uint32_t e)
{
	const struct kv_extent *extent = &cache->extent[e];
	uint32_t at = last_cut(cache, extent->lo, extent->hi);

	if (cache->remembers && extent->release == 0)
		kv_ghosts_find(&cache->ghosts, ghost_key(cache, extent), at, extent->hi, &at);
	return at;
}

static void add(struct kv_cache *cache, uint32_t e)
{
	struct kv_extent *extent = &cache->extent[e];

	cache->release.depth = extent->lo;
	cache->release.weight = length_of(cache, e);
	extent->release = cache->release.call;
	extent->rank = hooks_of(cache)->release(cache->eviction_state, extent->state, &cache->release);
	put_in(cache, e);
}

static uint32_t recall(struct kv_cache *cache, const struct kv_extent *extent)
{
	uint64_t key = ghost_key(cache, extent);
	uint32_t from;
	uint32_t ghost = kv_ghosts_find(&cache->ghosts, key, extent->lo, extent->hi, &from);

	if (ghost != 0)
		kv_ghosts_take(&cache->ghosts, key, extent->lo, extent->hi);
	return ghost;
}

void kv_order_add(struct kv_cache *cache, uint32_t e)
{
	const struct kv_extent *extent = &cache->extent[e];

	cache->cached += length_of(cache, e);
	cache->release.ghost = cache->remembers && extent->release == 0 ? recall(cache, extent) : 0;
	add(cache, e);
}

void kv_order_add_blank(struct kv_cache *cache, uint32_t lo, uint32_t hi)
{
	cache->release.ghost = 0;
	while (hi > lo) {
		uint32_t from = last_cut(cache, lo, hi);
		uint32_t e = kv_extent_take(cache);

		cache->extent[e] = (struct kv_extent){
			.node = KV_NONE, .lo = from, .hi = hi, .first_hold = KV_NONE, .last_hold = KV_NONE
		};
		cache->blank_ordered += hi - from;
		add(cache, e);
		hi = from;
	}
}

void kv_order_take_out(struct kv_cache *cache, uint32_t e)
{
	cache->cached -= length_of(cache, e);
	take_out(cache, e);
}

void kv_order_add_split(struct kv_cache *cache, uint32_t lower, uint32_t upper)
{
	if (is_list(cache)) {
		list_insert_before(cache, upper, lower);
		return;
	}
	heap_sift_down(cache, order_of(cache, lower), cache->extent[lower].order_next, lower);
	heap_push(cache, upper);
}

/* --- taking ------------------------------------------------------------------------------------------------------- */

/* KV_NONE if there is nothing. */
static uint32_t front_of(const struct kv_cache *cache, unsigned queue)
{
	const struct kv_order *order = &cache->order[queue];

	if (is_list(cache))
		return order->first;
	return order->size > 0 ? order->heap[0] : KV_NONE;
}

static unsigned smallest_front(const struct kv_cache *cache)
{
	uint32_t best = front_of(cache, 0);
	unsigned found = 0;

	for (unsigned q = 1; q < cache->queues; q++) {
		uint32_t e = front_of(cache, q);

		if (e != KV_NONE && (best == KV_NONE || goes_before(&cache->extent[e], &cache->extent[best]))) {
			best = e;
			found = q;
		}
	}
	return found;
}

/* The extent that the next block comes from; at most *most may be taken from it. */
static uint32_t choose(const struct kv_cache *cache, uint64_t *most)
{
	*most = UINT64_MAX;
	if (cache->queues == 1)
		return front_of(cache, 0);
	if (hooks_of(cache)->pick == NULL)
		return front_of(cache, smallest_front(cache));
	return front_of(cache, hooks_of(cache)->pick(cache->eviction_state, cache->order_blocks, cache->usable, most));
}

/* True if the policy lets the extent, which is first, go; else it has been put elsewhere. */
static bool lets_go(struct kv_cache *cache, uint32_t e)
{
	struct kv_extent *extent = &cache->extent[e];
	struct kv_rank rank = extent->rank;

	if (hooks_of(cache)->reach == NULL
	    || hooks_of(cache)->reach(cache->eviction_state, extent->state, cache->release.call, &rank))
		return true;
	take_out(cache, e);
	extent->rank = rank;
	put_in(cache, e);
	return false;
}

/* Takes the last `blocks` blocks of an extent that stands in the order. Returns how many had content. */
static uint32_t consume_tail(struct kv_cache *cache, uint32_t e, uint32_t blocks, bool expired)
{
	struct kv_extent *extent = &cache->extent[e];
	bool blank = extent->node == KV_NONE;

	if (blank) {
		cache->blank_ordered -= blocks;
	} else {
		cache->cached -= blocks;
		cache->content.node[extent->node].evicted = cache->now;
		cache->content.node[extent->node].expired = expired;
		if (cache->remembers && !expired && (hooks_of(cache)->ghost_queues >> extent->queue & 1))
			kv_ghosts_put(&cache->ghosts, ghost_key(cache, extent), extent->hi - blocks, extent->hi,
			              extent->queue);
	}
	if (blocks == extent->hi - extent->lo) {
		take_out(cache, e);
		kv_extent_remove(cache, e);
	} else {
		extent->hi -= blocks;
		cache->order_blocks[extent->queue] -= blocks;
	}
	return blank ? 0 : blocks;
}

uint64_t kv_order_consume(struct kv_cache *cache, uint64_t n)
{
	uint64_t evicted = 0;
	uint64_t blank = kv_min(n, cache->blank);

	cache->blank -= blank;
	n -= blank;
	while (n > 0) {
		uint64_t most;
		uint32_t e = choose(cache, &most);
		uint32_t taken;

		if (!lets_go(cache, e))
			continue;
		taken = (uint32_t)kv_min(kv_min(n, most), length_of(cache, e));
		evicted += consume_tail(cache, e, taken, false);
		n -= taken;
	}
	cache->evicted += evicted;
	return evicted;
}

/* Lets the policy look at the first extent of a queue. False: there is nothing more to do. */
static bool expire_front(struct kv_cache *cache, uint32_t e, uint64_t *dropped)
{
	struct kv_extent *extent = &cache->extent[e];
	struct kv_extent changed = *extent;
	uint32_t blocks = length_of(cache, e);

	switch (hooks_of(cache)->due(cache->eviction_state, changed.state, cache->now, &changed.rank)) {
	case KV_DUE_DROP:
		*dropped += consume_tail(cache, e, blocks, true);
		cache->blank += blocks;
		return true;
	case KV_DUE_MOVE:
		take_out(cache, e);
		extent->rank = changed.rank;
		memcpy(extent->state, changed.state, sizeof extent->state);
		put_in(cache, e);
		return true;
	default:
		return false;
	}
}

uint64_t kv_order_expire(struct kv_cache *cache)
{
	uint64_t dropped = 0;

	if (hooks_of(cache)->due == NULL)
		return 0;
	for (unsigned q = 0; q < cache->queues; q++) {
		uint32_t e = front_of(cache, q);

		while (e != KV_NONE && expire_front(cache, e, &dropped))
			e = front_of(cache, q);
	}
	return dropped;
}
