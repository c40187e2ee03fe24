/* Format: "Trace Event Format" of the Chromium project: complete events (X) for steps, counters (C) for blocks,
 * nestable asynchronous events (b, e) for requests, instants (i) for preemptions. Times in microseconds. */
#include "config.h"

#include "results/chrome_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ENGINE = 1, REQUESTS = 2 };

static void put_time(struct kv_json *json, const char *key, kv_time time)
{
	kv_json_ratio(json, key, (kv_integral)time, 1000);
}

static bool begin_row(struct kv_chrome_trace *trace, const char *name, const char *phase, int process, kv_time time)
{
	if (trace->rows >= KV_CHROME_ROWS) {
		trace->left_out++;
		return false;
	}
	trace->rows++;
	kv_json_begin_object(&trace->json, NULL);
	kv_json_string(&trace->json, "name", name);
	kv_json_string(&trace->json, "ph", phase);
	kv_json_u64(&trace->json, "pid", (uint64_t)process);
	kv_json_u64(&trace->json, "tid", 0);
	put_time(&trace->json, "ts", time);
	return true;
}

static void end_row(struct kv_chrome_trace *trace)
{
	kv_json_end_object(&trace->json);
}

static void name_process(struct kv_chrome_trace *trace, int process, const char *name)
{
	if (!begin_row(trace, "process_name", "M", process, 0))
		return;
	kv_json_begin_object(&trace->json, "args");
	kv_json_string(&trace->json, "name", name);
	kv_json_end_object(&trace->json);
	end_row(trace);
}

void kv_chrome_trace_start(struct kv_chrome_trace *trace, struct kv_output *out)
{
	*trace = (struct kv_chrome_trace){0};
	kv_json_start(&trace->json, out);
	kv_json_string(&trace->json, "displayTimeUnit", "ms");
	kv_json_begin_rows(&trace->json, "traceEvents");
	name_process(trace, ENGINE, "engine");
	name_process(trace, REQUESTS, "requests");
}

void kv_chrome_trace_step(struct kv_chrome_trace *trace, const struct kv_step *step)
{
	struct kv_json *json = &trace->json;

	if (begin_row(trace, step->prefill_tokens > 0 ? "step with prefill" : "step", "X", ENGINE, step->start)) {
		put_time(json, "dur", step->end - step->start);
		kv_json_begin_object(json, "args");
		kv_json_u64(json, "step", step->number);
		kv_json_u64(json, "tokens", step->scheduled_tokens);
		kv_json_u64(json, "prefill_tokens", step->prefill_tokens);
		kv_json_u64(json, "running", step->running);
		kv_json_end_object(json);
		end_row(trace);
	}
	if (begin_row(trace, "KV blocks", "C", ENGINE, step->start)) {
		kv_json_begin_object(json, "args");
		kv_json_u64(json, "pinned", step->pinned_blocks);
		kv_json_u64(json, "cached", step->cached_blocks);
		kv_json_end_object(json);
		end_row(trace);
	}
}

static void put_id(struct kv_json *json, const char *category, uint64_t index)
{
	char id[32];

	snprintf(id, sizeof id, "r%" PRIu64, index);
	kv_json_string(json, "cat", category);
	kv_json_string(json, "id", id);
}

static void put_edge(struct kv_chrome_trace *trace, const char *name, const char *phase, uint64_t index, kv_time time)
{
	if (!begin_row(trace, name, phase, REQUESTS, time))
		return;
	put_id(&trace->json, "request", index);
	end_row(trace);
}

void kv_chrome_trace_event(struct kv_chrome_trace *trace, const struct kv_event *event)
{
	bool resumed = event->kind == KV_EVENT_ADMIT && strcmp(event->detail, "first") != 0;

	if (event->kind == KV_EVENT_PREEMPT && begin_row(trace, "preemption", "i", ENGINE, event->time)) {
		kv_json_string(&trace->json, "s", "p");
		kv_json_begin_object(&trace->json, "args");
		kv_json_u64(&trace->json, "request", event->request);
		kv_json_u64(&trace->json, "computed tokens", event->tokens);
		kv_json_end_object(&trace->json);
		end_row(trace);
	}
	if (event->kind == KV_EVENT_PREEMPT)
		put_edge(trace, "preempted", "b", event->request, event->time);
	else if (resumed)
		put_edge(trace, "preempted", "e", event->request, event->time);
}

static void put_span(struct kv_chrome_trace *trace, const char *name, uint64_t index, kv_time from, kv_time to)
{
	if (from == KV_TIME_NONE || to == KV_TIME_NONE || to == from)
		return;
	put_edge(trace, name, "b", index, from);
	put_edge(trace, name, "e", index, to);
}

static kv_time last_time(const struct kv_request_record *record)
{
	const kv_time times[] = {
		record->finish, record->first_token, record->admitted, record->queued, record->sent, record->arrival
	};

	for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
		if (times[i] != KV_TIME_NONE)
			return times[i];
	return 0;
}

static void put_request_begin(struct kv_chrome_trace *trace, const struct kv_request_record *record, const char *name)
{
	struct kv_json *json = &trace->json;

	if (!begin_row(trace, name, "b", REQUESTS, record->arrival))
		return;
	put_id(json, "request", record->index);
	kv_json_begin_object(json, "args");
	kv_json_string(json, "status", kv_status_name(record->status));
	kv_json_u64(json, "prompt_tokens", record->prompt_tokens);
	kv_json_u64(json, "cached_tokens", record->cached_tokens);
	kv_json_u64(json, "output_tokens", record->output_tokens);
	kv_json_u64(json, "preemptions", record->preemptions);
	kv_json_end_object(json);
	end_row(trace);
}

void kv_chrome_trace_request(struct kv_chrome_trace *trace, const struct kv_request_record *record)
{
	char room[32];
	const char *name = record->id;
	kv_time before_queue = record->queued == KV_TIME_NONE ? KV_TIME_NONE : record->queued - record->frontend;

	if (name == NULL) {
		snprintf(room, sizeof room, "r%" PRIu64, record->index);
		name = room;
	}
	put_request_begin(trace, record, name);
	put_span(trace, "client wait", record->index, record->arrival, record->sent);
	put_span(trace, "retrieval", record->index, record->sent, before_queue);
	put_span(trace, "front end", record->index, before_queue, record->queued);
	put_span(trace, "queue", record->index, record->queued, record->admitted);
	put_span(trace, "prefill", record->index, record->admitted, record->first_token);
	put_span(trace, "decode", record->index, record->first_token, record->finish);
	put_edge(trace, name, "e", record->index, last_time(record));
}

void kv_chrome_trace_finish(struct kv_chrome_trace *trace)
{
	kv_json_end_array(&trace->json);
	kv_json_begin_object(&trace->json, "otherData");
	kv_json_u64(&trace->json, "rows", trace->rows);
	kv_json_u64(&trace->json, "rows_left_out", trace->left_out);
	kv_json_end_object(&trace->json);
	kv_json_finish(&trace->json);
}
