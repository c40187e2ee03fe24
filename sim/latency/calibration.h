/* Fitting the constants of the step-time model to measured times, and scoring predictions.
 *
 * Least squares over log constants: residual log(predicted / measured) / 0.08, softened by a pseudo-Huber transform so
 * that a wrong row pulls no harder than it must, plus one prior row a constant, (log c - log start) / sd. Without the
 * priors four rows give wild constants; with them they move only what the rows speak about. Solved by GSL's trust
 * region (Levenberg-Marquardt) with the analytic Jacobian. Source of method, priors and bounds:
 * results/studies/latency.
 */
#ifndef KV_SIM_CALIBRATION_H
#define KV_SIM_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/error.h"
#include "sim/latency/latency.h"
#include "sim/latency/latency_roofline.h"

enum kv_constant {
	KV_CONSTANT_EC, KV_CONSTANT_EB, KV_CONSTANT_EA, KV_CONSTANT_EK, KV_CONSTANT_KM, KV_CONSTANT_EN, KV_CONSTANT_EL,
	KV_CONSTANT_C0, KV_CONSTANT_CL, KV_CONSTANT_CLP, KV_CONSTANT_C1, KV_CONSTANT_C1P, KV_CONSTANT_CS, KV_CONSTANTS
};

const char *kv_constant_name(enum kv_constant constant);
/* What a value is printed in: "" for shares, "ms" or "us"; and how many of them make a second (1 for shares). */
const char *kv_constant_unit(enum kv_constant constant);
double kv_constant_per_second(enum kv_constant constant);
double kv_constant_get(const struct kv_latency_constants *constants, enum kv_constant constant);
void kv_constant_set(struct kv_latency_constants *constants, enum kv_constant constant, double value);

/* A measured time is a sum of steps: one, or for a whole static batch one prefill and many equal decode steps. */
#define KV_OBSERVATION_PARTS 2

struct kv_observation {
	struct kv_roofline_terms terms[KV_OBSERVATION_PARTS];
	double count[KV_OBSERVATION_PARTS];  /* 0 = no such part */
	double seconds;                      /* measured, > 0 */
	double weight;                       /* of its squared residual */
	size_t shape;                        /* observations of one shape are held out together */
};

double kv_observation_predict(const struct kv_observation *observation, const struct kv_latency_constants *constants);

struct kv_fit {
	struct kv_latency_constants constants;  /* ea_half, large_message and overlap as they were at the start */
	double log_sd[KV_CONSTANTS];            /* standard error of the logarithm of each */
	bool informed[KV_CONSTANTS];            /* the rows narrowed the prior by more than a tenth */
	bool at_bound[KV_CONSTANTS];            /* the rows ask for more than is allowed: no standard error then */
	size_t iterations;
	bool converged;
};

/* Rows that lie farther from the fit of the others than six robust standard deviations, and a factor of 1.5, are set
 * aside and the rest is fitted again; set_aside (count of them, may be NULL) says which. A start of 0 for clp and c1p
 * means the values of kernel tables; other constants of 0 begin at their lower bound. -1 with err filled if the solver
 * fails. */
int kv_calibrate(const struct kv_observation *const *observations, size_t count,
                 const struct kv_latency_constants *start, struct kv_fit *fit, bool *set_aside, struct kv_error *err);

/* predicted[i] = what a fit to all observations of other folds than fold[i] says of observation i; folds are 0, 1, ...
 * below `folds`, and some may be empty. */
int kv_cross_validate(const struct kv_observation *const *observations, size_t count, const size_t *fold, size_t folds,
                      const struct kv_latency_constants *start, double *predicted, struct kv_error *err);

/* Shares, not percent: of |predicted / measured - 1|, and bias of predicted / measured - 1. */
struct kv_score {
	size_t rows;
	double mean, median, p90, bias;
};

/* errors = predicted / measured - 1; on return the array holds their sizes in order. */
struct kv_score kv_score_errors(double *errors, size_t count);

#endif
