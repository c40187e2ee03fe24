#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "results/chrome_trace.h"
#include "tests/support.h"

#define MS KV_MILLISECOND

static char path[] = "/tmp/kvsim-test-XXXXXX";
static struct kv_chrome_trace trace;
static struct kv_output *out;
static struct kv_error err;
static json_t *written;

static void set_up(void)
{
	strcpy(strrchr(path, '-'), "-XXXXXX");
	close(mkstemp(path));
	out = kv_output_create(path, &err);
	ck_assert_ptr_nonnull(out);
	kv_chrome_trace_start(&trace, out);
}

static void tear_down(void)
{
	json_decref(written);
	written = NULL;
	unlink(path);
}

static void finish_writing(void)
{
	kv_chrome_trace_finish(&trace);
	ck_assert_int_eq(kv_output_close(out, &err), 0);
	ck_assert_int_eq(kv_output_commit(out, &err), 0);
	kv_output_free(out);
}

static void finish(void)
{
	finish_writing();
	written = json_load_file(path, 0, NULL);
	ck_assert_ptr_nonnull(written);
}

static const json_t *row(size_t i)
{
	return json_array_get(json_object_get(written, "traceEvents"), i);
}

static const char *text(size_t i, const char *key)
{
	return json_string_value(json_object_get(row(i), key));
}

static double number(size_t i, const char *key)
{
	return json_number_value(json_object_get(row(i), key));
}

/* Rows 0 and 1 name the two processes. */
START_TEST(a_step_is_a_row_with_its_length_and_a_count_of_blocks)
{
	const struct kv_step step = {
		.number = 7, .start = 1500000, .end = 4000000, .scheduled_tokens = 9, .prefill_tokens = 8,
		.pinned_blocks = 3
	};

	kv_chrome_trace_step(&trace, &step);
	finish();
	ck_assert_str_eq(text(2, "name"), "step with prefill");
	ck_assert_double_eq(number(2, "ts"), 1500);
	ck_assert_double_eq(number(2, "dur"), 2500);
	ck_assert_str_eq(text(3, "ph"), "C");
	ck_assert_double_eq(json_number_value(json_object_get(json_object_get(row(3), "args"), "pinned")), 3);
}
END_TEST

START_TEST(a_request_is_a_track_of_its_parts)
{
	const struct kv_request_record record = {
		.index = 4, .id = "chat-4", .tenant = "", .arrival = 0, .sent = 0, .queued = 2 * MS, .frontend = 2 * MS,
		.admitted = 5 * MS, .first_token = 9 * MS, .finish = 20 * MS
	};
	static const char *const names[] = {
		"chat-4", "front end", "front end", "queue", "queue", "prefill", "prefill", "decode", "decode", "chat-4"
	};

	kv_chrome_trace_request(&trace, &record);
	finish();
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		ck_assert_str_eq(text(2 + i, "name"), names[i]);
		ck_assert_str_eq(text(2 + i, "id"), "r4");
	}
	ck_assert_str_eq(text(5, "ph"), "b");
	ck_assert_double_eq(number(5, "ts"), 2000);
	ck_assert_double_eq(number(11, "ts"), 20000);
}
END_TEST

START_TEST(rows_beyond_the_cap_are_counted)
{
	const struct kv_step step = {.end = 1};
	char end[64] = "";
	FILE *in;

	for (uint64_t i = 0; i < KV_CHROME_ROWS; i++)
		kv_chrome_trace_step(&trace, &step);
	ck_assert_uint_eq(trace.rows, KV_CHROME_ROWS);
	finish_writing();
	in = fopen(path, "r");
	fseek(in, -(long)(sizeof end - 1), SEEK_END);
	ck_assert_uint_eq(fread(end, 1, sizeof end - 1, in), sizeof end - 1);
	fclose(in);
	ck_assert_ptr_nonnull(strstr(end, "\"rows_left_out\": 300002\n"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("chrome_trace");
	TCase *tc = tcase_create("rows");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_step_is_a_row_with_its_length_and_a_count_of_blocks);
	tcase_add_test(tc, a_request_is_a_track_of_its_parts);
	tcase_add_test(tc, rows_beyond_the_cap_are_counted);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
