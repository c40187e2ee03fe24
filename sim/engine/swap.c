/* Preemption by swap: what a victim has computed goes to host memory and comes back. */
#include "config.h"

#include "sim/engine/swap.h"

#include <inttypes.h>

/* Whole blocks of all groups, the partly filled last ones too. */
static uint64_t host_blocks(const struct kv_engine *engine, uint32_t tokens)
{
	return engine->config->groups * kv_ceil_div(tokens, engine->config->block_size);
}

bool kv_swap_has_room(const struct kv_engine *engine, const struct kv_live *live)
{
	return engine->state.swap.blocks + host_blocks(engine, live->computed) <= engine->config->swap.blocks;
}

void kv_swap_out(struct kv_engine *engine, uint32_t id)
{
	struct kv_live *live = &engine->live[id];
	struct kv_swap_state *state = &engine->state.swap;
	uint64_t blocks = host_blocks(engine, live->computed);

	kv_engine_event(engine, KV_EVENT_SWAP_OUT, id, engine->step_start, live->computed, blocks, "");
	state->outs++;
	state->requests++;
	state->blocks += blocks;
	state->blocks_out += blocks;
	engine->copied_blocks += blocks;
	live->swaps++;
	live->swapped_tokens = live->computed;
}

static void leave_host(struct kv_engine *engine, struct kv_live *live)
{
	engine->state.swap.requests--;
	engine->state.swap.blocks -= host_blocks(engine, live->swapped_tokens);
	live->swapped_tokens = 0;
}

void kv_swap_in(struct kv_engine *engine, uint32_t id, uint64_t found)
{
	struct kv_live *live = &engine->live[id];
	struct kv_swap_state *state = &engine->state.swap;
	uint64_t copied = host_blocks(engine, live->swapped_tokens) - found;

	kv_engine_event(engine, KV_EVENT_SWAP_IN, id, engine->step_start, live->swapped_tokens, copied, "");
	state->ins++;
	state->blocks_found += found;
	state->blocks_in += copied;
	engine->copied_blocks += copied;
	leave_host(engine, live);
}

void kv_swap_forget(struct kv_engine *engine, struct kv_live *live)
{
	engine->state.swap.blocks_lost += host_blocks(engine, live->swapped_tokens);
	leave_host(engine, live);
}

void kv_swap_check(const struct kv_engine *engine)
{
	const struct kv_swap_state *state = &engine->state.swap;
	uint64_t requests = 0, blocks = 0;

	for (uint32_t id = 0; id < engine->lives; id++) {
		const struct kv_live *live = &engine->live[id];

		if (!live->in_use || live->swapped_tokens == 0)
			continue;
		KV_ASSERT(live->place == KV_NONE, "request %" PRIu64 " runs and is swapped out", live->index);
		requests++;
		blocks += host_blocks(engine, live->swapped_tokens);
	}
	KV_ASSERT(requests == state->requests && blocks == state->blocks,
	          "%" PRIu64 " requests swapped out with %" PRIu64 " blocks, counted %" PRIu64 " with %" PRIu64,
	          requests, blocks, state->requests, state->blocks);
}
