#include "config.h"

#include "sim/latency/calibration.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include "sim/base/memory.h"

/* Floors of prefill attention kernels are 10 to 19 us a layer; an all-reduce that is launched on its own takes 12 to
 * 16 us longer than one in a CUDA graph (B200; more on older cards). Both from public kernel tables, hence the narrow
 * priors. */
#define KERNEL_TABLE_CLP 15e-6
#define KERNEL_TABLE_C1P 14e-6

/* Spread that a good fit leaves: a residual of 1 is 8 %. */
#define RESIDUAL_SCALE 0.08
/* A posterior within a tenth of its prior says that the rows told nothing. */
#define UNINFORMED_SHARE 0.9
#define OUTLIER_SIGMAS 6.0
#define OUTLIER_FACTOR 1.5
/* The standard deviation of a normal sample, from its median absolute deviation. */
#define MAD_TO_SIGMA 1.4826

static const struct {
	const char *name, *unit;
	double per_second;
	size_t offset;
	double prior_sd;      /* of the logarithm */
	double lower, upper;  /* shares, or seconds */
} constants[KV_CONSTANTS] = {
	[KV_CONSTANT_EC] = {"ec", "", 1, offsetof(struct kv_latency_constants, ec), .2, .05, 1.1},
	[KV_CONSTANT_EB] = {"eb", "", 1, offsetof(struct kv_latency_constants, eb), .15, .1, 1.0},
	[KV_CONSTANT_EA] = {"ea", "", 1, offsetof(struct kv_latency_constants, ea), .6, .02, 1.0},
	[KV_CONSTANT_EK] = {"ek", "", 1, offsetof(struct kv_latency_constants, ek), .3, .05, 1.1},
	[KV_CONSTANT_KM] = {"km", "", 1, offsetof(struct kv_latency_constants, km), .4, .1, 1.3},
	[KV_CONSTANT_EN] = {"en", "", 1, offsetof(struct kv_latency_constants, en), .5, .02, 1.2},
	[KV_CONSTANT_EL] = {"el", "", 1, offsetof(struct kv_latency_constants, el), .4, .02, 1.0},
	[KV_CONSTANT_C0] = {"c0", "ms", 1e3, offsetof(struct kv_latency_constants, c0), 1, 1e-6, 60e-3},
	[KV_CONSTANT_CL] = {"cl", "us", 1e6, offsetof(struct kv_latency_constants, cl), .7, 1e-8, 600e-6},
	[KV_CONSTANT_CLP] = {"clp", "us", 1e6, offsetof(struct kv_latency_constants, clp), .3, 1e-8, 200e-6},
	[KV_CONSTANT_C1] = {"c1", "us", 1e6, offsetof(struct kv_latency_constants, c1), 1, 1e-8, 200e-6},
	[KV_CONSTANT_C1P] = {"c1p", "us", 1e6, offsetof(struct kv_latency_constants, c1p), .5, 1e-8, 200e-6},
	[KV_CONSTANT_CS] = {"cs", "us", 1e6, offsetof(struct kv_latency_constants, cs), 1, 1e-8, 500e-6},
};

const char *kv_constant_name(enum kv_constant constant)
{
	return constants[constant].name;
}

const char *kv_constant_unit(enum kv_constant constant)
{
	return constants[constant].unit;
}

double kv_constant_per_second(enum kv_constant constant)
{
	return constants[constant].per_second;
}

double kv_constant_get(const struct kv_latency_constants *from, enum kv_constant constant)
{
	return *(const double *)((const char *)from + constants[constant].offset);
}

void kv_constant_set(struct kv_latency_constants *in, enum kv_constant constant, double value)
{
	*(double *)((char *)in + constants[constant].offset) = value;
}

double kv_observation_predict(const struct kv_observation *o, const struct kv_latency_constants *c)
{
	double seconds = 0;

	for (size_t i = 0; i < KV_OBSERVATION_PARTS; i++)
		if (o->count[i] > 0)
			seconds += o->count[i] * kv_roofline_seconds(&o->terms[i], c);
	return seconds;
}

/* --- the system of equations -------------------------------------------------------------------------------------- */

struct problem {
	const struct kv_observation *const *observations;
	size_t count;
	double start[KV_CONSTANTS];  /* logarithms */
	struct kv_latency_constants kept;  /* what is not fitted counts */
};

static double clamp(double value, double lower, double upper)
{
	return value < lower ? lower : value > upper ? upper : value;
}

static void constants_at(const struct problem *problem, const gsl_vector *x, struct kv_latency_constants *out)
{
	*out = problem->kept;
	for (size_t k = 0; k < KV_CONSTANTS; k++)
		kv_constant_set(out, (enum kv_constant)k,
		                clamp(exp(gsl_vector_get(x, k)), constants[k].lower, constants[k].upper));
}

/* Grows like |r| for large r and like r near zero. */
static double soften(double r)
{
	return copysign(sqrt(2.0 * (sqrt(1.0 + r * r) - 1.0)), r);
}

static double soften_slope(double r)
{
	double softened = soften(r);

	return fabs(softened) < 1e-8 ? 1.0 : r / (softened * sqrt(1.0 + r * r));
}

static double raw_residual(const struct kv_observation *o, const struct kv_latency_constants *c)
{
	return log(kv_observation_predict(o, c) / o->seconds) / RESIDUAL_SCALE;
}

static int residuals(const gsl_vector *x, void *data, gsl_vector *f)
{
	const struct problem *p = data;
	struct kv_latency_constants c;

	constants_at(p, x, &c);
	for (size_t i = 0; i < p->count; i++)
		gsl_vector_set(f, i, sqrt(p->observations[i]->weight) * soften(raw_residual(p->observations[i], &c)));
	for (size_t k = 0; k < KV_CONSTANTS; k++)
		gsl_vector_set(f, p->count + k, (gsl_vector_get(x, k) - p->start[k]) / constants[k].prior_sd);
	return GSL_SUCCESS;
}

static void add_host_slopes(const struct kv_roofline_terms *t, const struct kv_latency_constants *c, double weight,
                            double slope[KV_CONSTANTS])
{
	slope[KV_CONSTANT_C0] += weight * c->c0 * t->steps;
	slope[KV_CONSTANT_CL] += weight * c->cl * t->layers;
	slope[KV_CONSTANT_CLP] += weight * c->clp * t->layers * t->prefilling;
	slope[KV_CONSTANT_C1] += weight * c->c1 * t->allreduces;
	slope[KV_CONSTANT_C1P] += weight * c->c1p * t->allreduces * t->eager;
	slope[KV_CONSTANT_CS] += weight * c->cs * t->sequences;
}

static void add_ring_slopes(const struct kv_roofline_terms *t, const struct kv_latency_constants *c, double weight,
                            double slope[KV_CONSTANTS])
{
	double large = t->large_ring > 0.0 ? t->large_ring / (c->en * c->el) : 0.0;

	slope[KV_CONSTANT_EN] -= weight * (t->ring / c->en + large);
	slope[KV_CONSTANT_EL] -= weight * large;
}

static void add_device_slopes(const struct kv_roofline_terms *t, const struct kv_latency_constants *c, double weight,
                              double slope[KV_CONSTANTS])
{
	double compute = t->compute / c->ec, weights = t->weights / c->eb;
	double root = sqrt(compute * compute + weights * weights);
	double decode = t->decode_kv / (t->prefilling > 0.0 ? c->ek * c->km : c->ek);
	double decode_attention = t->decode_attention / c->ea;
	double decode_root = sqrt(decode * decode + decode_attention * decode_attention);
	double decode_slope = decode_root > 0 ? decode * decode / decode_root : 0.0;
	double past = t->past_kv / (c->ek * c->km);

	slope[KV_CONSTANT_EC] -= weight * (root > 0 ? compute * compute / root : 0.0);
	slope[KV_CONSTANT_EB] -= weight * (root > 0 ? weights * weights / root : 0.0);
	slope[KV_CONSTANT_EA] -= weight * (t->attention / c->ea + decode_root - decode_slope);
	slope[KV_CONSTANT_EK] -= weight * (decode_slope + past);
	slope[KV_CONSTANT_KM] -= weight * ((t->prefilling > 0.0 ? decode_slope : 0.0) + past);
	add_ring_slopes(t, c, weight, slope);
}

/* Derivatives of the seconds of a step by the logarithm of each constant, added to slope with a weight. */
static void add_slopes(const struct kv_roofline_terms *t, const struct kv_latency_constants *c, double weight,
                       double slope[KV_CONSTANTS])
{
	double host_weight = weight, device_weight = weight;

	if (c->overlap) {
		double seconds = kv_roofline_seconds(t, c);

		host_weight *= kv_roofline_host_seconds(t, c) / seconds;
		device_weight *= kv_roofline_device_seconds(t, c) / seconds;
	}
	add_host_slopes(t, c, host_weight, slope);
	add_device_slopes(t, c, device_weight, slope);
}

static bool is_clamped(double log_value, size_t k)
{
	return exp(log_value) < constants[k].lower || exp(log_value) > constants[k].upper;
}

static int jacobian(const gsl_vector *x, void *data, gsl_matrix *J)
{
	const struct problem *p = data;
	struct kv_latency_constants c;

	constants_at(p, x, &c);
	gsl_matrix_set_zero(J);
	for (size_t i = 0; i < p->count; i++) {
		const struct kv_observation *o = p->observations[i];
		double scale = sqrt(o->weight) * soften_slope(raw_residual(o, &c)) /
		               (RESIDUAL_SCALE * kv_observation_predict(o, &c));
		double slope[KV_CONSTANTS] = {0};

		for (size_t part = 0; part < KV_OBSERVATION_PARTS; part++)
			if (o->count[part] > 0)
				add_slopes(&o->terms[part], &c, o->count[part] * scale, slope);
		for (size_t k = 0; k < KV_CONSTANTS; k++)
			gsl_matrix_set(J, i, k, is_clamped(gsl_vector_get(x, k), k) ? 0.0 : slope[k]);
	}
	for (size_t k = 0; k < KV_CONSTANTS; k++)
		gsl_matrix_set(J, p->count + k, k, 1.0 / constants[k].prior_sd);
	return GSL_SUCCESS;
}

/* --- solving ------------------------------------------------------------------------------------------------------ */

static void take_result(const struct problem *p, gsl_multifit_nlinear_workspace *w, struct kv_fit *fit)
{
	gsl_matrix *covariance = gsl_matrix_alloc(KV_CONSTANTS, KV_CONSTANTS);

	constants_at(p, gsl_multifit_nlinear_position(w), &fit->constants);
	gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(w), 0.0, covariance);
	for (size_t k = 0; k < KV_CONSTANTS; k++) {
		fit->log_sd[k] = sqrt(gsl_matrix_get(covariance, k, k));
		fit->at_bound[k] = is_clamped(gsl_vector_get(gsl_multifit_nlinear_position(w), k), k);
		fit->informed[k] = fit->log_sd[k] < UNINFORMED_SHARE * constants[k].prior_sd;
	}
	fit->iterations = gsl_multifit_nlinear_niter(w);
	gsl_matrix_free(covariance);
}

static int solve(struct problem *p, struct kv_fit *fit, struct kv_error *err)
{
	gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
	gsl_multifit_nlinear_fdf system = {.f = residuals, .df = jacobian, .n = p->count + KV_CONSTANTS,
	                                   .p = KV_CONSTANTS, .params = p};
	gsl_multifit_nlinear_workspace *w;
	gsl_vector_view start = gsl_vector_view_array(p->start, KV_CONSTANTS);
	int info, status;

	parameters.trs = gsl_multifit_nlinear_trs_lm;
	w = gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &parameters, system.n, system.p);
	status = gsl_multifit_nlinear_init(&start.vector, &system, w);
	if (status == GSL_SUCCESS)
		status = gsl_multifit_nlinear_driver(200, 1e-8, 1e-8, 0.0, NULL, NULL, &info, w);
	/* No further progress is what the exact minimum looks like. */
	fit->converged = status == GSL_SUCCESS || status == GSL_ENOPROG;
	if (fit->converged || status == GSL_EMAXITER)
		take_result(p, w, fit);
	gsl_multifit_nlinear_free(w);
	if (!fit->converged && status != GSL_EMAXITER)
		return kv_fail(err, KV_EXIT_DATA, "the fit failed: %s", gsl_strerror(status));
	return 0;
}

static double start_of(const struct kv_latency_constants *start, size_t k)
{
	double value = kv_constant_get(start, (enum kv_constant)k);

	if (value == 0.0 && k == KV_CONSTANT_CLP)
		return KERNEL_TABLE_CLP;
	if (value == 0.0 && k == KV_CONSTANT_C1P)
		return KERNEL_TABLE_C1P;
	return clamp(value, constants[k].lower, constants[k].upper);
}

static double distance(const struct kv_observation *o, const struct kv_latency_constants *c)
{
	return fabs(log(kv_observation_predict(o, c) / o->seconds));
}

/* How far from the fit a row may lie: robust against the rows that it is meant to find. */
static double outlier_distance(const struct kv_observation *const *observations, size_t count,
                               const struct kv_latency_constants *c)
{
	double *d = kv_calloc(count, sizeof *d);
	double median;

	for (size_t i = 0; i < count; i++)
		d[i] = distance(observations[i], c);
	gsl_sort(d, 1, count);
	median = gsl_stats_median_from_sorted_data(d, 1, count);
	free(d);
	return fmax(OUTLIER_SIGMAS * MAD_TO_SIGMA * median, log(OUTLIER_FACTOR));
}

static int fit_without_outliers(struct problem *p, struct kv_fit *fit, bool *set_aside, struct kv_error *err)
{
	const struct kv_observation *const *all = p->observations;
	const struct kv_observation **kept = kv_calloc(p->count, sizeof *kept);
	double limit = outlier_distance(all, p->count, &fit->constants);
	size_t count = p->count, n = 0;
	int status = 0;

	for (size_t i = 0; i < count; i++) {
		bool is_outlier = distance(all[i], &fit->constants) > limit;

		if (!is_outlier)
			kept[n++] = all[i];
		if (set_aside)
			set_aside[i] = is_outlier;
	}
	p->observations = kept;
	p->count = n;
	if (n < count)
		status = solve(p, fit, err);
	free(kept);
	return status;
}

int kv_calibrate(const struct kv_observation *const *observations, size_t count,
                 const struct kv_latency_constants *start, struct kv_fit *fit, bool *set_aside, struct kv_error *err)
{
	struct problem problem = {.observations = observations, .count = count, .kept = *start};

	for (size_t k = 0; k < KV_CONSTANTS; k++)
		problem.start[k] = log(start_of(start, k));
	if (solve(&problem, fit, err))
		return -1;
	return fit_without_outliers(&problem, fit, set_aside, err);
}

static int predict_fold(const struct kv_observation *const *observations, size_t count, const size_t *fold, size_t at,
                        const struct kv_latency_constants *start, double *predicted, struct kv_error *err)
{
	const struct kv_observation **seen = kv_calloc(count, sizeof *seen);
	struct kv_fit fit;
	size_t n = 0;
	int status;

	for (size_t i = 0; i < count; i++)
		if (fold[i] != at)
			seen[n++] = observations[i];
	status = n == count ? 0 : kv_calibrate(seen, n, start, &fit, NULL, err);
	for (size_t i = 0; i < count && status == 0; i++)
		if (fold[i] == at)
			predicted[i] = kv_observation_predict(observations[i], &fit.constants);
	free(seen);
	return status;
}

int kv_cross_validate(const struct kv_observation *const *observations, size_t count, const size_t *fold, size_t folds,
                      const struct kv_latency_constants *start, double *predicted, struct kv_error *err)
{
	for (size_t at = 0; at < folds; at++)
		if (predict_fold(observations, count, fold, at, start, predicted, err))
			return -1;
	return 0;
}

struct kv_score kv_score_errors(double *errors, size_t count)
{
	struct kv_score score = {.rows = count};

	if (count == 0)
		return score;
	score.bias = gsl_stats_mean(errors, 1, count);
	for (size_t i = 0; i < count; i++)
		errors[i] = fabs(errors[i]);
	gsl_sort(errors, 1, count);
	score.mean = gsl_stats_mean(errors, 1, count);
	score.median = gsl_stats_quantile_from_sorted_data(errors, 1, count, .5);
	score.p90 = gsl_stats_quantile_from_sorted_data(errors, 1, count, .9);
	return score;
}
