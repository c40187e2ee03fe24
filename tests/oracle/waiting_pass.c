#include "config.h"

#include "tests/oracle/internal.h"

#include "tests/oracle/tree.h"

static void note_time_away(struct oracle_engine *engine, struct oracle_request *request)
{
	kv_time away = engine->now - request->preempted_at;

	request->record.preempted += away;
	if (request->generated == 0)
		request->record.preempted_before_first += away;
	if (request->swapped_tokens > 0)
		request->record.swapped += away;
}

/* It goes on where it was. */
static void note_return(struct oracle_engine *engine, struct oracle_request *request, uint64_t hit_blocks)
{
	request->computed = request->swapped_tokens;
	oracle_emit(engine, KV_EVENT_ADMIT, request, request->computed, oracle_held_blocks(engine, request), "swap_in");
	note_time_away(engine, request);
	oracle_swap_in(engine, request, hit_blocks * engine->config->groups);
	request->was_preempted = false;
}

static void note_admission(struct oracle_engine *engine, struct oracle_request *request, uint64_t hit)
{
	bool resumed = request->was_preempted;

	request->computed = hit;
	request->recomputing = resumed;
	oracle_emit(engine, KV_EVENT_ADMIT, request, hit, oracle_held_blocks(engine, request),
	            resumed ? "resume" : "first");
	if (resumed) {
		note_time_away(engine, request);
		engine->state.readmission_queried_tokens += oracle_caches(engine) ? oracle_known_tokens(request) : 0;
		engine->state.readmission_hit_tokens += hit;
	} else {
		request->record.admitted = engine->now;
		request->record.cached_tokens = (uint32_t)hit;
		engine->state.queried_tokens += oracle_caches(engine) ? oracle_known_tokens(request) : 0;
		engine->state.hit_tokens += hit;
	}
	request->was_preempted = false;
}

/* Beside others in a step of prompts: by its whole length, however little of it is computed now. */
static bool is_too_long_to_join(const struct oracle_engine *engine, uint64_t uncomputed)
{
	bool alone = true;

	for (size_t i = 0; i < engine->running.count; i++)
		alone &= ((const struct oracle_request *)engine->running.items[i])->scheduled == 0;
	return oracle_prompts_go_first(engine) && !alone && uncomputed >= engine->prefill_left;
}

/* What the request has without computing it: a hit, or what comes back from host memory. */
static uint64_t computed_at_start(const struct oracle_request *request, const struct oracle_lookup *lookup)
{
	return request->swapped_tokens > 0 ? request->swapped_tokens : lookup->hit_tokens;
}

/* How many tokens the head of the queue may start with, 0 if it may not: then engine->reason says why. The policy is
 * asked unless the request only comes back. */
static uint64_t first_step_of_head(struct oracle_engine *engine, const struct oracle_lookup *lookup, uint64_t budget)
{
	const struct oracle_request *head = engine->waiting.items[0];
	uint64_t watermark = engine->running.count > 0 ? engine->config->watermark_blocks : 0;
	uint64_t computed = computed_at_start(head, lookup);
	uint64_t uncomputed = oracle_known_tokens(head) - computed;
	uint64_t tokens = oracle_below_threshold(engine, uncomputed);

	engine->reason = KV_WAIT_TOKEN_BUDGET;
	if (!engine->config->enable_chunked_prefill && tokens > budget)
		return 0;
	tokens = kv_min(tokens, budget);
	if ((head->swapped_tokens == 0 &&
	     oracle_ask_admission(engine, head, lookup, oracle_free_blocks(engine), watermark,
	                          oracle_growth_of_running(engine), (uint32_t)engine->running.count) == KV_WAIT) ||
	    !oracle_has_room(engine, head, lookup, computed + tokens, watermark)) {
		engine->reason = KV_WAIT_BLOCKS;
		return 0;
	}
	return is_too_long_to_join(engine, uncomputed) ? 0 : tokens;
}

/* True if the head of the queue has started. */
static bool admit_head(struct oracle_engine *engine, uint64_t *budget)
{
	struct oracle_request *head = engine->waiting.items[0];
	struct oracle_lookup lookup;
	uint64_t hit, tokens;

	if (oracle_has_tree(engine))
		oracle_tree_consider(engine, head);
	oracle_look_up(engine, head, &lookup);
	hit = lookup.hit_tokens;
	tokens = first_step_of_head(engine, &lookup, *budget);
	if (tokens > 0)
		oracle_take_room(engine, head, &lookup, computed_at_start(head, &lookup) + tokens);
	oracle_lookup_fini(&lookup);
	if (tokens == 0)
		return false;
	oracle_list_remove_at(&engine->waiting, 0);
	if (engine->returned > 0)
		engine->returned--;
	oracle_list_append(&engine->running, head);
	if (head->swapped_tokens > 0)
		note_return(engine, head, lookup.hit_blocks);
	else
		note_admission(engine, head, hit);
	head->fresh = true;
	oracle_schedule(engine, head, tokens, budget);
	oracle_note(engine, head, KV_ADMITTED);
	return true;
}

void oracle_schedule_waiting(struct oracle_engine *engine, uint64_t *budget)
{
	enum kv_reorder order = engine->config->policy[KV_POLICY_SCHEDULING].policy->hooks.scheduling.reorder;
	bool first = true;

	if (engine->full) {
		engine->reason = engine->full_reason;
		return;
	}
	while (engine->waiting.count > 0 && *budget > 0 && engine->running.count < engine->config->max_num_seqs) {
		if (order == KV_REORDER_ADMISSION || (order == KV_REORDER_STEP && first))
			oracle_reorder(engine);
		first = false;
		if (!admit_head(engine, budget))
			return;
	}
	engine->reason = engine->running.count >= engine->config->max_num_seqs ? KV_WAIT_SEQUENCE_SLOTS :
	                                                                         KV_WAIT_TOKEN_BUDGET;
}
