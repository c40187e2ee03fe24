#include "config.h"

#include <math.h>

#include <gsl/gsl_rng.h>

#include "results/distribution.h"
#include "tests/support.h"

static struct kv_distribution d;

static void start(void)
{
	kv_distribution_init(&d, true);
}

static void finish(void)
{
	kv_distribution_fini(&d);
}

static double percentile(double p)
{
	double result;

	kv_distribution_percentiles(&d, &p, 1, &result);
	return result;
}

START_TEST(nothing_gives_zeros)
{
	ck_assert_double_eq(kv_distribution_mean(&d), 0);
	ck_assert_double_eq(kv_distribution_deviation(&d), 0);
	ck_assert_double_eq(percentile(99), 0);
}
END_TEST

/* 1, 2, 3, 4: numpy gives p50 2.5, p99 3.97, std sqrt(1.25). */
START_TEST(small_values_are_exact_by_hand)
{
	for (uint64_t i = 4; i >= 1; i--)
		kv_distribution_add(&d, i);
	ck_assert_double_eq(kv_distribution_mean(&d), 2.5);
	ck_assert_double_eq_tol(kv_distribution_deviation(&d), 1.118033988749895, 1e-15);
	ck_assert_double_eq(percentile(50), 2.5);
	ck_assert_double_eq_tol(percentile(99), 3.97, 1e-14);
	ck_assert_double_eq(percentile(0), 1);
	ck_assert_double_eq(percentile(100), 4);
}
END_TEST

/* Large values share histogram bins: 10^12 + {0, 7, 30}. */
START_TEST(kept_values_are_exact_inside_one_bin)
{
	kv_distribution_add(&d, 1000000000030);
	kv_distribution_add(&d, 1000000000000);
	kv_distribution_add(&d, 1000000000007);
	ck_assert_double_eq(percentile(50), 1000000000007);
	ck_assert_double_eq(percentile(25), 1000000000003.5);
	ck_assert_double_eq(percentile(75), 1000000000018.5);
	/* mean + 37/3; variance (0 + 49 + 900)/3 - (37/3)^2 = 164.2222... */
	ck_assert_double_eq_tol(kv_distribution_mean(&d), 1000000000012.333333, 1e-3);
	ck_assert_double_eq_tol(kv_distribution_deviation(&d), 12.814922313900, 1e-6);
	ck_assert_double_eq(kv_distribution_error(&d), 0);
}
END_TEST

START_TEST(the_order_of_percentiles_does_not_matter)
{
	static const double asked[] = {99, 10, 50, 0, 100};
	double got[5];

	for (uint64_t i = 0; i <= 100; i++)
		kv_distribution_add(&d, i * 1000000);
	kv_distribution_percentiles(&d, asked, 5, got);
	for (int i = 0; i < 5; i++)
		ck_assert_double_eq(got[i], asked[i] * 1000000);
}
END_TEST

START_TEST(a_single_value_is_all_percentiles)
{
	kv_distribution_add(&d, 2385000000);
	ck_assert_double_eq(percentile(1), 2385000000);
	ck_assert_double_eq(percentile(99.9), 2385000000);
	ck_assert_double_eq(kv_distribution_deviation(&d), 0);
}
END_TEST

START_TEST(one_value_beyond_the_limit_ends_exactness)
{
	for (uint64_t i = 0; i < KV_DISTRIBUTION_EXACT; i++)
		kv_distribution_add(&d, 1000000 + i);
	ck_assert(d.exact);
	ck_assert_double_eq_tol(percentile(50), 1499999.5, 1e-9);
	kv_distribution_add(&d, 5);
	ck_assert(!d.exact);
	ck_assert_double_eq(kv_distribution_error(&d), 1.0 / 1024);
	ck_assert_double_eq_tol(percentile(50), 1499999, 1499999.0 / 1000);
	ck_assert_double_eq(percentile(0), 5);
	ck_assert_uint_eq(d.count, KV_DISTRIBUTION_EXACT + 1);
}
END_TEST

START_TEST(weights_count_as_many_values)
{
	kv_distribution_forget(&d);
	kv_distribution_add_weighted(&d, 100, 3);
	kv_distribution_add_weighted(&d, 200, 1);
	ck_assert_double_eq(kv_distribution_mean(&d), 125);
	ck_assert_double_eq_tol(kv_distribution_deviation(&d), 43.301270189221932, 1e-12);
	ck_assert_double_eq(percentile(50), 100);
	ck_assert_double_eq(percentile(100), 200);
}
END_TEST

/* Squares of such values overflow 64 bits and their weighted sum overflows 128. */
START_TEST(deviation_survives_overflow_of_the_sum_of_squares)
{
	const uint64_t large = (uint64_t)1 << 62;

	kv_distribution_forget(&d);
	kv_distribution_add_weighted(&d, large, 100);
	kv_distribution_add_weighted(&d, large + 2000, 100);
	ck_assert_double_eq_tol(kv_distribution_deviation(&d), 1000, 1e-9);
}
END_TEST

START_TEST(every_bin_middle_is_within_the_stated_error)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);

	gsl_rng_set(rng, 1);
	for (int i = 0; i < 200000; i++) {
		uint64_t value = (uint64_t)exp(43 * gsl_rng_uniform(rng));
		double middle = kv_bin_middle(kv_bin_of(value));

		ck_assert_double_le(fabs(middle - (double)value), (double)value * KV_DISTRIBUTION_ERROR);
	}
	gsl_rng_free(rng);
	ck_assert_uint_eq(kv_bin_of(UINT64_MAX), KV_BINS - 1);
	ck_assert_uint_eq(kv_bin_of(1023), 1023);
	ck_assert_uint_eq(kv_bin_of(1024), 1024);
	ck_assert_uint_eq(kv_bin_of(1026), 1025);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("distribution");
	TCase *tc = tcase_create("values");

	tcase_add_checked_fixture(tc, start, finish);
	tcase_add_test(tc, nothing_gives_zeros);
	tcase_add_test(tc, small_values_are_exact_by_hand);
	tcase_add_test(tc, kept_values_are_exact_inside_one_bin);
	tcase_add_test(tc, the_order_of_percentiles_does_not_matter);
	tcase_add_test(tc, a_single_value_is_all_percentiles);
	tcase_add_test(tc, one_value_beyond_the_limit_ends_exactness);
	tcase_add_test(tc, weights_count_as_many_values);
	tcase_add_test(tc, deviation_survives_overflow_of_the_sum_of_squares);
	tcase_add_test(tc, every_bin_middle_is_within_the_stated_error);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
