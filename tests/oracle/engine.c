#include "config.h"

#include "tests/oracle/engine.h"

#include "tests/oracle/internal.h"
#include "tests/oracle/tree.h"

void oracle_engine_init(struct oracle_engine *engine, const struct kv_engine_config *config, struct kv_sink *sink)
{
	*engine = (struct oracle_engine){.config = config, .sink = sink, .reason = KV_WAIT_TOKEN_BUDGET};
	oracle_cache_init(&engine->cache, config);
	oracle_buddy_init(&engine->buddy, config->usable_blocks);
	if (oracle_has_tree(engine))
		oracle_tree_init(engine);
	oracle_engine_count(engine);
}

void oracle_engine_begin_run(struct oracle_engine *engine, struct kv_sink *sink)
{
	engine->sink = sink;
	engine->zero = engine->now;
	engine->state = (struct kv_state){0};
	engine->cache.evicted = engine->steps_begun = 0;
	engine->busy = 0;
	oracle_engine_count(engine);
}

void oracle_engine_fini(struct oracle_engine *engine)
{
	oracle_cache_fini(&engine->cache);
	oracle_buddy_fini(&engine->buddy);
	oracle_tree_fini(engine);
	oracle_list_fini(&engine->running);
	oracle_list_fini(&engine->waiting);
}

void oracle_emit(struct oracle_engine *engine, enum kv_event_kind kind, const struct oracle_request *request,
                 uint64_t tokens, uint64_t blocks, const char *detail)
{
	struct kv_event event = {
		.time = engine->now - engine->zero,
		.step = engine->in_step ? engine->steps_begun - 1 : engine->steps_begun,
		.kind = kind,
		.request = request->index,
		.request_id = request->id,
		.tokens = tokens,
		.blocks = blocks,
		.detail = detail,
	};

	if (engine->sink->event != NULL)
		engine->sink->event(engine->sink->self, &event);
}

/* The window that the model's attention is limited to, or no limit. */
static uint64_t attention_window(const struct oracle_engine *engine)
{
	for (uint32_t g = 0; g < engine->config->groups; g++)
		if (oracle_is_windowed(engine, g))
			return engine->config->group[g].window;
	return UINT64_MAX;
}

/* Twice the sum over new tokens of the keys that each sees, half of its own left out: 2 * integral of min(x, W). */
static uint64_t pairs2(uint64_t past, uint64_t tokens, uint64_t window)
{
	uint64_t end = past + tokens;

	if (end <= window)
		return tokens * (2 * past + tokens);
	if (past >= window)
		return 2 * tokens * window;
	return (window - past) * (window + past) + 2 * (end - window) * window;
}

static void add_work(struct kv_step_work *work, const struct oracle_request *request, uint64_t window)
{
	uint64_t past = request->computed, tokens = request->scheduled;

	if (oracle_is_decode(request)) {
		work->decode_seqs++;
		work->decode_context += past + 1;
		work->window_decode_context += kv_min(past + 1, window);
		return;
	}
	work->prefill_seqs++;
	work->prefill_tokens += tokens;
	work->prefill_past += past;
	work->prefill_pairs2 += tokens * (2 * past + tokens);
	work->window_prefill_past += kv_min(past, window);
	work->window_prefill_pairs2 += pairs2(past, tokens, window);
}

static void describe_step(struct oracle_engine *engine, const struct kv_step_work *work)
{
	struct kv_step *step = &engine->step;

	*step = (struct kv_step){
		.number = engine->steps_begun - 1,
		.start = engine->now,
		.end = engine->step_end,
		.scheduled_tokens = work->prefill_tokens + work->decode_seqs,
		.prefill_tokens = work->prefill_tokens,
		.pinned_blocks = engine->state.pinned_blocks,
		.cached_blocks = engine->state.cached_blocks,
		.evicted_blocks = engine->state.evicted_blocks,
		.running = engine->running.count,
	};
	for (size_t i = 0; i < engine->running.count; i++)
		step->output_tokens += oracle_emits_token(engine->running.items[i]);
}

static void play_step(struct oracle_engine *engine)
{
	struct kv_step_work work = {0};

	for (size_t i = 0; i < engine->running.count; i++) {
		struct oracle_request *request = engine->running.items[i];

		if (request->scheduled == 0)
			continue;
		add_work(&work, request, attention_window(engine));
		oracle_emit(engine, KV_EVENT_SCHEDULE, request, request->scheduled, oracle_held_blocks(engine, request),
		            "");
	}
	engine->steps_begun++;
	engine->in_step = true;
	engine->step_end = engine->now + kv_latency_step(engine->config->latency, &work) +
	                   kv_swap_time(&engine->config->swap, engine->copied_blocks);
	oracle_engine_count(engine);
	describe_step(engine, &work);
}

static void expire(struct oracle_engine *engine)
{
	struct kv_event event = {
		.time = engine->now - engine->zero,
		.step = engine->steps_begun,
		.kind = KV_EVENT_EXPIRE,
		.request = KV_NO_REQUEST,
		.request_id = "",
		.blocks = oracle_cache_expire(&engine->cache, engine->now),
		.detail = "",
	};

	if (event.blocks > 0 && engine->sink->event != NULL)
		engine->sink->event(engine->sink->self, &event);
}

static void schedule_mixed(struct oracle_engine *engine)
{
	uint64_t budget = engine->config->max_num_batched_tokens;
	uint64_t preemptions = engine->state.preemptions;

	engine->unit = 1;
	oracle_schedule_running(engine, &budget);
	oracle_tell_running(engine, engine->state.preemptions > preemptions);
	if (engine->state.preemptions == preemptions)
		oracle_schedule_waiting(engine, &budget);
	else
		engine->reason = KV_WAIT_BLOCKS;
}

static bool anybody_given_up(const struct oracle_engine *engine)
{
	for (size_t i = 0; i < engine->running.count; i++)
		if (((const struct oracle_request *)engine->running.items[i])->given_up)
			return true;
	return false;
}

bool oracle_engine_begin_step(struct oracle_engine *engine)
{
	uint64_t preemptions = engine->state.preemptions;
	bool any;

	engine->copied_blocks = 0;
	if (engine->running.count + engine->waiting.count > 0)
		expire(engine);
	if (oracle_prompts_go_first(engine))
		oracle_schedule_prefill_first(engine);
	else
		schedule_mixed(engine);
	any = oracle_anybody_scheduled(engine) || anybody_given_up(engine) || engine->state.preemptions > preemptions;
	if (any && engine->livelocked == NULL)
		play_step(engine);
	else
		oracle_engine_count(engine);
	return any;
}
