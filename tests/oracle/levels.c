#include "config.h"

#include "tests/oracle/internal.h"

#include "tests/oracle/tree.h"

/* A registered block is full, or will be when the step that fills it ends; any other has one holder. */
static uint64_t filled_slots_of_block(const struct oracle_engine *engine, const struct oracle_block *block)
{
	uint64_t size = engine->config->block_size;

	if (block->content != NULL)
		return size;
	return kv_min(size, kv_sub_floor(oracle_scheduled_end(block->holders.items[0]), block->depth * size));
}

/* Slots of the last block that the request will never fill, once it holds that block. */
static uint64_t waste_slots(const struct oracle_engine *engine, const struct oracle_request *request)
{
	uint64_t size = engine->config->block_size;
	uint64_t final = oracle_final_tokens(request);
	uint64_t waste = 0;

	if (oracle_has_tree(engine))
		return request->pages == kv_ceil_div(final, size) ? request->pages * size - final : 0;
	if (oracle_is_contiguous(engine))
		return request->chunk_blocks * size - final;
	for (uint32_t g = 0; g < engine->config->groups; g++)
		if (request->table[g].slots.count == kv_ceil_div(final, size))
			waste += request->table[g].slots.count * size - final;
	return waste;
}

static void count_waiting(struct oracle_engine *engine)
{
	uint64_t client = engine->state.waiting[KV_WAIT_CLIENT];
	uint64_t count = engine->waiting.count;

	memset(engine->state.waiting, 0, sizeof engine->state.waiting);
	engine->state.waiting[KV_WAIT_CLIENT] = client;
	if (engine->reason == KV_WAIT_BLOCKS && count > 0) {
		engine->state.waiting[KV_WAIT_BLOCKS] = 1;
		engine->state.waiting[KV_WAIT_HEAD_OF_LINE] = count - 1;
	} else {
		engine->state.waiting[engine->reason] = count;
	}
}

void oracle_engine_count(struct oracle_engine *engine)
{
	struct kv_state *state = &engine->state;
	uint64_t usable = engine->config->usable_blocks;

	state->cached_blocks = oracle_has_tree(engine) ? oracle_tree_cached(engine) :
	                                                 oracle_cache_cached(&engine->cache);
	state->pinned_blocks = usable - oracle_free_blocks(engine);
	state->free_blocks = usable - state->pinned_blocks - state->cached_blocks;
	state->evicted_blocks = engine->cache.evicted;
	state->running = engine->running.count;
	state->filled_slots = oracle_has_tree(engine) ? oracle_tree_filled(engine) : 0;
	state->waste_slots = 0;
	for (uint64_t i = 0; i < usable; i++)
		if (engine->cache.blocks[i].holders.count > 0)
			state->filled_slots += filled_slots_of_block(engine, &engine->cache.blocks[i]);
	for (size_t i = 0; i < engine->running.count; i++) {
		const struct oracle_request *request = engine->running.items[i];

		state->waste_slots += waste_slots(engine, request);
		if (oracle_is_contiguous(engine))
			state->filled_slots += oracle_scheduled_end(request);
	}
	count_waiting(engine);
}

static void charge_blocks(struct oracle_engine *engine, kv_time duration)
{
	oracle_tree_charge(engine, duration);
	for (uint64_t i = 0; i < engine->config->usable_blocks; i++) {
		const struct oracle_block *block = &engine->cache.blocks[i];

		if (block->holders.count > 0)
			((struct oracle_request *)block->holders.items[0])->record.block_ns += (kv_integral)duration;
	}
	for (size_t i = 0; i < engine->running.count; i++) {
		struct oracle_request *request = engine->running.items[i];

		request->record.block_ns += (kv_integral)duration * request->chunk_blocks;
	}
}

/* All of the queue waits for what stopped its head. */
static void charge_queue(struct oracle_engine *engine, kv_time duration)
{
	for (size_t i = 0; i < engine->waiting.count; i++) {
		struct oracle_request *request = engine->waiting.items[i];

		if (request->record.admitted == KV_TIME_NONE)
			request->record.queue_for[engine->reason] += duration;
	}
}

void oracle_engine_advance(struct oracle_engine *engine, kv_time time)
{
	oracle_engine_count(engine);
	charge_blocks(engine, time - engine->now);
	charge_queue(engine, time - engine->now);
	if (engine->sink->advance != NULL)
		engine->sink->advance(engine->sink->self, &engine->state, time - engine->zero);
	engine->now = time;
}
