/* The values of one metric: how many, mean, population deviation, extremes and percentiles.
 *
 * Every value is counted in a log-binned histogram: 512 bins an octave, so that a bin's middle is within 1/1024 of
 * every value in it, and values below 1024 have a bin of their own. Up to KV_DISTRIBUTION_EXACT values are also kept,
 * and then percentiles are exact: the histogram finds the bin, the kept values that lie in it are sorted (gsl_sort).
 * Mean and deviation come from exact integer sums in either case. Percentiles interpolate linearly between the two
 * values around rank p (n - 1), which is numpy's default.
 *
 * Values are unsigned integers in whatever unit the caller has (ns, ps).
 */
#ifndef KV_RESULTS_DISTRIBUTION_H
#define KV_RESULTS_DISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/units.h"

#define KV_DISTRIBUTION_EXACT 1000000u
#define KV_DISTRIBUTION_ERROR (1.0 / 1024)  /* largest relative error of a percentile that is not exact */

#define KV_BIN_BITS 9u
#define KV_BINS ((64u - KV_BIN_BITS) * (1u << KV_BIN_BITS) + (1u << KV_BIN_BITS))

struct kv_distribution {
	uint64_t *bins;          /* KV_BINS counts */
	uint64_t *values;        /* the first `count` values while exact, else NULL */
	size_t values_capacity;
	bool exact;
	uint64_t count, minimum, maximum;
	kv_integral sum;
	kv_integral squares;     /* modulo 2^128: see kv_distribution_deviation */
};

/* Keeps no values if !exact: for token gaps, which come with weights. */
void kv_distribution_init(struct kv_distribution *d, bool exact);
void kv_distribution_fini(struct kv_distribution *d);

/* Frees the kept values: percentiles are read off the histogram from now on. */
void kv_distribution_forget(struct kv_distribution *d);
void kv_distribution_grow(struct kv_distribution *d);

static inline uint32_t kv_bin_of(uint64_t value)
{
	uint32_t shift;

	if (value < 2u << KV_BIN_BITS)
		return (uint32_t)value;
	shift = 63u - (uint32_t)__builtin_clzll(value) - KV_BIN_BITS;
	return (shift << KV_BIN_BITS) + (uint32_t)(value >> shift);
}

/* The middle of a bin: the value itself where bins are one wide. */
double kv_bin_middle(uint32_t bin);

static inline void kv_distribution_count(struct kv_distribution *d, uint64_t value, uint64_t weight)
{
	if (value == 0) {  /* what never happens to a request is often a metric's only value */
		d->bins[0] += weight;
		d->count += weight;
		d->minimum = 0;
		return;
	}
	d->bins[kv_bin_of(value)] += weight;
	d->count += weight;
	d->sum += (kv_integral)value * weight;
	d->squares += (kv_integral)value * value * weight;
	if (value < d->minimum)
		d->minimum = value;
	if (value > d->maximum)
		d->maximum = value;
}

static inline void kv_distribution_add(struct kv_distribution *d, uint64_t value)
{
	if (d->exact) {
		if (__builtin_expect(d->count == d->values_capacity, 0))
			kv_distribution_grow(d);
		if (d->exact)
			d->values[d->count] = value;
	}
	kv_distribution_count(d, value, 1);
}

/* `weight` equal values at once. Only for distributions that are not exact. */
static inline void kv_distribution_add_weighted(struct kv_distribution *d, uint64_t value, uint64_t weight)
{
	kv_distribution_count(d, value, weight);
}

/* All are 0 without values, as vLLM prints. */
double kv_distribution_mean(const struct kv_distribution *d);
double kv_distribution_deviation(const struct kv_distribution *d);

/* percentiles[i] in 0..100, any order; fills results[i]. */
void kv_distribution_percentiles(const struct kv_distribution *d, const double *percentiles, size_t n, double *results);

/* The same without interpolation: the value at position ceil(p n), as descriptions of traces have it. */
void kv_distribution_nearest_ranks(const struct kv_distribution *d, const double *percentiles, size_t n,
                                   double *results);

/* Largest relative error of the percentiles: 0 or KV_DISTRIBUTION_ERROR. */
double kv_distribution_error(const struct kv_distribution *d);

#endif
