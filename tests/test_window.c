#include "config.h"

#include "sim/base/memory.h"
#include "sim/base/random.h"
#include "tests/support.h"
#include "workloads/window.h"

static bool put(struct kv_window *window, kv_time arrival, uint64_t index)
{
	return kv_window_put(window, &(struct kv_waiting_row){.arrival = arrival, .index = index});
}

/* Index of the next row, or -1 if none is ready. */
static int64_t take(struct kv_window *window)
{
	struct kv_waiting_row row;
	int64_t index;

	if (!kv_window_take(window, &row))
		return -1;
	index = (int64_t)row.index;
	free(row.extra);
	return index;
}

START_TEST(rows_come_out_by_time_and_equal_times_in_file_order)
{
	static const kv_time arrivals[] = {5, 3, 5, 3, 4, 9, 0};
	static const int64_t order[] = {6, 1, 3, 4, 0, 2, 5, -1};
	struct kv_window window;

	kv_window_init(&window, 100, 100, SIZE_MAX);
	for (uint64_t i = 0; i < 7; i++)
		ck_assert(put(&window, arrivals[i], i));
	ck_assert_int_eq(take(&window), -1);
	kv_window_drain(&window);
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(take(&window), order[i]);
	kv_window_fini(&window);
}
END_TEST

START_TEST(a_row_is_ready_once_a_later_one_is_beyond_the_window_in_time)
{
	struct kv_window window;

	kv_window_init(&window, 10, 100, SIZE_MAX);
	ck_assert(put(&window, 5, 0));
	ck_assert(put(&window, 15, 1));
	ck_assert_int_eq(take(&window), -1);
	ck_assert(put(&window, 16, 2));
	ck_assert_int_eq(take(&window), 0);
	ck_assert_int_eq(take(&window), -1);
	ck_assert(put(&window, 6, 3));
	ck_assert(!put(&window, 5, 4));
	kv_window_fini(&window);
}
END_TEST

START_TEST(a_row_is_ready_once_enough_rows_wait)
{
	struct kv_window window;

	kv_window_init(&window, KV_TIME_MAX, 2, SIZE_MAX);
	ck_assert(put(&window, 5, 0));
	ck_assert(put(&window, 6, 1));
	ck_assert(put(&window, 4, 2));
	ck_assert_int_eq(take(&window), 2);
	ck_assert_int_eq(take(&window), -1);
	ck_assert(!put(&window, 3, 3));
	ck_assert(put(&window, 4, 4));
	ck_assert_int_eq(take(&window), 4);
	kv_window_fini(&window);
}
END_TEST

START_TEST(a_row_is_ready_once_enough_bytes_wait)
{
	struct kv_window window;

	kv_window_init(&window, KV_TIME_MAX, 100, 1000);
	for (uint64_t i = 0; i < 3; i++) {
		struct kv_extra *extra = kv_calloc(1, sizeof *extra);

		extra->bytes = 400;
		ck_assert(kv_window_put(&window, &(struct kv_waiting_row){.arrival = 1, .index = i, .extra = extra}));
	}
	ck_assert_int_eq(take(&window), 0);
	ck_assert_int_eq(take(&window), -1);
	kv_window_fini(&window);
}
END_TEST

START_TEST(any_shuffle_within_the_window_is_sorted)
{
	enum { ROWS = 5000, REACH = 300 };
	gsl_rng *rng = kv_random_create(7, 0, "shuffle");
	struct kv_window window;
	uint64_t order[ROWS];

	kv_window_init(&window, KV_TIME_MAX, REACH, SIZE_MAX);
	for (uint64_t i = 0; i < ROWS; i++)
		order[i] = i;
	/* Blocks of REACH rows, each shuffled. */
	for (uint64_t i = 0; i < ROWS; i++) {
		uint64_t end = kv_min((i / REACH + 1) * REACH, ROWS);
		uint64_t other = i + gsl_rng_uniform_int(rng, end - i);
		uint64_t kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
	for (uint64_t i = 0; i < ROWS; i++)
		ck_assert(put(&window, (kv_time)(order[i] / 3), order[i]));
	kv_window_drain(&window);
	for (int64_t i = 0; i < ROWS; i++)
		ck_assert_int_eq(take(&window), i);
	kv_window_fini(&window);
	gsl_rng_free(rng);
}
END_TEST

START_TEST(rows_in_order_allocate_nothing_once_warm)
{
	struct kv_window window;
	unsigned long before = 0;

	kv_window_init(&window, KV_TIME_MAX, 1000, SIZE_MAX);
	for (uint64_t i = 0; i < 100000; i++) {
		if (i == 10000)
			before = kv_allocation_count();
		ck_assert(put(&window, (kv_time)i, i));
		take(&window);
	}
	ck_assert_uint_eq(kv_allocation_count(), before);
	kv_window_fini(&window);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("window");
	TCase *tc = tcase_create("order");

	tcase_add_test(tc, rows_come_out_by_time_and_equal_times_in_file_order);
	tcase_add_test(tc, a_row_is_ready_once_a_later_one_is_beyond_the_window_in_time);
	tcase_add_test(tc, a_row_is_ready_once_enough_rows_wait);
	tcase_add_test(tc, a_row_is_ready_once_enough_bytes_wait);
	tcase_add_test(tc, any_shuffle_within_the_window_is_sorted);
	tcase_add_test(tc, rows_in_order_allocate_nothing_once_warm);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
