#include "config.h"

#include "workloads/trace_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/base/random.h"

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
	             "arrival: %.9g s before a row that precedes it, further than rows are put in order; allowed: "
	             "%.9g s, %" PRIu64 " rows and %zu MiB of waiting rows (sort the file by time)",
	             (double)(trace->latest - trace->row.arrival) / (double)KV_SECOND,
	             (double)trace->options.reorder_time / (double)KV_SECOND, trace->options.reorder_rows,
	             trace->options.reorder_bytes >> 20);
}

bool kv_trace_starts_clock(const struct kv_trace *trace)
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
	if (row->arrival != KV_TIME_NONE && kv_trace_starts_clock(trace)) {
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

void kv_trace_name_seed(struct kv_trace *trace, uint64_t seed)
{
	if (trace->options.own_seed)
		trace->options.seed = seed;
}

const struct kv_yaml_settings *kv_trace_load_settings(struct kv_trace *trace)
{
	trace->takes_settings = true;
	return trace->options.load;
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
