#include "config.h"

#include "sim/cli/progress.h"
#include "tests/support.h"

static char line[200];

START_TEST(the_line_tells_time_requests_rate_and_occupancy)
{
	const struct kv_state state = {
		.arrivals = 130, .finishes = 90, .refusals = 8, .drops = 2, .pinned_blocks = 30, .cached_blocks = 60,
		.free_blocks = 10
	};

	kv_progress_line(line, sizeof line, &state, 1500 * KV_MILLISECOND, 2 * KV_SECOND, 0);
	ck_assert_str_eq(line, "kvsim: 1.5 s simulated, 100 requests done, 50 a second, 30 % of the pool pinned");
}
END_TEST

/* 130 arrived in a quarter of the trace: 520 are expected, 420 to go at 50 a second. */
START_TEST(the_time_left_follows_from_how_much_has_been_read)
{
	const struct kv_state state = {.arrivals = 130, .finishes = 100, .free_blocks = 10};

	kv_progress_line(line, sizeof line, &state, 0, 2 * KV_SECOND, 0.25);
	ck_assert_str_eq(line, "kvsim: 0.0 s simulated, 100 requests done, 50 a second, 0 % of the pool pinned, about "
	                       "8 s left");
}
END_TEST

START_TEST(nothing_done_yet_gives_no_time_left)
{
	const struct kv_state state = {.arrivals = 5};

	kv_progress_line(line, sizeof line, &state, 0, 0, 0.5);
	ck_assert_str_eq(line, "kvsim: 0.0 s simulated, 0 requests done, 0 a second, 0 % of the pool pinned");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("progress");
	TCase *tc = tcase_create("line");

	tcase_add_test(tc, the_line_tells_time_requests_rate_and_occupancy);
	tcase_add_test(tc, the_time_left_follows_from_how_much_has_been_read);
	tcase_add_test(tc, nothing_done_yet_gives_no_time_left);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
