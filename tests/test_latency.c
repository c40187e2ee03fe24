/* Step times against sums worked by hand from data-sheet rates, and the directions in which time must move. */
#include "config.h"

#include <math.h>

#include "sim/latency/latency.h"
#include "sim/latency/latency_roofline.h"
#include "tests/support.h"

/* Llama-3.1-8B in bf16 on H100 SXM: 32 layers of 4096, 32 query and 8 KV heads of 128, FFN 14336, vocabulary 128256. */
static struct kv_latency_setup llama_on_h100(double tp)
{
	return (struct kv_latency_setup){
		.model = {.layers = 32, .hidden = 4096, .linear_params = 6979321856.0, .linear_bytes = 2 * 6979321856.0,
		          .head_params = 525336576.0, .head_bytes = 2 * 525336576.0,
		          .full_pair_flops = 4.0 * 32 * 32 * 128, .full_kv_bytes = 131072.0 / tp},
		.rates = {.compute_flops = 989e12, .attention_flops = 989e12, .memory_bandwidth = 3.35e12,
		          .link_bandwidth = 450e9},
		.constants = {.ec = .62, .eb = .80, .ea = .60, .ea_half = 1500, .ek = .75, .km = .60, .en = .60,
		              .c0 = 1e-3, .cl = 20e-6, .c1 = 8e-6, .cs = 6e-6},
		.tensor_parallel = tp,
		.pipeline_parallel = 1,
	};
}

static struct kv_step_work step(uint64_t prefill, uint64_t past, uint64_t decodes, uint64_t context)
{
	return (struct kv_step_work){
		.prefill_seqs = prefill > 0, .prefill_tokens = prefill, .prefill_past = past,
		.prefill_pairs2 = prefill * (2 * past + prefill), .decode_seqs = decodes,
		.decode_context = decodes * context, .window_prefill_past = past,
		.window_prefill_pairs2 = prefill * (2 * past + prefill), .window_decode_context = decodes * context,
	};
}

static double milliseconds(const struct kv_latency_setup *setup, struct kv_step_work work)
{
	struct kv_latency *latency = kv_latency_roofline(setup);
	kv_time time = kv_latency_step(latency, &work);

	kv_latency_free(latency);
	return (double)time / 1e6;
}

static const struct worked {
	double tp;
	uint64_t prefill, past, decodes, context;
	double ms;
} worked[] = {
	/* The form worked with a calculator: c0 + 32 cl + cs + root of squares + attention at .60 x 1000 / 2500 ... */
	{1, 1000, 0, 0, 0, 26.195225},
	{1, 0, 0, 1, 1001, 7.298765},
	{1, 0, 0, 64, 4000, 21.194467},
	{4, 512, 1536, 32, 2000, 9.057245},
};

START_TEST(step_times_equal_the_sum_worked_by_hand)
{
	const struct worked *w = &worked[_i];
	struct kv_latency_setup setup = llama_on_h100(w->tp);

	ck_assert_double_eq_tol(milliseconds(&setup, step(w->prefill, w->past, w->decodes, w->context)), w->ms, 2e-6);
}
END_TEST

START_TEST(idle_single_request_takes_its_prefill_and_its_decode_steps)
{
	/* Prompt 1000, three tokens: 26.195225 for the first, then contexts of 1001 and 1002, one token's KV apart:
	 * 131072 B / (.75 * 3.35 TB/s) = 52 ns. */
	struct kv_latency_setup setup = llama_on_h100(1);
	double total = milliseconds(&setup, step(1000, 0, 0, 0)) + milliseconds(&setup, step(0, 0, 1, 1001)) +
	               milliseconds(&setup, step(0, 0, 1, 1002));

	ck_assert_double_eq_tol(total, 26.195225 + 2 * 7.298765 + .000052, 4e-6);
}
END_TEST

START_TEST(more_work_never_takes_less_time)
{
	struct kv_latency_setup setup = llama_on_h100(2);
	double base = milliseconds(&setup, step(512, 1024, 8, 2000));

	ck_assert_double_gt(milliseconds(&setup, step(513, 1024, 8, 2000)), base);
	ck_assert_double_gt(milliseconds(&setup, step(512, 1056, 8, 2000)), base);
	ck_assert_double_gt(milliseconds(&setup, step(512, 1024, 9, 2000)), base);
	ck_assert_double_gt(milliseconds(&setup, step(512, 1024, 8, 2016)), base);
	setup.model.layers++;
	ck_assert_double_gt(milliseconds(&setup, step(512, 1024, 8, 2000)), base);
}
END_TEST

START_TEST(faster_hardware_never_takes_more_time)
{
	struct kv_latency_setup base = llama_on_h100(2), setup = base;
	struct kv_step_work work = step(512, 1024, 8, 2000);
	double before = milliseconds(&base, work);

	setup.rates.compute_flops *= 1.1;
	ck_assert_double_lt(milliseconds(&setup, work), before);
	setup = base;
	setup.rates.attention_flops *= 1.1;
	ck_assert_double_lt(milliseconds(&setup, work), before);
	setup = base;
	setup.rates.memory_bandwidth *= 1.1;
	ck_assert_double_lt(milliseconds(&setup, work), before);
	setup = base;
	setup.rates.link_bandwidth *= 1.1;
	ck_assert_double_lt(milliseconds(&setup, work), before);
	setup = llama_on_h100(4);
	ck_assert_double_lt(milliseconds(&setup, step(8192, 0, 64, 4000)),
	                    milliseconds(&base, step(8192, 0, 64, 4000)));
}
END_TEST

/* Every dimension that the model's numbers have: a larger unit changes no time, a larger second all of them. */
enum unit { UNIT_FLOP, UNIT_BYTE, UNIT_SECOND };

static void measure_in(struct kv_latency_setup *s, enum unit unit, double larger)
{
	double flop = unit == UNIT_FLOP ? 1 / larger : 1, byte = unit == UNIT_BYTE ? 1 / larger : 1;
	double second = unit == UNIT_SECOND ? 1 / larger : 1;

	s->model.linear_params *= flop;  /* two flops a parameter and token */
	s->model.head_params *= flop;
	s->model.full_pair_flops *= flop;
	s->rates.compute_flops *= flop / second;
	s->rates.attention_flops *= flop / second;
	s->model.linear_bytes *= byte;
	s->model.head_bytes *= byte;
	s->model.full_kv_bytes *= byte;
	s->model.hidden *= byte;         /* two bytes an element of what is sent */
	s->constants.large_message *= byte;
	s->rates.memory_bandwidth *= byte / second;
	s->rates.link_bandwidth *= byte / second;
	s->constants.c0 *= second;
	s->constants.cl *= second;
	s->constants.c1 *= second;
	s->constants.cs *= second;
}

START_TEST(units_cancel)
{
	struct kv_latency_setup setup = llama_on_h100(4);

	setup.constants.large_message = 8 << 20;
	setup.constants.el = .5;

	double before = milliseconds(&setup, step(1500, 700, 40, 3000));

	measure_in(&setup, (enum unit)_i, 1.7);
	ck_assert_double_eq_tol(milliseconds(&setup, step(1500, 700, 40, 3000)),
	                        _i == UNIT_SECOND ? before / 1.7 : before, 2e-6);
}
END_TEST

START_TEST(no_step_takes_no_time)
{
	/* A device a million times as fast as any, without overheads: the clock's nanosecond remains. */
	struct kv_latency_setup setup = llama_on_h100(1);
	struct kv_step_work works[] = {step(0, 0, 0, 0), step(1, 0, 0, 0), step(0, 0, 1, 1), step(8192, 0, 0, 0)};

	setup.rates = (struct kv_latency_rates){1e24, 1e24, 1e24, 1e24};
	setup.constants.c0 = setup.constants.cl = setup.constants.c1 = setup.constants.cs = 0;
	for (size_t i = 0; i < sizeof works / sizeof *works; i++)
		ck_assert_double_gt(milliseconds(&setup, works[i]), 0);
}
END_TEST

START_TEST(prefill_is_split_by_ranks_and_the_cache_by_heads)
{
	/* Of a prefill alone everything but fixed parts and all-reduces goes down by the ranks. A decode reads its KV
	 * by the heads: on 16 ranks of 8 heads, one of them each, as on 8 (full_kv_bytes is one rank's). */
	struct kv_latency_setup eight = llama_on_h100(8), sixteen = llama_on_h100(16);
	double kv_ms;

	sixteen.model.full_kv_bytes = eight.model.full_kv_bytes;
	eight.constants.en = sixteen.constants.en = 1e9;
	eight.constants.c0 = sixteen.constants.c0 = 0;
	eight.constants.cl = sixteen.constants.cl = eight.constants.c1 = sixteen.constants.c1 = 0;
	eight.constants.cs = sixteen.constants.cs = 0;
	ck_assert_double_eq_tol(milliseconds(&sixteen, step(8192, 0, 0, 0)) * 2,
	                        milliseconds(&eight, step(8192, 0, 0, 0)), 4e-6);
	/* 64 sequences of 4000 tokens x 16 KiB / (.75 x 3.35 TB/s). */
	kv_ms = 64.0 * 4000 * 16384 / (.75 * 3.35e12) * 1e3;
	ck_assert_double_eq_tol(milliseconds(&eight, step(0, 0, 64, 4000)) - milliseconds(&eight, step(0, 0, 64, 0)),
	                        kv_ms, 4e-6);
	ck_assert_double_eq_tol(milliseconds(&sixteen, step(0, 0, 64, 4000)) -
	                                milliseconds(&sixteen, step(0, 0, 64, 0)),
	                        kv_ms, 4e-6);
}
END_TEST

START_TEST(an_engine_that_launches_ahead_waits_for_the_longer_side)
{
	/* 512 tokens in one sequence: host 1 ms + 32 x 20 us + 6 us = 1.646 ms; the rest is the device's. */
	struct kv_latency_setup setup = llama_on_h100(1);
	double both = milliseconds(&setup, step(512, 0, 0, 0)), host = 1.646;

	setup.constants.overlap = true;
	ck_assert_double_eq_tol(milliseconds(&setup, step(512, 0, 0, 0)), hypot(host, both - host), 2e-6);
	setup.constants.c0 = 1;
	ck_assert_double_lt(milliseconds(&setup, step(512, 0, 0, 0)), 1000.646 + .5);
}
END_TEST

START_TEST(large_messages_take_the_slower_path)
{
	/* 4096 tokens x 4096 x 2 B = 32 MiB; 64 all-reduces of 1 x 32 MiB at .60 x 450 GB/s: 7.953643 ms, then twice
	 * that. */
	struct kv_latency_setup setup = llama_on_h100(2);
	double before = milliseconds(&setup, step(4096, 0, 0, 0)), smaller = milliseconds(&setup, step(4095, 0, 0, 0));

	setup.constants.large_message = 32 << 20;
	setup.constants.el = .5;
	ck_assert_double_eq_tol(milliseconds(&setup, step(4096, 0, 0, 0)) - before, 7.953643, 2e-6);
	ck_assert_double_eq(milliseconds(&setup, step(4095, 0, 0, 0)), smaller);
}
END_TEST

START_TEST(a_prefill_in_the_step_slows_the_decodes_by_km)
{
	/* 64 sequences of 4000 tokens read 33.55 GB of KV: 13.355 ms at ek, 8.903 ms more at ek * km. */
	struct kv_latency_setup setup = llama_on_h100(1);
	double alone = milliseconds(&setup, step(0, 0, 64, 4000));

	setup.constants.km = 1;
	double both = milliseconds(&setup, step(16, 0, 64, 4000));

	setup.constants.km = .6;
	ck_assert_double_eq_tol(milliseconds(&setup, step(16, 0, 64, 4000)) - both, 8.903332, 2e-6);
	ck_assert_double_gt(both, alone);
}
END_TEST

START_TEST(windowed_layers_read_and_attend_only_inside_the_window)
{
	struct kv_latency_setup setup = llama_on_h100(1);
	struct kv_step_work work = step(0, 0, 4, 5000);

	setup.model.window_pair_flops = setup.model.full_pair_flops;
	setup.model.window_kv_bytes = setup.model.full_kv_bytes;
	setup.model.full_pair_flops = setup.model.full_kv_bytes = 0;
	work.window_decode_context = 4 * 1024;

	struct kv_latency_setup full = llama_on_h100(1);

	ck_assert_double_eq_tol(milliseconds(&setup, work), milliseconds(&full, step(0, 0, 4, 1024)), 1e-6);
}
END_TEST

START_TEST(a_step_reads_the_experts_that_its_tokens_are_expected_to_touch)
{
	/* 8 experts, 2 used: one token touches 2, two tokens 8 (1 - .75^2) = 3.5, very many all 8. */
	static const struct { uint64_t tokens; double touched; } cases[] = {{1, 2}, {2, 3.5}, {200, 8}};
	struct kv_latency_setup setup = llama_on_h100(1);
	struct kv_roofline roofline;
	struct kv_roofline_terms terms;

	setup.model.experts = 8;
	setup.model.experts_used = 2;
	setup.model.expert_params = 1e9;
	setup.model.expert_bytes = 2e9;
	kv_roofline_init(&roofline, &setup);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct kv_step_work work = step(0, 0, cases[i].tokens, 10);

		kv_roofline_terms(&roofline, &work, &terms);
		double bytes = 2 * 6979321856.0 + 2 * 525336576.0 + cases[i].touched * 2e9;

		ck_assert_double_eq_tol(terms.weights, bytes / 3.35e12, 1e-9);
	}
}
END_TEST

START_TEST(stages_are_passed_one_after_the_other)
{
	/* One hand-over: an overhead c1 and 64 tokens x 4096 x 2 B over 450 GB/s x .6. */
	struct kv_latency_setup setup = llama_on_h100(1);
	double one = milliseconds(&setup, step(0, 0, 64, 1000));

	setup.pipeline_parallel = 2;
	ck_assert_double_eq_tol(milliseconds(&setup, step(0, 0, 64, 1000)) - one,
	                        .008 + 64 * 4096 * 2 / (450e9 * .6) * 1e3, 2e-6);
}
END_TEST

START_TEST(latent_attention_is_charged_for_flops_when_they_outlast_the_bytes)
{
	struct kv_latency_setup setup = llama_on_h100(1);
	struct kv_step_work work = step(0, 0, 8, 4000);
	double bytes_only = milliseconds(&setup, work);

	setup.model.decode_pair_flops = 61 * 128 * 2.0 * (576 + 512);
	double added = milliseconds(&setup, work) - bytes_only;
	double kv = 8 * 4000 * 131072.0 / (.75 * 3.35e12) * 1e3;
	double flops = 8 * 4000 * 61 * 128 * 2.0 * (576 + 512) / (.6 * 989e12) * 1e3;

	ck_assert_double_eq_tol(added, hypot(kv, flops) - kv, 2e-6);
}
END_TEST

START_TEST(a_step_without_work_lasts_the_fixed_part)
{
	struct kv_latency_setup setup = llama_on_h100(1);

	ck_assert_double_eq(milliseconds(&setup, (struct kv_step_work){0}), 1.0);
	setup.constants.c0 = 0;
	ck_assert_double_eq(milliseconds(&setup, (struct kv_step_work){0}), 1e-6);
}
END_TEST

START_TEST(fixed_steps_all_take_the_same_time)
{
	struct kv_latency *latency = kv_latency_fixed(2385);
	struct kv_step_work busy = step(8192, 0, 64, 4000), idle = {0};

	ck_assert_int_eq(kv_latency_step(latency, &busy), 2385);
	ck_assert_int_eq(kv_latency_step(latency, &idle), 2385);
	kv_latency_free(latency);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("latency");
	TCase *tc = tcase_create("roofline");

	tcase_add_loop_test(tc, step_times_equal_the_sum_worked_by_hand, 0, sizeof worked / sizeof *worked);
	tcase_add_test(tc, idle_single_request_takes_its_prefill_and_its_decode_steps);
	tcase_add_test(tc, more_work_never_takes_less_time);
	tcase_add_test(tc, faster_hardware_never_takes_more_time);
	tcase_add_loop_test(tc, units_cancel, UNIT_FLOP, UNIT_SECOND + 1);
	tcase_add_test(tc, no_step_takes_no_time);
	tcase_add_test(tc, prefill_is_split_by_ranks_and_the_cache_by_heads);
	tcase_add_test(tc, an_engine_that_launches_ahead_waits_for_the_longer_side);
	tcase_add_test(tc, large_messages_take_the_slower_path);
	tcase_add_test(tc, a_prefill_in_the_step_slows_the_decodes_by_km);
	tcase_add_test(tc, windowed_layers_read_and_attend_only_inside_the_window);
	tcase_add_test(tc, a_step_reads_the_experts_that_its_tokens_are_expected_to_touch);
	tcase_add_test(tc, stages_are_passed_one_after_the_other);
	tcase_add_test(tc, latent_attention_is_charged_for_flops_when_they_outlast_the_bytes);
	tcase_add_test(tc, a_step_without_work_lasts_the_fixed_part);
	suite_add_tcase(suite, tc);
	tc = tcase_create("fixed");
	tcase_add_test(tc, fixed_steps_all_take_the_same_time);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
