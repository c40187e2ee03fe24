#include "config.h"

#include "sim/cli/calibrate_served.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <gsl/gsl_rng.h>

#include "sim/base/memory.h"
#include "sim/base/quantity.h"
#include "sim/base/random.h"
#include "sim/cli/refused_rows.h"
#include "sim/cli/score_report.h"
#include "sim/deploy/deployment.h"
#include "sim/deploy/scenario.h"
#include "sim/engine/simulation.h"

/* What the benchmark's client does (InferenceMAX): lengths down to this share of the nominal ones, and so many prompts
 * a client. Its front end takes about 20 ms of every request. */
#define LENGTH_RANGE 0.8
#define PROMPTS_PER_CLIENT 10u
#define CLIENT_FRONTEND "20ms"
/* Requests at once for the maximum throughput: enough that filling and draining the batch hardly count. */
#define THROUGHPUT_ROUNDS 6u

/* --- a synthetic load --------------------------------------------------------------------------------------------- */

struct load {
	struct kv_source source;
	gsl_rng *rng;            /* NULL = lengths as they are */
	uint32_t prompt, output; /* nominal */
	uint64_t requests, next;
	struct kv_segment segment;
};

static uint32_t draw_length(const struct load *load, uint32_t nominal)
{
	uint32_t least = (uint32_t)ceil(LENGTH_RANGE * nominal);

	if (!load->rng || least >= nominal)
		return nominal;
	return least + (uint32_t)gsl_rng_uniform_int(load->rng, nominal - least + 1);
}

static int next_request(struct kv_source *source, struct kv_request *out, struct kv_error *err)
{
	struct load *load = (struct load *)source;

	(void)err;
	if (load->next == load->requests)
		return 0;
	load->segment = (struct kv_segment){.length = draw_length(load, load->prompt), .kind = KV_STREAM_PRIVATE};
	*out = (struct kv_request){.index = load->next++, .deadline = KV_TIME_NONE, .prompt = &load->segment,
	                           .prompt_segments = 1, .prompt_tokens = load->segment.length, .tenant = "",
	                           .salt = "",
	                           .adapter = ""};
	out->output_tokens = out->max_tokens = draw_length(load, load->output);
	return 1;
}

static void close_load(struct kv_source *source)
{
	(void)source;
}

/* --- one row ------------------------------------------------------------------------------------------------------ */

struct sums {
	double ttft, tpot, output;   /* seconds, seconds, tokens */
	uint64_t requests, with_tpot;
	kv_time end;
};

static void on_request(void *self, const struct kv_request_record *r)
{
	struct sums *s = self;

	if (r->status != KV_FINISHED)
		return;
	s->requests++;
	s->output += r->output_tokens;
	s->ttft += (double)(r->first_token - r->sent) / 1e9;
	s->end = r->finish > s->end ? r->finish : s->end;
	if (r->output_tokens > 1) {
		s->with_tpot++;
		s->tpot += (double)(r->finish - r->first_token) / 1e9 / (r->output_tokens - 1);
	}
}

static int run_load(const struct kv_deployment *deployment, struct load *load, struct sums *sums, struct kv_error *err)
{
	const struct kv_run_options options = {.duration = KV_TIME_NONE};
	struct kv_sink sink = {.self = sums, .request = on_request};
	struct kv_run_outcome outcome;

	*sums = (struct sums){0};
	load->source = (struct kv_source){.next = next_request, .close = close_load};
	if (kv_simulate(&deployment->config, &load->source, &sink, &options, &outcome, err))
		return -1;
	if (sums->requests < load->requests)
		return kv_fail(err, KV_EXIT_DATA, "only %llu of %llu requests finish",
		               (unsigned long long)sums->requests, (unsigned long long)load->requests);
	return 0;
}

struct served {
	const struct kv_calibrate_arguments *arguments;
	const struct kv_csv_table *table;
	struct kv_score_report report;
	struct kv_refused_rows refused;
	struct kv_configuration *configuration;
	size_t configuration_capacity;
	size_t row;
};

/* The row's cell; "" where the file has no such column. */
static const char *cell(const struct served *s, const char *column)
{
	size_t at = kv_csv_table_column(s->table, column);

	return at == KV_NO_COLUMN ? "" : kv_csv_table_cell(s->table, s->row, at);
}

/* Counts of these files may be written "8.0"; an empty cell is 0. */
static int count_cell(const struct served *s, const char *column, uint32_t *out, struct kv_error *err)
{
	const char *text = cell(s, column);
	double value = 0;

	if (*text && kv_parse_double(text, 0, KV_TOKENS_MAX, &value, err))
		return kv_fail_in(err, "%s", column);
	if (value != floor(value))
		return kv_fail(err, KV_EXIT_DATA, "%s: '%s' is not whole", column, text);
	*out = (uint32_t)value;
	return 0;
}

static int measured_cell(const struct served *s, const char *column, double *out, struct kv_error *err)
{
	if (kv_parse_double(cell(s, column), -HUGE_VAL, HUGE_VAL, out, err))
		return kv_fail_in(err, "%s", column);
	if (!(*out > 0))
		return kv_fail(err, KV_EXIT_DATA, "%s: %s; a measurement is above zero", column, cell(s, column));
	return 0;
}

static int set(struct kv_scenario *scenario, const char *key, const char *text, struct kv_error *err)
{
	return kv_scenario_set(scenario, key, text, KV_BY_FLAG, "measured load", err);
}

static int set_count(struct kv_scenario *scenario, const char *key, uint64_t value, struct kv_error *err)
{
	char text[32];

	snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	return set(scenario, key, text, err);
}

struct question {
	char model[256];
	const char *gpu, *quantization, *kv_cache_dtype, *engine;  /* no quantization: "" */
	uint32_t tp, pp, prompt, output, concurrency;
};

static const char *first_given(const char *flag, const char *row)
{
	return flag ? flag : row;
}

/* A served load needs a pool, and calibrate has no flag for it. */
static int check_memory(const char *hardware, struct kv_error *err)
{
	struct kv_hardware *card = kv_hardware_load(hardware, err);
	uint64_t memory = card ? kv_hardware_device_memory(card) : 0;

	if (card && memory == 0)
		kv_fail(err, KV_EXIT_DATA,
		        "the memory of %s is not known: give --hardware FILE with a profile that states it",
		        card->name);
	kv_hardware_free(card);
	return memory > 0 ? 0 : -1;
}

/* A row names the weights that were served, perhaps of another checkpoint than the model's; only a flag asks the engine. */
static int set_quantization(const struct served *s, const struct question *q, struct kv_scenario *scenario,
                            struct kv_error *err)
{
	if (s->arguments->quantization)
		return set(scenario, "engine.quantization", s->arguments->quantization, err);
	return *q->quantization ? kv_scenario_set(scenario, "engine.quantization", q->quantization, KV_BY_PROFILE,
	                                          "measured load", err) : 0;
}

static int describe(const struct served *s, const struct question *q, struct kv_scenario *scenario,
                    struct kv_error *err)
{
	const char *hardware = first_given(s->arguments->hardware, q->gpu);

	if (check_memory(hardware, err))
		return -1;
	return set(scenario, "model", q->model, err) || set(scenario, "hardware", hardware, err) ||
	               set(scenario, "engine.profile", q->engine, err) ||
	               set_quantization(s, q, scenario, err) ||
	               set(scenario, "engine.kv_cache_dtype",
	                   first_given(s->arguments->kv_cache_dtype, q->kv_cache_dtype), err) ||
	               set_count(scenario, "engine.tensor_parallel_size", q->tp, err) ||
	               set_count(scenario, "engine.pipeline_parallel_size", q->pp, err) ||
	               set_count(scenario, "engine.max_model_len", (uint64_t)q->prompt + q->output, err) ||
	               set(scenario, "engine.enable_prefix_caching", "false", err) ||
	               (q->concurrency && set_count(scenario, "workload.max_concurrency", q->concurrency, err)) ||
	               (q->concurrency && set(scenario, "engine.frontend", CLIENT_FRONTEND, err))
	               ? -1 : 0;
}

static int deploy(const struct served *s, const struct question *q, struct kv_scenario *scenario,
                  struct kv_deployment *deployment, struct kv_error *err)
{
	return describe(s, q, scenario, err) || kv_deployment_init(deployment, scenario, err) ? -1 : 0;
}

/* Of the report, by GPU, ranks and model. */
static size_t configuration_of(struct served *s, const struct question *q)
{
	size_t count = s->report.configurations;

	for (size_t i = 0; i < count; i++)
		if (s->configuration[i].tp == q->tp && !strcmp(s->configuration[i].gpu, q->gpu) &&
		    !strcmp(s->configuration[i].model, q->model))
			return i;
	s->configuration = kv_grow(s->configuration, &s->configuration_capacity, count + 1, sizeof *s->configuration);
	s->configuration[count] =
		(struct kv_configuration){.gpu = kv_strdup(q->gpu), .model = kv_strdup(q->model), .tp = q->tp};
	s->report.configuration = s->configuration;
	return s->report.configurations++;
}

/* --- closed loops ------------------------------------------------------------------------------------------------- */

static const char *engine_for(const struct served *s, const char *backend)
{
	if (s->arguments->engine)
		return s->arguments->engine;
	return !strcmp(backend, "vllm") ? KV_CALIBRATE_DEFAULT_ENGINE
	       : !strcmp(backend, "trtllm") ? "trtllm-guaranteed-no-evict"
	       : !strcmp(backend, "sglang") ? "sglang-2026-07"
	                                    : backend;
}

/* The checkpoint's model: how its weights are stored stands in other columns. */
static void read_model(struct question *q, const char *name)
{
	static const char *const stored[] = {"-FP8", "-NVFP4", "-FP4"};
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
		size_t tail = strlen(stored[i]);

		if (length > tail && !strcasecmp(name + length - tail, stored[i]))
			length -= tail;
	}
	snprintf(q->model, sizeof q->model, "%.*s", (int)length, name);
}

static int read_closed_loop(const struct served *s, struct question *q, struct kv_error *err)
{
	const char *quantization = cell(s, "gemm_quant_mode"), *precision = cell(s, "precision");
	uint32_t attention_dp = 0;

	if (strcmp(cell(s, "mode"), "agg"))
		return kv_fail(err, KV_EXIT_DATA, "mode: '%s'; only agg can be simulated", cell(s, "mode"));
	if (count_cell(s, "isl", &q->prompt, err) || count_cell(s, "osl", &q->output, err) ||
	    count_cell(s, "concurrency", &q->concurrency, err) || count_cell(s, "tp_size", &q->tp, err) ||
	    count_cell(s, "pp_size", &q->pp, err) || count_cell(s, "attention_dp_size", &attention_dp, err))
		return -1;
	if (attention_dp > 1)
		return kv_fail(err, KV_EXIT_DATA, "attention_dp_size: %u; only 1 can be simulated", attention_dp);
	if (!q->prompt || !q->output || !q->concurrency || !q->tp)
		return kv_fail(err, KV_EXIT_DATA, "isl, osl, concurrency and tp_size must be above zero");
	q->pp += q->pp == 0;
	read_model(q, cell(s, "model_path"));
	q->gpu = cell(s, "system");
	q->engine = engine_for(s, cell(s, "backend"));
	q->quantization = !strcmp(quantization, "bfloat16") ? "none" : quantization;
	q->kv_cache_dtype = *precision && strcmp(precision, "bf16") ? "fp8" : "auto";
	return 0;
}

static int score_closed_loop(struct served *s, struct kv_error *err)
{
	struct question q = {0};
	struct kv_scenario scenario;
	struct kv_deployment deployment = {0};
	struct load load = {0};
	struct sums sums;
	double ttft, tpot;
	int status;

	if (read_closed_loop(s, &q, err) || measured_cell(s, "silicon_ttft_ms", &ttft, err) ||
	    measured_cell(s, "silicon_tpot_ms", &tpot, err))
		return -1;
	load = (struct load){.rng = kv_random_create(0, 0, "closed loop"), .prompt = q.prompt, .output = q.output,
	                     .requests = (uint64_t)PROMPTS_PER_CLIENT * q.concurrency};
	kv_scenario_init(&scenario);
	status = deploy(s, &q, &scenario, &deployment, err) || run_load(&deployment, &load, &sums, err) ? -1 : 0;
	if (status == 0) {
		size_t at = configuration_of(s, &q);

		kv_score_report_add(&s->report, "ttft", at, sums.ttft / (double)sums.requests / (ttft / 1e3) - 1.0);
		kv_score_report_add(&s->report, "tpot", at, sums.tpot / (double)sums.with_tpot / (tpot / 1e3) - 1.0);
	}
	kv_deployment_fini(&deployment);
	kv_scenario_fini(&scenario);
	gsl_rng_free(load.rng);
	return status;
}

/* --- maximum throughput ------------------------------------------------------------------------------------------- */

static int read_throughput(const struct served *s, struct question *q, struct kv_error *err)
{
	if (count_cell(s, "tokens", &q->prompt, err) || count_cell(s, "context", &q->output, err) ||
	    count_cell(s, "tp", &q->tp, err))
		return -1;
	if (!q->prompt || !q->output || !q->tp)
		return kv_fail(err, KV_EXIT_DATA, "tokens, context and tp must be above zero");
	q->pp = 1;
	read_model(q, cell(s, "model"));
	q->gpu = cell(s, "gpu");
	q->engine = first_given(s->arguments->engine, "trtllm-guaranteed-no-evict");
	q->quantization = "fp8";
	q->kv_cache_dtype = "fp8";
	return 0;
}

static uint64_t enough_requests(const struct kv_deployment *deployment, const struct question *q)
{
	uint64_t tokens = deployment->config.usable_blocks * deployment->config.block_size;
	uint64_t at_once = kv_min(kv_max(tokens / ((uint64_t)q->prompt + q->output), 1),
	                          deployment->config.max_num_seqs);

	return THROUGHPUT_ROUNDS * at_once;
}

static int score_throughput(struct served *s, struct kv_error *err)
{
	struct question q = {0};
	struct kv_scenario scenario;
	struct kv_deployment deployment = {0};
	struct sums sums;
	double measured;
	int status;

	if (read_throughput(s, &q, err) || measured_cell(s, "out_tok_s", &measured, err))
		return -1;
	kv_scenario_init(&scenario);
	status = deploy(s, &q, &scenario, &deployment, err);
	if (status == 0) {
		struct load load = {.prompt = q.prompt,
		                    .output = q.output,
		                    .requests = enough_requests(&deployment, &q)};

		status = run_load(&deployment, &load, &sums, err);
	}
	if (status == 0)
		kv_score_report_add(&s->report, "throughput", configuration_of(s, &q),
		                    sums.output / ((double)sums.end / 1e9) / measured - 1.0);
	kv_deployment_fini(&deployment);
	kv_scenario_fini(&scenario);
	return status;
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

static bool has_column(const struct kv_csv_table *table, const char *name)
{
	return kv_csv_table_column(table, name) != KV_NO_COLUMN;
}

bool kv_is_served_table(const struct kv_csv_table *table)
{
	return has_column(table, "silicon_ttft_ms") || has_column(table, "out_tok_s");
}

static void refuse(struct served *s, const struct kv_error *err)
{
	size_t line = s->table->lines[s->row];

	kv_refused_rows_add(&s->refused, line, err->text);
	json_array_append_new(s->report.refused, json_pack("{sI ss}", "line", (json_int_t)line, "reason", err->text));
}

static int score_rows(struct served *s, struct kv_error *err)
{
	struct kv_row_filter filter = {.conditions = s->arguments->condition, .count = s->arguments->conditions};
	bool closed_loop = has_column(s->table, "silicon_ttft_ms");

	for (s->row = 0; s->row < s->table->rows; s->row++) {
		int wanted = kv_csv_table_passes(s->table, s->row, &filter, err);
		struct kv_error problem;

		if (wanted < 0)
			return -1;
		if (wanted == 0)
			continue;
		if (closed_loop ? score_closed_loop(s, &problem) : score_throughput(s, &problem))
			refuse(s, &problem);
		else
			s->report.rows++;
	}
	if (s->report.rows == 0)
		return kv_fail(err, KV_EXIT_DATA, "%s: no row can be used", s->table->path);
	return 0;
}

int kv_calibrate_score_served(const struct kv_calibrate_arguments *arguments, const struct kv_csv_table *table,
                              struct kv_error *err)
{
	struct served s = {
		.arguments = arguments, .table = table,
		.refused = {.path = table->path, .each = arguments->list_refused}
	};
	int status, failed;

	s.report = (struct kv_score_report){
		.constants = arguments->hardware ? arguments->hardware : "each row's own card",
		.engine = arguments->engine ? arguments->engine : "each row's own",
		.refused = json_array(),
	};
	failed = score_rows(&s, err);
	kv_refused_rows_tell(&s.refused);
	if (failed || kv_score_report_print(&s.report, arguments->json, err))
		status = err->status;
	else
		status = kv_score_report_exceeds(&s.report, arguments->fail_above) ? KV_EXIT_CHECK : KV_EXIT_OK;
	for (size_t i = 0; i < s.report.configurations; i++) {
		free(s.configuration[i].gpu);
		free(s.configuration[i].model);
	}
	free(s.configuration);
	kv_score_report_fini(&s.report);
	return status;
}
