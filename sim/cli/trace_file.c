#include "config.h"

#include "sim/cli/trace_file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "results/number_text.h"
#include "sim/base/quantity.h"
#include "sim/deploy/scenario.h"

enum { FORMAT = 256, ROWS, OPEN_LOOP, SKIP, SEED, JSON, REORDER_TIME, REORDER_ROWS };

static const struct argp_option row_options[] = {
	{.name = "format", .key = FORMAT, .arg = "NAME",
	 .doc = "Format of the trace, with parameters as NAME,name=value (default: detected)"},
	{.name = "rows", .key = ROWS, .arg = "A:B", .doc = "Only data rows A to B-1, counted from 0"},
	{.name = "open-loop", .key = OPEN_LOOP, .doc = "Rows that depend on others arrive at their recorded times"},
	{.name = "skip-bad-rows", .key = SKIP, .doc = "Count unusable rows by reason instead of stopping at the first"},
	{.name = "seed", .key = SEED, .arg = "N",
	 .doc = "Seed of what is drawn: generated loads and client pools (default: the scenario's, or 0)"},
	{0}
};

/* What acts on requests in order of time, or on what is printed of them. */
static const struct argp_option request_options[] = {
	{.name = "reorder-time", .key = REORDER_TIME, .arg = "T",
	 .doc = "Put rows in order that are late by up to T of trace time (default: 1h)"},
	{.name = "reorder-rows", .key = REORDER_ROWS, .arg = "N",
	 .doc = "Put rows in order that are late by up to N rows (default: 100000)"},
	{.name = "json", .key = JSON, .doc = "Print JSON"},
	{0}
};

static int take_option(struct kv_trace_file *file, int key, const char *value, struct kv_error *err)
{
	struct kv_trace_options *o = &file->options;

	switch (key) {
	case FORMAT:
		o->format = value;
		return 0;
	case ROWS:
		return kv_trace_parse_rows(value, o, err) ? kv_fail_in(err, "--rows") : 0;
	case OPEN_LOOP:
		o->open_loop = true;
		return 0;
	case SKIP:
		o->skip_bad_rows = true;
		return 0;
	case SEED:
		o->own_seed = false;
		return kv_parse_count(value, 0, UINT64_MAX, &o->seed, err);
	case JSON:
		file->json = true;
		return 0;
	case REORDER_TIME:
		return kv_parse_time(value, 0, KV_ARRIVAL_MAX, &o->reorder_time, err)
		               ? kv_fail_in(err, "--reorder-time")
		               : 0;
	default:
		return kv_parse_count(value, 0, UINT32_MAX, &o->reorder_rows, err) ? kv_fail_in(err, "--reorder-rows")
		                                                                   : 0;
	}
}

static error_t parse_option(int key, int first, int last, const char *value, struct argp_state *state)
{
	struct kv_error err;

	if (key < first || key > last)
		return ARGP_ERR_UNKNOWN;
	if (take_option(state->input, key, value, &err) != 0)
		argp_error(state, "%s", err.text);
	return 0;
}

static error_t parse_rows(int key, char *value, struct argp_state *state)
{
	struct kv_trace_file *file = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		kv_trace_options_init(&file->options);
		file->options.own_seed = true;
		return 0;
	case ARGP_KEY_ARG:
		if (file->path != NULL)
			argp_error(state, "one FILE only, '%s' is a second one", value);
		file->path = value;
		return 0;
	case ARGP_KEY_END:
		if (file->path == NULL)
			argp_error(state, "FILE is missing ('-' is standard input)");
		return 0;
	default:
		return parse_option(key, FORMAT, SEED, value, state);
	}
}

const struct argp kv_trace_rows_argp = {.options = row_options, .parser = parse_rows};

static error_t parse_requests(int key, char *value, struct argp_state *state)
{
	if (key == ARGP_KEY_INIT)
		state->child_inputs[0] = state->input;
	return parse_option(key, JSON, REORDER_ROWS, value, state);
}

static const struct argp_child requests_children[] = {{&kv_trace_rows_argp, 0, NULL, 0}, {0}};

const struct argp kv_trace_file_argp = {
	.options = request_options, .parser = parse_requests, .children = requests_children
};

void kv_trace_file_seed(const struct kv_scenario *scenario, struct kv_trace_options *reading)
{
	reading->seed = scenario->seed;
	reading->own_seed = kv_scenario_setting(scenario, "seed")->origin < KV_BY_FILE;
}

int kv_trace_file_next(struct kv_trace *trace, struct kv_request *request, struct kv_error *err)
{
	struct kv_source *source = kv_trace_source(trace);
	int status = source->next(source, request, err);

	if (status == 1)
		source->ended(source, request->index, KV_END_FINISHED, request->arrival, NULL, false);
	return status;
}

uint64_t kv_trace_file_left_out(const struct kv_trace_counts *counts)
{
	uint64_t total = 0;

	for (int i = 0; i < KV_FAULTS; i++)
		total += counts->left_out[i];
	return total;
}

/* --- text --------------------------------------------------------------------------------------------------------- */


enum { LABEL_WIDTH = 24 };

void kv_trace_file_print_count(struct kv_output *out, const char *label, uint64_t count)
{
	kv_output_printf(out, "%-*s%" PRIu64 "\n", LABEL_WIDTH, label, count);
}

void kv_trace_file_print_text(struct kv_output *out, const char *label, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	kv_output_printf(out, "%-*s%s\n", LABEL_WIDTH, label, text);
}

static void print_seconds(struct kv_output *out, const char *label, kv_time time)
{
	char text[KV_NUMBER_TEXT_MAX];

	*kv_text_seconds(text, time) = '\0';
	kv_trace_file_print_text(out, label, "%s", text);
}

void kv_trace_file_print(struct kv_output *out, const struct kv_trace_file *file, struct kv_trace *trace)
{
	const struct kv_trace_counts *counts = kv_trace_counts(trace);
	const char *remark;

	kv_trace_file_print_text(out, "File", "%s", file->path);
	kv_trace_file_print_text(out, "Format", "%s (%s)", kv_trace_format(trace)->name,
	                         kv_trace_format(trace)->summary);
	kv_trace_file_print_count(out, kv_trace_flags(trace) & KV_TRACE_DRAWN ? "Rows drawn" : "Rows read", counts->rows);
	kv_trace_file_print_count(out, "Requests", counts->emitted);
	kv_trace_file_print_count(out, "Rows left out", kv_trace_file_left_out(counts));
	for (int i = 0; i < KV_FAULTS; i++)
		if (counts->left_out[i] > 0)
			kv_output_printf(out, "  %-*s%" PRIu64 "\n", LABEL_WIDTH - 2, kv_fault_name((enum kv_fault)i),
			                 counts->left_out[i]);
	kv_trace_file_print_count(out, "Rows out of order", counts->out_of_order);
	kv_trace_file_print_count(out, "Rows at equal times", counts->equal_times);
	kv_trace_file_print_count(out, "Dependent requests", counts->dependent_rows);
	kv_trace_file_print_count(out, "Unknown keys", counts->unknown_keys);
	if (counts->uneven_blocks > 0)
		kv_trace_file_print_count(out, "Ids of two lengths", counts->uneven_blocks);
	if (counts->misplaced_blocks > 0)
		kv_trace_file_print_count(out, "Ids behind two others", counts->misplaced_blocks);
	kv_trace_file_print_count(out, "Requests without output", counts->zero_outputs);
	print_seconds(out, "First arrival (s)", counts->first);
	print_seconds(out, "Last arrival (s)", counts->last);
	kv_trace_file_print_count(out, "Prompt tokens", counts->prompt_tokens);
	kv_trace_file_print_count(out, "Output tokens", counts->output_tokens);
	if (kv_trace_has_prefix_identity(trace))
		kv_trace_file_print_text(out, "Prefix identity", "yes, in %" PRIu64 " requests", counts->named_rows);
	else
		kv_trace_file_print_text(out, "Prefix identity", "no: every prompt is replayed as unique");
	for (size_t i = 0; (remark = kv_trace_remark(trace, i)) != NULL; i++)
		kv_trace_file_print_text(out, "Warning", "%s", remark);
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */


void kv_trace_file_set_count(json_t *object, const char *key, uint64_t count)
{
	json_object_set_new(object, key, json_integer((json_int_t)count));
}

static void set_seconds(json_t *object, const char *key, kv_time time)
{
	json_object_set_new(object, key, json_real((double)time / (double)KV_SECOND));
}

static json_t *left_out_json(const struct kv_trace_counts *counts)
{
	json_t *reasons = json_object();

	for (int i = 0; i < KV_FAULTS; i++)
		if (counts->left_out[i] > 0)
			kv_trace_file_set_count(reasons, kv_fault_name((enum kv_fault)i), counts->left_out[i]);
	return reasons;
}

static json_t *warnings_json(struct kv_trace *trace)
{
	json_t *warnings = json_array();
	const char *remark;

	for (size_t i = 0; (remark = kv_trace_remark(trace, i)) != NULL; i++)
		json_array_append_new(warnings, json_string(remark));
	return warnings;
}

json_t *kv_trace_file_json(const struct kv_trace_file *file, struct kv_trace *trace)
{
	const struct kv_trace_counts *counts = kv_trace_counts(trace);
	json_t *object = json_pack("{ss ss}", "file", file->path, "format", kv_trace_format(trace)->name);

	kv_trace_file_set_count(object, "rows", counts->rows);
	kv_trace_file_set_count(object, "requests", counts->emitted);
	json_object_set_new(object, "left_out", left_out_json(counts));
	kv_trace_file_set_count(object, "out_of_order", counts->out_of_order);
	kv_trace_file_set_count(object, "equal_times", counts->equal_times);
	kv_trace_file_set_count(object, "dependent", counts->dependent_rows);
	kv_trace_file_set_count(object, "unknown_keys", counts->unknown_keys);
	kv_trace_file_set_count(object, "uneven_blocks", counts->uneven_blocks);
	kv_trace_file_set_count(object, "misplaced_blocks", counts->misplaced_blocks);
	kv_trace_file_set_count(object, "zero_outputs", counts->zero_outputs);
	set_seconds(object, "first_arrival_s", counts->first);
	set_seconds(object, "last_arrival_s", counts->last);
	kv_trace_file_set_count(object, "prompt_tokens", counts->prompt_tokens);
	kv_trace_file_set_count(object, "output_tokens", counts->output_tokens);
	json_object_set_new(object, "prefix_identity", json_boolean(kv_trace_has_prefix_identity(trace)));
	kv_trace_file_set_count(object, "named_prompts", counts->named_rows);
	json_object_set_new(object, "warnings", warnings_json(trace));
	return object;
}

void kv_trace_file_print_json(struct kv_output *out, json_t *object)
{
	char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(15));

	kv_output_text(out, text);
	kv_output_text(out, "\n");
	free(text);
	json_decref(object);
}
