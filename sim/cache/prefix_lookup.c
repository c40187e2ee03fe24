/* Which prefix of a request is reusable: the longest run from the left for full attention, the rightmost window for
 * sliding windows, and what all groups agree on (vLLM, engine-semantics 1.4 and 1.9). Costs one look at each piece and
 * extent. */
#include "config.h"

#include "sim/cache/prefix_lookup.h"

#include "sim/cache/block_table.h"
#include "sim/cache/extent.h"

static bool is_full(const struct kv_engine_config *config, uint32_t group)
{
	return config->group[group].kind != KV_GROUP_SLIDING_WINDOW;
}

static uint32_t longest_run(struct kv_cache *cache, uint32_t group, const struct kv_path *path, uint32_t limit)
{
	uint32_t at = 0;

	for (uint32_t p = 0; p < path->pieces && at < limit; p++) {
		uint32_t end = (uint32_t)kv_min(path->piece[p].end_block, limit);

		if (end == at)
			continue;
		at = kv_extent_covered_until(cache, path->piece[p].node, group, at, end);
		if (at < end)
			break;
	}
	return at;
}

/* A place on the path while it is walked from the right. */
struct descent {
	struct kv_cache *cache;
	const struct kv_path *path;
	uint32_t piece;
};

static uint32_t piece_floor(const struct descent *d)
{
	return d->piece == 0 ? 0 : d->path->piece[d->piece - 1].end_block;
}

/* The largest end <= `end` of something cached in the group, 0 if there is nothing. */
static uint32_t cached_end(struct descent d, uint32_t group, uint32_t end)
{
	while (end > 0) {
		uint32_t floor;
		uint32_t found;

		while (piece_floor(&d) >= end)
			d.piece--;
		floor = piece_floor(&d);
		found = kv_extent_end_below(d.cache, d.path->piece[d.piece].node, group, end, floor);
		if (found > floor)
			return found;
		end = floor;
	}
	return 0;
}

/* The lowest block of the run that ends at `end` > 0 in the group, not looked for below `floor`. */
static uint32_t run_begin(struct descent d, uint32_t group, uint32_t end, uint32_t floor)
{
	uint32_t begin = end;

	while (begin > floor) {
		uint32_t low;
		uint32_t found;

		while (piece_floor(&d) >= begin)
			d.piece--;
		low = (uint32_t)kv_max(piece_floor(&d), floor);
		found = kv_extent_covered_down_to(d.cache, d.path->piece[d.piece].node, group, begin - 1, low);
		if (found > low)
			return found;
		begin = low;
	}
	return begin;
}

static bool same_window(const struct kv_engine_config *config, uint32_t a, uint32_t b)
{
	return !is_full(config, b) && config->group[a].window == config->group[b].window;
}

/* The rightmost `need` consecutive blocks below `limit` that all groups of this window have, or a shorter run from
 * block 0. Returns where they end; *from = where they begin. */
static uint32_t rightmost_window(struct kv_cache *cache, const struct kv_engine_config *config, uint32_t group,
                                 const struct kv_path *path, uint32_t limit, uint32_t *from)
{
	uint32_t need = (uint32_t)kv_ceil_div(config->group[group].window - 1, config->block_size);
	struct descent d = {cache, path, path->pieces - 1};
	uint32_t end = limit;

	while (end > 0) {
		uint32_t begin = end > need ? end - need : 0;
		uint32_t lowest = begin;
		uint32_t highest = end;

		for (uint32_t g = group; g < config->groups; g++)
			if (same_window(config, group, g))
				highest = cached_end(d, g, highest);
		if (highest < end) {
			end = highest;
			continue;
		}
		for (uint32_t g = group; g < config->groups; g++)
			if (same_window(config, group, g))
				lowest = (uint32_t)kv_max(lowest, run_begin(d, g, end, begin));
		if (lowest == begin) {
			*from = begin;
			return end;
		}
		end = lowest - 1;
	}
	*from = 0;
	return 0;
}

/* Shrinks the hit until every window agrees with it. */
static void fit_windows(struct kv_cache *cache, const struct kv_engine_config *config, const struct kv_path *path,
                        struct kv_hit *hit)
{
	uint32_t before;

	do {
		before = hit->blocks;
		for (uint32_t g = 0; g < config->groups; g++)
			if (!is_full(config, g))
				hit->blocks = rightmost_window(cache, config, g, path, hit->blocks, &hit->from[g]);
	} while (hit->blocks != before);
}

void kv_prefix_lookup(struct kv_cache *cache, const struct kv_engine_config *config, const struct kv_path *path,
                      uint32_t limit, struct kv_hit *hit)
{
	bool windows = false, full = false;

	hit->blocks = limit;
	hit->evictable = hit->evictable_windowed = 0;
	for (uint32_t g = 0; g < config->groups; g++) {
		hit->from[g] = 0;
		windows |= !is_full(config, g);
		full |= is_full(config, g);
		if (is_full(config, g))
			hit->blocks = longest_run(cache, g, path, hit->blocks);
	}
	hit->full_blocks = full ? hit->blocks : 0;
	if (windows)
		fit_windows(cache, config, path, hit);
	for (uint32_t g = 0; g < config->groups; g++) {
		uint64_t evictable = kv_path_evictable(cache, g, path, hit->from[g], hit->blocks);

		hit->evictable += evictable;
		hit->evictable_windowed += is_full(config, g) ? 0 : evictable;
	}
}
