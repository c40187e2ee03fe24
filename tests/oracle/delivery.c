#include "config.h"

#include "tests/oracle/internal.h"

#include "tests/oracle/tree.h"

static void settle_computed(struct oracle_engine *engine, struct oracle_request *request)
{
	uint64_t end = oracle_scheduled_end(request), again = 0;

	if (request->computed < request->highest)
		again = kv_min(end, request->highest) - request->computed;
	if (request->generated == 0 && request->scheduled > 0) {
		kv_integral share = (kv_integral)(engine->step.end - engine->step.start) * request->scheduled;

		request->record.computed_tokens += request->scheduled - again;
		request->record.prefill_own += (kv_time)(share / engine->step.scheduled_tokens);
	}
	request->record.recomputed_tokens += again;
	if (oracle_is_decode(request))
		engine->state.decode_tokens += request->scheduled;
	else
		engine->state.prefill_tokens += request->scheduled;
	request->computed = end;
	request->scheduled = 0;
	request->highest = kv_max(request->highest, end);
}

static void finish(struct oracle_engine *engine, struct oracle_request *request, struct oracle_list *finished)
{
	bool at_limit = request->outputs == request->output_limit;

	oracle_emit(engine, KV_EVENT_FINISH, request, request->generated, oracle_held_blocks(engine, request),
	            at_limit ? "length" : "stop");
	request->record.status = KV_FINISHED;
	request->record.reason = at_limit ? KV_REASON_LENGTH : KV_REASON_STOP;
	request->record.finish = engine->now;
	oracle_note(engine, request, KV_COMPLETED);
	oracle_free_request(engine, request, true);
	engine->state.finishes++;
	engine->state.in_flight--;
	oracle_list_append(finished, request);
}

static void drop(struct oracle_engine *engine, struct oracle_request *request, struct oracle_list *finished)
{
	oracle_emit(engine, KV_EVENT_DROP, request, request->prompt_tokens, 0, kv_reason_name(request->give_up_reason));
	oracle_note(engine, request, KV_GIVEN_UP);
	oracle_free_request(engine, request, true);
	engine->state.drops++;
	engine->state.in_flight--;
	request->record.status = KV_DROPPED;
	request->record.reason = request->give_up_reason;
	oracle_list_append(finished, request);
}

void oracle_engine_forget(struct oracle_engine *engine, struct oracle_request *request)
{
	size_t at = oracle_list_position(&engine->waiting, request);

	if (request->record.queued == KV_TIME_NONE)
		return;
	oracle_note(engine, request, KV_GIVEN_UP);
	if (at == engine->waiting.count) {
		oracle_free_request(engine, request, true);
		oracle_list_remove(&engine->running, request);
		engine->full = false;
		return;
	}
	oracle_list_remove_at(&engine->waiting, at);
	if (at < engine->returned)
		engine->returned--;
	if (request->swapped_tokens > 0)
		oracle_lose_swapped(engine, request);
}

static void forget_lone_preemptions(struct oracle_engine *engine)
{
	for (size_t i = 0; i < engine->running.count; i++)
		((struct oracle_request *)engine->running.items[i])->lone_preemptions = 0;
	for (size_t i = 0; i < engine->waiting.count; i++)
		((struct oracle_request *)engine->waiting.items[i])->lone_preemptions = 0;
}

static void deliver_token(struct oracle_engine *engine, struct oracle_request *request)
{
	struct kv_sink *sink = engine->sink;

	request->generated++;
	request->recomputing = false;
	forget_lone_preemptions(engine);
	if (request->generated == 1) {
		oracle_emit(engine, KV_EVENT_FIRST_TOKEN, request, 0, 0, "");
		request->record.first_token = engine->now;
	} else if (sink->token_gap != NULL) {
		sink->token_gap(sink->self, engine->now - request->last_token, 1);
	}
	request->last_token = engine->now;
}

static void report_step(struct oracle_engine *engine)
{
	struct kv_step *step = &engine->step;

	for (size_t i = 0; i < engine->running.count; i++) {
		const struct oracle_request *request = engine->running.items[i];

		step->output_tokens -= request->given_up && oracle_emits_token(request);
	}
	step->start -= engine->zero;
	step->end -= engine->zero;
	if (engine->sink->step != NULL)
		engine->sink->step(engine->sink->self, step);
	if (step->scheduled_tokens > 0)
		engine->state.steps++;
	engine->busy += step->end - step->start;
	engine->state.swap.ns += (uint64_t)kv_swap_time(&engine->config->swap, engine->copied_blocks);
}

static void deliver(struct oracle_engine *engine, struct oracle_request *request, struct oracle_list *finished)
{
	bool caught_up = request->scheduled > 0 && oracle_scheduled_end(request) == oracle_known_tokens(request);
	bool token = oracle_emits_token(request);
	bool prefill = request->scheduled > 0 && !oracle_is_decode(request);

	request->fresh = false;
	settle_computed(engine, request);
	if (request->given_up) {
		drop(engine, request, finished);
		return;
	}
	if (token)
		deliver_token(engine, request);
	if (caught_up && request->generated == request->outputs)
		finish(engine, request, finished);
	else if (prefill && oracle_has_tree(engine))
		oracle_tree_delivered(engine, request, caught_up);
}

void oracle_engine_end_step(struct oracle_engine *engine, struct oracle_list *finished)
{
	size_t before = finished->count;

	report_step(engine);
	for (size_t i = 0; i < engine->running.count; i++)
		deliver(engine, engine->running.items[i], finished);
	for (size_t i = before; i < finished->count; i++)
		oracle_list_remove(&engine->running, finished->items[i]);
	if (finished->count > before)
		engine->full = false;
	engine->in_step = false;
}
