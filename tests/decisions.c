#include "config.h"

#include "tests/decisions.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

static void append(struct test_pairs *pairs, size_t at, uint64_t request, uint64_t tokens)
{
	pairs->items = kv_grow(pairs->items, &pairs->capacity, pairs->count + 1, sizeof *pairs->items);
	memmove(pairs->items + at + 1, pairs->items + at, (pairs->count - at) * sizeof *pairs->items);
	pairs->items[at] = (struct test_pair){request, tokens};
	pairs->count++;
}

/* Ends of a step are told at its end, one unit after the time that names it. */
static uint64_t step_of(const struct test_decisions *d, const struct kv_event *event)
{
	bool at_end = event->kind == KV_EVENT_FIRST_TOKEN || event->kind == KV_EVENT_FINISH;

	return (uint64_t)(event->time / d->unit) - at_end;
}

static struct test_step *step_at(struct test_decisions *d, uint64_t number)
{
	d->steps = kv_grow(d->steps, &d->step_capacity, number + 1, sizeof *d->steps);
	if (d->step_count <= number)
		d->step_count = number + 1;
	return &d->steps[number];
}

static void note_fate(struct test_decisions *d, const struct kv_event *event)
{
	struct test_fate *fate = &d->fates[event->request];
	uint64_t step = step_of(d, event);

	if (event->kind == KV_EVENT_ADMIT)
		append(&fate->admit, fate->admit.count, step, event->tokens);
	else if (event->kind == KV_EVENT_FIRST_TOKEN)
		fate->first = (int64_t)step;
	else if (event->kind == KV_EVENT_FINISH)
		fate->finish = (int64_t)step;
	else if (event->kind == KV_EVENT_PREEMPT)
		fate->preempt++;
}

static void note_step_event(struct test_step *step, const struct kv_event *event)
{
	if (event->kind == KV_EVENT_SCHEDULE) {
		append(&step->scheduled, step->scheduled.count, event->request, event->tokens);
	} else if (event->kind == KV_EVENT_ADMIT && strcmp(event->detail, "first") == 0) {
		append(&step->admitted, step->first_admissions++, event->request, event->tokens);
	} else if (event->kind == KV_EVENT_ADMIT) {
		append(&step->admitted, step->admitted.count, event->request, event->tokens);
	} else if (event->kind == KV_EVENT_PREEMPT) {
		append(&step->preempted, step->preempted.count, event->request, event->tokens);
	} else if (event->kind == KV_EVENT_FINISH) {
		append(&step->finished, step->finished.count, event->request, event->tokens);
	}
}

static void on_event(void *self, const struct kv_event *event)
{
	struct test_decisions *d = self;
	bool stuck = event->kind == KV_EVENT_STALL || event->kind == KV_EVENT_LIVELOCK;

	note_fate(d, event);
	if (event->kind == KV_EVENT_PREEMPT)
		d->preemptions++;
	if (stuck) {
		d->stalled_at = (int64_t)step_of(d, event);
		d->stalled_request = event->request;
	}
	if (d->keep_steps && event->kind != KV_EVENT_ARRIVE && event->kind != KV_EVENT_REFUSE)
		note_step_event(step_at(d, step_of(d, event)), event);
}

static void on_step(void *self, const struct kv_step *step)
{
	struct test_decisions *d = self;

	d->evictions = step->evicted_blocks;
	if (step->scheduled_tokens > 0) {
		d->busy_steps++;
		d->scheduled_tokens += step->scheduled_tokens;
		d->sum_pinned += step->pinned_blocks;
		d->peak_pinned = kv_max(d->peak_pinned, step->pinned_blocks);
	}
	if (d->keep_steps) {
		struct test_step *at = step_at(d, (uint64_t)(step->start / d->unit));

		at->began = true;
		at->pinned = step->pinned_blocks;
		at->evictions = step->evicted_blocks;
	}
}

static void on_request(void *self, const struct kv_request_record *record)
{
	struct test_decisions *d = self;
	struct test_fate *fate = &d->fates[record->index];

	fate->record = *record;
	fate->record.id = fate->record.tenant = NULL;
	fate->known = true;
}

void test_decisions_init(struct test_decisions *d, size_t requests, kv_time unit, bool keep_steps)
{
	*d = (struct test_decisions){
		.sink = {.event = on_event, .step = on_step, .request = on_request},
		.unit = unit,
		.keep_steps = keep_steps,
		.fate_count = requests,
		.stalled_at = -1,
	};
	d->sink.self = d;
	d->fates = kv_calloc(requests, sizeof *d->fates);
	for (size_t i = 0; i < requests; i++)
		d->fates[i].first = d->fates[i].finish = -1;
}

void test_decisions_fini(struct test_decisions *d)
{
	for (size_t i = 0; i < d->step_capacity; i++) {
		free(d->steps[i].scheduled.items);
		free(d->steps[i].admitted.items);
		free(d->steps[i].preempted.items);
		free(d->steps[i].finished.items);
	}
	free(d->steps);
	for (size_t i = 0; i < d->fate_count; i++)
		free(d->fates[i].admit.items);
	free(d->fates);
}
