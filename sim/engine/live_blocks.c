/* What a live request needs, takes and gives up: vLLM's allocate_slots and free (engine-semantics 1.5, 1.7, 1.9, 1.10) for
 * paged allocation, one chunk of the buddy allocator for contiguous reservation. */
#include "config.h"

#include "sim/engine/live_blocks.h"

#include "sim/cache/block_table.h"
#include "sim/cache/prefix_lookup.h"
#include "sim/engine/live.h"

static uint64_t blocks_for(const struct kv_engine *engine, uint64_t tokens)
{
	return kv_ceil_div(tokens, engine->config->block_size);
}

static bool is_windowed(const struct kv_engine *engine, uint32_t group)
{
	return engine->config->group[group].kind == KV_GROUP_SLIDING_WINDOW;
}

/* The waste of a chunk: what lies beyond the request's own end. Of a paged table: the end of its last block, per group. */
void kv_live_count_waste(struct kv_engine *engine, struct kv_live *live)
{
	uint64_t end = kv_live_last_block_begin(engine, live) + engine->config->block_size;

	live->waste_counted = true;
	if (engine->contiguous)
		engine->state.waste_slots += live->chunk_blocks * engine->config->block_size - live->final;
	else
		engine->state.waste_slots += engine->cache.groups * (end - live->final);
}

static void uncount_waste(struct kv_engine *engine, struct kv_live *live)
{
	uint64_t before = engine->state.waste_slots;

	if (!live->waste_counted)
		return;
	engine->state.waste_slots = 0;
	kv_live_count_waste(engine, live);
	engine->state.waste_slots = before - engine->state.waste_slots;
	live->waste_counted = false;
}

/* --- contiguous ------------------------------------------------------------------------------------------------------- */

static uint64_t reservation(const struct kv_engine *engine, const struct kv_live *live)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_ALLOCATION];
	struct kv_request_view view;

	kv_live_view(engine, live, KV_POLICY_ALLOCATION, &view);
	return kv_max(1, blocks_for(engine, use->policy->hooks.allocation.reserve_tokens(use->state, &view,
	                                                                                 engine->config->max_model_len)));
}

static void chunk_take(struct kv_engine *engine, uint32_t id)
{
	struct kv_live *live = &engine->live[id];
	uint64_t blocks = reservation(engine, live);

	live->chunk = kv_buddy_take(engine->buddy, blocks);
	live->chunk_blocks = kv_buddy_chunk(blocks);
	kv_cache_allocate(&engine->cache, id, live->chunk_blocks);
	kv_live_count_waste(engine, live);
}

static void chunk_give(struct kv_engine *engine, uint32_t id)
{
	struct kv_live *live = &engine->live[id];

	kv_buddy_give(engine->buddy, live->chunk, live->chunk_blocks);
	engine->cache.pinned -= live->chunk_blocks;
	engine->cache.blank += live->chunk_blocks;
	engine->cache.filled_slots -= live->computed + live->scheduled;
	kv_charge_change(&engine->cache, id, -(int64_t)live->chunk_blocks);
	uncount_waste(engine, live);
	live->chunk_blocks = 0;
}

/* --- needs -------------------------------------------------------------------------------------------------------------- */

/* Blocks of all groups for `tokens` tokens of a request that holds none, its hits taken off, the evictable ones among them
 * added because they leave the free blocks too (engine-semantics 1.5 and 1.9). */
static uint64_t need_after_hit(const struct kv_engine *engine, uint64_t tokens, const struct kv_hit *hit, bool capped)
{
	uint64_t need = hit->evictable;

	for (uint32_t g = 0; g < engine->config->groups; g++) {
		uint64_t blocks = blocks_for(engine, tokens);

		if (capped)
			blocks = kv_min(blocks, engine->config->admission_cap[g]);
		need += kv_sub_floor(blocks, hit->blocks);
	}
	return need;
}

static uint64_t running_growth(struct kv_engine *engine)
{
	uint64_t growth = engine->committed_blocks - engine->table_blocks;

	if (!engine->windowed)
		return growth;
	for (uint32_t i = 0; i < engine->running_length; i++)
		for (uint32_t g = 0; g < engine->config->groups && engine->running[i] != KV_NONE; g++) {
			uint32_t id = engine->running[i];
			const struct kv_table *table = kv_table_of(&engine->cache, id, g);
			uint64_t most = kv_min(engine->config->admission_cap[g], blocks_for(engine, engine->live[id].max_total));

			if (is_windowed(engine, g))
				growth += kv_sub_floor(most, table->blocks - table->trimmed);
		}
	return growth;
}

/* A running request's part of committed_blocks, and what its table has of it. */
static void commit(struct kv_engine *engine, uint32_t id, int sign)
{
	for (uint32_t g = 0; g < engine->config->groups; g++)
		if (!is_windowed(engine, g) && !engine->contiguous) {
			uint64_t blocks = blocks_for(engine, engine->live[id].max_total);

			engine->committed_blocks += sign > 0 ? blocks : -blocks;
			engine->table_blocks -= sign > 0 ? 0 : kv_table_of(&engine->cache, id, g)->blocks;
		}
}

uint64_t kv_live_blocks_alone(const struct kv_engine *engine, const struct kv_live *live)
{
	uint64_t blocks = 0;

	if (engine->contiguous)
		return kv_buddy_chunk(reservation(engine, live));
	for (uint32_t g = 0; g < engine->config->groups; g++)
		blocks += kv_min(blocks_for(engine, live->final), engine->config->admission_cap[g]);
	return blocks;
}

/* In tokens, as the policy has it. */
static double reserved(const struct kv_engine *engine)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_ADMISSION];
	const struct kv_admission_hooks *hooks = &use->policy->hooks.admission;
	double tokens = 0;

	for (uint32_t at = 0; hooks->reserve != NULL && at < engine->running_length; at++) {
		const struct kv_live *live;
		struct kv_request_view view;

		if (engine->running[at] == KV_NONE)
			continue;
		live = &engine->live[engine->running[at]];
		kv_live_view(engine, live, KV_POLICY_ADMISSION, &view);
		view.fresh = live->admission_step == engine->steps_begun;
		tokens += hooks->reserve(use->state, &view, engine->config->block_size);
	}
	return tokens;
}

static bool admission_admits(const struct kv_engine *engine, const struct kv_live *live, const struct kv_admission_view *view)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_ADMISSION];
	struct kv_admission_view full = *view;

	kv_live_view(engine, live, KV_POLICY_ADMISSION, &full.request);
	full.pool_blocks = engine->config->usable_blocks;
	full.block_tokens = engine->config->block_size;
	full.groups = engine->contiguous ? 1 : engine->config->groups;
	full.fresh = full.running > 0 ? engine->fresh : 0;
	full.reserved = full.running > 0 ? reserved(engine) : 0;
	return use->policy->hooks.admission.admit(use->state, &full) == KV_ADMIT;
}

bool kv_live_is_impossible(const struct kv_engine *engine, const struct kv_live *live)
{
	const struct kv_engine_config *config = engine->config;
	struct kv_hit none = {0};
	struct kv_admission_view view = {.free_blocks = config->usable_blocks};
	uint64_t first = live->prompt;

	/* The largest chunk of an empty buddy allocator is its highest power of two, so this covers it too. */
	if (kv_live_blocks_alone(engine, live) > config->usable_blocks)
		return true;
	if (engine->contiguous) {
		view.need_whole = view.need_full = kv_live_blocks_alone(engine, live);
	} else {
		view.need_whole = need_after_hit(engine, live->prompt, &none, true);
		view.need_full = need_after_hit(engine, live->max_total, &none, true);
	}
	if (config->long_prefill_token_threshold != 0)
		first = kv_min(first, config->long_prefill_token_threshold);
	if (!config->enable_chunked_prefill && first > config->max_num_batched_tokens)
		return true;
	return !admission_admits(engine, live, &view);
}

uint64_t kv_live_held(struct kv_engine *engine, uint32_t id)
{
	uint64_t held = engine->live[id].chunk_blocks;

	if (engine->contiguous)
		return held;
	for (uint32_t g = 0; g < engine->config->groups; g++) {
		const struct kv_table *table = kv_table_of(&engine->cache, id, g);

		held += table->blocks - table->trimmed;
	}
	if (engine->live[id].steady) {
		const struct kv_live *live = &engine->live[id];

		held += (engine->growth_steps[live->steady_phase] - live->growth_steps) * engine->cache.groups;
	}
	return held;
}

/* --- registration ------------------------------------------------------------------------------------------------------- */

static void register_blocks(struct kv_engine *engine, uint32_t id, uint32_t g, uint32_t from, uint32_t to)
{
	struct kv_path path = kv_live_path(&engine->live[id]);

	if (from < to)
		kv_table_register(&engine->cache, id, g, &path, from, to);
}

/* With retention 0 a windowed group keeps only the window before the end of the prompt and the one before the junction where
 * this request was seen to branch off (engine-semantics 1.10). */
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
		if (is_windowed(engine, g) && engine->config->retention_interval != KV_RETAIN_ALL)
			register_retained(engine, id, g, table->registered, full);
		else
			register_blocks(engine, id, g, table->registered, full);
		table->registered = full;
	}
}

/* --- growing ------------------------------------------------------------------------------------------------------------ */

/* Gives up the blocks that fell out of their window: all their tokens are older than computed - W + 1. */
static void trim_windows(struct kv_engine *engine, uint32_t id)
{
	uint32_t computed = engine->live[id].computed;

	for (uint32_t g = 0; g < engine->config->groups; g++) {
		struct kv_table *table = kv_table_of(&engine->cache, id, g);
		uint32_t window = engine->config->group[g].window;
		uint32_t behind;

		if (!is_windowed(engine, g) || computed + 1 <= window)
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
	uint64_t evicted = kv_cache_allocate(&engine->cache, id, blocks);

	if (evicted != 0 && engine->sink->event != NULL)
		kv_engine_event(engine, KV_EVENT_EVICT, id, engine->step_start, 0, evicted, "");
}

/* After blocks for all tokens up to `tokens` were taken. */
static void extend_tables(struct kv_engine *engine, uint32_t id, uint32_t tokens, uint32_t scheduled)
{
	struct kv_live *live = &engine->live[id];
	uint32_t blocks = (uint32_t)blocks_for(engine, tokens);

	for (uint32_t g = 0; g < engine->config->groups; g++) {
		struct kv_table *table = kv_table_of(&engine->cache, id, g);

		if (!is_windowed(engine, g))
			engine->table_blocks += blocks - table->blocks;
		table->blocks = blocks;
	}
	engine->cache.filled_slots += (uint64_t)scheduled * engine->cache.groups;
	register_full_blocks(engine, id, tokens);
	if (!live->waste_counted && tokens > kv_live_last_block_begin(engine, live))
		kv_live_count_waste(engine, live);
}

bool kv_live_grow(struct kv_engine *engine, uint32_t id, uint32_t tokens)
{
	uint32_t end = engine->live[id].computed + tokens;
	uint64_t need = 0;

	if (engine->contiguous) {
		engine->cache.filled_slots += tokens;
		return true;
	}
	if (engine->windowed)
		trim_windows(engine, id);
	for (uint32_t g = 0; g < engine->config->groups; g++)
		need += kv_sub_floor(blocks_for(engine, end), kv_table_of(&engine->cache, id, g)->blocks);
	if (need > kv_cache_free_blocks(&engine->cache))
		return false;
	if (need > 0)
		take_blocks(engine, id, need);
	extend_tables(engine, id, end, tokens);
	return true;
}

/* --- admission ---------------------------------------------------------------------------------------------------------- */

void kv_live_lookup(struct kv_engine *engine, uint32_t id, struct kv_fit *fit)
{
	const struct kv_live *live = &engine->live[id];
	struct kv_path path = kv_live_path(live);
	uint32_t known = live->prompt + live->generated;

	fit->hit = (struct kv_hit){0};
	if (engine->caching)
		kv_prefix_lookup(&engine->cache, engine->config, &path, (known - 1) / engine->config->block_size, &fit->hit);
	fit->hit_tokens = fit->hit.blocks * engine->config->block_size;
}

static bool fits_contiguous(struct kv_engine *engine, struct kv_live *live)
{
	uint64_t blocks = reservation(engine, live);
	struct kv_admission_view view = {
		.need_whole = kv_buddy_chunk(blocks), .need_full = kv_buddy_chunk(blocks),
		.free_blocks = kv_cache_free_blocks(&engine->cache),
		.watermark = engine->running_count > 0 ? engine->config->watermark_blocks : 0,
		.running = engine->running_count
	};

	return admission_admits(engine, live, &view) && view.need_whole + view.watermark <= view.free_blocks
	       && kv_buddy_fits(engine->buddy, blocks);
}

bool kv_live_fits(struct kv_engine *engine, uint32_t id, const struct kv_fit *fit)
{
	struct kv_live *live = &engine->live[id];
	struct kv_admission_view view;
	uint64_t need_now;

	if (engine->contiguous)
		return fits_contiguous(engine, live);
	view = (struct kv_admission_view){
		.need_whole = need_after_hit(engine, live->prompt + live->generated, &fit->hit, true),
		.need_full = need_after_hit(engine, live->max_total, &fit->hit, true),
		.free_blocks = kv_cache_free_blocks(&engine->cache),
		.watermark = engine->running_count > 0 ? engine->config->watermark_blocks : 0,
		.running_growth = running_growth(engine),
		.running = engine->running_count,
		.hit_tokens = fit->hit_tokens,
		.hit_evictable = fit->hit.evictable
	};
	need_now = need_after_hit(engine, fit->hit_tokens + fit->tokens, &fit->hit, false);
	return admission_admits(engine, live, &view) && need_now + view.watermark <= view.free_blocks;
}

void kv_live_take(struct kv_engine *engine, uint32_t id, const struct kv_fit *fit)
{
	struct kv_live *live = &engine->live[id];
	struct kv_path path = kv_live_path(live);
	uint64_t need = 0;

	live->computed = fit->hit_tokens;
	live->junction = fit->hit.full_blocks > fit->hit.blocks ? fit->hit.full_blocks : 0;
	if (engine->contiguous) {
		chunk_take(engine, id);
		engine->cache.filled_slots += fit->tokens;
		return;
	}
	for (uint32_t g = 0; g < engine->config->groups; g++) {
		if (fit->hit.blocks > 0)
			kv_table_hit(&engine->cache, id, g, &path, fit->hit.from[g], fit->hit.blocks);
		if (!is_windowed(engine, g))
			engine->table_blocks += fit->hit.blocks;
		need += blocks_for(engine, fit->hit_tokens + fit->tokens) - fit->hit.blocks;
	}
	commit(engine, id, 1);
	if (need > 0)
		take_blocks(engine, id, need);
	extend_tables(engine, id, fit->hit_tokens + fit->tokens, fit->tokens);
}

void kv_live_release(struct kv_engine *engine, uint32_t id)
{
	struct kv_live *live = &engine->live[id];
	uint64_t filled = live->computed + live->scheduled;

	if (engine->contiguous) {
		chunk_give(engine, id);
		return;
	}
	commit(engine, id, -1);
	for (uint32_t g = 0; g < engine->config->groups; g++) {
		struct kv_table *table = kv_table_of(&engine->cache, id, g);

		kv_table_release(&engine->cache, id, g, table->blocks,
		                 filled - (uint64_t)table->trimmed * engine->config->block_size, live->prompt);
	}
	uncount_waste(engine, live);
	for (uint32_t g = 0; g < engine->config->groups; g++) {
		struct kv_table *table = kv_table_of(&engine->cache, id, g);

		*table = (struct kv_table){.first_hold = KV_NONE, .last_hold = KV_NONE};
	}
}
