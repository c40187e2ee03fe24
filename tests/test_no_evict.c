/* Admission no-evict reserves the whole length, so that nobody is ever preempted, whatever the load and all else. */
#include "config.h"

#include "tests/random_workload.h"
#include "tests/run_log.h"
#include "tests/support.h"

enum { SEEDS = 1000 };

START_TEST(no_evict_never_preempts)
{
	uint64_t finished = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct test_workload workload;
		struct run_log log;

		test_workload_random(&workload, seed);
		test_workload_set_policy(&workload, KV_POLICY_ADMISSION, "no-evict");
		run_log_make(&log, &workload, kv_simulate, false);
		ck_assert_msg(log.outcome.final.preemptions == 0, "seed %lu: %lu preemptions", (unsigned long)seed,
		              (unsigned long)log.outcome.final.preemptions);
		finished += log.outcome.final.finishes;
		run_log_fini(&log);
		test_workload_fini(&workload);
	}
	ck_assert_uint_gt(finished, 5 * SEEDS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("no_evict");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, no_evict_never_preempts);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
