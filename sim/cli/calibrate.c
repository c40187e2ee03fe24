#include "config.h"

#include "sim/cli/calibrate.h"

#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/quantity.h"
#include "sim/cli/command.h"
#include "sim/cli/measured_run.h"
#include "sim/cli/refused_rows.h"
#include "sim/latency/iteration_log.h"

/* vLLM's default; a log does not name another. */
#define VLLM_BLOCK 16u

enum {
	OPTION_DATA = 256, OPTION_OUT, OPTION_START, OPTION_SCORE, OPTION_AGAINST, OPTION_BLOCKS, OPTION_MODEL,
	OPTION_TP, OPTION_CONTEXT, OPTION_HARDWARE, OPTION_ENGINE, OPTION_QUANTIZATION, OPTION_KV_CACHE_DTYPE,
	OPTION_WHERE, OPTION_FOLDS, OPTION_LEAVE_OUT, OPTION_DRAW, OPTION_SEED, OPTION_KERNEL_TIMES, OPTION_FAIL_ABOVE,
	OPTION_LIST_REFUSED, OPTION_JSON
};

static const struct argp_option options[] = {
	{.doc = "Fit:"},
	{.name = "data", .key = OPTION_DATA, .arg = "FILE", 
	 .doc = "What to fit to: measured steps or static batches (CSV), a vLLM iteration log, or a measured run as in "
	        "--against"},
	{.name = "out", .key = OPTION_OUT, .arg = "PROFILE",
	 .doc = "Write the hardware profile with the fitted constants"},
	{.name = "start", .key = OPTION_START, .arg = "PROFILE",
	 .doc = "Hardware profile whose constants are the starting point and what the data must argue against"},
	{.name = "kernel-times", .key = OPTION_KERNEL_TIMES,
	 .doc = "The rows are sums of kernel times, without all-reduces and host gaps: fit like that, then add the "
	        "engine's time a step; a score leaves it out again"},
	{.name = "folds", .key = OPTION_FOLDS, .arg = "N", .doc = "Folds of the cross-validation (10; 0 = none)"},
	{.name = "leave-out", .key = OPTION_LEAVE_OUT, .arg = "gpu|tp|model",
	 .doc = "Cross-validate by leaving out one of these at a time instead of shapes"},
	{.name = "draw", .key = OPTION_DRAW, .arg = "N",
	 .doc = "Fit to N random rows, twelve times, and tell the error on the rest (writes no profile)"},
	{.name = "seed", .key = OPTION_SEED, .arg = "N", .doc = "Seed of the first draw (1); the others follow it"},
	{.doc = "Score:"},
	{.name = "score", .key = OPTION_SCORE, .arg = "FILE", .doc = "Measurements (CSV) to compare predictions with"},
	{.name = "fail-above", .key = OPTION_FAIL_ABOVE, .arg = "PERCENT",
	 .doc = "Exit with status 1 if a phase's mean absolute error is above this"},
	{.doc = "Replay:"},
	{.name = "against", .key = OPTION_AGAINST, .arg = "RUN",
	 .doc = "Replay a measured run (RUN_requests.jsonl, RUN_meta.json) and compare TTFT, TPOT, e2e and the cache"},
	{.name = "num-gpu-blocks-override", .key = OPTION_BLOCKS, .arg = "N",
	 .doc = "Pool of the run or the log, where its files do not say"},
	{.doc = "Of a vLLM iteration log as --data or --score, or of a measured run instead of what it says:"},
	{.name = "model", .key = OPTION_MODEL, .arg = "NAME", .doc = "The model that ran"},
	{.name = "tensor-parallel-size", .key = OPTION_TP, .arg = "N", .doc = "On so many GPUs (of a log: 1)"},
	{.name = "mean-context", .key = OPTION_CONTEXT, .arg = "N",
	 .doc = "Tokens of an average decode's context, where the log has no KV cache usage"},
	{.doc = "All:"},
	{.name = "hardware", .key = OPTION_HARDWARE, .arg = "NAME|FILE",
	 .doc = "Its constants count for all rows, its rates for rows of its name (default: each row's own card)"},
	{.name = "engine", .key = OPTION_ENGINE, .arg = "PROFILE",
	 .doc = "Engine profile (" KV_CALIBRATE_DEFAULT_ENGINE "; of a measured run: its release)"},
	{.name = "quantization", .key = OPTION_QUANTIZATION, .arg = "T",
	 .doc = "Of all models in the file or run, instead of what it says"},
	{.name = "kv-cache-dtype", .key = OPTION_KV_CACHE_DTYPE, .arg = "T",
	 .doc = "Of all rows or of the run, instead of what they say (steps: bfloat16)"},
	{.name = "where", .key = OPTION_WHERE, .arg = "COLUMN=VALUE",
	 .doc = "Use only such rows (also COLUMN<=NUMBER, COLUMN>=NUMBER); may be repeated"},
	{.name = "list-refused", .key = OPTION_LIST_REFUSED,
	 .doc = "Name every row that is not used, not just the first of each reason"},
	{.name = "json", .key = OPTION_JSON, .doc = "Print JSON"},
	{0}
};

static void add_condition(struct kv_calibrate_arguments *a, const char *text, struct argp_state *state)
{
	if (a->conditions == KV_CALIBRATE_CONDITIONS)
		argp_error(state, "more than %d times --where", KV_CALIBRATE_CONDITIONS);
	else
		a->condition[a->conditions++] = text;
}

static error_t parse_number(int key, const char *text, struct kv_calibrate_arguments *a, struct argp_state *state)
{
	const struct { int key; const char *name; uint64_t *to, minimum, maximum; } counts[] = {
		{OPTION_FOLDS, "folds", &a->folds, 0, 1000}, {OPTION_DRAW, "draw", &a->draw, 1, UINT32_MAX},
		{OPTION_SEED, "seed", &a->seed, 0, UINT32_MAX},
		{OPTION_BLOCKS, "num-gpu-blocks-override", &a->blocks, 2, UINT32_MAX},
		{OPTION_TP, "tensor-parallel-size", &a->tp, 1, 4096},
		{OPTION_CONTEXT, "mean-context", &a->mean_context, 1, UINT32_MAX},
	};
	struct kv_error err;

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (counts[i].key == key &&
		    kv_parse_count(text, counts[i].minimum, counts[i].maximum, counts[i].to, &err))
			argp_error(state, "--%s: %s", counts[i].name, err.text);
	if (key == OPTION_FAIL_ABOVE && kv_parse_double(text, 0, 1e6, &a->fail_above, &err))
		argp_error(state, "--fail-above: %s", err.text);
	if (a->folds == 1)
		argp_error(state, "--folds: '1'; allowed: 0, or 2 to 1000");
	return 0;
}

/* Options that would do nothing in the chosen mode. */
static void check_mode(const struct kv_calibrate_arguments *a, struct argp_state *state)
{
	const struct { const char *name; bool given, means; const char *mode; } options_of[] = {
		{"out", a->out != NULL, a->data, "--data"}, {"start", a->start != NULL, a->data, "--data"},
		{"leave-out", a->leave_out != NULL, a->data, "--data"}, {"draw", a->draw > 0, a->data, "--data"},
		{"kernel-times", a->kernel_times, !a->against, "--data or --score"},
		{"where", a->conditions > 0, !a->against, "--data or --score"},
		{"fail-above", isfinite(a->fail_above), a->score, "--score"},
	};

	for (size_t i = 0; i < sizeof options_of / sizeof *options_of; i++)
		if (options_of[i].given && !options_of[i].means)
			argp_error(state, "--%s goes with %s", options_of[i].name, options_of[i].mode);
}

static void check(const struct kv_calibrate_arguments *a, struct argp_state *state)
{
	if ((a->data != NULL) + (a->score != NULL) + (a->against != NULL) != 1)
		argp_error(state, "say one of --data FILE (fit), --score FILE (compare) and --against RUN (replay)");
	check_mode(a, state);
	if (a->leave_out && strcmp(a->leave_out, "gpu") && strcmp(a->leave_out, "tp") && strcmp(a->leave_out, "model"))
		argp_error(state, "--leave-out: '%s'; allowed: gpu, tp, model", a->leave_out);
	if (a->draw && a->out)
		argp_error(state, "--draw only tells errors: --out does not go with it");
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct kv_calibrate_arguments *a = state->input;
	const struct { int key; const char **to; } texts[] = {
		{OPTION_DATA, &a->data}, {OPTION_OUT, &a->out}, {OPTION_START, &a->start}, {OPTION_SCORE, &a->score},
		{OPTION_AGAINST, &a->against}, {OPTION_LEAVE_OUT, &a->leave_out}, {OPTION_MODEL, &a->model},
		{OPTION_HARDWARE, &a->hardware}, {OPTION_ENGINE, &a->engine}, {OPTION_QUANTIZATION, &a->quantization},
		{OPTION_KV_CACHE_DTYPE, &a->kv_cache_dtype},
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (texts[i].key == key) {
			*texts[i].to = text;
			return 0;
		}
	switch (key) {
	case OPTION_WHERE:
		add_condition(a, text, state);
		return 0;
	case OPTION_FOLDS:
	case OPTION_BLOCKS:
	case OPTION_DRAW:
	case OPTION_SEED:
	case OPTION_TP:
	case OPTION_CONTEXT:
	case OPTION_FAIL_ABOVE:
		return parse_number(key, text, a, state);
	case OPTION_KERNEL_TIMES:
		a->kernel_times = true;
		return 0;
	case OPTION_LIST_REFUSED:
		a->list_refused = true;
		return 0;
	case OPTION_JSON:
		a->json = true;
		return 0;
	case ARGP_KEY_END:
		check(a, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int kv_cli_calibrate(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse_option,
		.doc = "Fits the constants of the step-time model to measured steps, or scores a profile against "
		       "them.\v"
		       "Columns: gpu, tp, model, p_tok, p_seq, p_ctx (prefill: new tokens, sequences, KV tokens "
		       "already there), d_seq, d_ctx (decode: sequences, KV tokens read), time_ms; totals over the "
		       "batch. Static batches: phase e2e_static, batch, tokens, context, time_ms. Matrix products of "
		       "one layer: phase layer_linear, an empty batch, tokens, context, time_ms.\n\n"
		       "Example: kvsim calibrate --data steps.csv --hardware h100-sxm --out mine.yaml"
	};
	struct kv_calibrate_arguments arguments = {.folds = 10, .seed = 1, .fail_above = INFINITY};

	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	if (arguments.data && kv_is_measured_run(arguments.data))
		return kv_calibrate_fit_run(&arguments);
	return arguments.data    ? kv_calibrate_fit(&arguments)
	       : arguments.score ? kv_calibrate_score(&arguments)
	                         : kv_calibrate_against(&arguments);
}

/* --- what both modes need ----------------------------------------------------------------------------------------- */

static int kv_dtype_of(const char *text, enum kv_dtype *out, struct kv_error *err)
{
	*out = KV_DTYPE_BF16;
	if (!text || !strcmp(text, "auto"))
		return 0;
	if (kv_dtype_parse(text, out))
		return kv_fail(err, KV_EXIT_USAGE,
		               "--kv-cache-dtype: '%s'; allowed: auto, bfloat16, float16, float32, fp8", text);
	return 0;
}

static struct kv_measurements *read_log(const struct kv_calibrate_arguments *a, const char *path, struct kv_error *err)
{
	struct kv_log_setting setting = {
		.configuration = {.gpu = (char *)a->hardware, .model = (char *)a->model,
		                  .tp = (uint32_t)kv_max(a->tp, 1)},
		.pool_tokens = a->blocks * VLLM_BLOCK, .mean_context = a->mean_context,
	};

	if (a->model && a->hardware)
		return kv_iteration_log_read(path, &setting, err);
	kv_fail(err, KV_EXIT_USAGE, "%s is a log, which names neither model nor card: give --model and --hardware",
	        path);
	return NULL;
}

static struct kv_measurements *read_measurements(const struct kv_calibrate_arguments *a,
                                                 const struct kv_calibrate_source *source, struct kv_error *err)
{
	struct kv_row_filter filter = {.conditions = a->condition, .count = a->conditions};

	if (source->table)
		return kv_measurements_of_table(source->table, &filter, err);
	return kv_is_iteration_log(source->path) ? read_log(a, source->path, err)
	                                         : kv_measurements_read(source->path, &filter, err);
}

static int load(const struct kv_calibrate_arguments *a, const struct kv_calibrate_source *source, const char *hardware,
                struct kv_calibrate_inputs *in, struct kv_error *err)
{
	struct kv_measured_options set_options = {.quantization = a->quantization, .kernel_times = a->kernel_times};

	if (kv_dtype_of(a->kv_cache_dtype, &set_options.kv_dtype, err))
		return -1;
	if (hardware && (in->hardware = kv_hardware_load(hardware, err)) == NULL)
		return -1;
	in->engine = kv_engine_profile_load(a->engine ? a->engine : KV_CALIBRATE_DEFAULT_ENGINE, err);
	if (!in->engine)
		return -1;
	if (!in->engine->has_overheads)
		return kv_fail(err, KV_EXIT_USAGE, "engine profile %s has no step times", in->engine->name);
	in->measurements = read_measurements(a, source, err);
	if (!in->measurements)
		return -1;
	set_options.hardware = in->hardware;
	set_options.engine = in->engine;
	return kv_measured_set_build(&in->set, in->measurements, &set_options, err);
}

int kv_calibrate_load(const struct kv_calibrate_arguments *arguments, const struct kv_calibrate_source *source,
                      const char *hardware, struct kv_calibrate_inputs *inputs, struct kv_error *err)
{
	*inputs = (struct kv_calibrate_inputs){0};
	if (load(arguments, source, hardware, inputs, err) == 0)
		return 0;
	kv_calibrate_unload(inputs);
	return -1;
}

void kv_calibrate_unload(struct kv_calibrate_inputs *inputs)
{
	kv_measured_set_free(&inputs->set);
	kv_measurements_free(inputs->measurements);
	kv_engine_profile_free(inputs->engine);
	kv_hardware_free(inputs->hardware);
}

void kv_calibrate_print_assumed(struct kv_output *out, const struct kv_hardware *hardware)
{
	for (size_t i = 0; i < hardware->assumed_count; i++)
		kv_output_printf(out, "assumed of %s: %s\n", hardware->name, hardware->assumed[i]);
}

void kv_calibrate_name_refused(const struct kv_calibrate_arguments *arguments, const struct kv_measurements *m)
{
	struct kv_refused_rows refused = {.path = m->path, .each = arguments->list_refused};

	for (size_t i = 0; i < m->rows; i++)
		if (m->row[i].problem)
			kv_refused_rows_add(&refused, m->row[i].line, m->row[i].problem);
	kv_refused_rows_tell(&refused);
}
