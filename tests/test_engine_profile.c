#include "config.h"

#include <string.h>

#include "sim/deploy/engine_profile.h"
#include "sim/profiles/profiles.h"
#include "tests/support.h"

#define GIB (UINT64_C(1) << 30)

static const char *value(const struct kv_node *mapping, const char *key)
{
	const struct kv_node *node = kv_node_get(mapping, key);

	return node ? node->text : "";
}

/* Which change falls before which release: the dated list of vLLM's changes. */
static const struct {
	const char *name, *fraction, *gate, *retention;
	bool blank_first, override_checked;
} releases[] = {
	{ "vllm-2026-08", "0.92", "true", "0", true, true },
	{ "vllm-0.19", "0.90", "true", "none", false, false },
	{ "vllm-0.11", "0.90", "false", "none", false, false },
};

START_TEST(releases_have_the_switches_of_their_date)
{
	struct kv_error err;
	struct kv_engine_profile *p = kv_engine_profile_load(releases[_i].name, &err);

	ck_assert_msg(p != NULL, "%s", err.text);
	ck_assert_str_eq(value(p->engine, "gpu_memory_utilization"), releases[_i].fraction);
	ck_assert_str_eq(value(p->engine, "scheduler_reserve_full_isl"), releases[_i].gate);
	ck_assert_str_eq(value(p->engine, "prefix_cache_retention_interval"), releases[_i].retention);
	ck_assert_str_eq(value(p->engine, "block_size"), "16");
	ck_assert_int_eq(p->blank_blocks_first, releases[_i].blank_first);
	ck_assert_int_eq(p->override_is_checked, releases[_i].override_checked);
	ck_assert(p->null_block);
	ck_assert_double_eq_tol(p->overheads.c0, 1e-3, 1e-15);
	ck_assert_double_eq_tol(p->overheads.cl, 20e-6, 1e-15);
	ck_assert_double_eq_tol(p->overheads.cl_fp8, 40e-6, 1e-15);
	ck_assert_double_eq_tol(p->overheads.c1, 8e-6, 1e-15);
	ck_assert_double_eq_tol(p->overheads.cs, 6e-6, 1e-15);
	kv_engine_profile_free(p);
}
END_TEST

static const struct {
	const char *device;
	uint64_t memory;
	const char *sequences, *tokens;
	bool unsure;
} devices[] = {
	{ "rtx-4090", 24 * GIB, "256", "2048", false },
	{ "a100-80gb", 80 * GIB, "256", "2048", false },
	{ "h100-sxm", 79 * GIB, "1024", "8192", false },
	{ "h200", 140 * GIB, "1024", "8192", false },
	{ "b200", 179 * GIB, "1024", "16384", false },
	{ "b300", 0, "256", "2048", true },
};

START_TEST(server_defaults_follow_the_device)
{
	struct kv_error err;
	struct kv_engine_profile *p = kv_engine_profile_load("vllm-2026-08", &err);
	bool unsure;
	const struct kv_node *row = kv_engine_profile_device(p, devices[_i].device, devices[_i].memory, &unsure);

	ck_assert_str_eq(value(row, "max_num_seqs"), devices[_i].sequences);
	ck_assert_str_eq(value(row, "max_num_batched_tokens"), devices[_i].tokens);
	ck_assert_int_eq(unsure, devices[_i].unsure);
	kv_engine_profile_free(p);
}
END_TEST

START_TEST(every_shipped_profile_loads)
{
	struct kv_error err;

	for (const struct kv_profile *p = kv_profile_next("engines", NULL); p != NULL;
	     p = kv_profile_next("engines", p)) {
		struct kv_engine_profile *profile = kv_engine_profile_load(p->name, &err);

		ck_assert_msg(profile != NULL, "%s", err.text);
		ck_assert_str_eq(profile->name, p->name);
		kv_engine_profile_free(profile);
	}
}
END_TEST

START_TEST(unknown_profiles_name_the_nearest)
{
	struct kv_error err;

	ck_assert_ptr_null(kv_engine_profile_load("vllm-2026-07", &err));
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
	ck_assert_str_eq(err.text, "unknown engine profile 'vllm-2026-07': did you mean 'vllm-2026-08'?");
	ck_assert_ptr_null(kv_engine_profile_load("./mine.yaml", &err));
	ck_assert_int_eq(err.status, KV_EXIT_MISSING);
}
END_TEST

static const struct {
	const char *text, *error;
} faults[] = {
	{ "summary: x\n", "p:1: source is missing" },
	{ "summry: x\n", "p:1: unknown key 'summry': did you mean 'summary'?" },
	{ "summary: x\nsource: y\nengine: {}\npolicies: {}\nswitches: {null_block: maybe}\n",
	  "p:5: null_block: 'maybe' is neither true nor false" },
	{ "summary: x\nsource: y\nengine: {}\npolicies: []\n",
	  "p:4: policies: a mapping of keys to values is expected here, "
	  "not a list" },
};

START_TEST(faulty_profiles_are_refused)
{
	struct kv_error err;

	ck_assert_ptr_null(kv_engine_profile_parse(faults[_i].text, "p", &err));
	ck_assert_int_eq(err.status, KV_EXIT_DATA);
	ck_assert_str_eq(err.text, faults[_i].error);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine_profile");
	TCase *tc = tcase_create("all");

	tcase_add_loop_test(tc, releases_have_the_switches_of_their_date, 0, 3);
	tcase_add_loop_test(tc, server_defaults_follow_the_device, 0, sizeof devices / sizeof devices[0]);
	tcase_add_test(tc, every_shipped_profile_loads);
	tcase_add_test(tc, unknown_profiles_name_the_nearest);
	tcase_add_loop_test(tc, faulty_profiles_are_refused, 0, sizeof faults / sizeof faults[0]);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
