/* Blocks on demand, in several groups with or without windows, whose content is found by block hash chains: vLLM's
 * allocate_slots and free (engine-semantics 1.5, 1.7, 1.9, 1.10). */
#include "config.h"

#include <inttypes.h>

#include "sim/cache/block_table.h"
#include "sim/cache/extent.h"
#include "sim/engine/live.h"
#include "sim/engine/store_tables.h"

/* --- registration ------------------------------------------------------------------------------------------------- */

static void register_blocks(struct kv_engine *engine, uint32_t id, uint32_t g, uint32_t from, uint32_t to)
{
	struct kv_path path = kv_live_path(&engine->live[id]);

	if (from < to)
		kv_table_register(&engine->cache, id, g, &path, from, to);
}

/* With retention 0 a windowed group keeps only the window before the end of the prompt and the one before the junction
 * where this request was seen to branch off (engine-semantics 1.10). */
static void register_retained(struct kv_engine *engine, uint32_t id, uint32_t g, uint32_t from, uint32_t to)
{
	const struct kv_live *live = &engine->live[id];
	uint32_t window = (uint32_t)kv_ceil_div(engine->config->group[g].window - 1, engine->config->block_size);
	uint32_t a = (live->prompt - 1) / engine->config->block_size;
	uint32_t b = live->junction;
	uint32_t low = a < b ? a : b;
	uint32_t high = a < b ? b : a;
	uint32_t low_from = (uint32_t)kv_max(from, kv_sub_floor(low, window));
	uint32_t low_to = (uint32_t)kv_min(to, low);
	uint32_t high_from = (uint32_t)kv_max(kv_max(from, low), kv_sub_floor(high, window));

	register_blocks(engine, id, g, low_from, low_to);
	register_blocks(engine, id, g, high_from, (uint32_t)kv_min(to, high));
}

static void register_full_blocks(struct kv_engine *engine, uint32_t id, uint32_t tokens)
{
	uint32_t full = tokens / engine->config->block_size;

	if (!engine->caching)
		return;
	for (uint32_t g = 0; g < engine->config->groups; g++) {
		struct kv_table *table = kv_table_of(&engine->cache, id, g);

		if (full <= table->registered)
			continue;
		if (kv_tables_windowed(engine, g) && engine->config->retention_interval != KV_RETAIN_ALL)
			register_retained(engine, id, g, table->registered, full);
		else
			register_blocks(engine, id, g, table->registered, full);
		table->registered = full;
	}
}

/* --- growing ------------------------------------------------------------------------------------------------------ */

/* Gives up the blocks that fell out of their window: all their tokens are older than computed - W + 1. */
static void trim_windows(struct kv_engine *engine, uint32_t id)
{
	uint32_t computed = engine->live[id].computed;

	for (uint32_t g = 0; g < engine->config->groups; g++) {
		struct kv_table *table = kv_table_of(&engine->cache, id, g);
		uint32_t window = engine->config->group[g].window;
		uint32_t behind;

		if (!kv_tables_windowed(engine, g) || computed + 1 <= window)
			continue;
		behind = (computed + 1 - window) / engine->config->block_size;
		behind = (uint32_t)kv_min(behind, table->blocks);
		if (behind > table->trimmed)
			kv_table_release(&engine->cache, id, g, behind,
			                 (uint64_t)(behind - table->trimmed) * engine->config->block_size,
			                 engine->live[id].prompt);
	}
}

static void take_blocks(struct kv_engine *engine, uint32_t id, uint64_t blocks)
{
	if (blocks > 0)
		kv_tables_tell_evicted(engine, id, kv_cache_allocate(&engine->cache, id, blocks));
}

static bool grow(struct kv_engine *engine, uint32_t id, uint32_t tokens)
{
	uint32_t end = engine->live[id].computed + tokens;
	uint64_t missing;

	if (engine->windowed)
		trim_windows(engine, id);
	missing = kv_tables_missing(engine, id, end);
	if (missing > kv_cache_free_blocks(&engine->cache))
		return false;
	take_blocks(engine, id, missing);
	kv_tables_extend(engine, id, end, tokens);
	register_full_blocks(engine, id, end);
	return true;
}

static uint64_t next(struct kv_engine *engine, uint32_t id)
{
	if (engine->windowed)
		trim_windows(engine, id);
	return kv_tables_next(engine, id);
}

static uint64_t consume(struct kv_engine *engine, uint64_t n)
{
	engine->cache.pinned += n;
	return kv_order_consume(&engine->cache, n);
}

/* Until now nobody could look for what a steady request generates. */
static void generated(struct kv_engine *engine, uint32_t id, uint32_t tokens)
{
	struct kv_path path = kv_live_path(&engine->live[id]);
	uint32_t full = tokens / engine->config->block_size;

	if (!engine->caching)
		return;
	for (uint32_t g = 0; g < engine->cache.groups; g++) {
		struct kv_table *table = kv_table_of(&engine->cache, id, g);

		if (full > table->registered) {
			kv_table_register(&engine->cache, id, g, &path, table->registered, full);
			table->registered = full;
		}
	}
}

/* --- admission ---------------------------------------------------------------------------------------------------- */

static void lookup(struct kv_engine *engine, uint32_t id, struct kv_fit *fit)
{
	const struct kv_live *live = &engine->live[id];
	struct kv_path path = kv_live_path(live);
	bool swapped = live->swapped_tokens > 0;
	uint32_t most = swapped ? live->swapped_tokens : live->prompt + live->generated - 1;

	fit->hit = (struct kv_hit){0};
	if (engine->caching)
		kv_prefix_lookup(&engine->cache, engine->config, &path, most / engine->config->block_size, &fit->hit);
	fit->hit_tokens = fit->hit.blocks * engine->config->block_size;
	fit->computed = swapped ? live->swapped_tokens : fit->hit_tokens;
}

static void take(struct kv_engine *engine, uint32_t id, const struct kv_fit *fit)
{
	struct kv_live *live = &engine->live[id];
	struct kv_path path = kv_live_path(live);
	uint32_t end = fit->computed + fit->tokens;

	live->computed = fit->computed;
	live->junction = fit->hit.full_blocks > fit->hit.blocks ? fit->hit.full_blocks : 0;
	for (uint32_t g = 0; g < engine->config->groups && fit->hit.blocks > 0; g++) {
		kv_table_hit(&engine->cache, id, g, &path, fit->hit.from[g], fit->hit.blocks);
		if (!kv_tables_windowed(engine, g))
			engine->table_blocks += fit->hit.blocks;
	}
	kv_tables_commit(engine, id, 1);
	take_blocks(engine, id, kv_tables_missing(engine, id, end));
	kv_tables_extend(engine, id, end, end - fit->hit_tokens);
	register_full_blocks(engine, id, end);
}

static void release(struct kv_engine *engine, uint32_t id, bool ended)
{
	struct kv_live *live = &engine->live[id];
	uint64_t filled = live->computed + live->scheduled;

	(void)ended;
	kv_tables_commit(engine, id, -1);
	for (uint32_t g = 0; g < engine->config->groups; g++) {
		struct kv_table *table = kv_table_of(&engine->cache, id, g);

		kv_table_release(&engine->cache, id, g, table->blocks,
		                 filled - (uint64_t)table->trimmed * engine->config->block_size, live->prompt);
	}
	kv_store_uncount_waste(engine, live);
	kv_table_reset(&engine->cache, id);
}

/* Blank blocks of a request: its table less what its holds cover, which must lie inside it in ascending order. */
static uint64_t unregistered(struct kv_engine *engine, uint32_t id)
{
	uint64_t blank = kv_tables_held(engine, id);

	for (uint32_t g = 0; g < engine->cache.groups; g++) {
		const struct kv_table *table = kv_table_of(&engine->cache, id, g);
		uint32_t at = table->trimmed;
		uint32_t held = 0;

		for (uint32_t h = table->first_hold; h != KV_NONE; h = engine->cache.hold[h].next) {
			const struct kv_extent *extent = &engine->cache.extent[engine->cache.hold[h].extent];

			KV_ASSERT(engine->cache.hold[h].request == id && extent->lo >= at &&
			                  extent->hi <= table->blocks,
			          "hold [%u, %u) in the table of request %" PRIu64, extent->lo, extent->hi,
			          engine->live[id].index);
			at = extent->hi;
			held += extent->hi - extent->lo;
		}
		KV_ASSERT(held == table->held, "request %" PRIu64 " holds %u blocks, counted %u",
		          engine->live[id].index, held, table->held);
		blank -= held;
	}
	return blank;
}

static void count(struct kv_engine *engine, struct kv_cache_count *count)
{
	kv_cache_count(&engine->cache, count);
}

const struct kv_store kv_store_paged = {
	.need = kv_tables_need, .lookup = lookup, .has_room = kv_tables_have_room, .take = take, .grow = grow,
	.next = next, .consume = consume, .generated = generated, .waste = kv_tables_waste, .held = kv_tables_held,
	.count = count, .unregistered = unregistered, .release = release, .swaps = true
};
