/* Paired bootstrap: how far a difference between two runs depends on which requests the workload happened to have.
 *
 * Each replicate draws n of the n pairs with replacement, the same ones for both runs, and computes the difference of
 * the statistic (variant minus baseline); the interval holds the middle 95 % of them (percentile method). Quantiles
 * interpolate linearly as everywhere in results/. Cost: replicates x pairs.
 */
#ifndef KV_RESULTS_BOOTSTRAP_H
#define KV_RESULTS_BOOTSTRAP_H

#include <stddef.h>

#include <gsl/gsl_rng.h>

struct kv_interval {
	double low, high;
};

/* Values of the same requests in the same order. */
struct kv_pairs {
	double *baseline, *variant;
	size_t count;
};

enum kv_statistic { KV_STATISTIC_MEAN, KV_STATISTIC_MEDIAN, KV_STATISTIC_P99, KV_STATISTICS };

/* NAN without values. */
double kv_statistic(enum kv_statistic statistic, const double *values, size_t count);

/* Intervals of the differences of all three statistics. count > 0. */
void kv_bootstrap(const struct kv_pairs *pairs, size_t replicates, gsl_rng *rng,
                  struct kv_interval interval[KV_STATISTICS]);

/* Interval of the difference of two ratios of sums: of weight's share that the values are (hit tokens of prompt
 * tokens). */
struct kv_interval kv_bootstrap_ratio(const struct kv_pairs *pairs, const double *weights, size_t replicates,
                                      gsl_rng *rng);

#endif
