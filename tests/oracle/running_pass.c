#include "config.h"

#include "tests/oracle/internal.h"

struct oracle_request *oracle_choose_victim(const struct oracle_engine *engine)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_PREEMPTION];
	struct oracle_request *victim = engine->running.items[engine->running.count - 1];
	struct kv_rank worst = {0, 0};

	if (use->policy->hooks.preemption.victim_rank == NULL)
		return victim;
	victim = NULL;
	for (size_t i = 0; i < engine->running.count; i++) {
		struct oracle_request *request = engine->running.items[i];
		struct kv_request_view view = oracle_view_of(request, use->policy);
		struct kv_rank rank = use->policy->hooks.preemption.victim_rank(use->state, &view);
		bool equal = victim != NULL && !kv_rank_less(rank, worst) && !kv_rank_less(worst, rank);

		if (victim == NULL || kv_rank_less(worst, rank) || (equal && request->index > victim->index)) {
			victim = request;
			worst = rank;
		}
	}
	return victim;
}

static void requeue(struct oracle_engine *engine, struct oracle_request *victim)
{
	if (victim->swapped_tokens > 0) {
		oracle_insert_swapped(engine, victim);
	} else if (engine->config->policy[KV_POLICY_SCHEDULING].policy->hooks.scheduling.requeue_front) {
		oracle_list_insert(&engine->waiting, engine->state.swap.requests, victim);
		engine->returned++;
	} else {
		oracle_insert_by_rank(engine, victim, 0, 0);
	}
}

void oracle_preempt(struct oracle_engine *engine, struct oracle_request *victim)
{
	bool swaps = kv_policy_swaps(&engine->config->policy[KV_POLICY_PREEMPTION]);
	bool swapped = swaps && oracle_host_has_room(engine, victim);
	bool host_full = swaps && !swapped;

	oracle_emit(engine, KV_EVENT_PREEMPT, victim, victim->computed, oracle_held_blocks(engine, victim),
	            host_full ? "host_full" : "");
	oracle_note(engine, victim, KV_PREEMPTED);
	if (swapped)
		oracle_swap_out(engine, victim);
	engine->state.swap.host_full += host_full;
	oracle_list_remove(&engine->running, victim);
	engine->full = false;
	oracle_free_request(engine, victim, false);
	victim->computed = 0;
	victim->scheduled = 0;
	victim->generated_before = victim->generated;
	victim->was_preempted = true;
	victim->preempted_at = engine->now;
	victim->record.preemptions++;
	engine->state.preemptions++;
	requeue(engine, victim);
}

/* True if this is the second time that the request gives way to nobody without anybody having got a token. */
static bool is_livelock(struct oracle_engine *engine, struct oracle_request *victim)
{
	if (engine->running.count != 1)
		return false;
	return ++victim->lone_preemptions == 2;
}

static uint64_t charge(const struct oracle_engine *engine, uint64_t tokens)
{
	return kv_ceil_div(tokens, engine->unit) * engine->unit;
}

void oracle_schedule(struct oracle_engine *engine, struct oracle_request *request, uint64_t tokens, uint64_t *budget)
{
	request->scheduled = tokens;
	*budget -= charge(engine, tokens);
	engine->prefill_left = kv_sub_floor(engine->prefill_left, charge(engine, tokens));
}

bool oracle_grow_or_preempt(struct oracle_engine *engine, struct oracle_request *request, uint64_t tokens,
                            uint64_t *budget)
{
	while (!oracle_grow(engine, request, tokens)) {
		struct oracle_request *victim = oracle_choose_victim(engine);

		if (victim == request && is_livelock(engine, victim))
			engine->livelocked = victim;
		*budget += charge(engine, victim->scheduled);
		oracle_preempt(engine, victim);
		if (victim == request)
			return false;
	}
	return true;
}

void oracle_schedule_running(struct oracle_engine *engine, uint64_t *budget)
{
	for (size_t i = 0; i < engine->running.count && *budget > 0;) {
		struct oracle_request *request = engine->running.items[i];
		uint64_t tokens = oracle_known_tokens(request) - request->computed;

		tokens = kv_min(oracle_below_threshold(engine, tokens), *budget);
		if (!oracle_grow_or_preempt(engine, request, tokens, budget))
			return;
		oracle_schedule(engine, request, tokens, budget);
		i = oracle_list_position(&engine->running, request) + 1;
	}
}
