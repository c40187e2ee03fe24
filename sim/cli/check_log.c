#include "config.h"

#include "sim/cli/check_log.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <jansson.h>

#include "results/output_file.h"
#include "sim/base/quantity.h"
#include "sim/cli/command.h"
#include "sim/cli/options.h"
#include "sim/model/weights.h"
#include "sim/sizing/log_check.h"

static const char *const verdicts[] = { "agrees", "explained", "DIFFERS" };

struct arguments {
	const char *file, *model, *quantization, *cache;
	uint64_t tensor_parallel, block_size, max_model_len;
	bool json;
	struct kv_error err;
	int failed;
};

enum { OPTION_MODEL = 0x300, OPTION_QUANTIZATION, OPTION_CACHE, OPTION_TP, OPTION_BLOCK, OPTION_LENGTH, OPTION_JSON };

static const struct argp_option options[] = {
	{ .name = "model",
	  .key = OPTION_MODEL,
	  .arg = "NAME|FILE",
	  .doc = "The model, where the log does not name it or names one that is not built in" },
	{ .name = "quantization", .key = OPTION_QUANTIZATION, .arg = "TYPE", .doc = "Quantization of its weights" },
	{ .name = "kv-cache-dtype",
	  .key = OPTION_CACHE,
	  .arg = "TYPE",
	  .doc = "Type of the KV cache, where the log does not say" },
	{ .name = "tensor-parallel-size",
	  .key = OPTION_TP,
	  .arg = "N",
	  .doc = "Ranks, where the log does not say; also -tp N" },
	{ .name = "block-size",
	  .key = OPTION_BLOCK,
	  .arg = "N",
	  .doc = "Tokens in a block, where the log does not say" },
	{ .name = "max-model-len",
	  .key = OPTION_LENGTH,
	  .arg = "N",
	  .doc = "Longest request, where the log does not say" },
	{ .name = "json", .key = OPTION_JSON, .doc = "Print JSON" },
	{ 0 }
};

static error_t read_count(struct arguments *a, const char *flag, const char *text, uint64_t maximum, uint64_t *out)
{
	if (kv_parse_count(text, 1, maximum, out, &a->err) == 0)
		return 0;
	a->failed = kv_fail_in(&a->err, "%s", flag);
	return EINVAL;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_MODEL: a->model = value; return 0;
	case OPTION_QUANTIZATION: a->quantization = value; return 0;
	case OPTION_CACHE: a->cache = value; return 0;
	case OPTION_TP: return read_count(a, "--tensor-parallel-size", value, 1024, &a->tensor_parallel);
	case OPTION_BLOCK: return read_count(a, "--block-size", value, 1 << 20, &a->block_size);
	case OPTION_LENGTH: return read_count(a, "--max-model-len", value, UINT32_MAX, &a->max_model_len);
	case OPTION_JSON: a->json = true; return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 0)
			argp_error(state, "one file at a time: '%s' is a second one", value);
		a->file = value;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "give a file, or '-' for standard input");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* What publishers append for quantised weights. */
static const char *const endings[] = {"-awq",   "-gptq",    "-int4",   "-int8",      "-fp8",       "-nvfp4",
                                      "-mxfp4", "-dynamic", "-w4a16",  "-w8a8",      "-w8a16",     "-4bit",
                                      "-8bit",  "-bnb",     "-marlin", "-quantized", "-autoround", "-block"};

static bool cut_ending(char *name)
{
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t length = strlen(name), ending = strlen(endings[i]);

		if (length > ending && strcasecmp(name + length - ending, endings[i]) == 0) {
			name[length - ending] = '\0';
			return true;
		}
	}
	return false;
}

/* A built-in model by the log's name for it, which may end in its quantization. */
static struct kv_model *load_logged(struct kv_log *log)
{
	struct kv_error ignored;
	struct kv_model *model = *log->model ? kv_model_load(log->model, &ignored) : NULL;
	char name[KV_LOG_TEXT_LENGTH];

	snprintf(name, sizeof name, "%s", log->model);
	while (!model && cut_ending(name)) {
		model = kv_model_load(name, &ignored);
		if (model)
			kv_remark(&log->notes, "the shape is that of %s: weights are quantised otherwise", model->name);
	}
	return model;
}

/* The model that is named, or the one that the log names if it is built in; notes say what is missing. */
static int load_model(const struct arguments *a, struct kv_log *log, struct kv_model **model, struct kv_error *err)
{
	*model = a->model ? kv_model_load(a->model, err) : load_logged(log);
	if (!*model && a->model)
		return -1;
	if (!*model)
		kv_remark(&log->notes, "%s",
		          *log->model ? "the model is not built in: --model config.json checks pages and weights too"
		                      : "no model is named: --model checks pages and weights too");
	if (*model && a->quantization)
		return kv_model_quantize(*model, a->quantization, err);
	return 0;
}

static json_t *check_json(const struct kv_check_list *list, const struct kv_log *log)
{
	json_t *rows = json_array(), *notes = json_array();

	for (size_t i = 0; i < list->count; i++) {
		const struct kv_check *check = &list->check[i];

		json_array_append_new(rows, json_pack("{ss sI ss ss ss ss}", "what", check->what, "line",
		                                      (json_int_t)check->line, "printed", check->printed, "computed",
		                                      check->computed, "verdict", verdicts[check->verdict], "rule",
		                                      check->rule));
	}
	for (size_t i = 0; i < list->notes.count; i++)
		json_array_append_new(notes, json_string(list->notes.text[i]));
	return json_pack("{ss ss ss so sI sI sI so}", "engine", kv_log_engine_name(log->engine), "version",
	                 log->version, "model", log->model, "checks", rows, "agree",
	                 (json_int_t)list->verdicts[KV_CHECK_AGREES], "explained",
	                 (json_int_t)list->verdicts[KV_CHECK_EXPLAINED], "differ",
	                 (json_int_t)list->verdicts[KV_CHECK_DIFFERS], "notes", notes);
}

static void print_text(struct kv_output *out, const struct kv_check_list *list, const struct kv_log *log)
{
	kv_output_printf(out, "%s%s%s%s%s\n\n", kv_log_engine_name(log->engine), *log->version ? " " : "", log->version,
	                 *log->model ? ", " : "", log->model);
	kv_output_printf(out, "%5s  %-32s %14s %14s  %-9s  %s\n", "line", "what", "printed", "computed", "verdict",
	                 "rule");
	for (size_t i = 0; i < list->count; i++) {
		const struct kv_check *check = &list->check[i];

		kv_output_printf(out, "%5u  %-32s %14s %14s  %-9s  %s\n", check->line, check->what, check->printed,
		                 check->computed, verdicts[check->verdict], check->rule);
	}
	kv_output_printf(out, "\n%zu agree, %zu explained, %zu differ\n", list->verdicts[KV_CHECK_AGREES],
	                 list->verdicts[KV_CHECK_EXPLAINED], list->verdicts[KV_CHECK_DIFFERS]);
	for (size_t i = 0; i < list->notes.count; i++)
		kv_output_printf(out, "Note: %s.\n", list->notes.text[i]);
}

static int print(const struct kv_check_list *list, const struct kv_log *log, bool json, struct kv_error *err)
{
	struct kv_output *out = kv_output_to_descriptor(STDOUT_FILENO, "standard output");
	int failed;

	if (json) {
		json_t *object = check_json(list, log);
		char *text = json_dumps(object, JSON_INDENT(2));

		kv_output_printf(out, "%s\n", text);
		free(text);
		json_decref(object);
	} else {
		print_text(out, list, log);
	}
	failed = kv_output_close(out, err);
	kv_output_free(out);
	return failed;
}

/* With what can be said all the same. */
static int refuse(const char *file, const struct kv_check_list *list, struct kv_error *err)
{
	kv_fail(err, KV_EXIT_DATA, "%s: nothing to compare: the log prints no two numbers that depend on each other", file);
	for (size_t i = 0; i < list->notes.count; i++) {
		size_t length = strlen(err->text);

		snprintf(err->text + length, sizeof err->text - length, "; %s", list->notes.text[i]);
	}
	return -1;
}

static int check(const struct arguments *a, const struct kv_log *log, struct kv_model *model, size_t *differences,
                 struct kv_error *err)
{
	struct kv_check_given given = { .model = model, .tensor_parallel = (uint32_t)a->tensor_parallel,
	                                .block_size = (uint32_t)a->block_size, .max_model_len = a->max_model_len };
	struct kv_check_list list;
	int failed;

	if (a->cache && (given.cache = kv_cache_format_find(a->cache, err)) == NULL)
		return kv_fail_in(err, "--kv-cache-dtype");
	kv_log_check(log, &given, &list);
	kv_remarks_merge(&list.notes, &log->notes);
	*differences = list.verdicts[KV_CHECK_DIFFERS];
	failed = list.count == 0 ? refuse(a->file, &list, err) : print(&list, log, a->json, err);
	kv_check_list_fini(&list);
	return failed;
}

int kv_cli_check_log(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "FILE",
		.doc = "Reads an engine's start-up log (vLLM, SGLang, TensorRT-LLM, llama.cpp), whole or in pasted fragments, "
		       "recomputes every number that follows from the others, and names the rule where one differs.\v"
		       "'-' is standard input. Exit status 1 if a difference has no explanation."
	};
	struct arguments arguments = { 0 };
	struct kv_model *model = NULL;
	struct kv_log *log = NULL;
	size_t differences = 0;
	struct kv_error err;
	int failed;

	if (kv_cli_prepare(argc, argv, &argp, &err))
		return kv_cli_fail(&err);
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	if (arguments.failed)
		return kv_cli_fail(&arguments.err);
	log = kv_log_read(arguments.file, &err);
	failed = log == NULL || load_model(&arguments, log, &model, &err) ||
	         check(&arguments, log, model, &differences, &err);
	kv_model_free(model);
	kv_log_free(log);
	return failed ? kv_cli_fail(&err) : differences ? KV_EXIT_CHECK : KV_EXIT_OK;
}
