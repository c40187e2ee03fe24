#include "config.h"

#include "tests/oracle/internal.h"

/* What a request's tokens take there. */
static uint64_t host_blocks(const struct oracle_engine *engine, uint64_t tokens)
{
	return engine->config->groups * kv_ceil_div(tokens, engine->config->block_size);
}

bool oracle_host_has_room(const struct oracle_engine *engine, const struct oracle_request *request)
{
	return engine->state.swap.blocks + host_blocks(engine, request->computed) <= engine->config->swap.blocks;
}

void oracle_swap_out(struct oracle_engine *engine, struct oracle_request *request)
{
	uint64_t blocks = host_blocks(engine, request->computed);

	oracle_emit(engine, KV_EVENT_SWAP_OUT, request, request->computed, blocks, "");
	engine->state.swap.outs++;
	engine->state.swap.requests++;
	engine->state.swap.blocks += blocks;
	engine->state.swap.blocks_out += blocks;
	engine->copied_blocks += blocks;
	request->record.swaps++;
	request->swapped_tokens = request->computed;
}

static void leave_host(struct oracle_engine *engine, struct oracle_request *request)
{
	engine->state.swap.requests--;
	engine->state.swap.blocks -= host_blocks(engine, request->swapped_tokens);
	request->swapped_tokens = 0;
}

void oracle_swap_in(struct oracle_engine *engine, struct oracle_request *request, uint64_t found)
{
	uint64_t copied = host_blocks(engine, request->swapped_tokens) - found;

	oracle_emit(engine, KV_EVENT_SWAP_IN, request, request->swapped_tokens, copied, "");
	engine->state.swap.ins++;
	engine->state.swap.blocks_found += found;
	engine->state.swap.blocks_in += copied;
	engine->copied_blocks += copied;
	leave_host(engine, request);
}

void oracle_lose_swapped(struct oracle_engine *engine, struct oracle_request *request)
{
	engine->state.swap.blocks_lost += host_blocks(engine, request->swapped_tokens);
	leave_host(engine, request);
}
