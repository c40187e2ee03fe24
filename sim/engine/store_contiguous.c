/* One piece of the pool a request, taken when it is admitted: a chunk of a buddy allocator. Nothing is shared. */
#include "config.h"

#include "sim/cache/block_table.h"
#include "sim/cache/buddy.h"
#include "sim/engine/live.h"
#include "sim/engine/store.h"

static void init(struct kv_engine *engine)
{
	engine->store_state = kv_buddy_create(engine->config->usable_blocks);
}

static void fini(struct kv_engine *engine)
{
	kv_buddy_free(engine->store_state);
}

static uint64_t reservation(const struct kv_engine *engine, const struct kv_live *live)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_ALLOCATION];
	struct kv_request_view view;
	uint64_t tokens;

	kv_live_view(engine, live, KV_POLICY_ALLOCATION, &view);
	tokens = use->policy->hooks.allocation.reserve_tokens(use->state, &view, engine->config->max_model_len);
	return kv_max(1, kv_ceil_div(tokens, engine->config->block_size));
}

static uint64_t need(const struct kv_engine *engine, const struct kv_live *live, uint64_t tokens,
                     const struct kv_hit *hit)
{
	(void)tokens;
	(void)hit;
	return kv_buddy_chunk(reservation(engine, live));
}

static void lookup(struct kv_engine *engine, uint32_t id, struct kv_fit *fit)
{
	(void)engine;
	(void)id;
	*fit = (struct kv_fit){0};
}

static bool has_room(struct kv_engine *engine, uint32_t id, const struct kv_fit *fit, uint64_t watermark)
{
	uint64_t blocks = reservation(engine, &engine->live[id]);

	(void)fit;
	return kv_buddy_chunk(blocks) + watermark <= kv_cache_free_blocks(&engine->cache)
	       && kv_buddy_fits(engine->store_state, blocks);
}

static void take(struct kv_engine *engine, uint32_t id, const struct kv_fit *fit)
{
	struct kv_live *live = &engine->live[id];
	uint64_t blocks = reservation(engine, live);

	live->computed = 0;
	live->chunk = kv_buddy_take(engine->store_state, blocks);
	live->chunk_blocks = kv_buddy_chunk(blocks);
	kv_cache_allocate(&engine->cache, id, live->chunk_blocks);
	kv_store_count_waste(engine, live);
	engine->cache.filled_slots += fit->tokens;
}

static bool grow(struct kv_engine *engine, uint32_t id, uint32_t tokens)
{
	(void)id;
	engine->cache.filled_slots += tokens;
	return true;
}

/* What lies beyond the request's own end. */
static uint64_t waste(const struct kv_engine *engine, const struct kv_live *live)
{
	return live->chunk_blocks * engine->config->block_size - live->final;
}

static uint64_t held(struct kv_engine *engine, uint32_t id)
{
	return engine->live[id].chunk_blocks;
}

static void count(struct kv_engine *engine, struct kv_cache_count *count)
{
	kv_cache_count(&engine->cache, count);
}

static void release(struct kv_engine *engine, uint32_t id, bool ended)
{
	struct kv_live *live = &engine->live[id];

	(void)ended;
	kv_buddy_give(engine->store_state, live->chunk, live->chunk_blocks);
	engine->cache.pinned -= live->chunk_blocks;
	engine->cache.blank += live->chunk_blocks;
	engine->cache.filled_slots -= live->computed + live->scheduled;
	kv_charge_change(&engine->cache, id, -(int64_t)live->chunk_blocks);
	kv_store_uncount_waste(engine, live);
	live->chunk_blocks = 0;
}

const struct kv_store kv_store_contiguous = {
	.init = init, .fini = fini, .need = need, .lookup = lookup, .has_room = has_room, .take = take, .grow = grow,
	.whole = true, .one_slot = true, .waste = waste, .held = held, .count = count,
	.unregistered = held, .release = release
};
