#include "config.h"

#include "workloads/trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/base/yaml_tree.h"
#include "sim/base/random.h"
#include "workloads/doubts.h"
#include "workloads/trace_parts.h"

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
	if (trace->reader != NULL && trace->options.load != NULL && trace->options.load->count > 0 && !trace->takes_settings)
		return kv_fail(err, KV_EXIT_USAGE, "workload.generate.%s cannot be set: %s is of format %s, no description of a load",
		               trace->options.load->setting[0].path, kv_input_name(trace->files.input), trace->format->name);
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
	if (kv_trace_find_head(trace, err) != 0)
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
	kv_trace_source_init(trace);
	trace->options = *options;
	trace->base = trace->counts.first = trace->counts.last = KV_TIME_NONE;
	trace->row.text = kv_grow(NULL, &trace->row.text_capacity, 1, 1);
	kv_dependents_init(&trace->dependents);
	kv_window_init(&trace->window, options->reorder_time, options->reorder_rows, options->reorder_bytes);
	if (open_files(trace, path, err) != 0 || open_reader(trace, err) != 0) {
		kv_trace_close(trace);
		return NULL;
	}
	/* The reader may have named the seed. */
	if (options->request_rate > 0 && !isinf(options->request_rate))
		trace->gaps = kv_trace_random(trace, "arrivals");
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

double kv_trace_fraction(const struct kv_trace *trace)
{
	const struct kv_files *files = &trace->files;

	if (files->input == NULL)
		return 0;
	return ((double)files->at + kv_input_fraction(files->input)) / (double)files->count;
}

uint64_t kv_trace_seed(const struct kv_trace *trace)
{
	return trace->options.seed;
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
