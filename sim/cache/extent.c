/* Extents and the chains they form. A chain is short: one extent for content that has one history, more only where
 * requests stopped at different depths, so plain walks are what it needs. */
#include "config.h"

#include "sim/cache/extent.h"

#include <string.h>

#include "sim/base/memory.h"
#include "sim/cache/eviction_order.h"

void kv_cache_cover_nodes(struct kv_cache *cache)
{
	size_t old = cache->chain_capacity;

	if (cache->content.capacity * cache->groups <= old)
		return;
	cache->chain = kv_grow_raw(cache->chain, &cache->chain_capacity, cache->content.capacity * cache->groups,
	                       sizeof *cache->chain);
	for (size_t i = old; i < cache->chain_capacity; i++)
		cache->chain[i] = (struct kv_chain){.first = KV_NONE, .last = KV_NONE};
}

uint32_t kv_extent_take(struct kv_cache *cache)
{
	uint32_t extent = cache->free_extent;

	if (extent != KV_NONE) {
		cache->free_extent = cache->extent[extent].next;
		return extent;
	}
	extent = cache->extents++;
	cache->extent = kv_grow_raw(cache->extent, &cache->extent_capacity, cache->extents, sizeof *cache->extent);
	return extent;
}

static uint32_t hold_take(struct kv_cache *cache)
{
	uint32_t hold = cache->free_hold;

	if (hold != KV_NONE) {
		cache->free_hold = cache->hold[hold].next;
		return hold;
	}
	hold = cache->holds++;
	cache->hold = kv_grow_raw(cache->hold, &cache->hold_capacity, cache->holds, sizeof *cache->hold);
	return hold;
}

uint32_t kv_extent_covered_until(struct kv_cache *cache, uint32_t node, uint32_t group, uint32_t from, uint32_t to)
{
	for (uint32_t e = kv_chain_of(cache, node, group)->first; e != KV_NONE && from < to;
	     e = cache->extent[e].next) {
		if (cache->extent[e].lo > from)
			break;
		if (cache->extent[e].hi > from)
			from = cache->extent[e].hi;
	}
	return from < to ? from : to;
}

uint32_t kv_extent_covered_down_to(struct kv_cache *cache, uint32_t node, uint32_t group, uint32_t from, uint32_t floor)
{
	uint32_t lowest = from + 1;

	for (uint32_t e = kv_chain_of(cache, node, group)->last; e != KV_NONE && lowest > floor;
	     e = cache->extent[e].prev) {
		const struct kv_extent *extent = &cache->extent[e];

		/* By falling lo: without overlaps the first extent that ends too low ends the walk. */
		if (extent->lo < lowest && extent->hi >= lowest)
			lowest = extent->lo;
		else if (extent->hi < lowest && !kv_chain_of(cache, node, group)->overlaps)
			break;
	}
	return lowest > floor ? lowest : floor;
}

uint32_t kv_extent_end_below(struct kv_cache *cache, uint32_t node, uint32_t group, uint32_t end, uint32_t floor)
{
	const struct kv_chain *chain = kv_chain_of(cache, node, group);
	uint32_t best = floor;

	for (uint32_t e = chain->last; e != KV_NONE; e = cache->extent[e].prev) {
		if (cache->extent[e].lo >= end)
			continue;
		best = (uint32_t)kv_max(best, kv_min(cache->extent[e].hi, end));
		if (!chain->overlaps || best == end)
			break;
	}
	return best;
}

uint32_t kv_extent_find(struct kv_cache *cache, uint32_t node, uint32_t group, uint32_t at, uint32_t to,
                        uint32_t *until)
{
	const struct kv_chain *chain = kv_chain_of(cache, node, group);
	uint32_t found = KV_NONE;
	uint32_t e = chain->first;

	if (!chain->overlaps) {
		while (cache->extent[e].hi <= at)
			e = cache->extent[e].next;
		*until = cache->extent[e].hi < to ? cache->extent[e].hi : to;
		return e;
	}
	for (; e != KV_NONE && cache->extent[e].lo <= at; e = cache->extent[e].next)
		if (cache->extent[e].hi > at
		    && (found == KV_NONE || cache->extent[e].registered < cache->extent[found].registered))
			found = e;
	KV_ASSERT(found != KV_NONE, "block %u of node %u is not there", at, node);
	if (cache->extent[found].hi < to)
		to = cache->extent[found].hi;
	for (; e != KV_NONE && cache->extent[e].lo < to; e = cache->extent[e].next)
		if (cache->extent[e].registered < cache->extent[found].registered)
			to = cache->extent[e].lo;
	*until = to;
	return found;
}

/* Links an extent into its chain after every one with a smaller (lo, registered). Most come last. */
static void chain_insert(struct kv_cache *cache, uint32_t e, uint32_t after)
{
	struct kv_extent *extent = &cache->extent[e];
	struct kv_chain *chain = kv_chain_of(cache, extent->node, extent->group);

	while (after != KV_NONE
	       && (cache->extent[after].lo > extent->lo
	           || (cache->extent[after].lo == extent->lo && cache->extent[after].registered > extent->registered)))
		after = cache->extent[after].prev;
	extent->prev = after;
	extent->next = after == KV_NONE ? chain->first : cache->extent[after].next;
	if (extent->next == KV_NONE)
		chain->last = e;
	else
		cache->extent[extent->next].prev = e;
	if (after == KV_NONE)
		chain->first = e;
	else
		cache->extent[after].next = e;
}

/* A part that was split off belongs somewhere after its lower part. */
static void chain_insert_split(struct kv_cache *cache, uint32_t e, uint32_t lower)
{
	const struct kv_extent *extent = &cache->extent[e];
	uint32_t after = lower;

	for (uint32_t n = cache->extent[after].next; n != KV_NONE && cache->extent[n].lo <= extent->lo;
	     n = cache->extent[n].next)
		after = n;
	chain_insert(cache, e, after);
}

uint32_t kv_extent_insert(struct kv_cache *cache, uint32_t node, uint32_t group, uint32_t lo, uint32_t hi)
{
	struct kv_chain *chain = kv_chain_of(cache, node, group);
	uint32_t e = kv_extent_take(cache);
	struct kv_extent *extent = &cache->extent[e];

	*extent = (struct kv_extent){
		.node = node, .group = group, .lo = lo, .hi = hi, .first_hold = KV_NONE, .last_hold = KV_NONE,
		.registered = ++cache->registrations
	};
	if (cache->eviction->hooks.eviction.insert != NULL)
		cache->eviction->hooks.eviction.insert(cache->eviction_state, extent->state);
	kv_content_ref(&cache->content, node);
	chain_insert(cache, e, chain->last);
	if ((extent->prev != KV_NONE && cache->extent[extent->prev].hi > lo)
	    || (extent->next != KV_NONE && cache->extent[extent->next].lo < hi))
		chain->overlaps = true;
	return e;
}

enum { CHAIN_LOOKS = 16 };

/* Whether every other copy of blocks [from, to) was registered before this extent began; one with its number was split
 * off it. Then the copy that is found first is the same for all of its blocks, grown or not. Long chains are not looked
 * through. */
static bool comes_after_others(struct kv_cache *cache, uint32_t e, uint32_t from, uint32_t to, bool *others)
{
	const struct kv_extent *extent = &cache->extent[e];
	const struct kv_chain *chain = kv_chain_of(cache, extent->node, extent->group);
	int looks = 0;

	*others = extent->next != KV_NONE && cache->extent[extent->next].lo < to;
	if (!chain->overlaps && !*others)
		return true;
	for (uint32_t o = chain->last; o != KV_NONE; o = cache->extent[o].prev) {
		const struct kv_extent *other = &cache->extent[o];

		if (++looks > CHAIN_LOOKS ||
		    (other->lo < to && other->hi > from && other->registered >= extent->registered))
			return false;
	}
	return true;
}

static bool is_fresh(struct kv_cache *cache, const struct kv_extent *extent)
{
	unsigned char fresh[KV_ENTRY_STATE_MAX] = {0};

	if (cache->remembers && extent->release != 0)
		return false;
	if (cache->eviction->entry_size == 0)
		return true;
	if (cache->eviction->hooks.eviction.insert != NULL)
		cache->eviction->hooks.eviction.insert(cache->eviction_state, fresh);
	return memcmp(fresh, extent->state, sizeof fresh) == 0;
}

bool kv_extent_grow(struct kv_cache *cache, uint32_t e, uint32_t hi)
{
	struct kv_extent *extent = &cache->extent[e];
	bool others;

	if (extent->first_hold != extent->last_hold || !comes_after_others(cache, e, extent->hi, hi, &others)
	    || !is_fresh(cache, extent))
		return false;
	extent->hi = hi;
	kv_chain_of(cache, extent->node, extent->group)->overlaps |= others;
	return true;
}

static void hold_link(struct kv_cache *cache, uint32_t h, uint32_t extent, uint32_t request, uint32_t prev)
{
	struct kv_table *table = kv_table_of(cache, request, cache->extent[extent].group);
	uint32_t next = prev == KV_NONE ? table->first_hold : cache->hold[prev].next;
	uint32_t last = cache->extent[extent].last_hold;

	cache->hold[h] = (struct kv_hold){
		.extent = extent, .request = request, .next = next, .prev = prev, .extent_next = KV_NONE,
		.extent_prev = last
	};
	*(next == KV_NONE ? &table->last_hold : &cache->hold[next].prev) = h;
	*(prev == KV_NONE ? &table->first_hold : &cache->hold[prev].next) = h;
	*(last == KV_NONE ? &cache->extent[extent].first_hold : &cache->hold[last].extent_next) = h;
	cache->extent[extent].last_hold = h;
}

void kv_hold_add(struct kv_cache *cache, uint32_t extent, uint32_t request)
{
	uint32_t h = hold_take(cache);

	hold_link(cache, h, extent, request, kv_table_of(cache, request, cache->extent[extent].group)->last_hold);
}

void kv_hold_remove(struct kv_cache *cache, uint32_t h)
{
	struct kv_hold *hold = &cache->hold[h];
	struct kv_extent *extent = &cache->extent[hold->extent];
	struct kv_table *table = kv_table_of(cache, hold->request, extent->group);

	*(hold->next == KV_NONE ? &table->last_hold : &cache->hold[hold->next].prev) = hold->prev;
	*(hold->prev == KV_NONE ? &table->first_hold : &cache->hold[hold->prev].next) = hold->next;
	*(hold->extent_next == KV_NONE ? &extent->last_hold :
	                                 &cache->hold[hold->extent_next].extent_prev) = hold->extent_prev;
	*(hold->extent_prev == KV_NONE ? &extent->first_hold :
	                                 &cache->hold[hold->extent_prev].extent_next) = hold->extent_next;
	hold->next = cache->free_hold;
	cache->free_hold = h;
}

/* The upper part gets a hold from each holder, in the same order. */
static void split_holds(struct kv_cache *cache, uint32_t lower, uint32_t upper)
{
	for (uint32_t h = cache->extent[lower].first_hold; h != KV_NONE; h = cache->hold[h].extent_next) {
		uint32_t n = hold_take(cache);

		hold_link(cache, n, upper, cache->hold[h].request, h);
	}
}

uint32_t kv_extent_split(struct kv_cache *cache, uint32_t lower, uint32_t at)
{
	uint32_t upper = kv_extent_take(cache);
	struct kv_extent *from = &cache->extent[lower];
	struct kv_extent *to = &cache->extent[upper];

	*to = *from;
	to->lo = at;
	to->first_hold = to->last_hold = KV_NONE;
	from->hi = at;
	kv_content_ref(&cache->content, to->node);
	chain_insert_split(cache, upper, lower);
	if (from->first_hold != KV_NONE)
		split_holds(cache, lower, upper);
	else
		kv_order_add_split(cache, lower, upper);
	return upper;
}

void kv_extent_remove(struct kv_cache *cache, uint32_t e)
{
	struct kv_extent *extent = &cache->extent[e];

	if (extent->node != KV_NONE) {
		struct kv_chain *chain = kv_chain_of(cache, extent->node, extent->group);

		*(extent->next == KV_NONE ? &chain->last : &cache->extent[extent->next].prev) = extent->prev;
		*(extent->prev == KV_NONE ? &chain->first : &cache->extent[extent->prev].next) = extent->next;
		if (chain->first == KV_NONE)
			chain->overlaps = false;
		kv_content_unref(&cache->content, extent->node);
	}
	extent->next = cache->free_extent;
	cache->free_extent = e;
}
