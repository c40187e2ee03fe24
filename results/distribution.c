#include "config.h"

#include "results/distribution.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_sort.h>

#include "sim/base/error.h"
#include "sim/base/memory.h"

void kv_distribution_init(struct kv_distribution *d, bool exact)
{
	*d = (struct kv_distribution){.exact = exact, .minimum = UINT64_MAX};
	d->bins = kv_calloc(KV_BINS, sizeof *d->bins);
}

void kv_distribution_fini(struct kv_distribution *d)
{
	free(d->bins);
	free(d->values);
	d->bins = NULL;
	d->values = NULL;
}

void kv_distribution_forget(struct kv_distribution *d)
{
	free(d->values);
	d->values = NULL;
	d->values_capacity = 0;
	d->exact = false;
}

void kv_distribution_grow(struct kv_distribution *d)
{
	if (d->count >= KV_DISTRIBUTION_EXACT) {
		kv_distribution_forget(d);
		return;
	}
	d->values_capacity = d->values_capacity == 0 ? 1024 : 2 * d->values_capacity;
	if (d->values_capacity > KV_DISTRIBUTION_EXACT)
		d->values_capacity = KV_DISTRIBUTION_EXACT;
	d->values = kv_realloc(d->values, d->values_capacity, sizeof *d->values);
}

double kv_bin_middle(uint32_t bin)
{
	uint32_t shift;
	uint64_t low;

	if (bin < 2u << KV_BIN_BITS)
		return bin;
	shift = (bin >> KV_BIN_BITS) - 1;
	low = (uint64_t)(bin - (shift << KV_BIN_BITS)) << shift;
	return (double)low + ((double)((uint64_t)1 << shift) - 1) / 2;
}

double kv_distribution_mean(const struct kv_distribution *d)
{
	if (d->count == 0)
		return 0;
	return (double)(d->sum / d->count) + (double)(d->sum % d->count) / (double)d->count;
}

/* With q = floor(mean), sum (x - q)^2 = squares - 2 q sum + n q^2. Modulo 2^128 that is exact whatever overflowed on
 * the way, as long as the result itself fits; no digits cancel, unlike in E[x^2] - E[x]^2. */
double kv_distribution_deviation(const struct kv_distribution *d)
{
	kv_integral q, about_q;
	double offset;

	if (d->count == 0)
		return 0;
	q = d->sum / d->count;
	offset = (double)(d->sum % d->count) / (double)d->count;
	about_q = d->squares - 2 * q * d->sum + d->count * q * q;
	return sqrt(fmax(0, (double)about_q / (double)d->count - offset * offset));
}

/* The kept values that fall into a bin, sorted. */
static double *values_of_bin(const struct kv_distribution *d, uint32_t bin)
{
	double *found = kv_calloc(d->bins[bin], sizeof *found);
	size_t n = 0;

	for (uint64_t i = 0; i < d->count; i++)
		if (kv_bin_of(d->values[i]) == bin)
			found[n++] = (double)d->values[i];
	gsl_sort(found, 1, n);
	return found;
}

/* Reads values by rank; ranks asked for in rising order share one walk over the bins. */
struct rank_reader {
	const struct kv_distribution *d;
	uint32_t bin;
	uint64_t before;  /* values in bins below `bin` */
	double *sorted;   /* those of `bin`, once needed */
};

static double value_at_rank(struct rank_reader *r, uint64_t rank)
{
	const struct kv_distribution *d = r->d;

	if (rank < r->before) {
		r->bin = 0;
		r->before = 0;
		free(r->sorted);
		r->sorted = NULL;
	}
	while (rank >= r->before + d->bins[r->bin]) {
		r->before += d->bins[r->bin++];
		free(r->sorted);
		r->sorted = NULL;
	}
	if (rank == 0)
		return (double)d->minimum;
	if (rank == d->count - 1)
		return (double)d->maximum;
	if (!d->exact || r->bin < 2u << KV_BIN_BITS)
		return fmin(fmax(kv_bin_middle(r->bin), (double)d->minimum), (double)d->maximum);
	if (r->sorted == NULL)
		r->sorted = values_of_bin(d, r->bin);
	return r->sorted[rank - r->before];
}

/* numpy's _lerp: from the nearer end, so that t = 1 gives b itself. */
static double interpolate(double a, double b, double t)
{
	return t >= 0.5 ? b - (b - a) * (1 - t) : a + (b - a) * t;
}

void kv_distribution_percentiles(const struct kv_distribution *d, const double *percentiles, size_t n, double *results)
{
	struct rank_reader reader = {.d = d};

	for (size_t i = 0; i < n; i++) {
		double rank, low, high;

		KV_ASSERT(percentiles[i] >= 0 && percentiles[i] <= 100, "percentile %g", percentiles[i]);
		results[i] = 0;
		if (d->count == 0)
			continue;
		rank = percentiles[i] / 100 * (double)(d->count - 1);
		low = value_at_rank(&reader, (uint64_t)rank);
		high = value_at_rank(&reader, (uint64_t)fmin(floor(rank) + 1, (double)(d->count - 1)));
		results[i] = interpolate(low, high, rank - floor(rank));
	}
	free(reader.sorted);
}

void kv_distribution_nearest_ranks(const struct kv_distribution *d, const double *percentiles, size_t n,
                                   double *results)
{
	struct rank_reader reader = {.d = d};

	for (size_t i = 0; i < n; i++) {
		double position = ceil(percentiles[i] / 100 * (double)d->count);

		KV_ASSERT(percentiles[i] >= 0 && percentiles[i] <= 100, "percentile %g", percentiles[i]);
		results[i] = d->count > 0 ? value_at_rank(&reader, (uint64_t)fmax(position, 1) - 1) : 0;
	}
	free(reader.sorted);
}

double kv_distribution_error(const struct kv_distribution *d)
{
	return d->exact || d->count == 0 ? 0 : KV_DISTRIBUTION_ERROR;
}
