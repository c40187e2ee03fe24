#include "config.h"

#include "sim/cli/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/quantity.h"
#include "sim/base/units.h"
#include "sim/cli/command.h"
#include "sim/request.h"

enum {
	OPTION_GPU_MEMORY = 0x300,
	OPTION_WEIGHTS,
	OPTION_ACTIVATION,
	OPTION_RESERVE,
	OPTION_HEADROOM,
	OPTION_SEQUENCES,
	OPTION_LENGTH,
	OPTION_DATA_PARALLEL,
	OPTION_EXPERT_PARALLEL,
	OPTION_SPECULATIVE,
	OPTION_DRAFTER,
	OPTION_ASYNC,
	OPTION_WHOLE,
	OPTION_SENSITIVITY,
	OPTION_EXPLAIN,
	OPTION_FAIL,
	OPTION_JSON
};

static const struct argp_option own[] = {
	{ .doc = "Sizing:", .group = 10 },
	{ .name = "gpu-memory",
	  .key = OPTION_GPU_MEMORY,
	  .arg = "BYTES",
	  .group = 10,
	  .doc = "Memory of one GPU as the framework sees it, such as 80GiB; instead of --hardware's" },
	{ .name = "weights-bytes",
	  .key = OPTION_WEIGHTS,
	  .arg = "BYTES",
	  .group = 10,
	  .doc = "Weights of one rank, instead of what the config says" },
	{ .name = "activation-bytes",
	  .key = OPTION_ACTIVATION,
	  .arg = "BYTES",
	  .group = 10,
	  .doc = "Activation peak of one rank, instead of the fitted one" },
	{ .name = "reserve-bytes",
	  .key = OPTION_RESERVE,
	  .arg = "BYTES",
	  .group = 10,
	  .doc = "What services beside the engine take on each GPU" },
	{ .name = "headroom-bytes",
	  .key = OPTION_HEADROOM,
	  .arg = "BYTES",
	  .group = 10,
	  .doc = "What is to stay free" },
	{ .name = "sequences",
	  .key = OPTION_SEQUENCES,
	  .arg = "N",
	  .group = 10,
	  .doc = "Would N requests of --length fit at once?" },
	{ .name = "length",
	  .key = OPTION_LENGTH,
	  .arg = "N",
	  .group = 10,
	  .doc = "Prompt and output of one request, in tokens (default: max_model_len)" },
	{ .name = "data-parallel-size",
	  .key = OPTION_DATA_PARALLEL,
	  .arg = "N",
	  .group = 10,
	  .doc = "Replicas, each with its own pool; also -dp N" },
	{ .name = "enable-expert-parallel",
	  .key = OPTION_EXPERT_PARALLEL,
	  .group = 10,
	  .doc = "Spread whole experts over all ranks of all replicas" },
	{ .name = "num-speculative-tokens",
	  .key = OPTION_SPECULATIVE,
	  .arg = "N",
	  .group = 10,
	  .doc = "Draft tokens of the model's own prediction layers, which are then loaded and cached" },
	{ .name = "speculative-config",
	  .key = OPTION_DRAFTER,
	  .arg = "JSON",
	  .group = 10,
	  .doc = "A drafter of another model, as vLLM takes it: model (a name or config.json), num_speculative_tokens, method "
	         "(draft_model, eagle or eagle3; default: what its config says)" },
	{ .name = "async-scheduling",
	  .key = OPTION_ASYNC,
	  .group = 10,
	  .doc = "Two steps in flight: windowed layers hold twice the token budget" },
	{ .name = "disable-hybrid-kv-cache-manager",
	  .key = OPTION_WHOLE,
	  .group = 10,
	  .doc = "Windowed layers hold whole contexts" },
	{ .name = "sensitivity",
	  .key = OPTION_SENSITIVITY,
	  .group = 10,
	  .doc = "Show what each setting does to the capacity" },
	{ .name = "explain", .key = OPTION_EXPLAIN, .group = 10, .doc = "Show the formula with the numbers filled in" },
	{ .name = "fail-unless-fits",
	  .key = OPTION_FAIL,
	  .group = 10,
	  .doc = "Exit status 1 unless it starts and runs --sequences at once, on one card of several" },
	{ .name = "json", .key = OPTION_JSON, .group = 10, .doc = "Print JSON" },
	{ 0 }
};

static error_t fail_option(struct kv_size_arguments *a, const char *name)
{
	kv_fail_in(&a->options.err, "--%s", name);
	a->options.failed = -1;
	return EINVAL;
}

static const char *option_name(int key)
{
	for (const struct argp_option *o = own; o->name || o->doc; o++)
		if (o->key == key)
			return o->name;
	return "";
}

static error_t read_bytes(struct kv_size_arguments *a, int key, const char *text, int64_t *out)
{
	uint64_t bytes, least = key == OPTION_GPU_MEMORY ? 1 : 0;

	if (kv_parse_bytes(text, false, least, INT64_MAX, &bytes, &a->options.err))
		return fail_option(a, option_name(key));
	*out = (int64_t)bytes;
	return 0;
}

static error_t read_count(struct kv_size_arguments *a, int key, const char *text, uint64_t maximum, uint64_t *out)
{
	return kv_parse_count(text, 1, maximum, out, &a->options.err) ? fail_option(a, option_name(key)) : 0;
}

static error_t parse_value(struct kv_size_arguments *a, int key, const char *value)
{
	int64_t memory = 0;
	error_t failed;

	switch (key) {
	case OPTION_GPU_MEMORY:
		failed = read_bytes(a, key, value, &memory);
		a->gpu_memory = (uint64_t)memory;
		return failed;
	case OPTION_WEIGHTS: return read_bytes(a, key, value, &a->weights);
	case OPTION_ACTIVATION: return read_bytes(a, key, value, &a->activation);
	case OPTION_RESERVE: return read_bytes(a, key, value, &a->reserve);
	case OPTION_HEADROOM: return read_bytes(a, key, value, &a->headroom);
	case OPTION_SEQUENCES: return read_count(a, key, value, UINT32_MAX, &a->sequences);
	case OPTION_LENGTH: return read_count(a, key, value, KV_TOKENS_MAX, &a->length);
	case OPTION_DATA_PARALLEL: return read_count(a, key, value, 1024, &a->data_parallel);
	case OPTION_SPECULATIVE: return read_count(a, key, value, 64, &a->speculative_tokens);
	default: return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct kv_size_arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->options;
		return 0;
	case OPTION_EXPERT_PARALLEL: a->expert_parallel = true; return 0;
	case OPTION_DRAFTER: a->speculative_config = value; return 0;
	case OPTION_ASYNC: a->async_scheduling = true; return 0;
	case OPTION_WHOLE: a->whole_context = true; return 0;
	case OPTION_SENSITIVITY: a->sensitivity = true; return 0;
	case OPTION_EXPLAIN: a->explain = true; return 0;
	case OPTION_FAIL: a->fail_unless_fits = true; return 0;
	case OPTION_JSON: a->json = true; return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s' (a model is named with --model)", value);
		return 0;
	default:
		return parse_value(a, key, value);
	}
}

const struct argp_option *kv_size_options(void)
{
	return own;
}

int kv_size_read_arguments(struct kv_size_report *report, int argc, char **argv, struct kv_error *err)
{
	struct argp_child children[] = { { .argp = kv_cli_sizing_argp() }, { 0 } };
	const struct argp argp = {
		.options = own,
		.parser = parse_option,
		.children = children,
		.doc = "Sizes the KV cache: memory budget, bytes per token, capacity and concurrency; whether the engine starts, and "
		       "if not, by how much it misses.\n\n"
		       "  kvsim size --model llama-3.1-70b --hardware h100-sxm -tp 4 --sensitivity\n"
		       "  kvsim size --model llama-3.1-70b --hardware h100-sxm,h200,l40s -tp 4 --length 131072 --sequences 5\n"
		       "  kvsim size --model config.json --gpu-memory 80GiB --explain\v"
		       "Every line of the budget names its source: given, config, profile, computed or assumed. Several cards with "
		       "commas between them are compared: does it start on each, how many users fit, and if not, what would "
		       "change that."
	};

	report->arguments = (struct kv_size_arguments){
		.options.scenario = &report->scenario,
		.options.sizes = true,
		.weights = KV_BYTES_UNSET,
		.activation = KV_BYTES_UNSET,
		.reserve = KV_BYTES_UNSET,
		.headroom = KV_BYTES_UNSET,
		.data_parallel = 1,
	};
	return kv_cli_parse(argc, argv, &argp, &report->arguments, &report->arguments.options, err);
}

/* States are kept at block boundaries only where prefix caching of a hybrid model was asked for. */
static enum kv_state_caching state_caching(const struct kv_scenario *scenario)
{
	const struct kv_setting *setting = kv_scenario_setting(scenario, "engine.enable_prefix_caching");

	return setting->origin >= KV_BY_FILE && scenario->engine.enable_prefix_caching ? KV_STATE_ALIGN :
	                                                                                 KV_STATE_SINGLE;
}

/* Without expert parallelism vLLM cuts routed experts over the ranks of all replicas (FusedMoEParallelConfig); the
 * other engines hold them whole in each replica. */
void kv_size_spread_experts(const struct kv_size_arguments *arguments, struct kv_budget_question *b, uint32_t replicas)
{
	uint32_t ranks = b->layout.tensor_parallel * replicas;

	if (arguments->expert_parallel)
		b->expert_ranks = ranks;
	if (b->rule.engine == KV_SIZING_VLLM)
		b->expert_slices = ranks;
}

static int fill_question(struct kv_size_report *report, struct kv_error *err)
{
	const struct kv_size_arguments *a = &report->arguments;
	struct kv_budget_question *b = &report->question.budget;

	*b = report->deployment.question;
	if (kv_size_read_drafter(report, err))
		return -1;
	b->layout.draft = report->draft;
	b->drafter = report->drafter;
	if (a->gpu_memory)
		b->device_source = KV_FROM_USER;
	b->weights_bytes = a->weights;
	b->activation_bytes = a->activation;
	b->reserve_bytes = a->reserve;
	b->headroom_bytes = a->headroom;
	b->layout.whole_context = a->whole_context;
	b->layout.mtp = a->speculative_tokens > 0 && report->draft == NULL;
	b->layout.speculative_tokens = (uint32_t)a->speculative_tokens;
	b->layout.state_caching = state_caching(&report->scenario);
	kv_size_spread_experts(a, b, (uint32_t)a->data_parallel);
	report->question.max_model_len = report->scenario.engine.max_model_len;
	report->question.concurrent_batches = a->async_scheduling ? 2 : 1;
	if (b->layout.mtp && !report->deployment.model->mtp_layers)
		return kv_fail(
			err, KV_EXIT_USAGE,
			"--num-speculative-tokens: %s has no prediction layers of its own: name the drafter with "
			"--speculative-config",
			report->deployment.model->name);
	if (a->length > report->question.max_model_len)
		return kv_fail(err, KV_EXIT_USAGE,
		               "--length: %" PRIu64 " tokens are more than max_model_len %" PRIu64 ", beyond which "
		               "the engine refuses a request: raise --max-model-len or shorten --length",
		               a->length, report->question.max_model_len);
	return 0;
}

uint64_t kv_size_report_length(const struct kv_size_report *report)
{
	return report->arguments.length ? report->arguments.length : report->question.max_model_len;
}

uint64_t kv_size_report_blocks(const struct kv_size_report *report, uint64_t tokens)
{
	return kv_size_request_blocks(&report->question, &report->answer, tokens);
}

uint64_t kv_size_report_slots(const struct kv_size_report *report)
{
	const struct kv_budget_question *b = &report->question.budget;
	bool bounded = b->max_num_seqs > 0 && b->rule.engine != KV_SIZING_LLAMA_CPP;

	return bounded ? b->max_num_seqs * report->arguments.data_parallel : UINT32_MAX;
}

uint64_t kv_size_report_state(const struct kv_size_report *report)
{
	if (report->question.budget.rule.engine == KV_SIZING_LLAMA_CPP)
		return kv_llama_state_bytes(report->deployment.model);
	return report->answer.budget.layout.state_bytes;
}

void kv_size_print_json(struct kv_output *out, json_t *object)
{
	char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(12));

	kv_output_printf(out, "%s\n", text);
	free(text);
	json_decref(object);
}

static int print(const struct kv_size_report *report, struct kv_error *err)
{
	struct kv_output *out = kv_output_to_descriptor(STDOUT_FILENO, "standard output");
	int failed;

	if (report->arguments.json) {
		json_t *object = kv_size_report_json(report);

		kv_size_print_json(out, object);
	} else {
		kv_size_report_text(out, report);
		if (report->arguments.explain)
			kv_size_report_explain(out, report);
		if (report->arguments.sensitivity)
			kv_size_report_sensitivity(out, report);
	}
	failed = kv_output_close(out, err);
	kv_output_free(out);
	return failed;
}

bool kv_size_knows_memory(const struct kv_size_report *report, const struct kv_hardware *hardware)
{
	const struct kv_scenario *s = &report->scenario;

	return report->arguments.gpu_memory || s->engine.kv_cache_memory_bytes || s->engine.num_gpu_blocks_override ||
	       (hardware != NULL && kv_hardware_device_memory(hardware) != 0);
}

/* Defaults depend on the memory, so that it is asked for before anything else. */
static int check_memory(const struct kv_size_report *report, struct kv_error *err)
{
	const struct kv_scenario *s = &report->scenario;
	struct kv_hardware *hardware;
	bool known;

	if (s->model == NULL || kv_size_knows_memory(report, NULL))
		return 0;
	if (s->hardware == NULL)
		return kv_fail(err, KV_EXIT_USAGE,
		               "the memory of the GPU is not known: give --hardware NAME (kvsim list hardware), "
		               "--gpu-memory, --kv-cache-memory-bytes or --num-gpu-blocks-override");
	hardware = kv_hardware_load(s->hardware, err);
	if (hardware == NULL)
		return kv_scenario_fail_in(s, "hardware", err);
	known = kv_size_knows_memory(report, hardware);
	kv_hardware_free(hardware);
	return known ? 0 : kv_fail(err, KV_EXIT_USAGE, "the memory of %s is not known: give --gpu-memory, "
	                           "--kv-cache-memory-bytes or --num-gpu-blocks-override", s->hardware);
}

static int answer_at(const struct kv_size_report *report, enum kv_error_end end, struct kv_size_answer *answer,
                     struct kv_error *err)
{
	struct kv_size_question q = report->question;

	q.budget.error_end = end;
	return kv_size(&q, answer, err);
}

bool kv_size_report_is_vague(const struct kv_size_report *report)
{
	return report->least.budget.num_blocks < report->most.budget.num_blocks;
}

int kv_size_report_answer(struct kv_size_report *report, struct kv_error *err)
{
	return check_memory(report, err) ||
	       kv_deployment_plan(&report->deployment, &report->scenario, report->arguments.gpu_memory, err) ||
	       fill_question(report, err) || answer_at(report, KV_AS_FITTED, &report->answer, err) ||
	       answer_at(report, KV_LEAST_LEFT, &report->least, err) ||
	       answer_at(report, KV_MOST_LEFT, &report->most, err) ? -1 : 0;
}

void kv_size_report_fini(struct kv_size_report *report)
{
	kv_model_free(report->draft);
	kv_deployment_fini(&report->deployment);
	kv_scenario_fini(&report->scenario);
}

uint64_t kv_size_report_users(const struct kv_size_report *report, const struct kv_size_answer *answer)
{
	return answer->starts ? kv_size_requests_at_once(&report->question, answer, kv_size_report_length(report),
	                                                 report->arguments.data_parallel) : 0;
}

/* fits: does what was asked for start, and hold the sequences that are wanted? */
static int execute(struct kv_size_report *report, int argc, char **argv, bool *fits, struct kv_error *err)
{
	if (kv_size_read_arguments(report, argc, argv, err))
		return -1;
	if (report->scenario.hardware != NULL && strchr(report->scenario.hardware, ',') != NULL)
		return kv_size_compare_cards(report, argc, argv, fits, err);
	if (kv_size_report_answer(report, err) || kv_size_read_trace(report, err))
		return -1;
	*fits = report->answer.starts && kv_size_report_users(report, &report->answer) >= report->arguments.sequences;
	return print(report, err);
}

int kv_cli_size(int argc, char **argv)
{
	struct kv_size_report report = { 0 };
	struct kv_error err;
	bool fits = false;
	int failed;

	kv_scenario_init(&report.scenario);
	failed = execute(&report, argc, argv, &fits, &err);
	if (!failed && report.arguments.fail_unless_fits && !fits)
		failed = kv_fail(&err, KV_EXIT_CHECK,
		                 "--fail-unless-fits: it does not start, or does not run so many requests at once");
	kv_size_report_fini(&report);
	return failed ? kv_cli_fail(&err) : KV_EXIT_OK;
}
