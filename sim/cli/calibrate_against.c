/* Replays a measured run with its own arrivals, lengths, content, pool and settings, and compares what its clients
 * saw. */
#include "config.h"

#include "sim/cli/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <jansson.h>

#include "results/output_file.h"
#include "sim/base/memory.h"
#include "sim/cli/command.h"
#include "sim/cli/measured_deployment.h"
#include "sim/cli/measured_run.h"
#include "sim/deploy/deployment.h"
#include "sim/deploy/scenario.h"
#include "sim/engine/simulation.h"

/* Share of the pool that counts as full. */
#define FULL_PERCENT 95.0

enum metric { METRIC_TTFT, METRIC_TPOT, METRIC_E2E, METRICS };

static const char *const metric_names[METRICS] = {"ttft", "tpot", "e2e"};
static const double quantiles[] = {.5, .9, .99};

enum { QUANTILES = sizeof quantiles / sizeof *quantiles };

struct against {
	const struct kv_calibrate_arguments *arguments;
	struct kv_measured_run *run;
	struct kv_scenario scenario;
	struct kv_deployment deployment;
	struct kv_run_outcome outcome;
	double *measured[METRICS], *simulated[METRICS];  /* seconds, by request; NAN = has none */
	size_t measured_full, simulated_full, simulated_samples;
	double measured_most_running, simulated_most_running;
	kv_time next_sample;
	uint64_t usable_blocks;
	size_t finished;
};

/* --- what the simulation tells ------------------------------------------------------------------------------------ */

static void set_metrics(double *const to[METRICS], size_t index, kv_time arrival, kv_time first, kv_time last,
                        uint32_t tokens)
{
	to[METRIC_TTFT][index] = (double)(first - arrival) / 1e9;
	to[METRIC_TPOT][index] = tokens > 1 ? (double)(last - first) / 1e9 / (tokens - 1) : NAN;
	to[METRIC_E2E][index] = (double)(last - arrival) / 1e9;
}

static void on_request(void *self, const struct kv_request_record *r)
{
	struct against *a = self;

	if (r->status != KV_FINISHED)
		return;
	a->finished++;
	set_metrics(a->simulated, r->index, r->arrival, r->first_token, r->finish, r->output_tokens);
}

/* Looks at the state once a second, as the measured time series does. */
static void on_advance(void *self, const struct kv_state *state, kv_time time)
{
	struct against *a = self;

	for (; a->next_sample <= time; a->next_sample += KV_SECOND) {
		double percent = 100.0 * (double)state->pinned_blocks / (double)a->usable_blocks;

		a->simulated_samples++;
		a->simulated_full += percent >= FULL_PERCENT;
	}
	a->simulated_most_running = fmax(a->simulated_most_running, (double)state->running);
}

/* --- the replay --------------------------------------------------------------------------------------------------- */

static int replay(struct against *a, struct kv_error *err)
{
	const struct kv_run_options options = {.duration = KV_TIME_NONE};
	struct kv_source *source = kv_measured_run_source(a->run);
	struct kv_sink sink = {.self = a, .advance = on_advance, .request = on_request};
	int status;

	for (enum metric m = 0; m < METRICS; m++) {
		a->measured[m] = kv_calloc(a->run->requests, sizeof(double));
		a->simulated[m] = kv_calloc(a->run->requests, sizeof(double));
	}
	a->usable_blocks = a->deployment.config.usable_blocks;
	a->next_sample = KV_SECOND;
	status = kv_simulate(&a->deployment.config, source, &sink, &options, &a->outcome, err);
	source->close(source);
	if (status == 0 && a->finished < a->run->requests)
		return kv_fail(err, KV_EXIT_DATA, "only %zu of %zu requests finish in this deployment", a->finished,
		               a->run->requests);
	return status;
}

static void take_measured(struct against *a)
{
	for (size_t i = 0; i < a->run->requests; i++) {
		const struct kv_measured_request *r = &a->run->request[i];

		set_metrics(a->measured, i, r->arrival, r->first_token, r->last_token, r->output_tokens);
	}
	for (size_t i = 0; i < a->run->samples; i++) {
		a->measured_full += a->run->sample[i].cache_percent >= FULL_PERCENT;
		a->measured_most_running = fmax(a->measured_most_running, a->run->sample[i].running);
	}
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

struct comparison {
	double mean[2], quantile[2][QUANTILES];  /* measured, simulated; seconds */
	double request_error;                    /* mean of |simulated / measured - 1| over requests */
};

static double statistics_of(const double *values, size_t count, double quantile[QUANTILES])
{
	double *sorted = kv_calloc(count, sizeof *sorted);
	size_t n = 0;
	double mean;

	for (size_t i = 0; i < count; i++)
		if (!isnan(values[i]))
			sorted[n++] = values[i];
	gsl_sort(sorted, 1, n);
	mean = n ? gsl_stats_mean(sorted, 1, n) : NAN;
	for (size_t q = 0; q < QUANTILES; q++)
		quantile[q] = n ? gsl_stats_quantile_from_sorted_data(sorted, 1, n, quantiles[q]) : NAN;
	free(sorted);
	return mean;
}

static struct comparison compare(const struct against *a, enum metric m)
{
	struct comparison c = {0};
	size_t n = 0;

	c.mean[0] = statistics_of(a->measured[m], a->run->requests, c.quantile[0]);
	c.mean[1] = statistics_of(a->simulated[m], a->run->requests, c.quantile[1]);
	for (size_t i = 0; i < a->run->requests; i++) {
		if (!(a->measured[m][i] > 0))
			continue;
		c.request_error += fabs(a->simulated[m][i] / a->measured[m][i] - 1.0);
		n++;
	}
	c.request_error = n ? c.request_error / (double)n : NAN;
	return c;
}

static double error_percent(const double pair[2])
{
	return 100.0 * (pair[1] / pair[0] - 1.0);
}

static void print_text(struct kv_output *out, const struct against *a)
{
	const struct kv_deployment *d = &a->deployment;

	kv_output_printf(out, "%zu requests, %s on %s, engine %s, %llu usable blocks of %u tokens, %s\n",
	                 a->run->requests, d->model->name, d->hardware->name, d->profile->name,
	                 (unsigned long long)a->usable_blocks, d->config.block_size,
	                 a->run->has_content ? "prompts with their content" : "unique prompts");
	kv_output_printf(out, "%-6s %12s %12s %8s %8s %8s %8s %12s\n", "", "measured ms", "simulated ms", "mean %",
	                 "p50 %", "p90 %", "p99 %", "per request %");
	for (enum metric m = 0; m < METRICS; m++) {
		struct comparison c = compare(a, m);

		kv_output_printf(out, "%-6s %12.2f %12.2f %+8.2f", metric_names[m], c.mean[0] * 1e3, c.mean[1] * 1e3,
		                 error_percent(c.mean));
		for (size_t q = 0; q < QUANTILES; q++)
			kv_output_printf(out, " %+8.2f", error_percent((double[]){c.quantile[0][q], c.quantile[1][q]}));
		kv_output_printf(out, " %12.2f\n", 100 * c.request_error);
	}
	if (a->run->samples > 0)
		kv_output_printf(out, "cache at %.0f %% or more: measured %zu of %zu s, simulated %zu of %zu s\n"
		                 "most running: measured %.0f, simulated %.0f\n", FULL_PERCENT, a->measured_full,
		                 a->run->samples, a->simulated_full, a->simulated_samples, a->measured_most_running,
		                 a->simulated_most_running);
	kv_output_printf(out, "preemptions: simulated %llu\n", (unsigned long long)a->outcome.final.preemptions);
}

static json_t *metric_json(const struct against *a, enum metric m)
{
	static const char *const keys[QUANTILES] = {"p50_error", "p90_error", "p99_error"};
	struct comparison c = compare(a, m);
	json_t *object = json_pack("{ss sf sf sf sf}", "metric", metric_names[m], "measured_mean_s", c.mean[0],
	                           "simulated_mean_s", c.mean[1], "mean_error", error_percent(c.mean), "request_mape",
	                           100 * c.request_error);

	for (size_t q = 0; q < QUANTILES; q++)
		json_object_set_new(object, keys[q],
		                    json_real(error_percent((double[]){c.quantile[0][q], c.quantile[1][q]})));
	return object;
}

static void print_json(struct kv_output *out, const struct against *a)
{
	json_t *metrics = json_array();
	json_t *document = json_pack("{sI ss ss ss sI so}", "requests", (json_int_t)a->run->requests, "model",
	                             a->deployment.model->name, "hardware", a->deployment.hardware->name, "engine",
	                             a->deployment.profile->name, "usable_blocks", (json_int_t)a->usable_blocks,
	                             "metrics", metrics);
	char *text;

	for (enum metric m = 0; m < METRICS; m++)
		json_array_append_new(metrics, metric_json(a, m));
	json_object_set_new(document, "preemptions", json_integer((json_int_t)a->outcome.final.preemptions));
	json_object_set_new(document, "simulated_full_samples", json_integer((json_int_t)a->simulated_full));
	json_object_set_new(document, "simulated_samples", json_integer((json_int_t)a->simulated_samples));
	json_object_set_new(document, "simulated_most_running", json_real(a->simulated_most_running));
	if (a->run->samples > 0) {
		json_object_set_new(document, "measured_full_samples", json_integer((json_int_t)a->measured_full));
		json_object_set_new(document, "measured_samples", json_integer((json_int_t)a->run->samples));
		json_object_set_new(document, "measured_most_running", json_real(a->measured_most_running));
	}
	text = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(8));
	kv_output_printf(out, "%s\n", text);
	free(text);
	json_decref(document);
}

static int print(const struct against *a, struct kv_error *err)
{
	struct kv_output *out = kv_output_to_descriptor(STDOUT_FILENO, "standard output");
	int failed;

	if (a->arguments->json)
		print_json(out, a);
	else
		print_text(out, a);
	failed = kv_output_close(out, err);
	kv_output_free(out);
	return failed;
}

static int execute(struct against *a, struct kv_error *err)
{
	a->run = kv_measured_run_load(a->arguments->against, err);
	if (!a->run || kv_measured_run_deploy(a->run, a->arguments, &a->scenario, &a->deployment, err) ||
	    replay(a, err))
		return -1;
	take_measured(a);
	return print(a, err);
}

int kv_calibrate_against(const struct kv_calibrate_arguments *arguments)
{
	struct against a = {.arguments = arguments};
	struct kv_error err;
	int failed;

	kv_scenario_init(&a.scenario);
	failed = execute(&a, &err);
	for (enum metric m = 0; m < METRICS; m++) {
		free(a.measured[m]);
		free(a.simulated[m]);
	}
	kv_deployment_fini(&a.deployment);
	kv_scenario_fini(&a.scenario);
	kv_measured_run_free(a.run);
	return failed ? kv_cli_fail(&err) : KV_EXIT_OK;
}
