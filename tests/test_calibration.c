/* Fits to times that a known set of constants made: what the rows speak about is found, what they do not stays where it
 * was, and wrong rows do not matter. */
#include "config.h"

#include <math.h>
#include <string.h>

#include <gsl/gsl_errno.h>

#include "sim/latency/calibration.h"
#include "sim/latency/latency_roofline.h"
#include "tests/support.h"

enum { ROWS = 96 };

static const struct kv_latency_constants truth = {
	.ec = .55, .eb = .72, .ea = .48, .ea_half = 1500, .ek = .66, .km = .45, .en = .41,
	.c0 = 1.6e-3, .cl = 31e-6, .clp = 12e-6, .c1 = 11e-6, .c1p = 19e-6, .cs = 14e-6,
};

static const struct kv_latency_constants start = {
	.ec = .60, .eb = .80, .ea = .60, .ea_half = 1500, .ek = .75, .km = .60, .en = .60,
	.c0 = 1e-3, .cl = 20e-6, .c1 = 8e-6, .cs = 6e-6,
};

/* Launches ahead of its device, and reduces messages from 16 MiB (2048 tokens) on by a slower path. */
static const struct kv_latency_constants eager_truth = {
	.ec = .55, .eb = .72, .ea = .48, .ea_half = 1500, .ek = .66, .km = .45, .en = .41, .el = .35,
	.c0 = 12e-3, .cl = 31e-6, .clp = 12e-6, .c1 = 11e-6, .c1p = 19e-6, .cs = 140e-6,
	.large_message = 16 << 20, .overlap = true,
};

static const struct kv_latency_constants eager_start = {
	.ec = .60, .eb = .80, .ea = .60, .ea_half = 1500, .ek = .75, .km = .60, .en = .60, .el = .5,
	.c0 = 16e-3, .cl = 20e-6, .c1 = 8e-6, .cs = 200e-6, .large_message = 16 << 20, .overlap = true,
};

static struct kv_latency_setup llama(double tp)
{
	return (struct kv_latency_setup){
		.model = {.layers = 32, .hidden = 4096, .linear_params = 6979321856.0, .linear_bytes = 2 * 6979321856.0,
		          .head_params = 525336576.0, .head_bytes = 2 * 525336576.0,
		          .full_pair_flops = 4.0 * 32 * 32 * 128, .full_kv_bytes = 131072.0 / tp},
		.rates = {.compute_flops = 989e12, .attention_flops = 989e12, .memory_bandwidth = 3.35e12,
		          .link_bandwidth = 450e9},
		.constants = start, .tensor_parallel = tp, .pipeline_parallel = 1,
	};
}

struct data {
	const struct kv_latency_constants *truth;
	struct kv_observation row[ROWS];
	const struct kv_observation *seen[ROWS];
	size_t count;
};

static void add(struct data *d, double tp, uint64_t prefill, uint64_t past, uint64_t decodes, uint64_t context)
{
	struct kv_latency_setup setup = llama(tp);
	struct kv_step_work work = {.prefill_seqs = prefill > 0, .prefill_tokens = prefill, .prefill_past = past,
	                            .prefill_pairs2 = prefill * (2 * past + prefill), .decode_seqs = decodes,
	                            .decode_context = decodes * context};
	struct kv_observation *o = &d->row[d->count];
	struct kv_roofline roofline;

	setup.constants.large_message = d->truth->large_message;
	kv_roofline_init(&roofline, &setup);
	*o = (struct kv_observation){.count = {1}, .weight = 1, .shape = d->count};
	kv_roofline_terms(&roofline, &work, &o->terms[0]);
	o->seconds = kv_observation_predict(o, d->truth);
	d->seen[d->count++] = o;
}

static struct data *nothing_of(const struct kv_latency_constants *made_by)
{
	struct data *d = calloc(1, sizeof *d);

	d->truth = made_by;
	return d;
}

/* Every corner, on one card and on two and four. */
static struct data *everything_of(const struct kv_latency_constants *made_by)
{
	struct data *d = nothing_of(made_by);

	for (double tp = 1; tp <= 4; tp *= 2)
		for (uint64_t tokens = 64; tokens <= 16384; tokens *= 4) {
			add(d, tp, tokens, 0, 0, 0);
			add(d, tp, tokens, 4096, 0, 0);
			add(d, tp, tokens, 0, 32, 8000);
			add(d, tp, 0, 0, tokens / 64, 500);
			add(d, tp, 0, 0, tokens / 64, 20000);
		}
	return d;
}

static struct data *everything(void)
{
	return everything_of(&truth);
}

START_TEST(constants_that_made_the_times_are_found)
{
	struct data *d = everything();
	struct kv_error err = {0};
	struct kv_fit fit;

	ck_assert_msg(kv_calibrate(d->seen, d->count, &start, &fit, NULL, &err) == 0, "%s", err.text);
	ck_assert(fit.converged);
	for (size_t i = 0; i < d->count; i++)
		ck_assert_double_eq_tol(kv_observation_predict(d->seen[i], &fit.constants) / d->seen[i]->seconds, 1,
		                        .02);
	ck_assert_double_eq_tol(fit.constants.ec, truth.ec, .01);
	ck_assert_double_eq_tol(fit.constants.eb, truth.eb, .03);
	ck_assert_double_eq_tol(fit.constants.ek, truth.ek, .03);
	ck_assert_double_eq_tol(fit.constants.km, truth.km, .03);
	ck_assert_double_eq_tol(fit.constants.en, truth.en, .02);
	ck_assert_double_eq(fit.constants.ea_half, 1500);
	free(d);
}
END_TEST

START_TEST(so_are_those_of_an_engine_that_launches_ahead)
{
	struct data *d = everything_of(&eager_truth);
	struct kv_error err = {0};
	struct kv_fit fit;

	ck_assert_msg(kv_calibrate(d->seen, d->count, &eager_start, &fit, NULL, &err) == 0, "%s", err.text);
	ck_assert(fit.converged && fit.informed[KV_CONSTANT_EL]);
	ck_assert(fit.constants.overlap);
	ck_assert_double_eq(fit.constants.large_message, 16 << 20);
	for (size_t i = 0; i < d->count; i++)
		ck_assert_double_eq_tol(kv_observation_predict(d->seen[i], &fit.constants) / d->seen[i]->seconds, 1,
		                        .02);
	ck_assert_double_eq_tol(fit.constants.ec, eager_truth.ec, .01);
	ck_assert_double_eq_tol(fit.constants.en, eager_truth.en, .03);
	ck_assert_double_eq_tol(fit.constants.en * fit.constants.el, eager_truth.en * eager_truth.el, .003);
	ck_assert_double_eq_tol(fit.constants.c0, eager_truth.c0, 1e-3);
	free(d);
}
END_TEST

START_TEST(what_the_rows_do_not_speak_about_stays_where_it_was)
{
	struct data *d = nothing_of(&truth);
	struct kv_error err = {0};
	struct kv_fit fit;

	/* One card, decode only: nothing of prefill, of mixed steps or of links. */
	for (uint64_t decodes = 1; decodes <= 256; decodes *= 2)
		add(d, 1, 0, 0, decodes, 4000);
	ck_assert_int_eq(kv_calibrate(d->seen, d->count, &start, &fit, NULL, &err), 0);
	ck_assert_double_eq_tol(fit.constants.ea, start.ea, 1e-9);
	ck_assert_double_eq_tol(fit.constants.km, start.km, 1e-9);
	ck_assert_double_eq_tol(fit.constants.en, start.en, 1e-9);
	ck_assert_double_eq_tol(fit.constants.c1, start.c1, 1e-12);
	ck_assert(!fit.informed[KV_CONSTANT_EA] && !fit.informed[KV_CONSTANT_EN] && !fit.informed[KV_CONSTANT_C1]);
	ck_assert(fit.informed[KV_CONSTANT_EK]);
	ck_assert_double_eq_tol(fit.log_sd[KV_CONSTANT_EN], .5, 1e-6);
	free(d);
}
END_TEST

START_TEST(a_start_without_the_prefill_overheads_begins_at_kernel_tables)
{
	struct data *d = nothing_of(&truth);
	struct kv_error err = {0};
	struct kv_fit fit;

	add(d, 1, 0, 0, 8, 4000);
	ck_assert_int_eq(kv_calibrate(d->seen, d->count, &start, &fit, NULL, &err), 0);
	ck_assert_double_eq_tol(fit.constants.clp, 15e-6, 1e-12);
	ck_assert_double_eq_tol(fit.constants.c1p, 14e-6, 1e-12);
	free(d);
}
END_TEST

START_TEST(more_rows_narrow_the_standard_error)
{
	struct data *d = everything();
	struct kv_error err = {0};
	struct kv_fit few, many;

	ck_assert_int_eq(kv_calibrate(d->seen, 8, &start, &few, NULL, &err), 0);
	ck_assert_int_eq(kv_calibrate(d->seen, d->count, &start, &many, NULL, &err), 0);
	for (size_t k = 0; k < KV_CONSTANTS; k++)
		ck_assert_double_le(many.log_sd[k], few.log_sd[k] * (1 + 1e-9));
	ck_assert_double_lt(many.log_sd[KV_CONSTANT_EC], .5 * few.log_sd[KV_CONSTANT_EC]);
	free(d);
}
END_TEST

START_TEST(wrong_rows_are_set_aside_and_do_not_move_the_fit)
{
	struct data *d = everything();
	bool set_aside[ROWS];
	struct kv_error err = {0};
	struct kv_fit clean, fit;
	size_t outliers = 0;

	ck_assert_int_eq(kv_calibrate(d->seen, d->count, &start, &clean, NULL, &err), 0);
	d->row[3].seconds *= 7;
	d->row[40].seconds /= 5;
	ck_assert_int_eq(kv_calibrate(d->seen, d->count, &start, &fit, set_aside, &err), 0);
	for (size_t i = 0; i < d->count; i++)
		outliers += set_aside[i];
	ck_assert_uint_eq(outliers, 2);
	ck_assert(set_aside[3] && set_aside[40]);
	for (size_t k = 0; k < KV_CONSTANTS; k++)
		ck_assert_double_eq_tol(kv_constant_get(&fit.constants, k) / kv_constant_get(&clean.constants, k), 1,
		                        .08);
	free(d);
}
END_TEST

START_TEST(a_weight_of_two_counts_like_the_row_twice)
{
	struct data *once = everything(), *twice = everything();
	struct kv_error err = {0};
	struct kv_fit weighted, repeated;

	for (size_t i = 0; i < 3; i++) {
		once->row[i].seconds = twice->row[i].seconds *= 1.3;
		once->row[i].weight = 2;
		twice->row[twice->count] = twice->row[i];
		twice->seen[twice->count] = &twice->row[twice->count];
		twice->count++;
	}
	ck_assert_int_eq(kv_calibrate(once->seen, once->count, &start, &weighted, NULL, &err), 0);
	ck_assert_int_eq(kv_calibrate(twice->seen, twice->count, &start, &repeated, NULL, &err), 0);
	for (size_t k = 0; k < KV_CONSTANTS; k++)
		ck_assert_double_eq_tol(kv_constant_get(&weighted.constants, k) /
		                                kv_constant_get(&repeated.constants, k),
		                        1, 1e-4);
	free(once);
	free(twice);
}
END_TEST

START_TEST(cross_validation_predicts_each_row_from_the_others)
{
	struct data *d = everything();
	size_t fold[ROWS];
	double predicted[ROWS];
	struct kv_error err = {0};
	struct kv_fit without;

	for (size_t i = 0; i < d->count; i++)
		fold[i] = i == 5 ? 1 : 0;
	d->row[5].seconds *= 1.4;
	ck_assert_int_eq(kv_cross_validate(d->seen, d->count, fold, 2, &start, predicted, &err), 0);

	const struct kv_observation *held_out = d->seen[5];

	d->seen[5] = d->seen[--d->count];
	ck_assert_int_eq(kv_calibrate(d->seen, d->count, &start, &without, NULL, &err), 0);
	ck_assert_double_eq_tol(predicted[5] / kv_observation_predict(held_out, &without.constants), 1, 1e-5);
	free(d);
}
END_TEST

START_TEST(constants_stay_within_their_bounds)
{
	struct data *d = everything();
	struct kv_error err = {0};
	struct kv_fit fit;

	for (size_t i = 0; i < d->count; i++)
		d->row[i].seconds /= 40;
	ck_assert_int_eq(kv_calibrate(d->seen, d->count, &start, &fit, NULL, &err), 0);
	ck_assert_double_le(fit.constants.ec, 1.1);
	ck_assert_double_le(fit.constants.eb, 1.0);
	ck_assert(fit.at_bound[KV_CONSTANT_EC] && !fit.at_bound[KV_CONSTANT_EL]);
	ck_assert_double_ge(fit.constants.c0, 1e-6);
	free(d);
}
END_TEST

START_TEST(scores_are_those_of_absolute_errors)
{
	/* |errors| in order: .05 .1 .1 .2 .3; mean .15, bias .01, p90 between .2 and .3. */
	double errors[] = {.1, -.2, .3, -.05, -.1};
	struct kv_score score = kv_score_errors(errors, 5);

	ck_assert_uint_eq(score.rows, 5);
	ck_assert_double_eq_tol(score.mean, .15, 1e-12);
	ck_assert_double_eq_tol(score.median, .1, 1e-12);
	ck_assert_double_eq_tol(score.p90, .26, 1e-12);
	ck_assert_double_eq_tol(score.bias, .01, 1e-12);
	ck_assert_uint_eq(kv_score_errors(errors, 0).rows, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("calibration");
	TCase *tc = tcase_create("fit");

	gsl_set_error_handler_off();
	tcase_add_test(tc, constants_that_made_the_times_are_found);
	tcase_add_test(tc, so_are_those_of_an_engine_that_launches_ahead);
	tcase_add_test(tc, what_the_rows_do_not_speak_about_stays_where_it_was);
	tcase_add_test(tc, a_start_without_the_prefill_overheads_begins_at_kernel_tables);
	tcase_add_test(tc, more_rows_narrow_the_standard_error);
	tcase_add_test(tc, wrong_rows_are_set_aside_and_do_not_move_the_fit);
	tcase_add_test(tc, a_weight_of_two_counts_like_the_row_twice);
	tcase_add_test(tc, cross_validation_predicts_each_row_from_the_others);
	tcase_add_test(tc, constants_stay_within_their_bounds);
	suite_add_tcase(suite, tc);
	tc = tcase_create("score");
	tcase_add_test(tc, scores_are_those_of_absolute_errors);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
