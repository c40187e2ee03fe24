#include "config.h"

#include "sim/engine/store.h"

#include "sim/engine/live.h"
#include "sim/engine/store_tables.h"

const struct kv_store *kv_store_for(const struct kv_engine_config *config)
{
	if (config->policy[KV_POLICY_ALLOCATION].policy->hooks.allocation.contiguous)
		return &kv_store_contiguous;
	switch (config->policy[KV_POLICY_PREFIX].policy->hooks.prefix.form) {
	case KV_PREFIX_RADIX: return &kv_store_radix;
	case KV_PREFIX_PARTIAL: return &kv_store_partial;
	default: return &kv_store_paged;
	}
}

static const struct kv_hit no_hit;

uint64_t kv_store_blocks_alone(const struct kv_engine *engine, const struct kv_live *live)
{
	return engine->store->need(engine, live, live->final, &no_hit);
}

void kv_store_count_waste(struct kv_engine *engine, struct kv_live *live)
{
	live->waste_counted = true;
	engine->state.waste_slots += engine->store->waste(engine, live);
}

void kv_store_uncount_waste(struct kv_engine *engine, struct kv_live *live)
{
	if (live->waste_counted)
		engine->state.waste_slots -= engine->store->waste(engine, live);
	live->waste_counted = false;
}

/* --- admission ---------------------------------------------------------------------------------------------------- */

/* Those that a request has held longest. */
static uint64_t own_blocks(struct kv_cache *cache, uint32_t id, uint32_t group)
{
	const struct kv_table *table = kv_table_of(cache, id, group);
	uint64_t own = table->blocks - table->trimmed;

	for (uint32_t h = table->first_hold; h != KV_NONE; h = cache->hold[h].next) {
		const struct kv_extent *extent = &cache->extent[cache->hold[h].extent];

		if (extent->first_hold != h)
			own -= extent->hi - extent->lo;
	}
	return own;
}

static uint64_t running_growth(struct kv_engine *engine)
{
	uint64_t growth = engine->committed_blocks - engine->table_blocks;

	if (!engine->windowed)
		return growth;
	for (uint32_t i = 0; i < engine->running_length; i++)
		for (uint32_t g = 0; g < engine->config->groups && engine->running[i] != KV_NONE; g++) {
			uint32_t id = engine->running[i];
			uint64_t most = kv_min(engine->config->admission_cap[g],
			                       kv_tables_blocks_for(engine, engine->live[id].max_total));

			if (kv_tables_windowed(engine, g))
				growth += kv_sub_floor(most, own_blocks(&engine->cache, id, g));
		}
	return growth;
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
		view.fresh = live->admission_step == engine->steps_begun || (!engine->decoding && live->scheduled > 0);
		tokens += hooks->reserve(use->state, &view, engine->config->block_size);
	}
	return tokens;
}

static bool admission_admits(const struct kv_engine *engine, const struct kv_live *live,
                             const struct kv_admission_view *view)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_ADMISSION];
	struct kv_admission_view full = *view;

	kv_live_view(engine, live, KV_POLICY_ADMISSION, &full.request);
	full.pool_blocks = engine->config->usable_blocks;
	full.block_tokens = engine->config->block_size;
	full.groups = engine->token_slots;
	full.fresh = full.running > 0 ? engine->fresh : 0;
	full.reserved = full.running > 0 ? reserved(engine) : 0;
	return use->policy->hooks.admission.admit(use->state, &full) == KV_ADMIT;
}

bool kv_store_is_impossible(const struct kv_engine *engine, const struct kv_live *live)
{
	const struct kv_engine_config *config = engine->config;
	struct kv_admission_view view = {
		.need_whole = engine->store->need(engine, live, live->prompt, &no_hit),
		.need_full = engine->store->need(engine, live, live->max_total, &no_hit),
		.free_blocks = config->usable_blocks
	};
	uint64_t first = live->prompt;

	/* The largest chunk of an empty buddy allocator is its highest power of two, so this covers it too. */
	if (kv_store_blocks_alone(engine, live) > config->usable_blocks)
		return true;
	if (config->long_prefill_token_threshold != 0)
		first = kv_min(first, config->long_prefill_token_threshold);
	if (!config->enable_chunked_prefill && config->step_order == KV_STEPS_MIXED &&
	    first > config->max_num_batched_tokens)
		return true;
	return !admission_admits(engine, live, &view);
}

/* A block of a window that another request holds, too, does not become free when this one has passed it: it counts for
 * the one that has held it longest. So what is hit of such blocks saves nothing in the end. */
static uint64_t most_needed(const struct kv_engine *engine, const struct kv_live *live, const struct kv_hit *hit)
{
	uint64_t need = engine->store->need(engine, live, live->max_total, hit) - hit->evictable_windowed;

	for (uint32_t g = 0; engine->windowed && g < engine->config->groups; g++) {
		uint64_t most = kv_min(engine->config->admission_cap[g], kv_tables_blocks_for(engine, live->max_total));

		if (kv_tables_windowed(engine, g))
			need += most - kv_sub_floor(most, hit->blocks);
	}
	return need;
}

bool kv_store_fits(struct kv_engine *engine, uint32_t id, const struct kv_fit *fit)
{
	const struct kv_live *live = &engine->live[id];
	struct kv_admission_view view = {
		.need_whole = engine->store->need(engine, live, live->prompt + live->generated, &fit->hit),
		.need_full = most_needed(engine, live, &fit->hit),
		.free_blocks = kv_cache_free_blocks(&engine->cache),
		.watermark = engine->running_count > 0 ? engine->config->watermark_blocks : 0,
		.running_growth = running_growth(engine),
		.running = engine->running_count,
		.hit_tokens = fit->hit_tokens,
		.hit_evictable = fit->hit.evictable
	};

	if (live->swapped_tokens == 0 && !admission_admits(engine, live, &view))
		return false;
	return engine->store->has_room(engine, id, fit, view.watermark);
}
