#include "config.h"

#include "sim/base/random.h"
#include "tests/support.h"
#include "workloads/dependents.h"

static struct kv_dependents dependents;

static void set_up(void)
{
	kv_dependents_init(&dependents);
}

static void tear_down(void)
{
	kv_dependents_fini(&dependents);
}

static void add(uint64_t index, kv_time think, uint64_t after)
{
	kv_dependents_add(&dependents, &(struct kv_waiting_row){.index = index}, think, &after, 1);
}

/* Index of the first row that is due, with its time; UINT64_MAX if there is none. */
static uint64_t take_due(kv_time *time)
{
	struct kv_waiting_row row;

	if (kv_row_heap_count(&dependents.due) == 0)
		return UINT64_MAX;
	kv_row_heap_take(&dependents.due, &row);
	*time = row.arrival;
	return row.index;
}

START_TEST(several_rows_can_wait_for_one)
{
	kv_time time = 0;

	add(5, 10, 1);
	add(6, 5, 1);
	add(7, 1, 2);
	ck_assert_uint_eq(kv_dependents_end(&dependents, 1, 100, false), 0);
	ck_assert_uint_eq(dependents.count, 1);
	ck_assert_uint_eq(take_due(&time), 6);
	ck_assert_int_eq(time, 105);
	ck_assert_uint_eq(take_due(&time), 5);
	ck_assert_int_eq(time, 110);
	ck_assert_uint_eq(take_due(&time), UINT64_MAX);
}
END_TEST

START_TEST(all_that_depends_on_a_refused_request_is_dropped)
{
	static const uint64_t both[] = {1, 9};
	kv_time time;

	add(2, 0, 1);
	add(3, 0, 2);
	kv_dependents_add(&dependents, &(struct kv_waiting_row){.index = 4}, 0, both, 2);
	add(5, 0, 4);
	ck_assert_uint_eq(kv_dependents_end(&dependents, 1, 100, true), 4);
	ck_assert_uint_eq(kv_dependents_end(&dependents, 9, 200, false), 0);
	ck_assert_uint_eq(dependents.count, 0);
	ck_assert_uint_eq(take_due(&time), UINT64_MAX);
}
END_TEST

START_TEST(chains_of_any_length_are_dropped_without_recursion)
{
	enum { LENGTH = 300000 };

	for (uint64_t i = 1; i < LENGTH; i++)
		add(i, 0, i - 1);
	ck_assert_uint_eq(kv_dependents_end(&dependents, 0, 1, true), LENGTH - 1);
	ck_assert_uint_eq(dependents.count, 0);
}
END_TEST

/* Against a plain list: rows with random predecessors, ended in random order. */
START_TEST(every_row_becomes_due_when_the_last_of_its_predecessors_has_ended)
{
	enum { ROWS = 3000, EACH = 3 };
	static uint64_t after[ROWS][EACH];
	static kv_time ended[ROWS];
	gsl_rng *rng = kv_random_create(3, 0, "dependents");
	uint64_t released = 0, due;
	kv_time time = 0;

	for (uint64_t i = 0; i < ROWS; i++) {
		for (int k = 0; k < EACH; k++)
			after[i][k] = gsl_rng_uniform_int(rng, ROWS);
		kv_dependents_add(&dependents, &(struct kv_waiting_row){.index = ROWS + i}, (kv_time)i, after[i], EACH);
	}
	for (kv_time now = 1; released < ROWS; now++) {
		uint64_t index = (uint64_t)now % ROWS;

		if (ended[index] == 0) {
			ended[index] = now;
			kv_dependents_end(&dependents, index, now, false);
		}
		while ((due = take_due(&time)) != UINT64_MAX) {
			kv_time last = 0;

			for (int k = 0; k < EACH; k++) {
				ck_assert_int_gt(ended[after[due - ROWS][k]], 0);
				last = ended[after[due - ROWS][k]] > last ? ended[after[due - ROWS][k]] : last;
			}
			ck_assert_int_eq(time, last + (kv_time)(due - ROWS));
			released++;
		}
	}
	ck_assert_uint_eq(dependents.count, 0);
	ck_assert_uint_eq(dependents.link_count, 0);
	gsl_rng_free(rng);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dependents");
	TCase *tc = tcase_create("ends");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, several_rows_can_wait_for_one);
	tcase_add_test(tc, all_that_depends_on_a_refused_request_is_dropped);
	tcase_add_test(tc, chains_of_any_length_are_dropped_without_recursion);
	tcase_add_test(tc, every_row_becomes_due_when_the_last_of_its_predecessors_has_ended);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
