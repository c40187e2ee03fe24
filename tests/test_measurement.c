#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/latency/latency_roofline.h"
#include "sim/latency/measurement.h"
#include "tests/support.h"

#define HEADER "gpu,tp,model,phase,batch,tokens,context,time_ms,source,p_tok,p_seq,p_ctx,d_seq,d_ctx\n"

static char path[] = "/tmp/kvsim-measurement-XXXXXX";

static struct kv_measurements *read_rows(const char *text, const struct kv_row_filter *filter, struct kv_error *err)
{
	char name[sizeof path];
	struct kv_measurements *m;
	int file;

	memcpy(name, path, sizeof path);
	file = mkstemp(name);
	ck_assert_int_ge(file, 0);
	ck_assert_int_eq((int)write(file, text, strlen(text)), (int)strlen(text));
	close(file);
	m = kv_measurements_read(name, filter, err);
	unlink(name);
	return m;
}

static struct kv_measurements *must_read(const char *text)
{
	struct kv_error err = {0};
	struct kv_measurements *m = read_rows(text, NULL, &err);

	ck_assert_msg(m != NULL, "%s", err.text);
	return m;
}

START_TEST(rows_have_a_phase_a_configuration_and_a_shape)
{
	struct kv_measurements *m = must_read(HEADER
		"b300,1,qwen3-32b,decode,2,2,8204,13.511,x,0,0,0,2,8204\n"
		"b300,2,qwen3-32b,decode,2,2,8204,9.1,x,0,0,0,2,8204\n"
		"b300,1,qwen3-32b,prefill,1,128,0,16.028,x,128,1,0,0,0\n"
		"b300,1,qwen3-32b,mixed,7,8192,20480,409.053,x,8188,3,4093,4,16387\n");

	ck_assert_uint_eq(m->rows, 4);
	ck_assert_uint_eq(m->configurations, 2);
	ck_assert_int_eq(m->row[0].phase, KV_PHASE_DECODE);
	ck_assert_int_eq(m->row[2].phase, KV_PHASE_PREFILL);
	ck_assert_int_eq(m->row[3].phase, KV_PHASE_MIXED);
	ck_assert_uint_eq(m->row[0].shape, m->row[1].shape);
	ck_assert_uint_ne(m->row[0].shape, m->row[2].shape);
	ck_assert_uint_eq(m->row[1].configuration, 1);
	ck_assert_uint_eq(m->configuration[1].tp, 2);
	ck_assert_double_eq_tol(m->row[0].seconds, .013511, 1e-12);
	ck_assert_uint_eq(m->row[3].line, 5);
	kv_measurements_free(m);
}
END_TEST

START_TEST(totals_alone_are_taken_as_equal_sequences)
{
	struct kv_measurements *m = must_read(
		"gpu,tp,model,phase,batch,tokens,context,time_ms\n"
		"h100,1,m,prefill,4,4096,0,100\nh100,1,m,decode,4,4,8000,9\nh100,1,m,e2e_static,16,128,128,900\n");
	struct kv_step_work work = kv_measurement_work(&m->row[0], 0);

	ck_assert_uint_eq(work.prefill_seqs, 4);
	ck_assert_uint_eq(work.prefill_pairs2, 4 * 1024 * 1024);
	work = kv_measurement_work(&m->row[1], 512);
	ck_assert_uint_eq(work.decode_context, 8000);
	ck_assert_uint_eq(work.window_decode_context, 4 * 512);
	ck_assert_int_eq(m->row[2].phase, KV_PHASE_STATIC);
	kv_measurements_free(m);
}
END_TEST

START_TEST(a_static_batch_is_a_prefill_and_a_decode_step_for_every_further_token)
{
	struct kv_measurements *m = must_read("gpu,tp,model,phase,batch,tokens,context,time_ms\n"
	                                      "h100,1,m,e2e_static,16,128,128,900\n");
	struct kv_latency_setup setup = {.model = {.layers = 2, .hidden = 8, .linear_params = 100, .linear_bytes = 200,
	                                           .full_kv_bytes = 64},
	                                 .rates = {1, 1, 1, 1}, .tensor_parallel = 1, .pipeline_parallel = 1};
	struct kv_roofline roofline;
	struct kv_observation o;

	kv_roofline_init(&roofline, &setup);
	kv_measurement_observe(&m->row[0], &roofline, 0, &o);
	ck_assert_double_eq(o.count[0], 1);
	ck_assert_double_eq(o.count[1], 127);
	ck_assert_double_eq(o.terms[0].compute, 2 * 100 * 16 * 128.0);
	ck_assert_double_eq(o.terms[1].compute, 2 * 100 * 16.0);
	ck_assert_double_eq(o.terms[1].decode_kv, 64 * 16 * 192.0);
	kv_measurements_free(m);
}
END_TEST

START_TEST(a_layer_is_its_matrix_products_and_one_overhead)
{
	struct kv_measurements *m = must_read("gpu,tp,model,phase,batch,tokens,context,time_ms,other_ms\n"
	                                      "h100,2,m,layer_linear,,16,0,0.9,0.1\n");
	struct kv_latency_setup setup = {.model = {.layers = 2, .hidden = 8, .linear_params = 100, .linear_bytes = 200,
	                                           .head_params = 50, .head_bytes = 100, .full_kv_bytes = 64},
	                                 .rates = {1, 1, 1, 1}, .tensor_parallel = 2, .pipeline_parallel = 1,
	                                 .constants = {.ec = .5, .eb = .8, .ea = .6, .ek = .7, .km = .6, .en = .6, .c0 = 1000,
	                                               .cl = 7, .c1 = 100, .cs = 10}};
	struct kv_roofline roofline;
	struct kv_observation o;

	kv_roofline_init(&roofline, &setup);
	kv_measurement_observe(&m->row[0], &roofline, 0, &o);
	ck_assert_int_eq(m->row[0].phase, KV_PHASE_LAYER);
	ck_assert_double_eq(o.seconds, .0009);
	ck_assert_double_eq(o.terms[0].compute, 2 * 100 * 16 / 2 / 2.0);
	ck_assert_double_eq(o.terms[0].weights, 200 / 2 / 2.0);
	ck_assert_double_eq_tol(kv_observation_predict(&o, &setup.constants), 7 + hypot(800 / .5, 50 / .8), 1e-9);
	kv_measurements_free(m);
}
END_TEST

static const struct {
	const char *row, *reason;
} bad[] = {
	{"b300,1,m,decode,2,2,8204,0,x,0,0,0,2,8204\n", "time_ms: 0; a time is above zero"},
	{"b300,1,m,decode,2,2,8204,-3,x,0,0,0,2,8204\n", "time_ms: -3; a time is above zero"},
	{"b300,1,m,decode,2,2,8204,nan,x,0,0,0,2,8204\n", "time_ms: 'nan' is not a number"},
	{"b300,1,m,decode,2,2,8204,,x,0,0,0,2,8204\n", "time_ms: '' is not a number"},
	{"b300,1,m,decode,2,3,8204,9,x,0,0,0,2,8204\n", "tokens is 3, but the parts sum to 2"},
	{"b300,1,m,decode,0,0,0,9,x,0,0,0,0,0\n", "a step without sequences"},
	{"b300,1,m,decode,2,2,1,9,x,0,0,0,2,1\n", "d_ctx is 1 for 2 sequences"},
	{"b300,1,m,prefill,1,0,0,9,x,0,1,0,0,0\n", "p_tok is 0 for 1 sequences"},
	{"b300,0,m,decode,2,2,8204,9,x,0,0,0,2,8204\n", "tp is 0"},
	{"b300,1,m,decode,2,2,8204,9,x,x,0,0,2,8204\n", "p_tok: "},
};

START_TEST(rows_that_cannot_be_used_say_why)
{
	char text[1024];
	struct kv_measurements *m;

	snprintf(text, sizeof text, HEADER "%s", bad[_i].row);
	m = must_read(text);
	ck_assert_uint_eq(m->rows, 1);
	ck_assert_ptr_nonnull(m->row[0].problem);
	ck_assert_msg(strstr(m->row[0].problem, bad[_i].reason) != NULL, "%s", m->row[0].problem);
	kv_measurements_free(m);
}
END_TEST

START_TEST(a_row_that_stands_twice_counts_once)
{
	struct kv_measurements *m = must_read(HEADER
		"b300,1,m,decode,2,2,8204,13.5,x,0,0,0,2,8204\n"
		"b300,1,m,decode,2,2,8204,13.6,x,0,0,0,2,8204\n"
		"b300,1,m,decode,2,2,8204,13.5,x,0,0,0,2,8204\n");

	ck_assert_ptr_null(m->row[0].problem);
	ck_assert_ptr_null(m->row[1].problem);
	ck_assert_str_eq(m->row[2].problem, "the same as line 2");
	kv_measurements_free(m);
}
END_TEST

START_TEST(overflowed_batches_do_not_measure_steps)
{
	struct kv_measurements *m = must_read("gpu,tp,model,phase,batch,tokens,context,source,time_ms,kv_overflow\n"
	                                      "h100,1,m,e2e_static,64,2048,2048,a,9000,1\n");

	ck_assert_str_eq(m->row[0].problem, "kv_overflow: the batch did not fit the cache");
	kv_measurements_free(m);
}
END_TEST

static const struct {
	const char *condition;
	size_t rows;
} filters[] = {
	{"gpu=b300", 2}, {"tp=2", 1}, {"time_ms<=10", 2}, {"time_ms>=9.5", 2}, {"model=other", 0},
};

START_TEST(filters_pick_rows)
{
	static const char text[] = HEADER "b300,1,m,decode,2,2,8204,13.5,x,0,0,0,2,8204\n"
	                                  "b300,2,m,decode,2,2,8204,9.5,x,0,0,0,2,8204\n"
	                                  "h100,4,m,decode,2,2,8204,9,x,0,0,0,2,8204\n";
	struct kv_row_filter filter = {.conditions = &filters[_i].condition, .count = 1};
	struct kv_error err = {0};
	struct kv_measurements *m = read_rows(text, &filter, &err);

	if (filters[_i].rows == 0) {
		ck_assert_ptr_null(m);
		ck_assert_int_eq(err.status, KV_EXIT_USAGE);
		return;
	}
	ck_assert_uint_eq(m->rows, filters[_i].rows);
	kv_measurements_free(m);
}
END_TEST

static const struct {
	const char *text, *error;
} refused[] = {
	{"gpu,tp,model\nh100,1,m\n", "column time_ms is missing"},
	{"gpu,tp,model,time_ms,p_tok\nh100,1,m,9,1\n", "p_seq"},
	{HEADER "b300,1\n", ":2: 2 cells; allowed: 14, as in the header"},
	{HEADER, "no rows"},
	{"gpu,tp,model,time_ms,tp\nh100,1,m,9,1\n", ":1: column tp stands twice"},
	{HEADER "b300,1,\"m\"x,decode,2,2,8204,9,x,0,0,0,2,8204\n", "malformed quotes"},
};

START_TEST(files_that_cannot_be_used_say_why)
{
	struct kv_error err = {0};

	ck_assert_ptr_null(read_rows(refused[_i].text, NULL, &err));
	ck_assert_int_eq(err.status, KV_EXIT_DATA);
	ck_assert_msg(strstr(err.text, refused[_i].error) != NULL, "%s", err.text);
}
END_TEST

START_TEST(a_missing_file_is_missing)
{
	struct kv_error err = {0};

	ck_assert_ptr_null(kv_measurements_read("/nonexistent/steps.csv", NULL, &err));
	ck_assert_int_eq(err.status, KV_EXIT_MISSING);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("measurement");
	TCase *tc = tcase_create("rows");

	tcase_add_test(tc, rows_have_a_phase_a_configuration_and_a_shape);
	tcase_add_test(tc, totals_alone_are_taken_as_equal_sequences);
	tcase_add_test(tc, a_static_batch_is_a_prefill_and_a_decode_step_for_every_further_token);
	tcase_add_test(tc, a_layer_is_its_matrix_products_and_one_overhead);
	tcase_add_loop_test(tc, rows_that_cannot_be_used_say_why, 0, sizeof bad / sizeof *bad);
	tcase_add_test(tc, a_row_that_stands_twice_counts_once);
	tcase_add_test(tc, overflowed_batches_do_not_measure_steps);
	tcase_add_loop_test(tc, filters_pick_rows, 0, sizeof filters / sizeof *filters);
	tcase_add_loop_test(tc, files_that_cannot_be_used_say_why, 0, sizeof refused / sizeof *refused);
	tcase_add_test(tc, a_missing_file_is_missing);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
