#include "config.h"

#include "workloads/trace_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_randist.h>

/* Reads until the first row of the window is known, or its end. */
static int read_window(struct kv_trace *trace, struct kv_waiting_row *row, struct kv_error *err)
{
	int status;

	while (!trace->stopped && !kv_window_take(&trace->window, row)) {
		if (trace->window.draining)
			return 0;
		status = kv_trace_is_satisfied(trace) ? 0 : trace->reader->fill(trace->reader, &trace->error);
		if (status < 0)
			trace->stopped = true;
		else if (status == 0)
			kv_window_drain(&trace->window);
	}
	if (trace->stopped)
		*err = trace->error;
	return trace->stopped ? -1 : 1;
}

/* Beyond any time that is accepted where the double does not fit. */
static kv_time to_time(double ns)
{
	return ns < 9e18 ? (kv_time)llrint(ns) : KV_TIME_MAX;
}

/* vLLM's benchmark client draws gaps like this: gamma with shape = burstiness and mean 1 / rate, the first one
 * included. */
static kv_time generated_arrival(struct kv_trace *trace)
{
	double shape = trace->options.burstiness;
	double mean = (double)KV_SECOND / trace->options.request_rate;

	trace->clock += isinf(shape) ? mean : gsl_ran_gamma(trace->gaps, shape, mean / shape);
	return to_time(trace->clock);
}

static kv_time arrival_of(struct kv_trace *trace, kv_time on_file)
{
	if (trace->base == KV_TIME_NONE)
		trace->base = kv_trace_starts_clock(trace) ? on_file : 0;
	if (isinf(trace->options.request_rate))
		return 0;
	if (trace->gaps != NULL)
		return generated_arrival(trace);
	if (trace->options.time_scale == 1)
		return on_file - trace->base;
	return to_time((double)(on_file - trace->base) * trace->options.time_scale);
}

static void unpack_extra(const struct kv_extra *extra, struct kv_request *out)
{
	const char *text = (const char *)&extra->segments[extra->segment_count];

	out->retrieval = extra->retrieval;
	out->deadline = extra->deadline;
	out->priority = extra->priority;
	out->id = extra->id ? text + extra->id : NULL;
	out->tenant = text + extra->tenant;
	out->salt = text + extra->salt;
	out->adapter = text + extra->adapter;
	if (extra->segment_count > 0) {
		out->prompt = extra->segments;
		out->prompt_segments = extra->segment_count;
	}
}

int kv_trace_find_head(struct kv_trace *trace, struct kv_error *err)
{
	int status;

	if (trace->has_head)
		return 0;
	status = read_window(trace, &trace->head, err);
	if (status == 1)
		trace->head.arrival = arrival_of(trace, trace->head.arrival);
	trace->has_head = status == 1;
	return status < 0 ? -1 : 0;
}

static bool precedes(const struct kv_waiting_row *a, const struct kv_waiting_row *b)
{
	return a->arrival != b->arrival ? a->arrival < b->arrival : a->index < b->index;
}

/* The first of the window's head and what is due; the window must have been looked at. */
static void give_first(struct kv_trace *trace)
{
	const struct kv_waiting_row *due = kv_row_heap_first(&trace->dependents.due);

	trace->has_given = due != NULL || trace->has_head;
	trace->given_was_due = due != NULL && (!trace->has_head || precedes(due, &trace->head));
	if (trace->given_was_due) {
		kv_row_heap_take(&trace->dependents.due, &trace->given);
	} else if (trace->has_head) {
		trace->given = trace->head;
		trace->has_head = false;
	}
}

static void describe(struct kv_trace *trace, struct kv_request *out)
{
	const struct kv_waiting_row *row = &trace->given;

	trace->private_prompt = (struct kv_segment){.length = row->prompt_tokens, .kind = KV_STREAM_PRIVATE};
	*out = (struct kv_request){
		.index = row->index, .arrival = row->arrival, .deadline = KV_TIME_NONE,
		.prompt = &trace->private_prompt,
		.prompt_segments = 1, .prompt_tokens = row->prompt_tokens, .output_tokens = row->output_tokens,
		.max_tokens = row->max_tokens, .tenant = "", .salt = "", .adapter = "",
		.output_nameable = trace->flags & KV_TRACE_NAMEABLE_OUTPUTS
	};
	if (row->extra != NULL)
		unpack_extra(row->extra, out);
}

static bool is_named(const struct kv_waiting_row *row)
{
	return row->extra != NULL && row->extra->segment_count > 0 && row->extra->segments[0].kind != KV_STREAM_PRIVATE;
}

static void count_extra(struct kv_trace_counts *counts, const struct kv_extra *extra)
{
	const char *text = (const char *)&extra->segments[extra->segment_count];

	counts->with_priority += extra->priority != 0;
	counts->with_deadline += extra->deadline != KV_TIME_NONE;
	counts->with_tenant += text[extra->tenant] != '\0';
}

/* What was handed out last has arrived: nothing can take its place any more. */
static void count_given(struct kv_trace *trace)
{
	struct kv_trace_counts *counts = &trace->counts;
	const struct kv_waiting_row *row = &trace->given;

	counts->emitted++;
	counts->equal_times += row->arrival == counts->last;
	if (counts->first == KV_TIME_NONE)
		counts->first = row->arrival;
	counts->last = row->arrival;
	counts->named_rows += is_named(row);
	counts->zero_outputs += row->output_tokens == 0;
	if (row->extra != NULL)
		count_extra(counts, row->extra);
	counts->prompt_tokens += row->prompt_tokens;
	counts->output_tokens += row->output_tokens;
}

/* The simulation has taken what was handed out last; only one that may be sent again is kept. */
static void let_go(struct kv_trace *trace)
{
	if (kv_sent_rows_find(&trace->sent, trace->given.index) == NULL)
		count_given(trace);
	if (trace->options.retries > 0)
		kv_sent_rows_keep(&trace->sent, &trace->given);
	else
		free(trace->given.extra);
	trace->has_given = false;
}

static int next_request(struct kv_source *source, struct kv_request *out, struct kv_error *err)
{
	struct kv_trace *trace = (struct kv_trace *)source;

	if (trace->has_given)
		let_go(trace);
	if (kv_trace_find_head(trace, err) != 0)
		return -1;
	give_first(trace);
	if (!trace->has_given)
		return 0;
	describe(trace, out);
	if (out->arrival > KV_ARRIVAL_MAX)
		return kv_fail(err, KV_EXIT_DATA,
		               "%s: row %" PRIu64 " arrives %.3g s after the start; allowed: at most %.3g s "
		               "(a smaller --time-scale or a larger --request-rate)",
		               kv_input_name(trace->files.input), out->index, (double)out->arrival / (double)KV_SECOND,
		               (double)KV_ARRIVAL_MAX / (double)KV_SECOND);
	return 1;
}

static void give_back(struct kv_trace *trace)
{
	if (trace->given_was_due) {
		kv_row_heap_put(&trace->dependents.due, &trace->given);
	} else {
		trace->head = trace->given;
		trace->has_head = true;
	}
	trace->has_given = false;
}

/* Sends a request again that was turned away; false if it has been often enough. */
static bool retry(struct kv_trace *trace, uint64_t index, kv_time time)
{
	struct kv_sent_row *sent = kv_sent_rows_find(&trace->sent, index);
	kv_time wait;

	if (sent == NULL || sent->retries >= trace->options.retries)
		return false;
	wait = sent->retries < 40 ? (kv_time)kv_min((uint64_t)trace->options.backoff << sent->retries, KV_ARRIVAL_MAX) :
	                            KV_ARRIVAL_MAX;
	sent->retries++;
	trace->counts.retried++;
	kv_sent_rows_lend(&trace->sent, index, time + wait, &trace->dependents.due);
	return true;
}

static void settle(struct kv_trace *trace, uint64_t index, enum kv_request_end end, kv_time time)
{
	bool abandon = end != KV_END_FINISHED && !trace->options.go_on_after_refusal;

	if (end == KV_END_TURNED_AWAY && retry(trace, index, time))
		return;
	kv_sent_rows_forget(&trace->sent, index);
	trace->counts.left_out[KV_FAULT_ABANDONED] += kv_dependents_end(&trace->dependents, index, time, abandon);
}

static bool request_ended(struct kv_source *source, uint64_t index, enum kv_request_end end, kv_time time,
                          struct kv_request *pending, bool has_pending)
{
	struct kv_trace *trace = (struct kv_trace *)source;
	const struct kv_waiting_row *due;

	/* One that is turned away as it arrives has been taken, though nobody has asked for the next one yet. */
	if (trace->options.retries > 0 && pending == NULL && trace->has_given && trace->given.index == index)
		let_go(trace);
	settle(trace, index, end, time);
	due = kv_row_heap_first(&trace->dependents.due);
	if (pending == NULL || due == NULL || (has_pending && !precedes(due, &trace->given)))
		return false;
	if (has_pending)
		give_back(trace);
	give_first(trace);
	describe(trace, pending);
	return true;
}

static void close_source(struct kv_source *source)
{
	kv_trace_close((struct kv_trace *)source);
}

struct kv_source *kv_trace_source(struct kv_trace *trace)
{
	return &trace->source;
}

void kv_trace_source_init(struct kv_trace *trace)
{
	trace->source = (struct kv_source){.next = next_request, .ended = request_ended, .close = close_source};
}
