/* With a pool that holds everything, what would go first decides nothing: all eviction policies give the same run. */
#include "config.h"

#include <string.h>

#include "tests/random_workload.h"
#include "tests/run_log.h"
#include "tests/support.h"

enum { SEEDS = 40 };

/* ttl lets content go by the clock. */
static bool matters_without_need(const struct kv_policy *policy)
{
	return policy->hooks.eviction.refuses || strcmp(policy->name, "ttl") == 0;
}

static void make_room(struct test_workload *workload, const char *prefix)
{
	struct kv_engine_config *config = &workload->config;

	test_workload_set_policy(workload, KV_POLICY_ALLOCATION, "paged");
	test_workload_set_policy(workload, KV_POLICY_PREFIX, prefix);
	config->usable_blocks = 1u << 20;
	config->groups = 1;
	config->group[0] = (struct kv_group){.kind = KV_GROUP_FULL, .layers = 1, .block_size = config->block_size};
	test_workload_set_caps(workload);
}

static void run_under(struct test_workload *workload, const char *eviction, struct run_log *log)
{
	test_workload_set_policy(workload, KV_POLICY_EVICTION, eviction);
	run_log_make(log, workload, kv_simulate, true);
	ck_assert_uint_eq(log->outcome.final.evicted_blocks, 0);
}

static void compare_policies(struct test_workload *workload, bool by_leaves)
{
	struct run_log lru;

	run_under(workload, "lru", &lru);
	for (const struct kv_policy *const *p = kv_policy_registry; *p != NULL; p++) {
		struct run_log log;
		char text[2048];

		if ((*p)->kind != KV_POLICY_EVICTION || matters_without_need(*p) ||
		    (by_leaves && (*p)->hooks.eviction.leaf == NULL))
			continue;
		run_under(workload, (*p)->name, &log);
		ck_assert_msg(run_log_equal(&lru, &log, true, text, sizeof text), "lru, then %s: %s", (*p)->name, text);
		run_log_fini(&log);
	}
	run_log_fini(&lru);
}

START_TEST(all_eviction_policies_give_the_same_run)
{
	static const char *const prefixes[] = {"none", "block-hash", "radix"};

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct test_workload workload;

		test_workload_random(&workload, seed);
		make_room(&workload, prefixes[_i]);
		compare_policies(&workload, strcmp(prefixes[_i], "radix") == 0);
		test_workload_fini(&workload);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("unbounded");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, all_eviction_policies_give_the_same_run, 0, 3);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
