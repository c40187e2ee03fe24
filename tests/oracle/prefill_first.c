#include "config.h"

#include "tests/oracle/internal.h"

static bool is_prefill(const struct oracle_request *request)
{
	return request->generated == 0 || request->recomputing || oracle_known_tokens(request) - request->computed > 1;
}

static struct oracle_request *next_prefill(const struct oracle_engine *engine)
{
	for (size_t i = 0; i < engine->running.count; i++) {
		struct oracle_request *request = engine->running.items[i];

		if (is_prefill(request) && request->scheduled == 0)
			return request;
	}
	return NULL;
}

static void schedule_prefills(struct oracle_engine *engine, uint64_t *budget)
{
	struct oracle_request *request;

	while (*budget > 0 && (request = next_prefill(engine)) != NULL) {
		uint64_t tokens = oracle_known_tokens(request) - request->computed;

		tokens = kv_min(oracle_below_threshold(engine, tokens), *budget);
		if (oracle_grow_or_preempt(engine, request, tokens, budget))
			oracle_schedule(engine, request, tokens, budget);
	}
}

/* True if there is room for one more token of every running request. */
static bool decodes_fit(const struct oracle_engine *engine)
{
	uint64_t need = 0;

	for (size_t i = 0; i < engine->running.count && !oracle_is_contiguous(engine); i++) {
		const struct oracle_request *request = engine->running.items[i];

		need += oracle_missing_blocks(engine, request, request->computed + 1);
	}
	return need <= oracle_free_blocks(engine);
}

/* Takes the blocks of whole requests until the others can decode; the last one is given up. */
static void retract(struct oracle_engine *engine)
{
	for (size_t i = 0; i < engine->running.count && !oracle_is_contiguous(engine); i++)
		oracle_trim(engine, engine->running.items[i]);
	while (!decodes_fit(engine)) {
		struct oracle_request *last = engine->running.items[0];

		if (engine->running.count > 1) {
			oracle_preempt(engine, oracle_choose_victim(engine));
			continue;
		}
		last->given_up = true;
		last->give_up_reason = KV_REASON_CAN_NEVER_FIT;
		return;
	}
}

/* preemptions: when the step began. */
static void schedule_decodes(struct oracle_engine *engine, uint64_t preemptions)
{
	uint64_t budget;

	engine->unit = 1;
	retract(engine);
	budget = engine->running.count;
	if (budget > 0 && !((struct oracle_request *)engine->running.items[0])->given_up)
		oracle_schedule_running(engine, &budget);
	oracle_tell_running(engine, engine->state.preemptions > preemptions);
	if (engine->state.preemptions > preemptions)
		engine->reason = KV_WAIT_BLOCKS;
}

void oracle_schedule_prefill_first(struct oracle_engine *engine)
{
	const struct kv_engine_config *config = engine->config;
	uint64_t budget = config->enable_chunked_prefill ? config->max_num_batched_tokens : UINT64_MAX;
	uint64_t preemptions = engine->state.preemptions;

	engine->unit = config->block_size;
	engine->prefill_left = config->max_prefill_tokens;
	schedule_prefills(engine, &budget);
	if (engine->state.preemptions > preemptions) {
		engine->reason = KV_WAIT_BLOCKS;
	} else {
		oracle_schedule_waiting(engine, &budget);
		engine->full |= engine->waiting.count > 0 && engine->running.count > 0 &&
		                engine->reason != KV_WAIT_TOKEN_BUDGET;
		engine->full_reason = engine->reason;
	}
	if (!oracle_anybody_scheduled(engine))
		schedule_decodes(engine, preemptions);
}
