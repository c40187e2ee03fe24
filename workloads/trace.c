#include "config.h"

#include "workloads/trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "sim/base/memory.h"
#include "sim/base/random.h"
#include "sim/base/remarks.h"
#include "workloads/block_watch.h"
#include "workloads/dependents.h"
#include "workloads/doubts.h"
#include "workloads/files.h"
#include "workloads/sent_rows.h"
#include "workloads/window.h"

struct kv_trace {
	struct kv_source source;
	const struct kv_format *format;
	void *params;                   /* of the format */
	struct kv_files files;
	struct kv_reader *reader;
	struct kv_trace_options options;
	struct kv_trace_counts counts;
	struct kv_error error;          /* what stopped the reader */
	bool stopped;
	unsigned flags;                 /* that the reader declared */
	struct kv_remarks notes;        /* of the reader */
	struct kv_names columns;        /* likewise */
	struct kv_row row;
	uint64_t next_index;
	uint64_t line, line_rows;       /* that the last row stood on, and how many of it there have been */
	struct kv_block_watch blocks;
	uint64_t uneven;                /* blocks that the reader itself has found to be */
	kv_time latest;
	struct kv_window window;
	kv_time base;                   /* subtracted from arrivals; KV_TIME_NONE until the first row is out */
	gsl_rng *gaps;
	double clock;                   /* of generated arrivals, in ns */
	struct kv_waiting_row head;     /* the first row of the window, arrival on the simulation's clock */
	bool has_head;
	struct kv_dependents dependents;
	struct kv_trace_tap *tap;       /* takes rows instead; may be NULL */
	bool tap_begun;
	struct kv_sent_rows sent;       /* what may have to be sent again */
	struct kv_waiting_row given;    /* what was handed out last */
	bool has_given, given_was_due;
	struct kv_segment private_prompt;
};

void kv_trace_options_init(struct kv_trace_options *options)
{
	*options = (struct kv_trace_options){
		.end_row = UINT64_MAX,
		.time_scale = 1,
		.burstiness = 1,
		.backoff = KV_SECOND,
		.reorder_time = 3600 * KV_SECOND,
		.reorder_rows = 100000,
		.reorder_bytes = (size_t)256 << 20
	};
}

static bool parse_row_number(const char *text, size_t length, uint64_t *out)
{
	uint64_t value = 0;

	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9' || value > UINT64_MAX / 10 - 1)
			return false;
		value = value * 10 + (uint64_t)(text[i] - '0');
	}
	if (length > 0)
		*out = value;
	return true;
}

int kv_trace_parse_rows(const char *text, struct kv_trace_options *options, struct kv_error *err)
{
	const char *colon = strchr(text, ':');
	uint64_t first = 0, end = UINT64_MAX;

	if (colon == NULL || !parse_row_number(text, (size_t)(colon - text), &first) ||
	    !parse_row_number(colon + 1, strlen(colon + 1), &end) || first >= end)
		return kv_fail(err, KV_EXIT_USAGE, "'%s' is no range; allowed: A:B with A below B, data rows A to B-1 "
		               "counted from 0; either may be left out", text);
	options->first_row = first;
	options->end_row = end;
	return 0;
}

/* --- what readers call -------------------------------------------------------------------------------------------- */

struct kv_input *kv_trace_input(struct kv_trace *trace)
{
	return trace->files.input;
}

int kv_trace_next_file(struct kv_trace *trace, struct kv_error *err)
{
	trace->line = 0;
	return kv_files_next(&trace->files, err);
}

struct kv_row *kv_trace_begin(struct kv_trace *trace, uint64_t line)
{
	struct kv_row *row = &trace->row;

	row->line = line;
	row->index = trace->next_index;
	row->arrival = KV_TIME_NONE;
	row->moved = 0;
	row->think = 0;
	row->after_count = 0;
	row->retrieval = 0;
	row->deadline = KV_TIME_NONE;
	row->priority = 0;
	row->prompt_tokens = row->output_tokens = row->max_tokens = KV_TOKENS_UNSET;
	row->named = false;
	row->id = row->tenant = row->salt = row->adapter = (struct kv_text){0};
	row->segment_count = 0;
	row->text_length = 1;
	row->faulty = row->expected = false;
	return row;
}

int kv_trace_fail(struct kv_trace *trace, struct kv_error *err, uint64_t line, const char *format, ...)
{
	char text[800];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return kv_fail(err, KV_EXIT_DATA, "%s:%" PRIu64 ": %s", kv_input_name(trace->files.input), line, text);
}

static int reject(struct kv_trace *trace)
{
	const struct kv_row *row = &trace->row;

	if (trace->options.skip_bad_rows || row->expected) {
		trace->counts.left_out[row->fault]++;
		return 0;
	}
	trace->stopped = true;
	if (trace->line_rows > 1)
		return kv_trace_fail(trace, &trace->error, row->line, "request %" PRIu64 ": %s", trace->line_rows,
		                     row->fault_text);
	return kv_trace_fail(trace, &trace->error, row->line, "%s", row->fault_text);
}

static bool is_plain(const struct kv_row *row)
{
	return !row->named && row->text_length == 1 && row->retrieval == 0 && row->deadline == KV_TIME_NONE &&
	       row->priority == 0;
}

static struct kv_extra *pack_extra(const struct kv_row *row)
{
	size_t segments = row->segment_count * sizeof *row->segments;
	size_t bytes = sizeof(struct kv_extra) + segments + row->text_length;
	struct kv_extra *extra;

	if (is_plain(row))
		return NULL;
	extra = kv_calloc(1, bytes);
	*extra = (struct kv_extra){
		.bytes = bytes, .retrieval = row->retrieval, .deadline = row->deadline, .priority = row->priority,
		.id = row->id.offset, .tenant = row->tenant.offset, .salt = row->salt.offset,
		.adapter = row->adapter.offset, .segment_count = (uint32_t)row->segment_count,
		.text_length = (uint32_t)row->text_length
	};
	if (segments > 0)
		memcpy(extra->segments, row->segments, segments);
	memcpy((char *)extra->segments + segments, row->text, row->text_length);
	return extra;
}

static void fault_too_late(struct kv_trace *trace)
{
	kv_row_fault(&trace->row, KV_FAULT_OUT_OF_ORDER,
	             "arrival: %.9g s before a row that precedes it, further than rows are put in order; allowed: %.9g "
	             "s, "
	             "%" PRIu64 " rows and %zu MiB of waiting rows (sort the file by time)",
	             (double)(trace->latest - trace->row.arrival) / (double)KV_SECOND,
	             (double)trace->options.reorder_time / (double)KV_SECOND, trace->options.reorder_rows,
	             trace->options.reorder_bytes >> 20);
}

/* Whether times count from the first row instead of the file's own zero. */
static bool starts_clock(const struct kv_trace *trace)
{
	return (trace->flags & KV_TRACE_CLOCK_FROM_FIRST) || trace->options.first_row > 0;
}

static struct kv_waiting_row pack_row(const struct kv_row *row)
{
	return (struct kv_waiting_row){
		.arrival = row->arrival, .index = row->index, .extra = pack_extra(row),
		.prompt_tokens = row->prompt_tokens,
		.output_tokens = row->output_tokens, .max_tokens = row->max_tokens
	};
}

static int enqueue(struct kv_trace *trace)
{
	const struct kv_row *row = &trace->row;
	struct kv_waiting_row waiting = pack_row(row);

	if (!kv_window_put(&trace->window, &waiting)) {
		free(waiting.extra);
		fault_too_late(trace);
		return reject(trace);
	}
	if (row->arrival - row->moved < trace->latest)
		trace->counts.out_of_order++;
	else
		trace->latest = row->arrival - row->moved;
	return 0;
}

static int await(struct kv_trace *trace)
{
	struct kv_row *row = &trace->row;
	struct kv_waiting_row waiting;

	for (size_t i = 0; i < row->after_count; i++)
		if (row->after[i] < trace->options.first_row)
			kv_row_fault(row, KV_FAULT_DEPENDENCY,
			             "after: a row before the range of rows; allowed: rows inside it");
	if (kv_window_has_released(&trace->window, row->root.arrival, row->root.index))
		kv_row_fault(row, KV_FAULT_DEPENDENCY,
		             "after: what it depends on lies further back than rows are put in order; allowed: rows "
		             "that stand close to those that depend on them");
	if (row->faulty)
		return reject(trace);
	waiting = pack_row(row);
	kv_dependents_add(&trace->dependents, &waiting, row->think, row->after, row->after_count);
	trace->counts.dependent_rows++;
	return 0;
}

/* The reader gets its row back as it was. */
static int pass_to_tap(struct kv_trace *trace)
{
	struct kv_row *row = &trace->row;
	kv_time recorded = row->arrival;
	int status = 0;

	if (!trace->tap_begun && trace->tap->begin != NULL)
		status = trace->tap->begin(trace->tap, trace, &trace->error);
	trace->tap_begun = true;
	if (row->arrival != KV_TIME_NONE && starts_clock(trace)) {
		if (trace->base == KV_TIME_NONE)
			trace->base = row->arrival;
		row->arrival -= trace->base;
	}
	if (row->arrival != KV_TIME_NONE && row->arrival < 0)
		status = kv_trace_fail(trace, &trace->error, row->line,
		                       "arrival: earlier than the first row's, from which times count; allowed: a file "
		                       "whose first row is its earliest (sort it by time)");
	else if (status == 0)
		status = trace->tap->row(trace->tap, row, &trace->error);
	row->arrival = recorded;
	trace->stopped = status != 0;
	return status;
}

/* Rows that depend on others and are to arrive at their recorded times need one. */
static void untie(struct kv_trace *trace)
{
	struct kv_row *row = &trace->row;

	row->after_count = 0;
	trace->counts.untied_rows++;
	if (row->arrival == KV_TIME_NONE && !trace->options.only_timed)
		kv_row_fault(row, KV_FAULT_MISSING,
		             "arrival: the row depends on others and has no time of its own; an open loop needs one");
}

static void settle_arrival(struct kv_trace *trace)
{
	struct kv_row *row = &trace->row;

	if (trace->options.open_loop && row->after_count > 0)
		untie(trace);
	else if (row->arrival == KV_TIME_NONE && row->after_count == 0)
		row->arrival = 0;
}

static void count_row(struct kv_trace *trace)
{
	trace->next_index++;
	trace->line_rows = trace->line == trace->row.line ? trace->line_rows + 1 : 1;
	trace->line = trace->row.line;
}

int kv_trace_accept(struct kv_trace *trace)
{
	struct kv_row *row = &trace->row;

	count_row(trace);
	if (row->index < trace->options.first_row || row->index >= trace->options.end_row)
		return 0;
	trace->counts.rows++;
	settle_arrival(trace);
	if (!row->faulty && (row->prompt_tokens == KV_TOKENS_UNSET || row->output_tokens == KV_TOKENS_UNSET))
		kv_row_fault(row, KV_FAULT_MISSING, "%s tokens: are not given",
		             row->prompt_tokens == KV_TOKENS_UNSET ? "prompt" : "output");
	if (!row->faulty && row->prompt_tokens == 0)
		kv_row_fault(row, KV_FAULT_ZERO_PROMPT, "prompt: has 0 tokens; allowed: at least 1");
	if (row->faulty)
		return reject(trace);
	/* Not asked for, but those behind it may name it. */
	if (row->arrival == KV_TIME_NONE && row->after_count == 0) {
		trace->counts.left_out[KV_FAULT_FILTERED]++;
		return 0;
	}
	kv_block_watch_row(&trace->blocks, row);
	if (trace->tap != NULL)
		return pass_to_tap(trace);
	return row->after_count > 0 ? await(trace) : enqueue(trace);
}

int kv_trace_leave_out(struct kv_trace *trace, uint64_t line, enum kv_fault fault, const char *text)
{
	struct kv_row *row = kv_trace_begin(trace, line);

	if (text != NULL)
		kv_row_fault(row, fault, "%s", text);
	else
		kv_row_leave_out(row, fault);
	return kv_trace_accept(trace);
}

gsl_rng *kv_trace_random(struct kv_trace *trace, const char *name)
{
	return kv_random_create(trace->options.seed, trace->options.replicate, name);
}

void kv_trace_unknown_key(struct kv_trace *trace)
{
	trace->counts.unknown_keys++;
}

void kv_trace_unknown_members(struct kv_trace *trace, const json_t *object, const char *const *known)
{
	json_t *members = (json_t *)object;

	for (void *at = json_object_iter(members); at != NULL; at = json_object_iter_next(members, at)) {
		const char *const *name = known;

		while (*name != NULL && strcmp(*name, json_object_iter_key(at)) != 0)
			name++;
		trace->counts.unknown_keys += *name == NULL;
	}
}

void kv_trace_note(struct kv_trace *trace, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	kv_vremark(&trace->notes, format, args);
	va_end(args);
}

void kv_trace_uneven_blocks(struct kv_trace *trace, uint64_t count)
{
	trace->uneven += count;
}

bool kv_trace_is_satisfied(const struct kv_trace *trace)
{
	return trace->next_index >= trace->options.end_row;
}

void kv_trace_declare(struct kv_trace *trace, unsigned flags)
{
	trace->flags = flags;
}

void kv_trace_declare_column(struct kv_trace *trace, const char *name)
{
	struct kv_names *columns = &trace->columns;

	columns->name = kv_grow(columns->name, &columns->capacity, columns->count + 1, sizeof *columns->name);
	columns->name[columns->count++] = name;
}

/* --- the source --------------------------------------------------------------------------------------------------- */

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
		trace->base = starts_clock(trace) ? on_file : 0;
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

static int find_head(struct kv_trace *trace, struct kv_error *err)
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
	if (find_head(trace, err) != 0)
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

/* --- opening ------------------------------------------------------------------------------------------------------ */

static int check_options(const struct kv_trace_options *options, struct kv_error *err)
{
	if (!(options->time_scale > 0) || isinf(options->time_scale))
		return kv_fail(err, KV_EXIT_USAGE, "time scale: %g; allowed: a number above 0", options->time_scale);
	if (!(options->request_rate >= 0))
		return kv_fail(err, KV_EXIT_USAGE, "request rate: %g; allowed: a number above 0, or inf",
		               options->request_rate);
	if (options->request_rate > 0 && options->time_scale != 1)
		return kv_fail(err, KV_EXIT_USAGE,
		               "a request rate replaces the trace's times, so a time scale has nothing to stretch: "
		               "leave --request-rate or --time-scale out");
	if (options->retries > 0 && options->backoff <= 0)
		return kv_fail(err, KV_EXIT_USAGE, "retry backoff: allowed: a time above 0");
	if (!(options->burstiness > 0))
		return kv_fail(err, KV_EXIT_USAGE, "burstiness: %g; allowed: a number above 0, or inf",
		               options->burstiness);
	return 0;
}

/* "name,param=value,...", or NULL for detection by content. */
static int choose_format(struct kv_trace *trace, const struct kv_sniff *sniff, struct kv_error *err)
{
	char *copy = trace->options.format != NULL ? kv_strdup(trace->options.format) : NULL;
	char *rest = copy;
	char what[80];
	int status = -1;

	if (copy != NULL)
		trace->format = kv_format_find(strsep(&rest, ","), err);
	else if ((trace->format = kv_format_detect(sniff)) == NULL && !trace->files.folder)
		kv_format_fail_detection(kv_input_name(trace->files.input), sniff, err);
	else if (trace->format == NULL)
		kv_format_fail_folder("is of no format that is known", trace->files.paths, trace->files.count, err);
	if (trace->format != NULL && trace->files.folder && !trace->format->folders) {
		snprintf(what, sizeof what, "is a trace of its own (%s)", trace->format->name);
		kv_format_fail_folder(what, trace->files.paths, trace->files.count, err);
	} else if (trace->format != NULL) {
		trace->params = kv_calloc(1, trace->format->params_size);
		status = kv_params_set(trace->format->name, trace->format->params, rest, trace->params, err);
	}
	free(copy);
	return status;
}

static int open_reader(struct kv_trace *trace, struct kv_error *err)
{
	struct kv_sniff sniff;

	kv_sniff_init(&sniff, trace->files.input);
	if (sniff.length == 0 && !(trace->files.folder && trace->options.format != NULL))
		kv_fail(err, KV_EXIT_DATA, "%s: the file is empty; allowed: a trace with at least one request",
		        kv_input_name(trace->files.input));
	else if (choose_format(trace, &sniff, err) == 0)
		trace->reader = trace->format->open(trace, &sniff, trace->params, err);
	kv_sniff_fini(&sniff);
	return trace->reader != NULL ? 0 : -1;
}

static uint64_t total_left_out(const struct kv_trace *trace)
{
	uint64_t total = 0;

	for (int i = 0; i < KV_FAULTS; i++)
		total += trace->counts.left_out[i];
	return total;
}

/* Fails if there is no request at all. With a tap this reads the whole file. */
static int look_ahead(struct kv_trace *trace, struct kv_error *err)
{
	if (find_head(trace, err) != 0)
		return -1;
	if (!trace->has_head && (trace->tap == NULL || trace->counts.rows == total_left_out(trace)))
		return kv_fail(err, KV_EXIT_DATA, "%s: no request in it: %" PRIu64 " rows read, %" PRIu64 " left out%s",
		               kv_input_name(trace->files.input), trace->next_index, trace->counts.rows,
		               trace->options.first_row > 0 ? " (is the range of rows beyond its end?)" : "");
	return 0;
}

static int open_files(struct kv_trace *trace, const char *path, struct kv_error *err)
{
	if (kv_files_open(&trace->files, path, err) == 0)
		return 0;
	if (err->status == KV_EXIT_MISSING && strncmp(path, "preset:", 7) != 0)
		return kv_format_fail_missing(path, err);
	if (trace->files.folder && trace->files.count > 0)
		return kv_format_fail_folder("is not readable as a file", trace->files.paths, trace->files.count, err);
	return -1;
}

static struct kv_trace *open_file(const char *path, const struct kv_trace_options *options, struct kv_error *err)
{
	struct kv_trace *trace;

	if (check_options(options, err) != 0)
		return NULL;
	trace = kv_calloc(1, sizeof *trace);
	trace->source = (struct kv_source){.next = next_request, .ended = request_ended, .close = close_source};
	trace->options = *options;
	trace->base = trace->counts.first = trace->counts.last = KV_TIME_NONE;
	trace->row.text = kv_grow(NULL, &trace->row.text_capacity, 1, 1);
	kv_dependents_init(&trace->dependents);
	kv_window_init(&trace->window, options->reorder_time, options->reorder_rows, options->reorder_bytes);
	if (options->request_rate > 0 && !isinf(options->request_rate))
		trace->gaps = kv_random_create(options->seed, options->replicate, "arrivals");
	if (open_files(trace, path, err) != 0 || open_reader(trace, err) != 0) {
		kv_trace_close(trace);
		return NULL;
	}
	return trace;
}

struct kv_trace *kv_trace_open(const char *path, const struct kv_trace_options *options, struct kv_error *err)
{
	struct kv_trace *trace = open_file(path, options, err);

	if (trace != NULL && look_ahead(trace, err) != 0) {
		kv_trace_close(trace);
		return NULL;
	}
	return trace;
}

int kv_trace_read_rows(const char *path, const struct kv_trace_options *options, struct kv_trace_tap *tap,
                       struct kv_error *err)
{
	struct kv_trace *trace = open_file(path, options, err);
	int status;

	if (trace == NULL)
		return -1;
	trace->tap = tap;
	trace->row.keeps_names = true;
	status = look_ahead(trace, err);
	if (status == 0 && tap->end != NULL)
		tap->end(tap, trace);
	kv_trace_close(trace);
	return status;
}

void kv_trace_close(struct kv_trace *trace)
{
	if (trace == NULL)
		return;
	if (trace->reader != NULL)
		trace->reader->close(trace->reader);
	if (trace->has_head)
		free(trace->head.extra);
	if (trace->has_given)
		free(trace->given.extra);
	kv_dependents_fini(&trace->dependents);
	kv_sent_rows_fini(&trace->sent);
	kv_window_fini(&trace->window);
	kv_block_watch_fini(&trace->blocks);
	kv_remarks_fini(&trace->notes);
	free(trace->columns.name);
	if (trace->gaps != NULL)
		gsl_rng_free(trace->gaps);
	free(trace->params);
	free(trace->row.after);
	free(trace->row.segments);
	free(trace->row.names);
	free(trace->row.text);
	kv_files_close(&trace->files);
	free(trace);
}

struct kv_source *kv_trace_source(struct kv_trace *trace)
{
	return &trace->source;
}

double kv_trace_fraction(const struct kv_trace *trace)
{
	const struct kv_files *files = &trace->files;

	if (files->input == NULL)
		return 0;
	return ((double)files->at + kv_input_fraction(files->input)) / (double)files->count;
}

const struct kv_trace_counts *kv_trace_counts(struct kv_trace *trace)
{
	trace->counts.waiting = trace->dependents.count + kv_row_heap_count(&trace->dependents.due);
	trace->counts.uneven_blocks = trace->uneven + trace->blocks.uneven;
	trace->counts.misplaced_blocks = trace->blocks.misplaced;
	return &trace->counts;
}

const struct kv_format *kv_trace_format(const struct kv_trace *trace)
{
	return trace->format;
}

const struct kv_names *kv_trace_columns(const struct kv_trace *trace)
{
	return &trace->columns;
}

unsigned kv_trace_flags(const struct kv_trace *trace)
{
	return trace->flags;
}

bool kv_trace_has_prefix_identity(const struct kv_trace *trace)
{
	return trace->flags & KV_TRACE_PREFIX_IDENTITY;
}

/* Dates leave no doubt of their unit, and slices of traces that have them may be as sparse as they like. */
static bool has_bare_times(const struct kv_trace *trace)
{
	return !(trace->flags & (KV_TRACE_CLOCK_FROM_FIRST | KV_TRACE_SURE_UNIT)) && trace->options.request_rate == 0 &&
	       trace->options.time_scale == 1;
}

const char *kv_trace_remark(struct kv_trace *trace, size_t number)
{
	if (number < trace->notes.count)
		return trace->notes.text[number];
	return kv_doubt(kv_trace_counts(trace), has_bare_times(trace), number - trace->notes.count);
}

int kv_trace_fingerprint(struct kv_trace *trace, char text[KV_FINGERPRINT_SIZE], struct kv_error *err)
{
	return kv_files_fingerprint(&trace->files, text, err);
}
