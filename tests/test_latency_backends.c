/* Step times from measured rows: the line, the table, what they say of steps beyond their rows; and the roofline's two
 * forms, which must agree. */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>

#include "sim/deploy/latency_trust.h"
#include "sim/deploy/scored_error.h"
#include "sim/latency/latency_linear.h"
#include "sim/latency/latency_roofline.h"
#include "sim/latency/latency_table.h"
#include "tests/support.h"

static struct kv_step_work step(uint64_t prefill, uint64_t past, uint64_t decodes, uint64_t context)
{
	return (struct kv_step_work){
		.prefill_seqs = prefill > 0, .prefill_tokens = prefill, .prefill_past = past,
		.prefill_pairs2 = prefill * (2 * past + prefill), .decode_seqs = decodes,
		.decode_context = decodes * context, .window_prefill_past = past,
		.window_prefill_pairs2 = prefill * (2 * past + prefill), .window_decode_context = decodes * context,
	};
}

/* --- the roofline's loop form ----------------------------------------------------------------------------------- */

/* As most engines; launching ahead, with large messages from 3 MiB (546.1 tokens) on. */
static const struct { double large_message; bool overlap; } habits[] = {{0, false}, {3 << 20, true}};

START_TEST(folded_coefficients_give_the_same_seconds)
{
	struct kv_latency_setup setup = {
		.model = {.layers = 36, .hidden = 2880, .linear_params = 1.1e9, .linear_bytes = 2.2e9, .head_params = 5.8e8,
		          .head_bytes = 1.16e9, .experts = 128, .experts_used = 4, .expert_params = 8.9e8,
		          .expert_bytes = 4.7e8, .full_pair_flops = 295e3, .window_pair_flops = 295e3,
		          .decode_pair_flops = 1.7e5,
		          .full_kv_bytes = 36864, .window_kv_bytes = 36864},
		.rates = {.compute_flops = 1979e12, .attention_flops = 989e12, .memory_bandwidth = 3.35e12,
		          .link_bandwidth = 450e9},
		.constants = {.ec = .5, .eb = .75, .ea = .6, .ea_half = 1500, .ek = .7, .km = .55, .en = .45, .c0 = 1.1e-3,
		              .cl = 21e-6, .clp = 15e-6, .c1 = 8e-6, .c1p = 14e-6, .cs = 6e-6, .el = .4,
		              .large_message = habits[_i].large_message, .overlap = habits[_i].overlap},
		.tensor_parallel = 2, .pipeline_parallel = 2,
	};
	static const struct { uint64_t prefill, past, decodes, context; } steps[] = {
		{0, 0, 1, 1}, {0, 0, 200, 9000}, {128, 0, 0, 0}, {4096, 12000, 0, 0}, {512, 64, 17, 700}, {513, 0, 3, 70000},
		{546, 0, 0, 0}, {546, 0, 1, 900}, {0, 0, 0, 0},
	};
	struct kv_roofline roofline;
	struct kv_roofline_folded folded;

	kv_roofline_init(&roofline, &setup);
	kv_roofline_fold(&roofline, &setup.constants, &folded);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		struct kv_step_work work = step(steps[i].prefill, steps[i].past, steps[i].decodes, steps[i].context);
		struct kv_roofline_terms terms;

		kv_roofline_terms(&roofline, &work, &terms);
		ck_assert_double_eq_tol(kv_roofline_step(&folded, &work) / kv_roofline_seconds(&terms, &setup.constants), 1,
		                        1e-13);
	}
}
END_TEST

/* --- the line --------------------------------------------------------------------------------------------------- */

enum { LINE_ROWS = 24 };

/* 3 ms + 20 us a token + 40 ns of context + 5 ns tokens^2 / sequences. */
static void line_rows(struct kv_timed_work rows[LINE_ROWS])
{
	for (size_t i = 0; i < LINE_ROWS; i++) {
		uint64_t prefill = i % 3 == 0 ? 0 : 128u << (i % 5), decodes = 1 + i % 7 * 9;

		rows[i].work = step(prefill, i % 2 * 1000, decodes, 500 + 300 * i);

		double tokens = (double)(prefill + decodes), sequences = (double)(decodes + (prefill > 0));
		double context = (double)(rows[i].work.prefill_past + rows[i].work.decode_context);

		rows[i].seconds = 3e-3 + 20e-6 * tokens + 40e-9 * context + 5e-9 * tokens * tokens / sequences;
	}
}

START_TEST(a_line_is_found_and_followed)
{
	struct kv_timed_work rows[LINE_ROWS];
	struct kv_linear line;
	struct kv_error err = {0};
	struct kv_step_work new = step(300, 0, 20, 4000);

	line_rows(rows);
	ck_assert_msg(kv_linear_fit(rows, LINE_ROWS, &line, &err) == 0, "%s", err.text);
	ck_assert_double_eq_tol(line.coefficient[0], 3e-3, 1e-9);
	ck_assert_double_eq_tol(line.coefficient[1], 20e-6, 1e-11);
	ck_assert_double_eq_tol(line.coefficient[2], 40e-9, 1e-14);
	ck_assert_double_eq_tol(line.coefficient[3], 5e-9, 1e-14);

	struct kv_latency *latency = kv_latency_linear(&line);
	double seconds = 3e-3 + 20e-6 * 320 + 40e-9 * 80000 + 5e-9 * 320 * 320 / 21;

	ck_assert_double_eq_tol((double)kv_latency_step(latency, &new) / 1e9, seconds, 2e-9);
	kv_latency_free(latency);
}
END_TEST

START_TEST(no_coefficient_is_negative)
{
	struct kv_timed_work rows[LINE_ROWS];
	struct kv_linear line;
	struct kv_error err = {0};

	line_rows(rows);
	for (size_t i = 0; i < LINE_ROWS; i++)
		rows[i].seconds -= 39.9e-9 * (double)(rows[i].work.prefill_past + rows[i].work.decode_context) * 1.02;
	ck_assert_int_eq(kv_linear_fit(rows, LINE_ROWS, &line, &err), 0);
	for (size_t k = 0; k < KV_LINEAR_FEATURES; k++)
		ck_assert_double_ge(line.coefficient[k], 0);
	ck_assert_double_eq(line.coefficient[2], 0);
}
END_TEST

START_TEST(a_line_needs_sixteen_rows)
{
	struct kv_timed_work rows[LINE_ROWS];
	struct kv_linear line;
	struct kv_error err = {0};

	line_rows(rows);
	ck_assert_int_eq(kv_linear_fit(rows, 15, &line, &err), -1);
	ck_assert_int_eq(err.status, KV_EXIT_DATA);
	ck_assert_msg(strstr(err.text, "at least 16") != NULL, "%s", err.text);
}
END_TEST

START_TEST(steps_beyond_the_rows_are_counted)
{
	struct kv_timed_work rows[LINE_ROWS];
	struct kv_linear line;
	struct kv_error err = {0};
	struct kv_step_work inside = step(128, 0, 10, 1000), crowded = step(0, 0, 500, 1000), longer = step(0, 0, 2, 50000);
	struct kv_remarks warnings = {0};

	line_rows(rows);
	ck_assert_int_eq(kv_linear_fit(rows, LINE_ROWS, &line, &err), 0);

	struct kv_latency *latency = kv_latency_linear(&line);

	kv_latency_step(latency, &inside);
	kv_latency_trust_run(latency, &warnings);
	ck_assert_uint_eq(warnings.count, 0);
	kv_latency_step(latency, &crowded);
	kv_latency_step(latency, &longer);
	ck_assert_uint_eq(kv_latency_outside(latency)->steps, 3);
	ck_assert_uint_eq(kv_latency_outside(latency)->sequences, 1);
	ck_assert_uint_eq(kv_latency_outside(latency)->sequence_context, 1);
	kv_latency_trust_run(latency, &warnings);
	ck_assert_uint_eq(warnings.count, 2);
	ck_assert_str_eq(warnings.text[0], "1 of 3 steps have more sequences than the step times were compared with: the "
	                                   "per-sequence term (cs) is extrapolated");
	kv_remarks_fini(&warnings);
	kv_latency_free(latency);
}
END_TEST

/* --- the table -------------------------------------------------------------------------------------------------- */

/* Decode: 1, 8 and 64 sequences, ragged in context; prefill alone; one mixed step. */
static const struct { uint64_t prefill, past, decodes, context; double ms; } grid[] = {
	{0, 0, 1, 100, 6}, {0, 0, 1, 1000, 6.5}, {0, 0, 8, 100, 7}, {0, 0, 8, 4000, 9}, {0, 0, 64, 100, 10},
	{0, 0, 64, 1000, 14}, {0, 0, 64, 8000, 40}, {512, 0, 0, 0, 20}, {2048, 0, 0, 0, 70}, {2048, 4096, 0, 0, 95},
	{512, 0, 64, 1000, 33},
};

enum { GRID = sizeof grid / sizeof *grid };

static struct kv_latency *table(void)
{
	struct kv_timed_work rows[GRID];

	for (size_t i = 0; i < GRID; i++)
		rows[i] = (struct kv_timed_work){step(grid[i].prefill, grid[i].past, grid[i].decodes, grid[i].context),
		                                 grid[i].ms / 1e3};
	return kv_latency_from_table(kv_latency_table_create(rows, GRID));
}

START_TEST(a_table_is_exact_at_its_nodes)
{
	struct kv_latency *latency = table();

	for (size_t i = 0; i < GRID; i++) {
		struct kv_step_work work = step(grid[i].prefill, grid[i].past, grid[i].decodes, grid[i].context);

		ck_assert_int_eq(kv_latency_step(latency, &work), llround(grid[i].ms * 1e6));
	}
	kv_latency_free(latency);
}
END_TEST

static const struct { uint64_t prefill, past, decodes, context; double ms; } between[] = {
	{0, 0, 1, 550, 6.25},         /* half way in context */
	{0, 0, 36, 100, 8.5},         /* half way in sequences: (7 + 10) / 2, not the logarithmic middle */
	{0, 0, 64, 4500, 27},
	{1280, 0, 0, 0, 45},          /* half way in tokens */
	{2048, 2048, 0, 0, 82.5},
};

START_TEST(a_table_is_linear_between_neighbours)
{
	struct kv_latency *latency = table();
	struct kv_step_work work = step(between[_i].prefill, between[_i].past, between[_i].decodes, between[_i].context);

	ck_assert_int_eq(kv_latency_step(latency, &work), llround(between[_i].ms * 1e6));
	kv_latency_free(latency);
}
END_TEST

START_TEST(beyond_its_last_node_a_table_goes_on_and_counts)
{
	struct kv_latency *latency = table();
	struct kv_step_work longer = step(0, 0, 64, 15000), inside = step(0, 0, 64, 8000);

	/* 14 ms at 1,000, 40 ms at 8,000: 26 ms every 7,000. */
	ck_assert_int_eq(kv_latency_step(latency, &longer), 66000000);
	kv_latency_step(latency, &inside);
	ck_assert_uint_eq(kv_latency_outside(latency)->sequence_context, 1);
	kv_latency_free(latency);
}
END_TEST

START_TEST(rows_of_one_node_are_averaged)
{
	struct kv_timed_work rows[] = {{step(0, 0, 4, 100), .010}, {step(0, 0, 4, 100), .014}};
	struct kv_latency *latency = kv_latency_from_table(kv_latency_table_create(rows, 2));

	ck_assert_int_eq(kv_latency_step(latency, &rows[0].work), 12000000);
	kv_latency_free(latency);
}
END_TEST

/* --- trust ------------------------------------------------------------------------------------------------------ */

START_TEST(settings_beyond_the_validated_ones_name_the_term)
{
	static const char text[] = "name: card\nmemory_bandwidth: 1TB/s\nflops: {bf16: 100TFLOP/s}\nsource: tests\n"
	                           "validated:\n  sequences: 32\n  step_tokens: 8192\n  sequence_context: 4096\n"
	                           "  tensor_parallel: 4\n"
	                           "  weights: wide\n  error: \"3 % of 144 rows\"\n";
	struct kv_error err = {0};
	struct kv_hardware *card = kv_hardware_parse(text, "card.yaml", &err);
	struct kv_remarks warnings = {0};
	struct kv_latency *latency = kv_latency_fixed(1000);

	ck_assert_msg(card != NULL, "%s", err.text);
	kv_latency_trust_setting(card, 4, false, latency, &warnings);
	ck_assert_uint_eq(warnings.count, 0);
	kv_latency_trust_setting(card, 8, true, latency, &warnings);
	ck_assert_uint_eq(warnings.count, 2);
	ck_assert(strstr(warnings.text[0], "all-reduce") != NULL);
	ck_assert(strstr(warnings.text[1], "ec_fp8") != NULL);
	ck_assert_ptr_nonnull(kv_latency_outside(latency));
	kv_remarks_fini(&warnings);
	kv_latency_free(latency);
	kv_hardware_free(card);
}
END_TEST

/* A card on which two loads were compared, and one thing beside. */
static const char compared[] =
	"name: card\nvalidated:\n  error: \"static batches: 6 % (bias +1)\"\n  models: [llama-3.1-8b]\n"
	"  served:\n    loads: 4 clients\n    figures:\n"
	"      - {engine: sglang, model: deepseek-v3, weight_bits: 8, rows: 3, ttft: 65.1, ttft_bias: -65.1, tpot: 26.6, "
	"tpot_bias: -0.2}\n"
	"      - {engine: vllm, model: llama-3.1-70b, weight_bits: 16, rows: 2, ttft: 4.4, ttft_bias: 0.6, tpot: 7, "
	"tpot_bias: 7}\n";

#define SERVED " (mean absolute error of served loads, 4 clients; bias below 0: modelled times are too short)"
#define DEEPSEEK "deepseek-v3 with 8-bit weights, sglang, 3 loads: TTFT 65 % (bias -65), TPOT 27 % (bias +0)"
#define LLAMA "llama-3.1-70b with 16-bit weights, vllm, 2 loads: TTFT 4 % (bias +1), TPOT 7 % (bias +7)"

static const struct {
	const char *card, *model, *engine, *error;
	size_t warnings;
} scored[] = {
	{compared, "deepseek-v3", "sglang-2026-07", DEEPSEEK SERVED, 1},
	{compared, "deepseek-v3", "vllm-2026-08",
	 "not compared with 8-bit weights under vllm-2026-08; otherwise it was: " DEEPSEEK SERVED, 1},
	{compared, "llama-3.1-70b", "vllm-2026-08", LLAMA SERVED, 0},
	{compared, "llama-3.1-8b", "vllm-2026-08", "static batches: 6 % (bias +1)", 0},
	{compared, "mixtral-8x7b", "vllm-2026-08",
	 "not compared for this model; for others it was: static batches: 6 % (bias +1); " LLAMA SERVED, 1},
	{compared, "llama-3.1-8b", "sglang-2026-07", "static batches: 6 % (bias +1)", 1},
	{"name: card\n", "llama-3.1-8b", "vllm-2026-08", "not compared with measurements", 0},
	{"name: card\nvalidated: {error: fitted}\n", "llama-3.1-8b", "vllm-2026-08", "fitted", 0},
};

START_TEST(errors_say_what_was_compared)
{
	struct kv_error err = {0};
	struct kv_hardware *card = kv_hardware_parse(scored[_i].card, "card.yaml", &err);
	struct kv_model *model = kv_model_load(scored[_i].model, &err);
	struct kv_engine_profile *engine = kv_engine_profile_load(scored[_i].engine, &err);
	struct kv_remarks warnings = {0};
	char *error;

	ck_assert_msg(card && model && engine, "%s", err.text);
	error = kv_latency_scored_error(card, model, engine);
	kv_latency_warn_far_off(card, model, engine, &warnings);
	ck_assert_str_eq(error, scored[_i].error);
	ck_assert_uint_eq(warnings.count, scored[_i].warnings);
	free(error);
	kv_remarks_fini(&warnings);
	kv_engine_profile_free(engine);
	kv_model_free(model);
	kv_hardware_free(card);
}
END_TEST

static const struct {
	const char *figure, *error;
} wrong_figures[] = {
	{"engine: vllm, model: a, weight_bits: 8, rows: 2, ttft: 4, ttft_bias: 1, tpot: 7", "tpot_bias is missing"},
	{"engine: vllm, model: a, weight_bits: 8, rows: 2, ttft: -4, ttft_bias: 1, tpot: 7, tpot_bias: 7", "ttft: "},
	{"engine: vllm, model: a, bits: 8", "bits"},
};

START_TEST(served_figures_are_checked)
{
	struct kv_error err = {0};
	char text[256];

	snprintf(text, sizeof text, "name: card\nvalidated: {served: {loads: x, figures: [{%s}]}}\n",
	         wrong_figures[_i].figure);
	ck_assert_ptr_null(kv_hardware_parse(text, "card.yaml", &err));
	ck_assert_msg(strstr(err.text, wrong_figures[_i].error) != NULL, "%s", err.text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("latency_backends");
	TCase *tc = tcase_create("roofline");

	gsl_set_error_handler_off();
	tcase_add_loop_test(tc, folded_coefficients_give_the_same_seconds, 0, sizeof habits / sizeof *habits);
	suite_add_tcase(suite, tc);
	tc = tcase_create("line");
	tcase_add_test(tc, a_line_is_found_and_followed);
	tcase_add_test(tc, no_coefficient_is_negative);
	tcase_add_test(tc, a_line_needs_sixteen_rows);
	tcase_add_test(tc, steps_beyond_the_rows_are_counted);
	suite_add_tcase(suite, tc);
	tc = tcase_create("table");
	tcase_add_test(tc, a_table_is_exact_at_its_nodes);
	tcase_add_loop_test(tc, a_table_is_linear_between_neighbours, 0, sizeof between / sizeof *between);
	tcase_add_test(tc, beyond_its_last_node_a_table_goes_on_and_counts);
	tcase_add_test(tc, rows_of_one_node_are_averaged);
	suite_add_tcase(suite, tc);
	tc = tcase_create("trust");
	tcase_add_test(tc, settings_beyond_the_validated_ones_name_the_term);
	tcase_add_loop_test(tc, errors_say_what_was_compared, 0, sizeof scored / sizeof *scored);
	tcase_add_loop_test(tc, served_figures_are_checked, 0, sizeof wrong_figures / sizeof *wrong_figures);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
