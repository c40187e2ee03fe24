#include "config.h"

#include "tests/oracle/oracle.h"

#include <stdio.h>

#include "tests/oracle/engine.h"

struct run {
	const struct kv_engine_config *config;
	const struct kv_run_options *options;
	struct kv_source *source;
	struct kv_sink *sink;
	struct kv_error *err;
	kv_time limit;                   /* the run is cut there */
	struct oracle_engine engine;
	struct oracle_request *next;     /* the source's next request, NULL = none */
	struct kv_request pending;       /* as the source gave it */
	uint64_t private_streams;
	struct oracle_list held;         /* clients waiting for one of their requests to end, in order of arrival */
	struct oracle_list travelling;   /* sent, not yet in the engine's queue */
	struct oracle_list unfinished;   /* arrived, without a fate */
	bool woken;                      /* somebody has entered the queue since the last scheduling */
	bool failed;
};

/* --- input -------------------------------------------------------------------------------------------------------- */

static struct oracle_token *put_segment(struct run *run, struct oracle_token *at, const struct kv_segment *segment)
{
	uint64_t stream = segment->kind == KV_STREAM_PRIVATE ? run->private_streams++ : segment->stream;

	for (uint32_t i = 0; i < segment->length; i++)
		*at++ = (struct oracle_token){stream, segment->kind, i};
	return at;
}

static uint64_t output_stream(const struct kv_request *input)
{
	char name[32];

	if (input->id != NULL)
		return kv_name_hash(input->id, (uint32_t)strlen(input->id));
	snprintf(name, sizeof name, "r%llu", (unsigned long long)input->index);
	return kv_name_hash(name, (uint32_t)strlen(name));
}

static void make_tokens(struct run *run, struct oracle_request *request, const struct kv_request *input)
{
	struct kv_segment output = {output_stream(input), request->outputs, KV_STREAM_OUTPUT};
	struct oracle_token *at;

	at = request->tokens = kv_calloc((size_t)input->prompt_tokens + request->outputs, sizeof *request->tokens);
	for (uint32_t i = 0; i < input->prompt_segments; i++)
		at = put_segment(run, at, &input->prompt[i]);
	put_segment(run, at, &output);
}

static void make_key(const struct run *run, struct oracle_request *request, const struct kv_request *input)
{
	struct oracle_key *key = &request->key;
	const char *salt = input->salt;

	if (salt[0] == '\0' && run->config->cache_scope == KV_SCOPE_TENANT) {
		key->salt_kind = ORACLE_SALT_TENANT;
		salt = input->tenant;
	} else if (salt[0] == '\0' && run->config->cache_scope == KV_SCOPE_REQUEST) {
		key->salt_kind = ORACLE_SALT_REQUEST;
		key->request = input->index;
	}
	key->adapter = kv_strdup(input->adapter);
	key->salt = kv_strdup(salt);
}

static uint32_t allowed_outputs(const struct run *run, const struct kv_request *input)
{
	uint32_t room = run->config->max_model_len - (uint32_t)kv_min(input->prompt_tokens, run->config->max_model_len);
	uint32_t allowed = input->max_tokens;

	if (allowed == KV_TOKENS_UNSET)
		allowed = run->config->default_max_tokens_is_output ? input->output_tokens :
		                                                      run->config->default_max_tokens;
	return (uint32_t)kv_min(allowed, room);
}

static struct oracle_request *make_request(struct run *run, const struct kv_request *input)
{
	struct oracle_request *request = kv_calloc(1, sizeof *request);

	request->index = input->index;
	request->id = input->id != NULL ? kv_strdup(input->id) : NULL;
	request->tenant = kv_strdup(input->tenant);
	request->retrieval = input->retrieval;
	request->priority = input->priority;
	request->deadline = input->deadline == KV_TIME_NONE ? KV_TIME_MAX : input->arrival + input->deadline;
	request->prompt_tokens = input->prompt_tokens;
	request->output_limit = allowed_outputs(run, input);
	request->outputs = (uint32_t)kv_min(input->output_tokens, request->output_limit);
	request->max_total_tokens = input->prompt_tokens + request->output_limit;
	make_key(run, request, input);
	make_tokens(run, request, input);
	request->record = (struct kv_request_record){
		.index = input->index,
		.id = request->id,
		.tenant = request->tenant,
		.status = KV_UNFINISHED,
		.arrival = input->arrival,
		.sent = KV_TIME_NONE,
		.queued = KV_TIME_NONE,
		.admitted = KV_TIME_NONE,
		.first_token = KV_TIME_NONE,
		.finish = KV_TIME_NONE,
		.retrieval = input->retrieval,
		.frontend = run->config->frontend,
		.prompt_tokens = input->prompt_tokens,
		.miss_reason = KV_MISS_REASONS,
	};
	return request;
}

static void free_request(struct oracle_request *request)
{
	for (int g = 0; g < KV_MAX_GROUPS; g++)
		oracle_list_fini(&request->table[g].slots);
	oracle_list_fini(&request->parts);
	free(request->id);
	free(request->tenant);
	free(request->key.adapter);
	free(request->key.salt);
	free(request->tokens);
	free(request);
}

static void fetch_next(struct run *run)
{
	int got = run->source->next(run->source, &run->pending, run->err);

	run->pending.arrival += run->engine.zero;
	run->failed = got < 0;
	run->next = got > 0 ? make_request(run, &run->pending) : NULL;
}

static enum kv_request_end end_of(const struct kv_request_record *record)
{
	if (record->status == KV_FINISHED)
		return KV_END_FINISHED;
	if (record->status == KV_DROPPED)
		return KV_END_DROPPED;
	return record->reason == KV_REASON_TOO_LONG || record->reason == KV_REASON_CAN_NEVER_FIT ? KV_END_REFUSED :
	                                                                                          KV_END_TURNED_AWAY;
}

/* What depends on it may come before the request that was to come next. */
static void tell_source(struct run *run, const struct oracle_request *request)
{
	struct kv_source *source = run->source;
	bool replaced;

	if (source->ended == NULL)
		return;
	run->pending.arrival -= run->engine.zero;
	replaced = source->ended(source, request->index, end_of(&request->record), run->engine.now - run->engine.zero,
	                         &run->pending, run->next != NULL);
	run->pending.arrival += run->engine.zero;
	if (!replaced)
		return;
	if (run->next != NULL)
		free_request(run->next);
	run->next = make_request(run, &run->pending);
}

/* --- fates -------------------------------------------------------------------------------------------------------- */

static kv_time told_time(const struct run *run, kv_time time)
{
	return time == KV_TIME_NONE ? time : time - run->engine.zero;
}

static void tell_fate(struct run *run, struct oracle_request *request)
{
	struct kv_request_record told;

	request->record.output_tokens = request->generated;
	if (request->record.admitted == KV_TIME_NONE)
		memset(request->record.queue_for, 0, sizeof request->record.queue_for);
	told = request->record;
	told.arrival = told_time(run, told.arrival);
	told.sent = told_time(run, told.sent);
	told.queued = told_time(run, told.queued);
	told.admitted = told_time(run, told.admitted);
	told.first_token = told_time(run, told.first_token);
	told.finish = told_time(run, told.finish);
	if (run->sink->request != NULL)
		run->sink->request(run->sink->self, &told);
	oracle_list_remove(&run->unfinished, request);
	free_request(request);
}

static void refuse(struct run *run, struct oracle_request *request, enum kv_reason reason)
{
	oracle_emit(&run->engine, KV_EVENT_REFUSE, request, request->prompt_tokens, 0, kv_reason_name(reason));
	request->record.status = KV_REFUSED;
	request->record.reason = reason;
	run->engine.state.refusals++;
	run->engine.state.in_flight--;
	tell_source(run, request);
	tell_fate(run, request);
}

/* What lasts when a request meets its fate. */
static void close_preemption(struct run *run, struct oracle_request *request)
{
	kv_time away = run->engine.now - request->preempted_at;

	if (!request->was_preempted)
		return;
	request->record.preempted += away;
	if (request->generated == 0)
		request->record.preempted_before_first += away;
	if (request->swapped_tokens > 0)
		request->record.swapped += away;
}

/* Wherever it is, unless it runs in a step in flight: then at the end of that. */
static void give_up(struct run *run, struct oracle_request *request)
{
	struct kv_state *state = &run->engine.state;

	if (oracle_list_contains(&run->engine.running, request) && run->engine.in_step) {
		request->given_up = true;
		request->give_up_reason = KV_REASON_DEADLINE;
		return;
	}
	oracle_emit(&run->engine, KV_EVENT_DROP, request, request->prompt_tokens, 0,
	            kv_reason_name(KV_REASON_DEADLINE));
	if (oracle_list_contains(&run->held, request)) {
		oracle_list_remove(&run->held, request);
		state->waiting[KV_WAIT_CLIENT]--;
	} else {
		state->in_flight--;
	}
	if (oracle_list_contains(&run->travelling, request))
		oracle_list_remove(&run->travelling, request);
	run->woken |= request->record.queued != KV_TIME_NONE;
	close_preemption(run, request);
	oracle_engine_forget(&run->engine, request);
	state->drops++;
	request->record.status = KV_DROPPED;
	request->record.reason = KV_REASON_DEADLINE;
	tell_source(run, request);
	tell_fate(run, request);
}

static void leave_unfinished(struct run *run, enum kv_reason reason)
{
	while (run->unfinished.count > 0) {
		struct oracle_request *first = run->unfinished.items[0];

		for (size_t i = 1; i < run->unfinished.count; i++)
			if (((struct oracle_request *)run->unfinished.items[i])->index < first->index)
				first = run->unfinished.items[i];
		first->record.reason = reason;
		close_preemption(run, first);
		tell_fate(run, first);
	}
}

static kv_time queue_time(const struct run *run, const struct oracle_request *request)
{
	return request->record.sent + request->retrieval + run->config->frontend;
}

static void enqueue(struct run *run, struct oracle_request *request)
{
	if (!oracle_engine_may_enter(&run->engine, request)) {
		refuse(run, request, run->config->policy[KV_POLICY_ADMISSION].policy->hooks.admission.refusal);
		return;
	}
	oracle_engine_enqueue(&run->engine, request);
	run->woken = true;
}

/* --- from the client to the engine's queue ------------------------------------------------------------------------ */

static void send(struct run *run, struct oracle_request *request)
{
	request->record.sent = run->engine.now;
	run->engine.state.in_flight++;
	if (request->prompt_tokens >= run->config->max_model_len)
		refuse(run, request, KV_REASON_TOO_LONG);
	else if (run->config->refuse_impossible && oracle_is_impossible(&run->engine, request))
		refuse(run, request, KV_REASON_CAN_NEVER_FIT);
	else if (queue_time(run, request) == run->engine.now)
		enqueue(run, request);
	else
		oracle_list_append(&run->travelling, request);
}

static uint64_t client_room(const struct run *run)
{
	if (run->config->max_concurrency == 0)
		return UINT64_MAX;
	return kv_sub_floor(run->config->max_concurrency, run->engine.state.in_flight);
}

/* The place in `held` of the request to send next, held.count if none may go: those that arrived first may, as many as
 * the clients' cap has room for, and of these the one of the smallest index is sent first. */
static size_t first_to_send(const struct run *run)
{
	uint64_t room = kv_min(client_room(run), run->held.count);
	const struct oracle_request *first = NULL;

	for (size_t i = 0; i < room; i++) {
		const struct oracle_request *request = run->held.items[i];

		if (first == NULL || request->index < first->index)
			first = request;
	}
	return oracle_list_position(&run->held, first);
}

static void send_held(struct run *run, size_t place)
{
	struct oracle_request *request = run->held.items[place];

	oracle_list_remove_at(&run->held, place);
	run->engine.state.waiting[KV_WAIT_CLIENT]--;
	send(run, request);
}

static void arrive(struct run *run)
{
	struct oracle_request *request = run->next;

	oracle_emit(&run->engine, KV_EVENT_ARRIVE, request, request->prompt_tokens, 0, "");
	run->engine.state.arrivals++;
	run->engine.state.waiting[KV_WAIT_CLIENT]++;
	oracle_list_append(&run->unfinished, request);
	oracle_list_append(&run->held, request);
	fetch_next(run);
}

/* The place of the request that is due in the queue, the one of the smallest index; travelling.count if none is. */
static size_t first_due(const struct run *run)
{
	size_t first = run->travelling.count;

	for (size_t i = 0; i < run->travelling.count; i++) {
		const struct oracle_request *request = run->travelling.items[i];

		if (queue_time(run, request) <= run->engine.now &&
		    (first == run->travelling.count ||
		     request->index < ((struct oracle_request *)run->travelling.items[first])->index))
			first = i;
	}
	return first;
}

static void enqueue_due(struct run *run, size_t place)
{
	struct oracle_request *request = run->travelling.items[place];

	oracle_list_remove_at(&run->travelling, place);
	enqueue(run, request);
}

static bool waits_for_deadline(const struct oracle_request *request)
{
	return request->deadline != KV_TIME_MAX && request->record.first_token == KV_TIME_NONE && !request->given_up;
}

/* Of those whose deadline has come the one of the smallest index, or NULL. */
static struct oracle_request *first_late(const struct run *run)
{
	struct oracle_request *first = NULL;

	for (size_t i = 0; i < run->unfinished.count; i++) {
		struct oracle_request *request = run->unfinished.items[i];

		if (waits_for_deadline(request) && request->deadline <= run->engine.now &&
		    (first == NULL || request->index < first->index))
			first = request;
	}
	return first;
}

/* What happens at this instant before a step, by index: arrivals, what clients have held back and may send now, what
 * reaches the queue, and then who gives up. */
static void play_clients(struct run *run)
{
	for (;;) {
		size_t place = first_to_send(run), due = first_due(run);
		uint64_t held = UINT64_MAX, travelled = UINT64_MAX, arriving = UINT64_MAX, late = UINT64_MAX;
		struct oracle_request *gives_up = first_late(run);

		if (place < run->held.count)
			held = ((struct oracle_request *)run->held.items[place])->index;
		if (due < run->travelling.count)
			travelled = ((struct oracle_request *)run->travelling.items[due])->index;
		if (run->next != NULL && run->pending.arrival <= run->engine.now)
			arriving = run->next->index;
		if (gives_up != NULL)
			late = gives_up->index;
		if (late < held && late < travelled && late < arriving)
			give_up(run, gives_up);
		else if (held < arriving && held < travelled)
			send_held(run, place);
		else if (travelled < arriving)
			enqueue_due(run, due);
		else if (arriving < UINT64_MAX)
			arrive(run);
		else
			return;
	}
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */

static kv_time earlier(kv_time a, kv_time b)
{
	return a < b ? a : b;
}

/* KV_TIME_MAX if nothing will ever happen. */
static kv_time next_instant(const struct run *run)
{
	kv_time time = KV_TIME_MAX;

	if (run->engine.in_step)
		time = earlier(time, run->engine.step_end);
	if (run->next != NULL)
		time = earlier(time, run->pending.arrival);
	for (size_t i = 0; i < run->travelling.count; i++)
		time = earlier(time, queue_time(run, run->travelling.items[i]));
	for (size_t i = 0; i < run->unfinished.count; i++)
		if (waits_for_deadline(run->unfinished.items[i]))
			time = earlier(time, ((struct oracle_request *)run->unfinished.items[i])->deadline);
	return time;
}

static void end_step(struct run *run)
{
	struct oracle_list finished = {0};

	oracle_engine_end_step(&run->engine, &finished);
	for (size_t i = 0; i < finished.count; i++) {
		struct oracle_request *request = finished.items[i];

		tell_source(run, request);
		tell_fate(run, request);
	}
	oracle_list_fini(&finished);
}

static void declare_stuck(struct run *run, const struct oracle_request *request, enum kv_event_kind kind,
                          struct kv_run_outcome *outcome)
{
	char detail[48];

	snprintf(detail, sizeof detail, "usable=%llu", (unsigned long long)run->config->usable_blocks);
	outcome->stalled = true;
	outcome->livelocked = kind == KV_EVENT_LIVELOCK;
	outcome->stalled_request = request->index;
	outcome->stalled_needs_blocks = oracle_blocks_whole(&run->engine, request);
	oracle_emit(&run->engine, kind, request, request->prompt_tokens + request->generated,
	            outcome->stalled_needs_blocks, detail);
}

/* All that happens at one instant: the end of a step, then what clients do, then the start of a step. */
static void play_instant(struct run *run, struct kv_run_outcome *outcome)
{
	struct oracle_engine *engine = &run->engine;
	bool wakes = engine->in_step && engine->step_end == engine->now;

	if (wakes)
		end_step(run);
	play_clients(run);
	if (engine->in_step)
		return;
	/* An engine that could do nothing sleeps until a request comes. */
	wakes |= run->woken;
	run->woken = false;
	if (!(wakes && oracle_engine_begin_step(engine)) && engine->waiting.count > 0 &&
	    next_instant(run) == KV_TIME_MAX)
		declare_stuck(run, engine->waiting.items[0], KV_EVENT_STALL, outcome);
	else if (engine->livelocked != NULL)
		declare_stuck(run, engine->livelocked, KV_EVENT_LIVELOCK, outcome);
}

static bool is_interrupted(const struct run *run)
{
	return run->options->interrupt != NULL && *run->options->interrupt != 0;
}

static void play(struct run *run, struct kv_run_outcome *outcome)
{
	fetch_next(run);
	while (!run->failed && !outcome->stalled) {
		kv_time time = next_instant(run);

		if (time == KV_TIME_MAX)
			break;
		outcome->partial = is_interrupted(run);
		if (outcome->partial)
			break;
		oracle_engine_advance(&run->engine, earlier(time, run->limit));
		if (time > run->limit)
			break;
		play_instant(run, outcome);
	}
}

/* Everything as in a run, but nobody hears of it and in the end only the cache remains. */
static void warm_up(struct run *run)
{
	struct kv_source *source = run->source;
	struct kv_sink *sink = run->sink, silent = {0};
	const struct kv_policy_use *policy = run->config->policy;
	struct kv_run_outcome outcome = {0};
	void *saved[KV_POLICY_KINDS];

	for (int kind = 0; kind < KV_POLICY_KINDS; kind++)
		saved[kind] = kv_policy_state_save(&policy[kind]);
	run->source = run->options->warm;
	run->sink = run->engine.sink = &silent;
	play(run, &outcome);
	run->failed |= outcome.stalled;
	for (int kind = 0; kind < KV_POLICY_KINDS; kind++)
		if (kind == KV_POLICY_PREFIX || kind == KV_POLICY_EVICTION)
			free(saved[kind]);
		else
			kv_policy_state_restore(&policy[kind], saved[kind]);
	run->source = source;
	run->sink = sink;
	oracle_engine_begin_run(&run->engine, sink);
}

static void run_fini(struct run *run)
{
	if (run->next != NULL)
		free_request(run->next);
	while (run->unfinished.count > 0) {
		free_request(run->unfinished.items[0]);
		oracle_list_remove_at(&run->unfinished, 0);
	}
	oracle_list_fini(&run->held);
	oracle_list_fini(&run->travelling);
	oracle_list_fini(&run->unfinished);
	oracle_engine_fini(&run->engine);
}

int kv_oracle_simulate(const struct kv_engine_config *config, struct kv_source *source, struct kv_sink *sink,
                       const struct kv_run_options *options, struct kv_run_outcome *outcome, struct kv_error *err)
{
	struct run run = {
		.config = config,
		.options = options,
		.source = source,
		.sink = sink,
		.err = err,
		.limit = KV_TIME_MAX,
	};
	bool failed;

	*outcome = (struct kv_run_outcome){0};
	oracle_engine_init(&run.engine, config, sink);
	if (options->warm != NULL)
		warm_up(&run);
	if (options->duration != KV_TIME_NONE)
		run.limit = run.engine.zero + options->duration;
	if (!run.failed)
		play(&run, outcome);
	if (!run.failed) {
		oracle_engine_count(&run.engine);
		outcome->end = run.engine.now - run.engine.zero;
		outcome->unfinished = run.unfinished.count;
		outcome->final = run.engine.state;
		leave_unfinished(&run, outcome->stalled ? KV_REASON_STALLED : KV_REASON_CUT);
	}
	failed = run.failed;
	run_fini(&run);
	return failed ? -1 : 0;
}
