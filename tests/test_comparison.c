/* Paired comparison: statistics by hand, bootstrap intervals where they are known exactly. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/comparison.h"
#include "sim/base/random.h"
#include "tests/support.h"

/* numpy: percentile([1, 2, 4, 8], [50, 99]) = 3.0, 7.88 */
START_TEST(quantiles_interpolate_linearly)
{
	double values[] = { 8, 1, 4, 2 };

	ck_assert_double_eq(kv_statistic(KV_STATISTIC_MEAN, values, 4), 3.75);
	ck_assert_double_eq(kv_statistic(KV_STATISTIC_MEDIAN, values, 4), 3);
	ck_assert_double_eq_tol(kv_statistic(KV_STATISTIC_P99, values, 4), 7.88, 1e-12);
	ck_assert_double_nan(kv_statistic(KV_STATISTIC_MEAN, values, 0));
}
END_TEST

START_TEST(an_equal_shift_of_all_pairs_leaves_no_doubt)
{
	double a[] = { 3, 1, 4, 1, 5, 9, 2, 6 }, b[8];
	struct kv_pairs pairs = { a, b, 8 };
	struct kv_interval interval[KV_STATISTICS];
	gsl_rng *rng = kv_random_create(1, 0, "test");

	for (int i = 0; i < 8; i++)
		b[i] = a[i] + 2.5;
	kv_bootstrap(&pairs, 200, rng, interval);
	for (int s = 0; s < KV_STATISTICS; s++) {
		ck_assert_double_eq_tol(interval[s].low, 2.5, 1e-12);
		ck_assert_double_eq_tol(interval[s].high, 2.5, 1e-12);
	}
	gsl_rng_free(rng);
}
END_TEST

/* Differences of mean 0 and standard deviation 1 (half -1, half +1): the mean of n = 400 has deviation 1/20, so that
 * 95 % of its replicates lie within 1.96/20 = 0.098. */
START_TEST(the_interval_of_a_mean_has_the_width_of_theory)
{
	enum { N = 400 };
	double a[N] = { 0 }, b[N];
	struct kv_pairs pairs = { a, b, N };
	struct kv_interval interval[KV_STATISTICS];
	gsl_rng *rng = kv_random_create(7, 0, "test");

	for (int i = 0; i < N; i++)
		b[i] = i % 2 ? 1 : -1;
	kv_bootstrap(&pairs, 4000, rng, interval);
	ck_assert_double_eq_tol(interval[KV_STATISTIC_MEAN].low, -0.098, 0.006);
	ck_assert_double_eq_tol(interval[KV_STATISTIC_MEAN].high, 0.098, 0.006);
	gsl_rng_free(rng);
}
END_TEST

/* --- whole comparisons -------------------------------------------------------------------------------------------- */

static void add(struct kv_compared_run *run, uint64_t index, double ttft_ms, uint32_t prompt, uint32_t cached,
                const char *tenant)
{
	struct kv_request_record record = {
		.index = index, .tenant = tenant, .status = ttft_ms < 0 ? KV_REFUSED : KV_FINISHED, .arrival = 0,
		.sent = 0,
		.queued = 0, .admitted = 0, .first_token = (kv_time)(ttft_ms * 1e6),
		.finish = (kv_time)(ttft_ms * 1e6) + 10000000, .prompt_tokens = prompt, .output_tokens = 11,
		.cached_tokens = cached
	};

	if (ttft_ms < 0)
		record.first_token = record.finish = record.admitted = record.queued = KV_TIME_NONE;
	kv_compared_run_add(run, &record, 0);
}

static const struct kv_comparison_row *row(const struct kv_variant_comparison *variant, const char *key)
{
	for (size_t i = 0; i < variant->rows; i++)
		if (strcmp(variant->row[i].key, key) == 0)
			return &variant->row[i];
	ck_abort_msg("no row %s", key);
	return NULL;
}

START_TEST(runs_are_paired_by_request_and_only_over_what_both_finished)
{
	struct kv_compared_run run[2] = {{.name = "a", .settings = strdup("")}, {.name = "b", .settings = strdup("")}};
	struct kv_comparison comparison = { .run = run, .runs = 2, .workload = "t.csv", .seed = 3, .replicates = 100 };
	const struct kv_variant_comparison *variant;

	add(&run[0], 2, 30, 100, 0, "red");
	add(&run[0], 0, 10, 100, 50, "red");
	add(&run[0], 1, 20, 200, 0, "blue");
	add(&run[1], 0, 11, 100, 50, "red");
	add(&run[1], 1, -1, 200, 0, "blue");
	add(&run[1], 2, 31, 100, 100, "red");
	kv_compared_run_sort(&run[0]);
	kv_compared_run_sort(&run[1]);
	kv_comparison_make(&comparison);
	variant = &comparison.variant[0];
	ck_assert_uint_eq(variant->paired, 3);
	ck_assert_uint_eq(variant->finished_in_both, 2);
	ck_assert_double_eq(row(variant, "mean_ttft_ms")->found.baseline, 20);
	ck_assert_double_eq(row(variant, "mean_ttft_ms")->found.variant, 21);
	ck_assert_double_eq(row(variant, "mean_ttft_ms")->found.interval.low, 1);
	ck_assert_str_eq(kv_comparison_verdict(&row(variant, "mean_ttft_ms")->found, -1), "worse");
	ck_assert_str_eq(kv_comparison_verdict(&row(variant, "mean_tpot_ms")->found, -1), "identical");
	/* b refused the one of 200 tokens: nobody looked it up there. a alone: 50 of 400. */
	ck_assert_double_eq(row(variant, "hit_rate_percent")->found.baseline, 25);
	ck_assert_double_eq(row(variant, "hit_rate_percent")->found.variant, 75);
	ck_assert_double_eq(row(&comparison.itself, "hit_rate_percent")->found.variant, 12.5);
	ck_assert_double_eq(row(variant, "turned_away")->found.variant, 1);
	ck_assert_str_eq(kv_comparison_verdict(&row(variant, "turned_away")->found, -1), "no difference within the "
	                                                                                 "interval");
	/* Lengths 100 and 200, then tenants red (2 requests) and blue (1). */
	ck_assert_uint_eq(variant->classes, 4);
	ck_assert_str_eq(variant->class[0].label, "100 to 100 tokens");
	ck_assert_uint_eq(variant->class[0].requests, 2);
	ck_assert_str_eq(variant->class[2].label, "red");
	ck_assert_uint_eq(variant->class[2].slower, 2);
	ck_assert_str_eq(variant->class[3].label, "blue");
	ck_assert_double_nan(variant->class[3].ttft.difference);
	kv_comparison_fini(&comparison);
	kv_compared_run_fini(&run[0]);
	kv_compared_run_fini(&run[1]);
}
END_TEST

/* Three sendings of one request are one request, which waited for the last alone. */
START_TEST(of_a_request_that_was_sent_again_the_last_sending_is_compared)
{
	struct kv_compared_run run[2] = {{.name = "a", .settings = strdup("")}, {.name = "b", .settings = strdup("")}};
	struct kv_comparison comparison = { .run = run, .runs = 2, .workload = "t.csv", .seed = 3, .replicates = 100 };
	const struct kv_variant_comparison *variant;

	add(&run[0], 1, -1, 100, 0, "");
	add(&run[0], 0, 10, 100, 0, "");
	add(&run[0], 1, 20, 100, 0, "");
	add(&run[1], 1, -1, 100, 0, "");
	add(&run[1], 0, 12, 100, 0, "");
	add(&run[1], 1, -1, 100, 0, "");
	add(&run[1], 1, 24, 100, 0, "");
	kv_compared_run_sort(&run[0]);
	kv_compared_run_sort(&run[1]);
	kv_comparison_make(&comparison);
	variant = &comparison.variant[0];
	ck_assert_uint_eq(run[1].requests, 2);
	ck_assert_uint_eq(variant->paired, 2);
	ck_assert_uint_eq(variant->finished_in_both, 2);
	ck_assert_double_eq(row(variant, "mean_ttft_ms")->found.baseline, 15);
	ck_assert_double_eq(row(variant, "mean_ttft_ms")->found.variant, 18);
	ck_assert_double_eq(row(variant, "turned_away")->found.variant, 0);
	kv_comparison_fini(&comparison);
	kv_compared_run_fini(&run[0]);
	kv_compared_run_fini(&run[1]);
}
END_TEST

static size_t column_of(const struct kv_comparison *comparison, const char *label)
{
	for (size_t c = 0; c < kv_comparison_overview_columns(comparison); c++)
		if (strcmp(kv_comparison_overview_label(comparison, c), label) == 0)
			return c;
	ck_abort_msg("no column %s", label);
	return 0;
}

/* a: (10 + 20 + 60) / 3 = 30; over the two that b has too, 15, of which b's 12 are 20 % less. c finishes all, 10 % later. */
START_TEST(the_overview_shows_what_a_change_is_of)
{
	static const double ttft[3][3] = { { 10, 20, 60 }, { 8, 16, -1 }, { 11, 22, 66 } };
	struct kv_compared_run run[3] = {
		{ .name = "a", .settings = strdup("") }, { .name = "b", .settings = strdup(""), .never_sent = 4 },
		{ .name = "c", .settings = strdup("") }
	};
	struct kv_comparison comparison = { .run = run, .runs = 3, .workload = "t.csv", .seed = 3, .replicates = 100 };
	char cell[KV_CELL_MAX];
	size_t mean, lost;

	for (uint64_t i = 0; i < 9; i++)
		add(&run[i / 3], i % 3, ttft[i / 3][i % 3], 100, 0, i % 3 == 0 ? "quiet" : "noisy");
	kv_comparison_make(&comparison);
	mean = column_of(&comparison, "TTFT mean (ms)");
	lost = column_of(&comparison, "No answer: refused / dropped / unfinished / never sent");
	ck_assert_str_eq(kv_comparison_overview_cell(&comparison, 0, mean, cell), "30.00");
	ck_assert_str_eq(kv_comparison_overview_cell(&comparison, 1, mean, cell), "12.00 (-20.0 % of 15.00)");
	ck_assert_str_eq(kv_comparison_overview_cell(&comparison, 2, mean, cell), "33.00 (+10.0 %)");
	ck_assert_str_eq(kv_comparison_overview_cell(&comparison, 0, lost, cell), "0 / 0 / 0 / 0");
	ck_assert_str_eq(kv_comparison_overview_cell(&comparison, 1, lost, cell), "1 / 0 / 0 / 4");
	/* numpy: percentile([20, 60], 99) = 59.6, percentile([22, 66], 99) = 65.56 */
	ck_assert_uint_eq(comparison.tenants, 2);
	ck_assert_str_eq(comparison.tenant[0].name, "noisy");
	ck_assert_uint_eq(comparison.tenant[0].requests, 2);
	ck_assert_double_eq_tol(comparison.tenant[0].p99_ttft[0], 59.6, 1e-9);
	ck_assert_double_eq_tol(comparison.tenant[0].p99_ttft[1], 16, 1e-9);
	ck_assert_double_eq_tol(comparison.tenant[0].p99_ttft[2], 65.56, 1e-9);
	ck_assert_double_eq_tol(comparison.tenant[1].p99_ttft[2], 11, 1e-9);
	kv_comparison_fini(&comparison);
	for (int i = 0; i < 3; i++)
		kv_compared_run_fini(&run[i]);
}
END_TEST

/* b sends 10 ms after arrival, where 4 ms were retries before, and its first tokens come 5 ms after that; in a after 8 ms. */
START_TEST(waits_before_sending_have_rows_of_their_own)
{
	struct kv_compared_run run[2] = { { .name = "a", .settings = strdup("") }, { .name = "b", .settings = strdup("") } };
	struct kv_comparison comparison = { .run = run, .runs = 2, .workload = "t.csv", .seed = 3, .replicates = 100 };
	struct kv_request_record late = {
		.tenant = "", .status = KV_FINISHED, .arrival = 4000000, .sent = 10000000, .queued = 10000000,
		.admitted = 10000000, .first_token = 15000000, .finish = 20000000, .prompt_tokens = 9, .output_tokens = 1
	};
	const struct kv_variant_comparison *variant;

	add(&run[0], 0, 8, 9, 0, "");
	kv_compared_run_add(&run[1], &late, 4000000);
	kv_comparison_make(&comparison);
	variant = &comparison.variant[0];
	ck_assert_double_eq_tol(row(variant, "mean_wait_ms")->found.baseline, 0, 1e-9);
	ck_assert_double_eq_tol(row(variant, "mean_wait_ms")->found.variant, 10, 1e-9);
	ck_assert_str_eq(kv_comparison_verdict(&row(variant, "mean_ttft_ms")->found, -1), "better");
	ck_assert_double_eq_tol(row(variant, "mean_ttft_from_arrival_ms")->found.baseline, 8, 1e-9);
	ck_assert_double_eq_tol(row(variant, "mean_ttft_from_arrival_ms")->found.variant, 15, 1e-9);
	ck_assert_double_eq_tol(row(variant, "p99_e2el_from_arrival_ms")->found.variant, 20, 1e-9);
	ck_assert_str_eq(kv_comparison_verdict(&row(variant, "mean_ttft_from_arrival_ms")->found, -1), "worse");
	kv_comparison_fini(&comparison);
	kv_compared_run_fini(&run[0]);
	kv_compared_run_fini(&run[1]);
}
END_TEST

START_TEST(a_run_survives_the_way_between_processes)
{
	struct kv_compared_run run = { .warmup = 0 }, copy = { .warmup = 0 };
	struct kv_error err;
	FILE *file = tmpfile();

	add(&run, 0, 10.25, 100, 50, "red");
	add(&run, 1, -1, 100, 0, "");
	ck_assert_int_eq(kv_compared_run_save(&run, file, &err), 0);
	ck_assert_int_eq(kv_compared_run_load(&copy, file, &err), 0);
	ck_assert_uint_eq(copy.requests, 2);
	ck_assert_double_eq(copy.request[0].ttft, 10.25);
	ck_assert_double_nan(copy.request[1].ttft);
	ck_assert_str_eq(copy.tenant[copy.request[0].tenant], "red");
	ck_assert_str_eq(copy.tenant[copy.request[1].tenant], "");
	fclose(file);
	kv_compared_run_fini(&run);
	kv_compared_run_fini(&copy);
}
END_TEST

START_TEST(so_does_one_that_measured_no_request)
{
	struct kv_compared_run run = { .warmup = 1 }, copy = { .warmup = 1 };
	struct kv_error err;
	FILE *file = tmpfile();

	ck_assert_int_eq(kv_compared_run_save(&run, file, &err), 0);
	ck_assert_int_eq(kv_compared_run_load(&copy, file, &err), 0);
	ck_assert_uint_eq(copy.requests, 0);
	fclose(file);
	kv_compared_run_fini(&run);
	kv_compared_run_fini(&copy);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("comparison");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, quantiles_interpolate_linearly);
	tcase_add_test(tc, an_equal_shift_of_all_pairs_leaves_no_doubt);
	tcase_add_test(tc, the_interval_of_a_mean_has_the_width_of_theory);
	tcase_add_test(tc, runs_are_paired_by_request_and_only_over_what_both_finished);
	tcase_add_test(tc, of_a_request_that_was_sent_again_the_last_sending_is_compared);
	tcase_add_test(tc, the_overview_shows_what_a_change_is_of);
	tcase_add_test(tc, waits_before_sending_have_rows_of_their_own);
	tcase_add_test(tc, a_run_survives_the_way_between_processes);
	tcase_add_test(tc, so_does_one_that_measured_no_request);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
