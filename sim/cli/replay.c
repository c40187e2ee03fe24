#include "config.h"

#include "sim/cli/replay.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "results/results.h"
#include "sim/base/memory.h"
#include "sim/cli/progress.h"
#include "sim/cli/trace_file.h"
#include "sim/deploy/deployment.h"
#include "sim/engine/simulation.h"
#include "workloads/trace.h"

/* Everything one run holds, released in one place. */
struct run {
	const struct kv_replay_options *options;
	struct kv_scenario *scenario;
	struct kv_deployment deployment;
	struct kv_trace *trace;
	struct kv_trace *warm;   /* replayed before time zero; NULL = none */
	struct kv_results_options results_options;
	struct kv_run_info info;
	struct kv_results *results;
	struct kv_run_budget_line *budget;
	struct kv_count_line skipped[KV_FAULTS], warm_skipped[KV_FAULTS];
	char arrivals[120];
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
	(void)signal_number;
	interrupted = 1;
}

/* The first interrupt ends the simulation in good order, a second one the program. */
static void catch_interrupts(void)
{
	struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND | SA_RESTART };

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static int parse_lists(const struct kv_scenario *s, struct kv_results_options *o, struct kv_error *err)
{
	if (kv_results_parse_write(s->output.write, &o->write, err))
		return kv_scenario_fail_in(s, "output.write", err);
	if (s->output.metric_percentiles != NULL && kv_results_parse_percentiles(s->output.metric_percentiles, o, err))
		return kv_scenario_fail_in(s, "output.metric_percentiles", err);
	if (s->output.goodput != NULL && kv_results_parse_goodput(s->output.goodput, o, err))
		return kv_scenario_fail_in(s, "output.goodput", err);
	return 0;
}

static int fill_results_options(struct run *run, struct kv_error *err)
{
	const struct kv_scenario *s = run->scenario;
	struct kv_results_options *o = &run->results_options;

	kv_results_options_init(o);
	o->dir = s->output.dir;
	o->force = run->options->force;
	o->timeline_interval = s->output.timeline_interval;
	o->warmup = s->warmup;
	o->save_result = s->output.save_result;
	o->json = run->options->json;
	o->quiet = run->options->quiet;
	o->watch = run->options->watch;
	o->watch_context = run->options->watch_context;
	if (s->output.events)
		o->write |= KV_WRITE_EVENTS;
	if (s->output.openmetrics)
		o->write |= KV_WRITE_METRICS;
	if (s->output.chrome_trace)
		o->write |= KV_WRITE_CHROME_TRACE;
	if (parse_lists(s, o, err))
		return -1;
	if (run->options->summary)
		o->write |= KV_WRITE_SUMMARY;
	o->retries = s->workload.retries;
	o->capped = s->workload.max_concurrency > 0;
	return 0;
}

static void start_trace_options(const struct kv_scenario *s, const char *format, struct kv_trace_options *options)
{
	kv_trace_options_init(options);
	options->format = format;
	options->open_loop = s->workload.open_loop;
	options->go_on_after_refusal = s->workload.go_on_after_refusal;
	options->retries = s->workload.retries;
	options->backoff = s->workload.retry_backoff;
	options->skip_bad_rows = s->workload.skip_bad_rows;
	options->reorder_time = s->workload.reorder_time;
	options->reorder_rows = s->workload.reorder_rows;
	kv_trace_file_seed(s, options);
}

/* At its own times: a rate or scale given for the run is that of the trace. */
static int open_warm(struct run *run, struct kv_error *err)
{
	const struct kv_scenario *s = run->scenario;
	struct kv_trace_options options;

	if (s->workload.warm == NULL)
		return 0;
	if (strcmp(s->workload.warm, "-") == 0 && strcmp(kv_scenario_workload(s), "-") == 0)
		return kv_fail(err, KV_EXIT_USAGE, "--trace and --warm cannot both be standard input");
	start_trace_options(s, s->workload.warm_format, &options);
	if (s->workload.warm_rows != NULL && kv_trace_parse_rows(s->workload.warm_rows, &options, err))
		return kv_scenario_fail_in(s, "workload.warm_rows", err);
	run->warm = kv_trace_open(s->workload.warm, &options, err);
	return run->warm == NULL ? -1 : 0;
}

static void note_warm(struct run *run)
{
	struct kv_deployment *d = &run->deployment;

	if (run->warm == NULL)
		return;
	if (d->config.policy[KV_POLICY_PREFIX].policy->hooks.prefix.form == KV_PREFIX_NONE)
		kv_remark(&d->warnings, "the warm-up changes nothing: without prefix caching nothing of it is kept");
	else if (!kv_trace_has_prefix_identity(run->warm))
		kv_remark(&d->warnings,
		          "the warm-up fills the cache with what nobody can hit: its trace does not say what "
		          "prompts share");
}

static void note_idle_key(struct run *run, const char *key, bool used, const char *needed)
{
	if (!used && kv_scenario_setting(run->scenario, key)->origin > KV_BY_PROFILE)
		kv_remark(&run->deployment.warnings, "%s changes nothing without %s", key, needed);
}

static void note_idle_keys(struct run *run)
{
	const struct kv_scenario *s = run->scenario;
	bool has_rate = kv_scenario_is_set(s, "workload.request_rate") && !isinf(s->workload.request_rate);

	note_idle_key(run, "workload.burstiness", has_rate, "a finite workload.request_rate");
	note_idle_key(run, "workload.retry_backoff", s->workload.retries > 0, "workload.retries");
	note_idle_key(run, "workload.warm_rows", run->warm != NULL, "workload.warm");
	note_idle_key(run, "workload.warm_format", run->warm != NULL, "workload.warm");
}

static int open_trace(struct run *run, struct kv_error *err)
{
	const struct kv_scenario *s = run->scenario;
	const char *path = kv_scenario_workload(s);
	struct kv_trace_options options;

	if (path == NULL)
		return kv_fail(err, KV_EXIT_USAGE, "no trace: give --trace FILE ('-' is standard input)");
	start_trace_options(s, s->workload.format, &options);
	options.load = &s->load;
	options.time_scale = s->workload.time_scale;
	options.request_rate = s->workload.request_rate;
	options.burstiness = s->workload.burstiness;
	if (s->workload.rows != NULL && kv_trace_parse_rows(s->workload.rows, &options, err))
		return kv_scenario_fail_in(s, "workload.rows", err);
	run->trace = kv_trace_open(path, &options, err);
	return run->trace == NULL ? -1 : 0;
}

static json_t *value_json(const struct kv_scenario *scenario, const struct kv_setting *setting)
{
	const void *field = (const char *)scenario + setting->key->offset;

	if (setting->text == NULL)
		return json_null();
	switch (setting->key->type) {
	case KV_KEY_BOOL:
		return json_boolean(*(const bool *)field);
	case KV_KEY_COUNT:
	case KV_KEY_BYTES:
		return json_integer((json_int_t)*(const uint64_t *)field);
	case KV_KEY_FRACTION:
	case KV_KEY_NUMBER:
		return json_real(*(const double *)field);
	default:
		return json_string(setting->text);
	}
}

/* {"engine.block_size": {"value": 16, "source": "profile vllm-2026-08"}, ...} */
static json_t *scenario_json(const struct kv_scenario *scenario)
{
	json_t *object = json_object();
	size_t count;

	kv_scenario_keys(&count);
	for (size_t i = 0; i < count; i++) {
		const struct kv_setting *setting = &scenario->settings[i];

		json_object_set_new(object, setting->key->path,
		                    json_pack("{so ss}", "value", value_json(scenario, setting), "source",
		                              setting->source ? setting->source : "not set"));
	}
	for (size_t i = 0; i < scenario->load.count; i++) {
		char path[256];

		snprintf(path, sizeof path, KV_SCENARIO_LOAD "%s", scenario->load.setting[i].path);
		json_object_set_new(object, path, json_pack("{ss ss}", "value", scenario->load.setting[i].text, "source",
		                                            "--set"));
	}
	return object;
}

static void add_line(struct run *run, const char *item, int64_t bytes, enum kv_provenance source)
{
	run->budget[run->info.budget_count++] = (struct kv_run_budget_line){ item, bytes, kv_provenance_name(source) };
}

/* The lines that led to the size of the pool, and nothing that did not. */
static void fill_budget(struct run *run)
{
	const struct kv_budget *budget = &run->deployment.budget;
	const struct kv_scenario *s = run->scenario;

	run->budget = kv_calloc(budget->lines + 1, sizeof *run->budget);
	run->info.budget = run->budget;
	if (s->engine.num_gpu_blocks_override > 0) {
		add_line(run, "num_gpu_blocks_override", (int64_t)(budget->num_blocks * budget->layout.page_bytes),
		         KV_FROM_USER);
		return;
	}
	for (uint32_t i = 0; i < budget->lines; i++)
		add_line(run, budget->line[i].item, budget->line[i].bytes, budget->line[i].source);
	if (s->engine.kv_cache_memory_bytes == 0)
		add_line(run, "left for the KV cache", budget->kv_bytes, KV_FROM_RULE);
}

static void fill_pool(struct run *run)
{
	const struct kv_budget *budget = &run->deployment.budget;
	const struct kv_scenario *s = run->scenario;
	struct kv_run_info *info = &run->info;

	fill_budget(run);
	info->num_gpu_blocks = budget->num_blocks;
	info->usable_blocks = budget->usable_blocks;
	info->block_size = run->deployment.config.block_size;
	info->kv_groups = run->deployment.config.groups;
	info->request_blocks = kv_layout_request_blocks(&budget->layout, s->engine.max_model_len,
	                                                s->engine.max_num_batched_tokens);
	info->block_bytes = budget->layout.page_bytes;
	info->kv_bytes_per_token = budget->layout.growing_bytes;
	info->kv_cache_bytes = budget->num_blocks * budget->layout.page_bytes;
	info->swap = run->deployment.config.swap;
	info->pool_source = s->engine.num_gpu_blocks_override > 0 ? "num_gpu_blocks_override" :
	                    s->engine.kv_cache_memory_bytes > 0 ? "kv_cache_memory_bytes" : "memory budget";
}

static void fill_info(struct run *run)
{
	const struct kv_scenario *s = run->scenario;
	const struct kv_deployment *d = &run->deployment;
	struct kv_run_info *info = &run->info;

	info->command = run->options->command;
	info->model = d->model->name;
	info->hardware = d->hardware ? d->hardware->name : NULL;
	info->engine_profile = d->profile->name;
	info->latency = kv_scenario_setting(s, "latency.backend")->text;
	info->latency_source = d->latency_source;
	info->latency_error = d->latency_error;
	for (int kind = 0; kind < KV_POLICY_KINDS; kind++)
		info->policies[kind] = s->policy[kind];
	info->oracle = d->oracle;
	info->tensor_parallel = (uint32_t)s->engine.tensor_parallel_size;
	info->pipeline_parallel = (uint32_t)s->engine.pipeline_parallel_size;
	info->data_parallel = 1;
	info->max_model_len = d->config.max_model_len;
	fill_pool(run);
	info->trace = strcmp(kv_scenario_workload(s), "-") == 0 ? NULL : kv_scenario_workload(s);
	info->trace_format = kv_trace_format(run->trace)->name;
	info->trace_has_prefixes = kv_trace_has_prefix_identity(run->trace);
	if (run->warm != NULL) {
		info->warm_trace = strcmp(s->workload.warm, "-") == 0 ? "standard input" : s->workload.warm;
		info->warm_format = kv_trace_format(run->warm)->name;
	}
	info->warnings = (const char *const *)d->warnings.text;
	info->warning_count = d->warnings.count;
	info->assumptions = (const char *const *)d->assumptions.text;
	info->assumption_count = d->assumptions.count;
	info->seed = kv_trace_seed(run->trace);
	info->request_rate = kv_scenario_is_set(s, "workload.request_rate") ? s->workload.request_rate : INFINITY;
	info->burstiness = s->workload.burstiness;
	info->max_concurrency = (uint32_t)s->workload.max_concurrency;
	info->start_time = s->start_time;
	info->scenario = scenario_json(s);
}

static size_t list_skipped(struct kv_trace *trace, struct kv_count_line list[KV_FAULTS])
{
	const struct kv_trace_counts *counts = kv_trace_counts(trace);
	size_t reasons = 0;

	for (int fault = 0; fault < KV_FAULTS; fault++)
		if (counts->left_out[fault] > 0)
			list[reasons++] = (struct kv_count_line){ kv_fault_name(fault), counts->left_out[fault] };
	return reasons;
}

/* Only what has followers can be replayed either way. */
static void describe_arrivals(struct run *run)
{
	const struct kv_trace_counts *counts = kv_trace_counts(run->trace);

	if (counts->dependent_rows > 0)
		snprintf(run->arrivals, sizeof run->arrivals,
		         "Closed loop: %" PRIu64 " requests arrive a think time after others have ended.",
		         counts->dependent_rows);
	else if (counts->untied_rows > 0)
		snprintf(run->arrivals, sizeof run->arrivals,
		         "Open loop: %" PRIu64 " requests that follow others arrive at their recorded times instead.",
		         counts->untied_rows);
	else
		return;
	run->info.arrivals = run->arrivals;
}

static int take_fingerprint(struct kv_trace *trace, uint64_t fingerprint[2], struct kv_error *err)
{
	char text[KV_FINGERPRINT_SIZE], half[17];

	if (kv_trace_fingerprint(trace, text, err))
		return -1;
	for (int i = 0; i < 2; i++) {
		snprintf(half, sizeof half, "%.16s", text + 16 * i);
		fingerprint[i] = strtoull(half, NULL, 16);
	}
	return 0;
}

/* Known only when the traces have been read. */
static int fill_trace_counts(struct run *run, bool partial, struct kv_error *err)
{
	struct kv_run_info *info = &run->info;

	info->skipped_rows = run->skipped;
	info->skipped_rows_count = list_skipped(run->trace, run->skipped);
	info->after_refusal = kv_trace_counts(run->trace)->left_out[KV_FAULT_ABANDONED];
	describe_arrivals(run);
	if (run->warm != NULL) {
		info->warm_skipped_rows = run->warm_skipped;
		info->warm_skipped_rows_count = list_skipped(run->warm, run->warm_skipped);
	}
	if (partial)
		return 0;
	if (run->warm != NULL && take_fingerprint(run->warm, info->warm_fingerprint, err))
		return -1;
	return take_fingerprint(run->trace, info->fingerprint, err);
}

static int simulate(struct run *run, struct kv_run_outcome *outcome, struct kv_error *err)
{
	const struct kv_run_options options = {
		.duration = kv_scenario_is_set(run->scenario, "duration") ? run->scenario->duration : KV_TIME_NONE,
		.check = run->scenario->check,
		.interrupt = &interrupted,
		.warm = run->warm != NULL ? kv_trace_source(run->warm) : NULL,
	};
	struct kv_progress progress;
	struct kv_sink *sink = kv_progress_start(&progress, kv_results_sink(run->results), run->trace,
	                                         run->options->quiet);
	int failed;

	catch_interrupts();
	failed = kv_simulate(&run->deployment.config, kv_trace_source(run->trace), sink, &options, outcome, err);
	kv_progress_end(&progress);
	return failed;
}

static void print_warnings(const struct run *run, size_t first)
{
	for (size_t i = first; i < run->deployment.warnings.count && !run->options->quiet; i++)
		fprintf(stderr, "kvsim: warning: %s\n", run->deployment.warnings.text[i]);
}

/* A policy that goes by what no request says of itself looks as if it did not help. */
static void note_idle_policies(struct run *run)
{
	const struct kv_trace_counts *counts = kv_trace_counts(run->trace);
	const struct {
		unsigned flag;
		uint64_t requests;
		const char *what;
	} needs[] = {
		{ KV_POLICY_BY_PRIORITY, counts->with_priority, "priority" },
		{ KV_POLICY_BY_DEADLINE, counts->with_deadline, "deadline" },
		{ KV_POLICY_BY_TENANT, counts->with_tenant, "tenant" },
	};

	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
		for (int kind = 0; kind < KV_POLICY_KINDS && needs[i].requests == 0; kind++) {
			const struct kv_policy *policy = run->deployment.config.policy[kind].policy;

			if (policy->flags & needs[i].flag)
				kv_remark(&run->deployment.warnings,
				          "%s %s goes by the %s of requests, and none of this run has one",
				          kv_policy_kind_name(policy->kind), policy->name, needs[i].what);
		}
}

/* What only the run itself shows. */
static void note_run(struct run *run)
{
	size_t before = run->deployment.warnings.count;
	const char *remark;

	kv_deployment_note_run(&run->deployment);
	note_idle_policies(run);
	for (size_t i = 0; (remark = kv_trace_remark(run->trace, i)) != NULL; i++)
		kv_remark(&run->deployment.warnings, "%s", remark);
	run->info.warnings = (const char *const *)run->deployment.warnings.text;
	run->info.warning_count = run->deployment.warnings.count;
	print_warnings(run, before);
}

static int execute(struct run *run, struct kv_error *err)
{
	struct kv_run_outcome outcome;

	if (fill_results_options(run, err) || kv_deployment_init(&run->deployment, run->scenario, err) ||
	    open_trace(run, err) || open_warm(run, err))
		return -1;
	note_warm(run);
	note_idle_keys(run);
	print_warnings(run, 0);
	fill_info(run);
	run->results = kv_results_open(&run->results_options, &run->info, err);
	if (run->results == NULL || simulate(run, &outcome, err) || fill_trace_counts(run, outcome.partial, err))
		return -1;
	note_run(run);
	return kv_results_finish(run->results, &outcome, err);
}

int kv_cli_replay(struct kv_scenario *scenario, const struct kv_replay_options *options, struct kv_error *err)
{
	struct run run = { .options = options, .scenario = scenario };
	int failed = execute(&run, err);

	kv_results_free(run.results);
	kv_trace_close(run.trace);
	kv_trace_close(run.warm);
	json_decref(run.info.scenario);
	kv_deployment_fini(&run.deployment);
	free(run.budget);
	return failed;
}

char *kv_cli_join(int argc, char **argv)
{
	size_t length = 0;
	char *text;

	for (int i = 0; i < argc; i++)
		length += strlen(argv[i]) + 1;
	text = kv_calloc(length + 1, 1);
	for (int i = 0; i < argc; i++)
		strcat(strcat(text, i ? " " : ""), argv[i]);
	return text;
}

/* --- arguments ---------------------------------------------------------------------------------------------------- */

enum { OPTION_FORCE = 0x300, OPTION_JSON, OPTION_QUIET };

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct kv_replay_arguments *arguments = state->input;

	(void)value;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->scenario;
		return 0;
	case OPTION_FORCE:
		arguments->replay.force = true;
		return 0;
	case OPTION_JSON:
		arguments->replay.json = true;
		return 0;
	case OPTION_QUIET:
		arguments->replay.quiet = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp *kv_cli_replay_argp(void)
{
	static const struct argp_option own[] = {
		{ .name = "force",
		  .key = OPTION_FORCE,
		  .doc = "Write into a folder that kvsim did not write",
		  .group = 10 },
		{ .name = "json", .key = OPTION_JSON, .doc = "Print JSON instead of text", .group = 10 },
		{ .name = "quiet", .key = OPTION_QUIET, .doc = "Print nothing but errors", .group = 10 },
		{ 0 }
	};
	static struct argp_child children[2];
	static const struct argp argp = { .options = own, .parser = parse_option, .children = children };

	children[0].argp = kv_cli_scenario_argp();
	return &argp;
}
