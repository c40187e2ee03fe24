/* Block tables: what a request holds in each group, and how its blocks are registered and given up. */
#include "config.h"

#include "sim/cache/block_table.h"

#include "sim/base/memory.h"
#include "sim/cache/eviction_order.h"
#include "sim/cache/extent.h"

void kv_cache_cover_requests(struct kv_cache *cache, uint32_t requests)
{
	cache->charge = kv_grow(cache->charge, &cache->charge_capacity, requests, sizeof *cache->charge);
	cache->table = kv_grow(cache->table, &cache->table_capacity, (size_t)requests * cache->groups,
	                       sizeof *cache->table);
}

void kv_table_reset(struct kv_cache *cache, uint32_t request)
{
	for (uint32_t g = 0; g < cache->groups; g++)
		*kv_table_of(cache, request, g) = (struct kv_table){.first_hold = KV_NONE, .last_hold = KV_NONE};
}

/* The piece that a block belongs to, which must exist. */
static uint32_t piece_of(const struct kv_path *path, uint32_t block)
{
	uint32_t p = 0;

	while (path->piece[p].end_block <= block)
		p++;
	return p;
}

uint64_t kv_path_evictable(struct kv_cache *cache, uint32_t group, const struct kv_path *path, uint32_t from,
                           uint32_t to)
{
	uint64_t evictable = 0;
	uint32_t at = from;

	if (from >= to)
		return 0;
	for (uint32_t p = piece_of(path, from); at < to; p++) {
		uint32_t end = (uint32_t)kv_min(path->piece[p].end_block, to);

		while (at < end) {
			uint32_t until;
			uint32_t e = kv_extent_find(cache, path->piece[p].node, group, at, end, &until);

			if (cache->extent[e].first_hold == KV_NONE)
				evictable += until - at;
			at = until;
		}
	}
	return evictable;
}

/* Pins an extent that a lookup found: out of the eviction order if nobody held it, one more holder in any case. */
static void pin(struct kv_cache *cache, uint32_t e, uint32_t request)
{
	struct kv_extent *extent = &cache->extent[e];
	uint32_t blocks = extent->hi - extent->lo;

	if (cache->eviction->hooks.eviction.hit != NULL)
		cache->eviction->hooks.eviction.hit(cache->eviction_state, extent->state);
	if (extent->first_hold == KV_NONE) {
		kv_order_take_out(cache, e);
		cache->pinned += blocks;
		cache->filled_slots += (uint64_t)blocks * cache->block_size;
		kv_charge_change(cache, request, blocks);
	}
	kv_hold_add(cache, e, request);
}

static void pin_range(struct kv_cache *cache, uint32_t request, uint32_t group, uint32_t node, uint32_t at,
                      uint32_t end)
{
	while (at < end) {
		uint32_t until;
		uint32_t e = kv_extent_find(cache, node, group, at, end, &until);

		if (cache->extent[e].lo < at)
			e = kv_extent_split(cache, e, at);
		if (cache->extent[e].hi > until)
			kv_extent_split(cache, e, until);
		pin(cache, e, request);
		at = until;
	}
}

void kv_table_hit(struct kv_cache *cache, uint32_t request, uint32_t group, const struct kv_path *path, uint32_t from,
                  uint32_t to)
{
	struct kv_table *table = kv_table_of(cache, request, group);
	uint32_t at = from;

	if (from >= to)
		return;
	table->piece = piece_of(path, from);
	while (at < to) {
		uint32_t end = (uint32_t)kv_min(path->piece[table->piece].end_block, to);

		pin_range(cache, request, group, path->piece[table->piece].node, at, end);
		at = end;
		if (at < to)
			table->piece++;
	}
	table->trimmed = from;
	table->blocks = table->registered = to;
	table->held = to - from;
}

/* Content that was just computed or is about to be: its blocks change from blank to registered under the same
 * holder. */
static void register_range(struct kv_cache *cache, uint32_t request, uint32_t group, uint32_t node, uint32_t from,
                           uint32_t to)
{
	uint32_t last = kv_table_of(cache, request, group)->last_hold;
	uint32_t e = last == KV_NONE ? KV_NONE : cache->hold[last].extent;

	cache->content.node[node].stored = (uint32_t)kv_max(cache->content.node[node].stored, to);
	if (e != KV_NONE && cache->extent[e].node == node && cache->extent[e].hi == from &&
	    kv_extent_grow(cache, e, to))
		return;
	kv_hold_add(cache, kv_extent_insert(cache, node, group, from, to), request);
}

void kv_table_register(struct kv_cache *cache, uint32_t request, uint32_t group, const struct kv_path *path,
                       uint32_t from, uint32_t to)
{
	struct kv_table *table = kv_table_of(cache, request, group);

	table->held += to - from;
	while (from < to) {
		uint32_t end;

		while (path->piece[table->piece].end_block <= from)
			table->piece++;
		end = (uint32_t)kv_min(path->piece[table->piece].end_block, to);
		register_range(cache, request, group, path->piece[table->piece].node, from, end);
		from = end;
	}
}

/* The charge of an extent passes to its next holder; without one it becomes evictable. */
static void drop(struct kv_cache *cache, uint32_t h)
{
	uint32_t e = cache->hold[h].extent;
	uint32_t request = cache->hold[h].request;
	struct kv_extent *extent = &cache->extent[e];
	uint32_t blocks = extent->hi - extent->lo;
	bool charged = extent->first_hold == h;

	kv_hold_remove(cache, h);
	if (charged)
		kv_charge_change(cache, request, -(int64_t)blocks);
	if (extent->first_hold == KV_NONE) {
		cache->pinned -= blocks;
		cache->filled_slots -= (uint64_t)blocks * cache->block_size;
		kv_order_add(cache, e);
	} else if (charged) {
		kv_charge_change(cache, cache->hold[extent->first_hold].request, blocks);
	}
}

static uint32_t release_blank(struct kv_cache *cache, uint32_t from, uint32_t to)
{
	if (from >= to)
		return 0;
	if (cache->blank_first)
		cache->blank += to - from;
	else
		kv_order_add_blank(cache, from, to);
	return to - from;
}

/* The table's last hold that begins below `to`, cut so that it ends there. */
static uint32_t last_hold_below(struct kv_cache *cache, struct kv_table *table, uint32_t to)
{
	uint32_t h = table->last_hold;

	if (to < table->blocks) {
		uint32_t found = KV_NONE;

		for (h = table->first_hold; h != KV_NONE && cache->extent[cache->hold[h].extent].lo < to;
		     h = cache->hold[h].next)
			found = h;
		h = found;
		if (h != KV_NONE && cache->extent[cache->hold[h].extent].hi > to)
			kv_extent_split(cache, cache->hold[h].extent, to);
	}
	return h;
}

/* The part of the hold's extent that is given up next: where the release call treats the extent's blocks differently it
 * is cut, and the hold of the upper part comes first. */
static uint32_t cut_for_release(struct kv_cache *cache, uint32_t h)
{
	uint32_t e = cache->hold[h].extent;
	uint32_t at;

	if (cache->extent[e].first_hold != cache->extent[e].last_hold)
		return h;
	at = kv_order_cut(cache, e);
	if (at == cache->extent[e].lo)
		return h;
	kv_extent_split(cache, e, at);
	return cache->hold[h].next;
}

void kv_table_release(struct kv_cache *cache, uint32_t request, uint32_t group, uint32_t to, uint64_t tokens,
                      uint32_t prompt)
{
	struct kv_table *table = kv_table_of(cache, request, group);
	uint32_t h = last_hold_below(cache, table, to);
	uint32_t position = to;
	uint32_t blank = 0;
	uint32_t held = 0;

	kv_order_begin_release(cache, prompt, table->blocks);
	while (h != KV_NONE) {
		uint32_t prev, lo, hi;

		h = cut_for_release(cache, h);
		prev = cache->hold[h].prev;
		lo = cache->extent[cache->hold[h].extent].lo;
		hi = cache->extent[cache->hold[h].extent].hi;
		blank += release_blank(cache, hi, position);
		held += hi - lo;
		drop(cache, h);
		position = lo;
		h = prev;
	}
	blank += release_blank(cache, table->trimmed, position);
	cache->pinned -= blank;
	kv_charge_change(cache, request, -(int64_t)blank);
	cache->filled_slots -= tokens - (uint64_t)held * cache->block_size;
	table->held -= held;
	table->trimmed = to;
}
