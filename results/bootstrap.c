#include "config.h"

#include "results/bootstrap.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include "sim/base/memory.h"

#define CONFIDENCE 0.95

static const double quantile_of[KV_STATISTICS] = { [KV_STATISTIC_MEDIAN] = 0.5, [KV_STATISTIC_P99] = 0.99 };

double kv_statistic(enum kv_statistic statistic, const double *values, size_t count)
{
	double *sorted, result;

	if (count == 0)
		return NAN;
	if (statistic == KV_STATISTIC_MEAN)
		return gsl_stats_mean(values, 1, count);
	sorted = kv_calloc(count, sizeof *sorted);
	memcpy(sorted, values, count * sizeof *sorted);
	gsl_sort(sorted, 1, count);
	result = gsl_stats_quantile_from_sorted_data(sorted, 1, count, quantile_of[statistic]);
	free(sorted);
	return result;
}

static struct kv_interval middle_of(double *differences, size_t replicates)
{
	gsl_sort(differences, 1, replicates);
	return (struct kv_interval){
		gsl_stats_quantile_from_sorted_data(differences, 1, replicates, (1 - CONFIDENCE) / 2),
		gsl_stats_quantile_from_sorted_data(differences, 1, replicates, (1 + CONFIDENCE) / 2)
	};
}

/* How often each of n pairs is drawn. */
static void draw(uint32_t *times, size_t n, gsl_rng *rng)
{
	memset(times, 0, n * sizeof *times);
	for (size_t i = 0; i < n; i++)
		times[gsl_rng_uniform_int(rng, n)]++;
}

/* The quantile of a sample in which value order[i] stands times[order[i]] times, n in all. */
static double drawn_quantile(const double *values, const size_t *order, const uint32_t *times, size_t n, double p)
{
	double position = p * (double)(n - 1);
	size_t rank = (size_t)position, seen = 0, i = 0;
	double low;

	for (; seen + times[order[i]] <= rank; i++)
		seen += times[order[i]];
	low = values[order[i]];
	if (rank + 1 >= n)
		return low;
	for (; seen + times[order[i]] <= rank + 1; i++)
		seen += times[order[i]];
	return low + (position - (double)rank) * (values[order[i]] - low);
}

static double drawn_mean_difference(const struct kv_pairs *pairs, const uint32_t *times)
{
	double sum = 0;

	for (size_t i = 0; i < pairs->count; i++)
		sum += times[i] * (pairs->variant[i] - pairs->baseline[i]);
	return sum / (double)pairs->count;
}

void kv_bootstrap(const struct kv_pairs *pairs, size_t replicates, gsl_rng *rng,
                  struct kv_interval interval[KV_STATISTICS])
{
	size_t n = pairs->count;
	uint32_t *times = kv_calloc(n, sizeof *times);
	size_t *baseline_order = kv_calloc(n, sizeof *baseline_order),
	       *variant_order = kv_calloc(n, sizeof *variant_order);
	double *difference[KV_STATISTICS];

	gsl_sort_index(baseline_order, pairs->baseline, 1, n);
	gsl_sort_index(variant_order, pairs->variant, 1, n);
	for (int s = 0; s < KV_STATISTICS; s++)
		difference[s] = kv_calloc(replicates, sizeof *difference[s]);
	for (size_t r = 0; r < replicates; r++) {
		draw(times, n, rng);
		difference[KV_STATISTIC_MEAN][r] = drawn_mean_difference(pairs, times);
		for (int s = KV_STATISTIC_MEAN + 1; s < KV_STATISTICS; s++)
			difference[s][r] = drawn_quantile(pairs->variant, variant_order, times, n, quantile_of[s]) -
			                   drawn_quantile(pairs->baseline, baseline_order, times, n, quantile_of[s]);
	}
	for (int s = 0; s < KV_STATISTICS; s++) {
		interval[s] = middle_of(difference[s], replicates);
		free(difference[s]);
	}
	free(times);
	free(baseline_order);
	free(variant_order);
}

struct kv_interval kv_bootstrap_ratio(const struct kv_pairs *pairs, const double *weights, size_t replicates,
                                      gsl_rng *rng)
{
	uint32_t *times = kv_calloc(pairs->count, sizeof *times);
	double *difference = kv_calloc(replicates, sizeof *difference);
	struct kv_interval interval;

	for (size_t r = 0; r < replicates; r++) {
		double gained = 0, all = 0;

		draw(times, pairs->count, rng);
		for (size_t i = 0; i < pairs->count; i++) {
			gained += times[i] * (pairs->variant[i] - pairs->baseline[i]);
			all += times[i] * weights[i];
		}
		difference[r] = all > 0 ? gained / all : 0;
	}
	interval = middle_of(difference, replicates);
	free(times);
	free(difference);
	return interval;
}
