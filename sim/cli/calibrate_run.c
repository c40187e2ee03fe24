/* Constants from per-request results of a real run. What the requests measured are sums of steps: from scheduling to
 * the first token, and from there to the last. Which steps those were the simulator says, with the constants so far:
 * replay, fit the sums, and again with the better constants, until the schedule has settled.
 *
 * A request's sum stands for its steps by their means, one of steps that decode only and one of steps that a prefill
 * shares; the root of squares of a mean is within a few permille of the mean of the roots. Requests that ran together
 * measure the same steps, so standard errors are too small; the rows are not independent.
 */
#include "config.h"

#include "sim/cli/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/output_file.h"
#include "sim/base/memory.h"
#include "sim/cli/calibrate_profile.h"
#include "sim/cli/command.h"
#include "sim/cli/measured_deployment.h"
#include "sim/cli/measured_run.h"
#include "sim/engine/simulation.h"
#include "sim/latency/calibration.h"
#include "sim/latency/latency_setup.h"

/* A sum of few steps tells as much of where the replay cut it as of their times. */
#define STEPS_OF_HALF_WEIGHT 16.0

enum { ROUNDS = 4, TERMS = sizeof(struct kv_roofline_terms) / sizeof(double) };

/* A step of the replay; sums run over all steps up to and with this one, decode-only and shared ones apart. */
struct replayed {
	struct kv_step_work work;
	kv_time end;
	double sum[KV_OBSERVATION_PARTS][TERMS];
	double count[KV_OBSERVATION_PARTS];
};

struct times {
	kv_time admitted, first_token, finish;
};

struct fitting {
	const struct kv_calibrate_arguments *arguments;
	struct kv_measured_run *run;
	struct kv_scenario scenario;
	struct kv_deployment deployment;
	struct kv_latency_setup setup;
	struct kv_latency_constants start;
	struct kv_fit fit;
	struct replayed *step;
	size_t steps, begun, step_capacity;
	struct times *simulated;      /* by request */
	size_t finished;
	struct kv_observation *observation;
	const struct kv_observation **used;
	size_t count;
};

/* --- the replay ------------------------------------------------------------------------------------------------- */

static void hear(void *self, const struct kv_step_work *work)
{
	struct fitting *f = self;

	f->step = kv_grow(f->step, &f->step_capacity, f->begun + 1, sizeof *f->step);
	f->step[f->begun++] = (struct replayed){.work = *work};
}

/* Steps end in the order in which they begin. */
static void on_step(void *self, const struct kv_step *step)
{
	struct fitting *f = self;

	KV_ASSERT(f->steps < f->begun, "a step ended that had not begun");
	f->step[f->steps++].end = step->end;
}

static void on_request(void *self, const struct kv_request_record *r)
{
	struct fitting *f = self;

	if (r->status != KV_FINISHED)
		return;
	f->finished++;
	f->simulated[r->index] = (struct times){r->admitted, r->first_token, r->finish};
}

static int replay(struct fitting *f, struct kv_error *err)
{
	const struct kv_run_options options = {.duration = KV_TIME_NONE};
	struct kv_latency *latency = kv_latency_roofline(&f->setup);
	struct kv_source *source = kv_measured_run_source(f->run);
	struct kv_sink sink = {.self = f, .step = on_step, .request = on_request};
	struct kv_run_outcome outcome;
	int status;

	f->steps = f->begun = f->finished = 0;
	kv_latency_listen(latency, hear, f);
	kv_latency_free((struct kv_latency *)f->deployment.config.latency);
	f->deployment.config.latency = latency;
	status = kv_simulate(&f->deployment.config, source, &sink, &options, &outcome, err);
	source->close(source);
	if (status == 0 && f->finished < f->run->requests)
		return kv_fail(err, KV_EXIT_DATA, "only %zu of %zu requests finish in this deployment", f->finished,
		               f->run->requests);
	return status;
}

static void add_up(struct fitting *f)
{
	struct kv_roofline roofline;

	kv_roofline_init(&roofline, &f->setup);
	for (size_t i = 0; i < f->steps; i++) {
		struct replayed *s = &f->step[i];
		size_t part = s->work.prefill_seqs > 0;
		struct kv_roofline_terms terms;

		if (i > 0) {
			memcpy(s->sum, f->step[i - 1].sum, sizeof s->sum);
			memcpy(s->count, f->step[i - 1].count, sizeof s->count);
		}
		kv_roofline_terms(&roofline, &s->work, &terms);
		for (size_t t = 0; t < TERMS; t++)
			s->sum[part][t] += ((const double *)&terms)[t];
		s->count[part]++;
	}
}

/* --- what the requests measured --------------------------------------------------------------------------------- */

/* Steps that ended at or before a time. */
static size_t ended_by(const struct fitting *f, kv_time time)
{
	size_t low = 0, high = f->steps;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->step[middle].end <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The steps that ended after `from`, up to `to`, as their means; none: count 0. */
static void observe(struct fitting *f, kv_time from, kv_time to, kv_time measured, size_t shape)
{
	static const struct replayed nothing;
	size_t first = ended_by(f, from), last = ended_by(f, to);
	const struct replayed *before = first > 0 ? &f->step[first - 1] : &nothing;
	const struct replayed *after = last > 0 ? &f->step[last - 1] : &nothing;
	struct kv_observation *o = &f->observation[f->count];

	if (last <= first || measured <= 0)
		return;
	*o = (struct kv_observation){.seconds = (double)measured / 1e9, .shape = shape};
	o->weight = (double)(last - first) / ((double)(last - first) + STEPS_OF_HALF_WEIGHT);
	for (size_t part = 0; part < KV_OBSERVATION_PARTS; part++) {
		o->count[part] = after->count[part] - before->count[part];
		for (size_t t = 0; t < TERMS && o->count[part] > 0; t++)
			((double *)&o->terms[part])[t] = (after->sum[part][t] - before->sum[part][t]) / o->count[part];
	}
	f->used[f->count++] = o;
}

static void observe_requests(struct fitting *f)
{
	f->count = 0;
	for (size_t i = 0; i < f->run->requests; i++) {
		const struct kv_measured_request *m = &f->run->request[i];
		const struct times *s = &f->simulated[i];

		observe(f, s->admitted, s->first_token, m->first_token - m->scheduled, i);
		observe(f, s->first_token, s->finish, m->last_token - m->first_token, i);
	}
}

static int fit_rounds(struct fitting *f, struct kv_error *err)
{
	f->simulated = kv_calloc(f->run->requests, sizeof *f->simulated);
	f->observation = kv_calloc(2 * f->run->requests, sizeof *f->observation);
	f->used = kv_calloc(2 * f->run->requests, sizeof *f->used);
	for (int round = 0; round < ROUNDS; round++) {
		if (replay(f, err))
			return -1;
		add_up(f);
		observe_requests(f);
		if (f->count == 0)
			return kv_fail(err, KV_EXIT_DATA, "%s: no request took any time", f->run->prefix);
		if (kv_calibrate(f->used, f->count, &f->start, &f->fit, NULL, err))
			return -1;
		f->setup.constants = f->fit.constants;
	}
	return 0;
}

/* --- results ---------------------------------------------------------------------------------------------------- */

static void find_region(const struct fitting *f, struct kv_validated *region)
{
	struct kv_latency_region steps = {0};

	for (size_t i = 0; i < f->steps; i++)
		kv_latency_region_extend(&steps, &f->step[i].work);
	*region = (struct kv_validated){.sequences = steps.sequences, .step_tokens = steps.step_tokens,
	                                .sequence_context = steps.sequence_context,
	                                .tensor_parallel = (uint32_t)f->setup.tensor_parallel};
}

static struct kv_score score(const struct fitting *f)
{
	double *errors = kv_calloc(f->count, sizeof *errors);
	struct kv_score result;

	for (size_t i = 0; i < f->count; i++)
		errors[i] = kv_observation_predict(f->used[i], &f->fit.constants) / f->used[i]->seconds - 1.0;
	result = kv_score_errors(errors, f->count);
	free(errors);
	return result;
}

static int print(const struct fitting *f, const struct kv_score *s, struct kv_error *err)
{
	struct kv_output *out = kv_output_to_descriptor(STDOUT_FILENO, "standard output");
	int failed;

	kv_calibrate_print_constants(out, &f->start, &f->fit);
	kv_output_printf(out, "\n%zu sums of steps from %zu requests, in sample: mean %.2f %%, median %.2f %%, "
	                 "p90 %.2f %%, bias %+.2f %%\nRequests that ran together measure the same steps: the standard "
	                 "errors are too small.\n",
	                 s->rows, f->run->requests, 100 * s->mean, 100 * s->median, 100 * s->p90, 100 * s->bias);
	failed = kv_output_close(out, err);
	kv_output_free(out);
	return failed;
}

static int tell(const struct fitting *f, struct kv_error *err)
{
	const char *name = strrchr(f->run->prefix, '/');
	struct kv_score s = score(f);
	char error[128];
	struct kv_calibrated_profile profile = {
		.card = f->deployment.hardware, .engine = f->deployment.profile, .constants = f->fit.constants,
		.narrow_products = f->setup.rates.compute_flops > f->setup.rates.attention_flops, .error = error,
		.data = name ? name + 1 : f->run->prefix,
	};

	if (print(f, &s, err))
		return -1;
	if (!f->arguments->out)
		return 0;
	snprintf(error, sizeof error, "sums of steps of %zu requests %.1f %% (mean absolute error, in sample)",
	         f->run->requests, 100 * s.mean);
	find_region(f, &profile.region);
	return kv_calibrated_profile_write(&profile, f->arguments->out, err);
}

static int prepare(struct fitting *f, struct kv_error *err)
{
	struct kv_deployment *d = &f->deployment;
	struct kv_latency_layout layout = {.pipeline_parallel = 1};

	f->run = kv_measured_run_load(f->arguments->data, err);
	if (!f->run || kv_measured_run_deploy(f->run, f->arguments, &f->scenario, d, err))
		return -1;
	layout.tensor_parallel = (uint32_t)f->scenario.engine.tensor_parallel_size;
	layout.kv_dtype = kv_deployment_cache_dtype(d, &f->scenario);
	if (kv_latency_setup_fill(d->model, d->hardware, &d->profile->overheads, &d->profile->efficiency, &layout,
	                          &f->setup, err))
		return -1;
	f->start = f->setup.constants;
	return 0;
}

int kv_calibrate_fit_run(const struct kv_calibrate_arguments *arguments)
{
	struct fitting f = {.arguments = arguments};
	struct kv_error err;
	int failed;

	kv_scenario_init(&f.scenario);
	failed = prepare(&f, &err) || fit_rounds(&f, &err) || tell(&f, &err);
	free(f.used);
	free(f.observation);
	free(f.simulated);
	free(f.step);
	kv_deployment_fini(&f.deployment);
	kv_scenario_fini(&f.scenario);
	kv_measured_run_free(f.run);
	return failed ? kv_cli_fail(&err) : KV_EXIT_OK;
}
