#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/sizing/memory_peaks.h"
#include "tests/support.h"

static struct kv_peak_shape shape(uint32_t tp, uint64_t tokens, uint64_t seqs)
{
	return (struct kv_peak_shape){.tensor_parallel = tp,
	                              .pipeline_parallel = 1,
	                              .max_tokens = tokens,
	                              .max_seqs = seqs,
	                              .last_stage = true};
}

static int64_t peak(const char *name, const struct kv_peak_shape *s)
{
	struct kv_error err;
	struct kv_model *model = kv_model_load(name, &err);
	int64_t bytes;

	ck_assert_msg(model != NULL, "%s", err.text);
	bytes = kv_activation_peak(model, s);
	kv_model_free(model);
	return bytes;
}

/* The header promises 2 % on average and 10 % at most for these rows. */
START_TEST(measured_peaks_come_out_within_the_stated_error)
{
	char path[4096], line[512], model[64];
	const char *srcdir = getenv("srcdir");
	double sum = 0, worst = 0;
	int rows = 0;

	snprintf(path, sizeof path, "%s/tests/data/activation-peaks.csv", srcdir ? srcdir : ".");
	FILE *f = fopen(path, "r");

	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
	while (fgets(line, sizeof line, f)) {
		unsigned tp, tokens, seqs;
		double gib, error;

		ck_assert_int_eq(sscanf(line, "%63[^,],%u,%u,%u,%lf", model, &tp, &tokens, &seqs, &gib), 5);
		struct kv_peak_shape s = shape(tp, tokens, seqs);
		error = fabs(peak(model, &s) / 0x1p30 / gib - 1);
		sum += error;
		worst = error > worst ? error : worst;
		rows++;
	}
	fclose(f);
	ck_assert_int_eq(rows, 24);
	ck_assert_double_lt(sum / rows, 0.025);
	ck_assert_double_lt(worst, 0.10);
}
END_TEST

START_TEST(more_tokens_or_sequences_never_take_less)
{
	int64_t before = 0;

	for (uint64_t tokens = 512; tokens <= 65536; tokens *= 2) {
		struct kv_peak_shape s = shape(1, tokens, 256);

		ck_assert_int_gt(peak("llama-3.1-8b", &s), before);
		before = peak("llama-3.1-8b", &s);
	}
	before = 0;
	for (uint64_t seqs = 1; seqs <= 4096; seqs *= 2) {
		struct kv_peak_shape s = shape(1, 8192, seqs);

		ck_assert_int_ge(peak("llama-3.1-8b", &s), before);
		before = peak("llama-3.1-8b", &s);
	}
}
END_TEST

START_TEST(only_the_last_pipeline_stage_samples)
{
	struct kv_peak_shape last = shape(1, 8192, 1024), first = last;

	first.pipeline_parallel = last.pipeline_parallel = 2;
	first.last_stage = false;
	ck_assert_double_eq_tol(peak("llama-3.1-8b", &first) / 0x1p30, 1.10, 0.11);
	ck_assert_int_gt(peak("llama-3.1-8b", &last), peak("llama-3.1-8b", &first));
}
END_TEST

START_TEST(graphs_grow_with_layers_and_sequences_up_to_512)
{
	ck_assert_double_eq_tol(kv_graph_bytes(32, 1024) / 0x1p30, 0.84, 0.01);
	ck_assert_int_eq(kv_graph_bytes(32, 256), kv_graph_bytes(32, 512) / 2);
	ck_assert_int_eq(kv_graph_bytes(64, 512), 2 * kv_graph_bytes(32, 512));
}
END_TEST

START_TEST(ranks_that_talk_hold_more)
{
	struct kv_peak_shape alone = shape(1, 1, 1), together = shape(4, 1, 1);

	ck_assert_double_eq_tol(kv_runtime_bytes(&alone) / 0x1p30, 0.25, 1e-6);
	ck_assert_double_eq_tol(kv_runtime_bytes(&together) / 0x1p30, 2.1, 1e-6);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory_peaks");
	TCase *tc = tcase_create("memory_peaks");

	tcase_add_test(tc, measured_peaks_come_out_within_the_stated_error);
	tcase_add_test(tc, more_tokens_or_sequences_never_take_less);
	tcase_add_test(tc, only_the_last_pipeline_stage_samples);
	tcase_add_test(tc, graphs_grow_with_layers_and_sequences_up_to_512);
	tcase_add_test(tc, ranks_that_talk_hold_more);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
