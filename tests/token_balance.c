#include "config.h"

#include "tests/token_balance.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

/* One request, as its events tell. */
struct balance {
	const struct kv_request_record *record;
	uint64_t computed, had, known;   /* tokens with KV now; most of them ever; prompt and what was generated */
	uint64_t scheduled, found, decoded, caught_up;
	bool resuming;
};

static struct balance *balance_of(struct balance *all, const struct run_log *log, uint64_t index)
{
	for (size_t i = 0; i < log->record_count; i++)
		if (log->records[i].index == index)
			return &all[i];
	return NULL;
}

static void note_admitted(struct balance *b, const struct logged_event *event)
{
	bool first = strcmp(event->detail, "first") == 0;

	if (!first && b->known == b->record->prompt_tokens)
		b->found += kv_sub_floor(event->tokens, b->had);
	b->resuming = b->resuming || strcmp(event->detail, "resume") == 0;
	b->computed = event->tokens;
	b->had = kv_max(b->had, b->computed);
}

static void note_scheduled(struct balance *b, const struct logged_event *event)
{
	b->decoded += b->known > b->record->prompt_tokens && !b->resuming && b->known - b->computed == 1;
	b->scheduled += event->tokens;
	b->computed += event->tokens;
	b->had = kv_max(b->had, b->computed);
	if (b->computed < b->known)
		return;
	b->caught_up += b->resuming && b->known > b->record->prompt_tokens;
	b->resuming = false;
	b->known++;
}

/* A run that is cut may end within a step, which then computes nothing. */
static bool is_of_a_whole_step(const struct run_log *log, const struct logged_event *event)
{
	return log->step_count > 0 && event->step <= log->steps[log->step_count - 1].number;
}

static void follow(struct balance *all, const struct run_log *log)
{
	for (size_t i = 0; i < log->record_count; i++)
		all[i] = (struct balance){.record = &log->records[i], .known = log->records[i].prompt_tokens};
	for (size_t i = 0; i < log->event_count; i++) {
		const struct logged_event *event = &log->events[i];
		struct balance *b = balance_of(all, log, event->request);

		if (b != NULL && event->kind == KV_EVENT_ADMIT)
			note_admitted(b, event);
		else if (b != NULL && event->kind == KV_EVENT_SCHEDULE && is_of_a_whole_step(log, event))
			note_scheduled(b, event);
	}
}

static bool row_holds(const struct balance *b)
{
	const struct kv_request_record *r = b->record;
	uint64_t outputs = kv_sub_floor(r->output_tokens, 1);

	if ((r->first_token != KV_TIME_NONE || r->status == KV_FINISHED) &&
	    r->prompt_tokens != r->cached_tokens + r->computed_tokens + b->found)
		return false;
	return r->status != KV_FINISHED ||
	       (b->scheduled == r->computed_tokens + r->recomputed_tokens + outputs && b->decoded + b->caught_up == outputs);
}

static bool rows_hold(const struct balance *all, size_t count, char *text, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		const struct kv_request_record *r = all[i].record;

		if (row_holds(&all[i]))
			continue;
		snprintf(text, size, "request %" PRIu64 ": prompt %" PRIu32 ", output %" PRIu32 ", cached %" PRIu32 ", computed %"
		         PRIu64 ", recomputed %" PRIu64 "; its events: found cached later %" PRIu64 ", scheduled %" PRIu64
		         ", decoded %" PRIu64 ", caught up %" PRIu64, r->index, r->prompt_tokens, r->output_tokens, r->cached_tokens,
		         r->computed_tokens, r->recomputed_tokens, all[i].found, all[i].scheduled, all[i].decoded,
		         all[i].caught_up);
		return false;
	}
	return true;
}

static bool run_holds(const struct balance *all, const struct run_log *log, char *text, size_t size)
{
	const struct kv_state *final = &log->outcome.final;
	uint64_t scheduled = 0, decoded = 0;

	for (size_t i = 0; i < log->record_count; i++) {
		scheduled += all[i].scheduled;
		decoded += all[i].decoded;
	}
	if (final->decode_tokens == decoded && final->prefill_tokens == scheduled - decoded)
		return true;
	snprintf(text, size, "tokens: %" PRIu64 " of prefills and %" PRIu64 " of decodes counted, %" PRIu64 " and %" PRIu64
	         " scheduled", final->prefill_tokens, final->decode_tokens, scheduled - decoded, decoded);
	return false;
}

bool token_balance_holds(const struct run_log *log, char *text, size_t size)
{
	struct balance *all = kv_calloc(log->record_count, sizeof *all);
	bool holds;

	follow(all, log);
	holds = rows_hold(all, log->record_count, text, size) && run_holds(all, log, text, size);
	free(all);
	return holds;
}
