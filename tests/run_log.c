#include "config.h"

#include "tests/run_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

#define APPEND(log, what) \
	((log)->what##s = kv_grow((log)->what##s, &(log)->what##_capacity, (log)->what##_count + 1, sizeof *(log)->what##s), \
	 &(log)->what##s[(log)->what##_count++])

static const struct kv_request *request_of(const struct run_log *log, uint64_t index)
{
	for (size_t i = 0; i < log->workload->count; i++)
		if (log->workload->requests[i].index == index)
			return &log->workload->requests[i];
	return NULL;
}

static bool equal_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void on_event(void *self, const struct kv_event *event)
{
	struct run_log *log = self;
	const struct kv_request *request = request_of(log, event->request);
	struct logged_event *copy = APPEND(log, event);

	if (event->request == KV_NO_REQUEST ? event->request_id[0] != '\0' :
	                                      request == NULL || !equal_text(request->id, event->request_id))
		log->wrong_strings = true;
	memset(copy, 0, sizeof *copy);
	*copy = (struct logged_event){event->time,   event->step,   event->kind, event->request,
	                              event->tokens, event->blocks, ""};
	snprintf(copy->detail, sizeof copy->detail, "%s", event->detail);
}

static void on_step(void *self, const struct kv_step *step)
{
	struct run_log *log = self;

	*APPEND(log, step) = *step;
}

static void on_request(void *self, const struct kv_request_record *record)
{
	struct run_log *log = self;
	const struct kv_request *request = request_of(log, record->index);
	struct kv_request_record *copy = APPEND(log, record);

	*copy = *record;
	copy->id = copy->tenant = NULL;
	if (request == NULL || !equal_text(request->id, record->id) || !equal_text(request->tenant, record->tenant))
		log->wrong_strings = true;
}

static void on_advance(void *self, const struct kv_state *state, kv_time time)
{
	struct run_log *log = self;
	struct logged_state *last = log->state_count > 0 ? &log->states[log->state_count - 1] : NULL;

	if (time > log->now) {
		if (last != NULL && memcmp(&last->state, state, sizeof *state) == 0)
			last->until = time;
		else
			*APPEND(log, state) = (struct logged_state){log->now, time, *state};
	}
	log->now = time;
}

static void on_miss(void *self, const struct kv_miss *miss)
{
	struct run_log *log = self;
	uint64_t sum = 0;

	for (int reason = 0; reason < KV_MISS_REASONS; reason++)
		sum += miss->tokens[reason];
	if (sum != miss->prompt_tokens - miss->hit_tokens)
		log->wrong_misses = true;
}

static void on_gap(void *self, kv_time gap, uint64_t count)
{
	struct run_log *log = self;
	size_t at = 0;

	while (at < log->gap_count && log->gaps[at].gap < gap)
		at++;
	if (at == log->gap_count || log->gaps[at].gap != gap) {
		(void)APPEND(log, gap);
		memmove(log->gaps + at + 1, log->gaps + at, (log->gap_count - 1 - at) * sizeof *log->gaps);
		log->gaps[at] = (struct logged_gap){gap, 0};
	}
	log->gaps[at].count += count;
}

void run_log_make(struct run_log *log, const struct test_workload *workload, test_engine engine, bool events)
{
	*log = (struct run_log){
		.workload = workload,
		.sink = {.advance = on_advance, .event = events ? on_event : NULL, .step = on_step, .token_gap = on_gap,
		         .request = on_request, .miss = events ? on_miss : NULL},
	};
	log->sink.self = log;
	test_workload_run(workload, engine, &log->sink, &log->outcome);
}

void run_log_fini(struct run_log *log)
{
	free(log->events);
	free(log->steps);
	free(log->states);
	free(log->gaps);
	free(log->records);
}

/* --- as text ------------------------------------------------------------------------------------------------------ */

static unsigned long long u(uint64_t value)
{
	return value;
}

static void event_text(const void *item, char *text, size_t size)
{
	const struct logged_event *e = item;

	snprintf(text, size, "t=%lld step=%llu %s request=%llu tokens=%llu blocks=%llu %s", (long long)e->time,
	         u(e->step), kv_event_name((enum kv_event_kind)e->kind), u(e->request), u(e->tokens), u(e->blocks),
	         e->detail);
}

void run_log_print_events(const struct run_log *log)
{
	for (size_t i = 0; i < log->event_count; i++) {
		char text[1024];

		event_text(&log->events[i], text, sizeof text);
		puts(text);
	}
}

static void step_text(const void *item, char *text, size_t size)
{
	const struct kv_step *s = item;

	snprintf(text, size,
	         "step %llu %lld..%lld scheduled=%llu prefill=%llu output=%llu pinned=%llu cached=%llu evicted=%llu "
	         "running=%llu",
	         u(s->number), (long long)s->start, (long long)s->end, u(s->scheduled_tokens), u(s->prefill_tokens),
	         u(s->output_tokens), u(s->pinned_blocks), u(s->cached_blocks), u(s->evicted_blocks), u(s->running));
}

static void state_text(const void *item, char *text, size_t size)
{
	const struct logged_state *l = item;
	const struct kv_state *s = &l->state;

	snprintf(text, size,
	         "%lld..%lld pinned=%llu cached=%llu free=%llu filled=%llu waste=%llu running=%llu "
	         "waiting(blocks=%llu slots=%llu budget=%llu line=%llu client=%llu) in_flight=%llu arrivals=%llu "
	         "finishes=%llu refusals=%llu preemptions=%llu steps=%llu prefill=%llu decode=%llu evicted=%llu "
	         "queried=%llu hit=%llu again=%llu/%llu swapped=%llu/%llu out=%llu/%llu in=%llu/%llu host_full=%llu "
	         "found=%llu lost=%llu copying=%llu",
	         (long long)l->from, (long long)l->until, u(s->pinned_blocks), u(s->cached_blocks), u(s->free_blocks),
	         u(s->filled_slots), u(s->waste_slots), u(s->running), u(s->waiting[0]), u(s->waiting[1]),
	         u(s->waiting[2]), u(s->waiting[3]), u(s->waiting[4]), u(s->in_flight), u(s->arrivals), u(s->finishes),
	         u(s->refusals), u(s->preemptions), u(s->steps), u(s->prefill_tokens), u(s->decode_tokens),
	         u(s->evicted_blocks), u(s->queried_tokens), u(s->hit_tokens), u(s->readmission_queried_tokens),
	         u(s->readmission_hit_tokens), u(s->swap.requests), u(s->swap.blocks), u(s->swap.outs),
	         u(s->swap.blocks_out), u(s->swap.ins), u(s->swap.blocks_in), u(s->swap.host_full),
	         u(s->swap.blocks_found), u(s->swap.blocks_lost),
	         u(s->swap.ns));
}

static void gap_text(const void *item, char *text, size_t size)
{
	const struct logged_gap *g = item;

	snprintf(text, size, "gap %lld x %llu", (long long)g->gap, u(g->count));
}

static void record_text(const void *item, char *text, size_t size)
{
	const struct kv_request_record *r = item;

	snprintf(text, size,
	         "request %llu %s/%s arrival=%lld sent=%lld queued=%lld admitted=%lld first=%lld finish=%lld "
	         "retrieval=%lld frontend=%lld waited for blocks=%lld slots=%lld tokens=%lld own=%lld preempted=%lld "
	         "(before first %lld, swapped %lld) prompt=%u output=%u cached=%u external=%llu computed=%llu "
	         "recomputed=%llu preemptions=%u swaps=%u block_ns=%llu:%llu", u(r->index),
	         kv_status_name(r->status), r->status == KV_FINISHED || r->status == KV_REFUSED || r->reason != 0 ?
	         kv_reason_name(r->reason) : "", (long long)r->arrival, (long long)r->sent, (long long)r->queued,
	         (long long)r->admitted, (long long)r->first_token, (long long)r->finish, (long long)r->retrieval,
	         (long long)r->frontend, (long long)r->queue_for[KV_WAIT_BLOCKS],
	         (long long)r->queue_for[KV_WAIT_SEQUENCE_SLOTS], (long long)r->queue_for[KV_WAIT_TOKEN_BUDGET],
	         (long long)r->prefill_own, (long long)r->preempted, (long long)r->preempted_before_first,
	         (long long)r->swapped, r->prompt_tokens, r->output_tokens, r->cached_tokens, u(r->external_tokens),
	         u(r->computed_tokens), u(r->recomputed_tokens), r->preemptions, r->swaps,
	         u((uint64_t)(r->block_ns >> 64)), u((uint64_t)r->block_ns));
}

/* --- comparison --------------------------------------------------------------------------------------------------- */

typedef void (*to_text)(const void *item, char *text, size_t size);

struct sequence {
	const void *items;
	size_t count, item_size;
};

/* Items of plain 64-bit fields are compared as bytes; records, which have holes, as text. */
static bool equal_items(const void *a, const void *b, size_t size, to_text text)
{
	char x[1024], y[1024];

	if (text != record_text)
		return memcmp(a, b, size) == 0;
	text(a, x, sizeof x);
	text(b, y, sizeof y);
	return strcmp(x, y) == 0;
}

static void item_text(struct sequence s, size_t i, to_text text, char *out, size_t size)
{
	if (i < s.count)
		text((const char *)s.items + i * s.item_size, out, size);
	else
		snprintf(out, size, "nothing more");
}

static bool equal_sequences(const char *what, struct sequence a, struct sequence b, to_text text, char *out,
                            size_t size)
{
	size_t i = 0;
	char x[1024], y[1024];

	while (i < a.count && i < b.count &&
	       equal_items((const char *)a.items + i * a.item_size, (const char *)b.items + i * b.item_size,
	                   a.item_size, text))
		i++;
	if (i == a.count && i == b.count)
		return true;
	item_text(a, i, text, x, sizeof x);
	item_text(b, i, text, y, sizeof y);
	snprintf(out, size, "%s %zu:\n#   %s\n#   %s", what, i, x, y);
	return false;
}

#define SEQUENCE(log, what) ((struct sequence){(log)->what##s, (log)->what##_count, sizeof *(log)->what##s})

static bool equal_outcomes(const struct kv_run_outcome *a, const struct kv_run_outcome *b, char *text, size_t size)
{
	char x[1024], y[1024];

	if (a->end != b->end || a->stalled != b->stalled || a->livelocked != b->livelocked ||
	    a->partial != b->partial || a->unfinished != b->unfinished ||
	    a->stalled_needs_blocks != b->stalled_needs_blocks ||
	    (a->stalled && a->stalled_request != b->stalled_request)) {
		snprintf(text, size,
		         "outcome:\n#   end=%lld stalled=%d livelocked=%d unfinished=%llu request=%llu needs=%llu"
		         "\n#   end=%lld stalled=%d livelocked=%d unfinished=%llu request=%llu needs=%llu",
		         (long long)a->end, a->stalled, a->livelocked, u(a->unfinished), u(a->stalled_request),
		         u(a->stalled_needs_blocks), (long long)b->end, b->stalled, b->livelocked, u(b->unfinished),
		         u(b->stalled_request), u(b->stalled_needs_blocks));
		return false;
	}
	if (memcmp(&a->final, &b->final, sizeof a->final) == 0)
		return true;
	state_text(&(struct logged_state){a->end, a->end, a->final}, x, sizeof x);
	state_text(&(struct logged_state){b->end, b->end, b->final}, y, sizeof y);
	snprintf(text, size, "final state:\n#   %s\n#   %s", x, y);
	return false;
}

bool run_log_equal(const struct run_log *a, const struct run_log *b, bool events, char *text, size_t size)
{
	if (a->wrong_strings || b->wrong_strings) {
		snprintf(text, size, "strings of a request are not those it came with");
		return false;
	}
	if (a->wrong_misses || b->wrong_misses) {
		snprintf(text, size, "the reasons of a miss do not add up to it");
		return false;
	}
	if (events && !equal_sequences("event", SEQUENCE(a, event), SEQUENCE(b, event), event_text, text, size))
		return false;
	return equal_sequences("step", SEQUENCE(a, step), SEQUENCE(b, step), step_text, text, size) &&
	       equal_sequences("record", SEQUENCE(a, record), SEQUENCE(b, record), record_text, text, size) &&
	       equal_sequences("state", SEQUENCE(a, state), SEQUENCE(b, state), state_text, text, size) &&
	       equal_sequences("gap", SEQUENCE(a, gap), SEQUENCE(b, gap), gap_text, text, size) &&
	       equal_outcomes(&a->outcome, &b->outcome, text, size);
}

/* --- what must add up --------------------------------------------------------------------------------------------- */

static bool check_records(const struct run_log *log, char *text, size_t size)
{
	kv_integral charged = 0, held = 0;

	for (size_t i = 0; i < log->record_count; i++)
		charged += log->records[i].block_ns;
	for (size_t i = 0; i < log->state_count; i++)
		held += (kv_integral)(log->states[i].until - log->states[i].from) * log->states[i].state.pinned_blocks;
	if (charged == held)
		return true;
	snprintf(text, size, "block nanoseconds: %llu charged, %llu pinned", u((uint64_t)charged), u((uint64_t)held));
	return false;
}

static bool check_swapped(const struct run_log *log, char *text, size_t size)
{
	kv_integral told = 0, swapped = 0;

	for (size_t i = 0; i < log->record_count; i++)
		told += (kv_integral)log->records[i].swapped;
	for (size_t i = 0; i < log->state_count; i++)
		swapped += (kv_integral)(log->states[i].until - log->states[i].from) *
		           log->states[i].state.swap.requests;
	if (told == swapped)
		return true;
	snprintf(text, size, "request nanoseconds: %llu told, %llu swapped out", u((uint64_t)told),
	         u((uint64_t)swapped));
	return false;
}

static bool check_times(const struct run_log *log, char *text, size_t size)
{
	for (size_t i = 0; i < log->record_count; i++) {
		const struct kv_request_record *r = &log->records[i];
		kv_time waited = 0;

		for (int reason = 0; reason < KV_WAIT_RESOURCES; reason++)
			waited += r->queue_for[reason];
		if ((r->queued != KV_TIME_NONE && r->queued != r->sent + r->retrieval + r->frontend) ||
		    (r->admitted != KV_TIME_NONE && r->admitted != r->queued + waited) ||
		    (r->first_token != KV_TIME_NONE && r->first_token < r->admitted + r->prefill_own)) {
			record_text(r, text, size);
			return false;
		}
	}
	return true;
}

static bool check_states(const struct run_log *log, char *text, size_t size)
{
	const struct kv_engine_config *config = &log->workload->config;

	for (size_t i = 0; i < log->state_count; i++) {
		const struct kv_state *s = &log->states[i].state;

		if (s->pinned_blocks + s->cached_blocks + s->free_blocks != config->usable_blocks ||
		    s->filled_slots + s->waste_slots > s->pinned_blocks * config->block_size ||
		    s->swap.blocks > config->swap.blocks ||
		    s->swap.blocks_out !=
		            s->swap.blocks_in + s->swap.blocks_found + s->swap.blocks_lost + s->swap.blocks ||
		    s->running > config->max_num_seqs) {
			state_text(&log->states[i], text, size);
			return false;
		}
	}
	return true;
}

/* Where prompts come first, they alone have a budget, and only if they are cut to it. */
static bool exceeds_budget(const struct kv_engine_config *config, const struct kv_step *step)
{
	uint64_t decode_tokens = step->scheduled_tokens - step->prefill_tokens;

	if (config->step_order == KV_STEPS_MIXED)
		return step->scheduled_tokens > config->max_num_batched_tokens;
	return (step->prefill_tokens > 0 && decode_tokens > 0) || decode_tokens > step->running ||
	       (config->enable_chunked_prefill && step->prefill_tokens > config->max_num_batched_tokens);
}

static bool check_steps(const struct run_log *log, char *text, size_t size)
{
	for (size_t i = 0; i < log->step_count; i++)
		if (exceeds_budget(&log->workload->config, &log->steps[i]) ||
		    log->steps[i].end <= log->steps[i].start) {
			step_text(&log->steps[i], text, size);
			return false;
		}
	return true;
}

bool run_log_consistent(const struct run_log *log, char *text, size_t size)
{
	return check_records(log, text, size) && check_swapped(log, text, size) && check_times(log, text, size) &&
	       check_states(log, text, size) && check_steps(log, text, size);
}
