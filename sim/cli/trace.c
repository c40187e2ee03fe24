#include "config.h"

#include "sim/cli/trace.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "results/number_text.h"
#include "results/output_file.h"
#include "sim/cli/command.h"
#include "sim/base/names.h"
#include "sim/base/quantity.h"
#include "workloads/trace.h"

struct arguments {
	const char *path;
	bool json;
	struct kv_trace_options options;
	struct kv_error err;
};

enum { OPTION_FORMAT = 256, OPTION_ROWS, OPTION_OPEN_LOOP, OPTION_SKIP, OPTION_JSON, OPTION_REORDER_TIME, OPTION_REORDER_ROWS };

static const struct argp_option validate_options[] = {
	{.name = "format", .key = OPTION_FORMAT, .arg = "NAME", .doc = "Format of the trace (default: detected)"},
	{.name = "rows", .key = OPTION_ROWS, .arg = "A:B", .doc = "Only data rows A to B-1, counted from 0"},
	{.name = "open-loop", .key = OPTION_OPEN_LOOP,
	 .doc = "Rows that depend on others arrive at their recorded times"},
	{.name = "skip-bad-rows", .key = OPTION_SKIP, .doc = "Count unusable rows by reason instead of stopping at the first"},
	{.name = "reorder-time", .key = OPTION_REORDER_TIME, .arg = "T",
	 .doc = "Put rows in order that are late by up to T of trace time (default: 1h)"},
	{.name = "reorder-rows", .key = OPTION_REORDER_ROWS, .arg = "N",
	 .doc = "Put rows in order that are late by up to N rows (default: 100000)"},
	{.name = "json", .key = OPTION_JSON, .doc = "Print JSON"},
	{0}
};

static int take_option(struct arguments *arguments, int key, const char *value)
{
	struct kv_trace_options *options = &arguments->options;

	switch (key) {
	case OPTION_FORMAT:
		options->format = value;
		return 0;
	case OPTION_ROWS:
		return kv_trace_parse_rows(value, options, &arguments->err);
	case OPTION_OPEN_LOOP:
		options->open_loop = true;
		return 0;
	case OPTION_SKIP:
		options->skip_bad_rows = true;
		return 0;
	case OPTION_JSON:
		arguments->json = true;
		return 0;
	case OPTION_REORDER_TIME:
		return kv_parse_time(value, 0, KV_ARRIVAL_MAX, &options->reorder_time, &arguments->err);
	default:
		return kv_parse_count(value, 0, UINT32_MAX, &options->reorder_rows, &arguments->err);
	}
}

static error_t parse_validate(int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (arguments->path != NULL)
			argp_error(state, "one FILE only, '%s' is a second one", value);
		arguments->path = value;
		return 0;
	case ARGP_KEY_END:
		if (arguments->path == NULL)
			argp_error(state, "FILE is missing ('-' is standard input)");
		return 0;
	default:
		if (key < OPTION_FORMAT || key > OPTION_REORDER_ROWS)
			return ARGP_ERR_UNKNOWN;
		if (take_option(arguments, key, value) != 0)
			argp_error(state, "%s", arguments->err.text);
		return 0;
	}
}

/* Every request ends as it arrives, so that those that depend on others come too. */
static int drain(struct kv_source *source, struct kv_error *err)
{
	struct kv_request request;
	int status;

	while ((status = source->next(source, &request, err)) == 1)
		source->ended(source, request.index, true, request.arrival, NULL, false);
	return status;
}

static uint64_t total_left_out(const struct kv_trace_counts *counts)
{
	uint64_t total = 0;

	for (int i = 0; i < KV_FAULTS; i++)
		total += counts->left_out[i];
	return total;
}

static void print_count(struct kv_output *out, const char *label, uint64_t count)
{
	kv_output_printf(out, "%-24s%" PRIu64 "\n", label, count);
}

static void print_seconds(struct kv_output *out, const char *label, kv_time time)
{
	char text[KV_NUMBER_TEXT_MAX];

	*kv_text_seconds(text, time) = '\0';
	kv_output_printf(out, "%-24s%s\n", label, text);
}

static void print_text(struct kv_output *out, const struct arguments *arguments, struct kv_trace *trace,
                       const char *fingerprint)
{
	const struct kv_trace_counts *counts = kv_trace_counts(trace);

	kv_output_printf(out, "%-24s%s\n", "File", arguments->path);
	kv_output_printf(out, "%-24s%s (%s)\n", "Format", kv_trace_format(trace)->name, kv_trace_format(trace)->summary);
	print_count(out, "Rows read", counts->rows);
	print_count(out, "Requests", counts->emitted);
	print_count(out, "Rows left out", total_left_out(counts));
	for (int i = 0; i < KV_FAULTS; i++)
		if (counts->left_out[i] > 0)
			kv_output_printf(out, "  %-22s%" PRIu64 "\n", kv_fault_name((enum kv_fault)i), counts->left_out[i]);
	print_count(out, "Rows out of order", counts->out_of_order);
	print_count(out, "Rows at equal times", counts->equal_times);
	print_count(out, "Dependent requests", counts->dependent_rows);
	print_count(out, "Unknown keys", counts->unknown_keys);
	print_count(out, "Requests without output", counts->zero_outputs);
	print_seconds(out, "First arrival (s)", counts->first);
	print_seconds(out, "Last arrival (s)", counts->last);
	print_count(out, "Prompt tokens", counts->prompt_tokens);
	print_count(out, "Output tokens", counts->output_tokens);
	if (kv_trace_has_prefix_identity(trace))
		kv_output_printf(out, "%-24syes, in %" PRIu64 " requests\n", "Prefix identity", counts->named_rows);
	else
		kv_output_printf(out, "%-24sno: every prompt is replayed as unique\n", "Prefix identity");
	kv_output_printf(out, "%-24s%s\n", "XXH128", fingerprint);
}

static json_t *left_out_json(const struct kv_trace_counts *counts)
{
	json_t *reasons = json_object();

	for (int i = 0; i < KV_FAULTS; i++)
		if (counts->left_out[i] > 0)
			json_object_set_new(reasons, kv_fault_name((enum kv_fault)i), json_integer((json_int_t)counts->left_out[i]));
	return reasons;
}

static void set_count(json_t *object, const char *key, uint64_t count)
{
	json_object_set_new(object, key, json_integer((json_int_t)count));
}

static void set_seconds(json_t *object, const char *key, kv_time time)
{
	json_object_set_new(object, key, json_real((double)time / (double)KV_SECOND));
}

static json_t *to_json(const struct arguments *arguments, struct kv_trace *trace, const char *fingerprint)
{
	const struct kv_trace_counts *counts = kv_trace_counts(trace);
	json_t *object = json_pack("{ss ss}", "file", arguments->path, "format", kv_trace_format(trace)->name);

	set_count(object, "rows", counts->rows);
	set_count(object, "requests", counts->emitted);
	json_object_set_new(object, "left_out", left_out_json(counts));
	set_count(object, "out_of_order", counts->out_of_order);
	set_count(object, "equal_times", counts->equal_times);
	set_count(object, "dependent", counts->dependent_rows);
	set_count(object, "unknown_keys", counts->unknown_keys);
	set_count(object, "zero_outputs", counts->zero_outputs);
	set_seconds(object, "first_arrival_s", counts->first);
	set_seconds(object, "last_arrival_s", counts->last);
	set_count(object, "prompt_tokens", counts->prompt_tokens);
	set_count(object, "output_tokens", counts->output_tokens);
	json_object_set_new(object, "prefix_identity", json_boolean(kv_trace_has_prefix_identity(trace)));
	set_count(object, "named_prompts", counts->named_rows);
	json_object_set_new(object, "xxh128", json_string(fingerprint));
	return object;
}

static void print_json(struct kv_output *out, json_t *object)
{
	char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(15));

	kv_output_text(out, text);
	kv_output_text(out, "\n");
	free(text);
	json_decref(object);
}

static int report(const struct arguments *arguments, struct kv_trace *trace, struct kv_error *err)
{
	struct kv_output *out = kv_output_to_descriptor(STDOUT_FILENO, "standard output");
	char fingerprint[KV_FINGERPRINT_SIZE];
	int status = kv_trace_fingerprint(trace, fingerprint, err);

	if (status == 0 && arguments->json)
		print_json(out, to_json(arguments, trace, fingerprint));
	else if (status == 0)
		print_text(out, arguments, trace, fingerprint);
	if (status == 0)
		status = kv_output_close(out, err);
	kv_output_free(out);
	return status;
}

static int validate(int argc, char **argv)
{
	static const struct argp argp = {
		.options = validate_options, .parser = parse_validate, .args_doc = "FILE",
		.doc = "Reads the whole trace, checks every row and prints what was counted."
	};
	struct arguments arguments = {0};
	struct kv_error err;
	struct kv_trace *trace;
	int status = -1;

	kv_trace_options_init(&arguments.options);
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	trace = kv_trace_open(arguments.path, &arguments.options, &err);
	if (trace != NULL && drain(kv_trace_source(trace), &err) == 0)
		status = report(&arguments, trace, &err);
	kv_trace_close(trace);
	return status == 0 ? KV_EXIT_OK : kv_cli_fail(&err);
}

static const struct kv_command actions[] = {
	{"validate", "read and check a trace, print counts", validate}
};

enum { ACTIONS = sizeof actions / sizeof *actions };

static void print_help(FILE *to)
{
	fputs("Usage: kvsim trace ACTION [ARGUMENT...]\n\nActions:\n", to);
	for (int i = 0; i < ACTIONS; i++)
		fprintf(to, "  %-10s %s\n", actions[i].name, actions[i].summary);
	fputs("\n'kvsim trace ACTION --help' tells more about each.\n", to);
}

int kv_cli_trace(int argc, char **argv)
{
	const char *names[ACTIONS];
	struct kv_error err;
	char title[64];

	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0) {
		print_help(argc < 2 ? stderr : stdout);
		return argc < 2 ? KV_EXIT_USAGE : KV_EXIT_OK;
	}
	for (int i = 0; i < ACTIONS; i++) {
		names[i] = actions[i].name;
		if (strcmp(argv[1], actions[i].name) == 0) {
			snprintf(title, sizeof title, "kvsim trace %s", actions[i].name);
			argv[1] = title;
			return actions[i].run(argc - 1, argv + 1);
		}
	}
	kv_fail_unknown(&err, KV_EXIT_USAGE, "trace action", argv[1], names, ACTIONS);
	return kv_cli_fail(&err);
}
