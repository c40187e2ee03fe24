/* Distributions of generated loads: means within 1 %, shapes by Kolmogorov-Smirnov at fixed seeds, correlation. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include "sim/base/random.h"
#include "tests/support.h"
#include "workloads/draw.h"

enum { DRAWS = 200000 };

/* The statistic exceeds this with a chance of 1 in 100 if the distributions are the same. */
#define KS_LIMIT (1.628 / sqrt(DRAWS))

static struct kv_draw draw;
static double values[DRAWS];

static void fill(const char *text, const char *source)
{
	gsl_rng *rng = kv_random_create(42, 0, source);
	struct kv_error err;

	ck_assert_msg(kv_draw_parse(&draw, text, "", &err) == 0, "%s", err.text);
	for (int i = 0; i < DRAWS; i++)
		values[i] = kv_draw_next(&draw, rng);
	gsl_rng_free(rng);
	kv_draw_fini(&draw);
}

/* Largest distance between the drawn values and a distribution function. */
static double distance(double (*cdf)(double))
{
	double largest = 0;

	gsl_sort(values, 1, DRAWS);
	for (int i = 0; i < DRAWS; i++) {
		double p = cdf(values[i]);

		largest = fmax(largest, fmax(p - (double)i / DRAWS, (double)(i + 1) / DRAWS - p));
	}
	return largest;
}

static double uniform_cdf(double x)
{
	return gsl_cdf_flat_P(x, 10, 30);
}

static double exponential_cdf(double x)
{
	return gsl_cdf_exponential_P(x, 5);
}

/* Mean 500 and cv 1.2: sigma^2 = ln(1 + 1.44). */
static double lognormal_cdf(double x)
{
	return gsl_cdf_lognormal_P(x, log(500) - log(2.44) / 2, sqrt(log(2.44)));
}

/* Mean 40 and cv 0.5: shape 4, scale 10. */
static double gamma_cdf(double x)
{
	return gsl_cdf_gamma_P(x, 4, 10);
}

static const struct {
	const char *text;
	double mean, cv;
	double (*cdf)(double);  /* NULL: discrete */
} cases[] = {
	{"12", 12, 0, NULL},
	{"constant,value=3.5", 3.5, 0, NULL},
	{"uniform,min=10,max=30", 20, 20 / sqrt(12) / 20, uniform_cdf},
	{"exponential,mean=5", 5, 1, exponential_cdf},
	{"lognormal,mean=500,cv=1.2", 500, 1.2, lognormal_cdf},
	{"gamma,mean=40,cv=0.5", 40, 0.5, gamma_cdf},
	/* A geometric number of mean m has variance m^2 - m. */
	{"geometric,mean=4", 4, 0.8660254037844386, NULL},
	/* H_10 = 2.928968; mean 10 / H_10, mean square 55 / H_10. */
	{"zipf,exponent=1,largest=10", 3.4141715, 0.7814353, NULL},
	{"zipf,exponent=0,largest=9", 5, 0.5163978, NULL},
};

START_TEST(means_and_shapes_come_out)
{
	fill(cases[_i].text, "shape");
	ck_assert_double_eq_tol(gsl_stats_mean(values, 1, DRAWS), cases[_i].mean, 0.01 * cases[_i].mean);
	ck_assert_double_eq_tol(gsl_stats_sd(values, 1, DRAWS) / cases[_i].mean, cases[_i].cv,
	                        0.05 * cases[_i].cv + 1e-9);
	if (cases[_i].cdf != NULL)
		ck_assert_double_lt(distance(cases[_i].cdf), KS_LIMIT);
}
END_TEST

START_TEST(bounds_cut_and_keep_the_rest)
{
	fill("lognormal,mean=500,cv=2,min=100,max=2000", "bounds");
	gsl_sort(values, 1, DRAWS);
	ck_assert_double_eq(values[0], 100);
	ck_assert_double_eq(values[DRAWS - 1], 2000);
}
END_TEST

/* Bounds become values, so they move the mean: what is said of it is what comes out. */
static const struct {
	const char *text;
	double floor, given;
} bounded_means[] = {
	{"exponential,mean=5,min=2,max=9", 0, 5},
	{"exponential,mean=2", 1, 2},
	{"lognormal,mean=500,cv=2,min=100,max=2000", 1, 500},
	{"lognormal,mean=500,cv=0.5,max=5000", 1, 500},
	{"gamma,mean=40,cv=0.5,min=30,max=45", 1, 40},
	{"gamma,mean=40,cv=2,max=100", 0, 40},
	{"geometric,mean=4,max=5", 1, 4},
	{"geometric,mean=20,min=3,max=40", 1, 20},
};

START_TEST(the_mean_within_bounds_is_known)
{
	double given, actual, sum = 0;

	fill(bounded_means[_i].text, "bounded");
	for (int i = 0; i < DRAWS; i++)
		sum += fmax(values[i], bounded_means[_i].floor);
	ck_assert_int_eq(kv_draw_parse(&draw, bounded_means[_i].text, "", &(struct kv_error){0}), 0);
	ck_assert(kv_draw_means(&draw, 0, bounded_means[_i].floor, &given, &actual));
	kv_draw_fini(&draw);
	ck_assert_double_eq(given, bounded_means[_i].given);
	ck_assert_double_eq_tol(actual, sum / DRAWS, 0.01 * actual);
}
END_TEST

START_TEST(an_empirical_distribution_has_the_quantiles_of_its_file)
{
	struct kv_error err;
	FILE *file = fopen("lengths.tmp", "w");

	ck_assert_ptr_nonnull(file);
	fputs("name,tokens\na,30\nb,10\nc,20\n", file);
	fclose(file);
	ck_assert_msg(kv_draw_parse(&draw, "empirical,file=lengths.tmp,column=tokens", "", &err) == 0, "%s", err.text);
	unlink("lengths.tmp");
	ck_assert_double_eq_tol(kv_draw_quantile(&draw, 0.5), 20, 1e-9);
	ck_assert_double_eq_tol(kv_draw_quantile(&draw, 0.75), 25, 1e-9);
	ck_assert_double_eq_tol(kv_draw_quantile(&draw, 0.0001), 10, 0.01);
	kv_draw_fini(&draw);
}
END_TEST

START_TEST(text_in_a_column_of_lengths_is_told)
{
	struct kv_error err;
	FILE *file = fopen("lengths.tmp", "w");

	ck_assert_ptr_nonnull(file);
	fputs("name,tokens\na,30\n", file);
	fclose(file);
	ck_assert_int_ne(kv_draw_parse(&draw, "empirical,file=lengths.tmp,column=name", "", &err), 0);
	unlink("lengths.tmp");
	ck_assert_str_eq(err.text, "empirical: lengths.tmp:2: name: 'a'; allowed: a number from 0 to 1e18");
	kv_draw_fini(&draw);
}
END_TEST

START_TEST(a_mixture_has_its_shares)
{
	static const char text[] = "[{share: 95%, of: 1000}, {share: 5%, of: \"uniform,min=100000,max=1000000\"}]";
	gsl_rng *rng = kv_random_create(42, 0, "mixture");
	struct kv_error err;
	struct kv_node *node = kv_yaml_parse(text, strlen(text), "test", &err);
	double large = 0;

	ck_assert_msg(node != NULL && kv_draw_read(&draw, node, &err) == 0, "%s", err.text);
	for (int i = 0; i < DRAWS; i++) {
		double value = kv_draw_next(&draw, rng);

		large += value > 1000;
		ck_assert(value == 1000 || (value >= 100000 && value <= 1000000));
	}
	/* Five standard deviations of the number of large ones. */
	ck_assert_double_eq_tol(large / DRAWS, 0.05, 5 * sqrt(0.05 * 0.95 / DRAWS));
	kv_draw_fini(&draw);
	kv_yaml_free(node);
	gsl_rng_free(rng);
}
END_TEST

START_TEST(pairs_are_correlated_as_asked)
{
	static const double wanted[] = {0, 0.5, -0.8, 1};
	gsl_rng *a = kv_random_create(1, 0, "a"), *b = kv_random_create(1, 0, "b");
	static double first[DRAWS], second[DRAWS];
	struct kv_draw other;
	struct kv_error err;

	ck_assert_int_eq(kv_draw_parse(&draw, "lognormal,mean=100,cv=1", "", &err), 0);
	ck_assert_int_eq(kv_draw_parse(&other, "lognormal,mean=7,cv=0.5", "", &err), 0);
	for (int i = 0; i < DRAWS; i++) {
		kv_draw_pair(&draw, &other, wanted[_i], a, b, &first[i], &second[i]);
		first[i] = log(first[i]);
		second[i] = log(second[i]);
	}
	ck_assert_double_eq_tol(gsl_stats_correlation(first, 1, second, 1, DRAWS), wanted[_i], 0.02);
	kv_draw_fini(&draw);
	kv_draw_fini(&other);
	gsl_rng_free(a);
	gsl_rng_free(b);
}
END_TEST

static const struct {
	const char *text, *message;
} bad[] = {
	{"lognormal,mean=500,sigma=1", "lognormal: unknown parameter 'sigma'"},
	{"lognorm,mean=5", "unknown distribution 'lognorm': did you mean 'lognormal'?"},
	{"lognormal,mean=0", "lognormal,mean: "},
	{"uniform,min=5,max=4", "uniform: min 5 is above max 4"},
	{"empirical,file=no-such.csv", "empirical: no-such.csv: "},
	{"empirical,column=x", "empirical: needs file=FILE"},
	{"geometric,mean=0.5", "geometric,mean: "},
	{"nan", "unknown distribution 'nan'"},
};

START_TEST(what_is_no_distribution_is_told)
{
	struct kv_error err = {0};

	ck_assert_int_ne(kv_draw_parse(&draw, bad[_i].text, "", &err), 0);
	ck_assert_msg(strncmp(err.text, bad[_i].message, strlen(bad[_i].message)) == 0, "%s", err.text);
	kv_draw_fini(&draw);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("draw");
	TCase *tc = tcase_create("distributions");

	tcase_add_loop_test(tc, means_and_shapes_come_out, 0, (int)(sizeof cases / sizeof *cases));
	tcase_add_test(tc, bounds_cut_and_keep_the_rest);
	tcase_add_loop_test(tc, the_mean_within_bounds_is_known, 0,
	                    (int)(sizeof bounded_means / sizeof *bounded_means));
	tcase_add_test(tc, an_empirical_distribution_has_the_quantiles_of_its_file);
	tcase_add_test(tc, text_in_a_column_of_lengths_is_told);
	tcase_add_test(tc, a_mixture_has_its_shares);
	tcase_add_loop_test(tc, pairs_are_correlated_as_asked, 0, 4);
	tcase_add_loop_test(tc, what_is_no_distribution_is_told, 0, (int)(sizeof bad / sizeof *bad));
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
