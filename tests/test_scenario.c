#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/deploy/scenario.h"
#include "tests/support.h"

static struct kv_scenario scenario;
static struct kv_error err;

static void setup(void)
{
	kv_scenario_init(&scenario);
}

static void teardown(void)
{
	kv_scenario_fini(&scenario);
}

/* Reads text as the scenario file "s.yaml". */
static int read_text(const char *text)
{
	char folder[] = "test_scenario.XXXXXX";
	FILE *out;
	int failed;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	out = fopen("s.yaml", "w");
	fputs(text, out);
	fclose(out);
	failed = kv_scenario_read(&scenario, "s.yaml", &err);
	remove("s.yaml");
	ck_assert_int_eq(chdir(".."), 0);
	rmdir(folder);
	return failed;
}

static int set(const char *path, const char *text, enum kv_origin origin)
{
	return kv_scenario_set(&scenario, path, text, origin, "test", &err);
}

static int resolve(const char *name, const char *device, uint64_t memory)
{
	struct kv_engine_profile *profile = kv_engine_profile_load(name, &err);
	int failed;

	ck_assert_msg(profile != NULL, "%s", err.text);
	failed = kv_scenario_resolve(&scenario, profile, device, memory, &err);
	kv_engine_profile_free(profile);
	return failed;
}

static const char *source(const char *path)
{
	return kv_scenario_setting(&scenario, path)->source;
}

#define GIB (UINT64_C(1) << 30)

START_TEST(a_scenario_file_is_read)
{
	ck_assert_msg(!read_text("model: llama-3.1-70b\n"
	                         "hardware: h100-sxm\n"
	                         "engine: {profile: vllm-0.19, tensor_parallel_size: 4, max_model_len: 128K}\n"
	                         "policies:\n"
	                         "  eviction: {name: lfu}\n"
	                         "  admission: greedy\n"
	                         "workload: {trace: long-documents.csv, default_max_tokens: output}\n"
	                         "output: {dir: out/base, write: [summary, requests]}\n"
	                         "latency: {backend: \"fixed:10ms\"}\n"
	                         "seed: 18446744073709551615\n"
	                         "duration: 1h\n"), "%s", err.text);
	ck_assert_str_eq(scenario.model, "llama-3.1-70b");
	ck_assert_str_eq(scenario.engine.profile, "vllm-0.19");
	ck_assert_uint_eq(scenario.engine.tensor_parallel_size, 4);
	ck_assert_uint_eq(scenario.engine.max_model_len, 131072);
	ck_assert_str_eq(scenario.policy[KV_POLICY_EVICTION], "lfu");
	ck_assert_str_eq(scenario.policy[KV_POLICY_ADMISSION], "greedy");
	ck_assert(scenario.workload.default_max_tokens.output);
	ck_assert_str_eq(scenario.output.write, "summary,requests");
	ck_assert_int_eq(scenario.latency.backend, KV_LATENCY_FIXED);
	ck_assert_int_eq(scenario.latency.duration, 10 * KV_MILLISECOND);
	ck_assert_uint_eq(scenario.seed, UINT64_MAX);
	ck_assert_int_eq(scenario.duration, 3600 * KV_SECOND);
	ck_assert_str_eq(source("engine.max_model_len"), "s.yaml:3");
	ck_assert_str_eq(source("warmup"), "default");
}
END_TEST

/* "d/s.yaml" names t.csv and there.json, which lie beside it, and away.csv, which does not. */
START_TEST(files_are_looked_for_beside_the_scenario)
{
	char folder[] = "test_scenario.XXXXXX";
	FILE *out;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	mkdir("d", 0700);
	fclose(fopen("d/t.csv", "w"));
	fclose(fopen("d/there.json", "w"));
	fclose(fopen("d/h200", "w"));
	out = fopen("d/s.yaml", "w");
	fputs("workload: {trace: t.csv}\nmodel: there.json\nhardware: h200\n", out);
	fclose(out);
	ck_assert_int_eq(kv_scenario_read(&scenario, "d/s.yaml", &err), 0);
	ck_assert_str_eq(scenario.workload.trace, "d/t.csv");
	ck_assert_str_eq(scenario.model, "d/there.json");
	ck_assert_str_eq(scenario.hardware, "h200");
	out = fopen("d/s.yaml", "w");
	fputs("workload: {trace: away.csv}\n", out);
	fclose(out);
	ck_assert_int_eq(kv_scenario_read(&scenario, "d/s.yaml", &err), 0);
	ck_assert_str_eq(scenario.workload.trace, "away.csv");
	remove("d/t.csv");
	remove("d/there.json");
	remove("d/h200");
	remove("d/s.yaml");
	rmdir("d");
	ck_assert_int_eq(chdir(".."), 0);
	rmdir(folder);
}
END_TEST

static const struct {
	const char *text, *error;
} faults[] = {
	{ "engine: {blok_size: 16}\n", "s.yaml:1: unknown key 'engine.blok_size': did you mean 'engine.block_size'?" },
	{ "seed: 1\nblock_size: 16\n", "s.yaml:2: unknown key 'block_size': did you mean 'engine.block_size'?" },
	{ "engine:\n  block_size: 16.5\n", "s.yaml:2: engine.block_size: '16.5' is not a whole number" },
	{ "engine: {gpu_memory_utilization: 1.2}\n",
	  "s.yaml:1: engine.gpu_memory_utilization: 1.2 is out of range: 0.01 to 1 is allowed" },
	{ "engine: {gpu_memory_utilization: nan}\n",
	  "s.yaml:1: engine.gpu_memory_utilization: 'nan' is not a fraction: write 0.92 or 92%" },
	{ "engine: vllm-0.19\n", "s.yaml:1: engine: a mapping of keys to values is expected here, not a single value" },
	{ "model: [a, b]\n", "s.yaml:1: model: a single value is expected here, not a list" },
	{ "model:\n", "s.yaml:1: model: a value is missing: write one or leave the key out" },
	{ "model: ''\n", "s.yaml:1: model: an empty value is not allowed" },
	{ "seed: 1\nseed: 2\n", "s.yaml:2: key 'seed' stands here twice (first in line 1)" },
	{ "seed: -1\n", "s.yaml:1: seed: -1 is out of range: at least 0 is allowed" },
	{ "duration: 3\n",
	  "s.yaml:1: duration: '3' is not a duration: write a number with a unit, such as 250ms, 1.5s, 10min "
	  "or 1h" },
	{ "policies: {eviction: {name: lru, params: {depth: 3}}}\n",
	  "s.yaml:1: policies.eviction: lru takes no parameters, found 'depth'" },
	{ "policies: {eviction: {nam: lru}}\n", "s.yaml:1: unknown key 'nam': did you mean 'name'?" },
	{ "policies: {eviction: {params: {a: 1}}}\n", "s.yaml:1: eviction: name is missing" },
	{ "policies: {eviction: lur}\n",
	  "s.yaml:1: policies.eviction: unknown eviction policy 'lur': did you mean 'lru'?" },
	{ "policies: {evictoin: lru}\n",
	  "s.yaml:1: unknown key 'policies.evictoin': did you mean 'policies.eviction'?" },
	{ "latency: {backend: fixed}\n", "s.yaml:1: latency.backend: unknown backend 'fixed': valid are roofline, "
	                                 "linear, table, fixed:DURATION" },
	{ "latency: {backend: 'fixed:0s'}\n",
	  "s.yaml:1: latency.backend: 0s is out of range: 1ns to 3600s is allowed" },
	{ "engine: {cache_scope: world}\n",
	  "s.yaml:1: engine.cache_scope: unknown value 'world': valid are global, tenant, "
	  "request" },
	{ "engine: {prefix_cache_retention_interval: 64}\n",
	  "s.yaml:1: engine.prefix_cache_retention_interval: '64' is not "
	  "allowed: none keeps every block, 0 the ends of prompts and junctions" },
	{ "start_time: 2026-02-30\n", "s.yaml:1: start_time: '2026-02-30' is not a day and time that exist" },
	{ "check: 1\n", "s.yaml:1: check: '1' is neither true nor false" },
};

START_TEST(faults_name_file_line_key_and_what_is_allowed)
{
	ck_assert_int_eq(read_text(faults[_i].text), -1);
	ck_assert_str_eq(err.text, faults[_i].error);
}
END_TEST

START_TEST(stronger_origins_win_in_any_order)
{
	set("engine.block_size", "64", KV_BY_FLAG);
	set("engine.block_size", "32", KV_BY_FILE);
	ck_assert_uint_eq(scenario.engine.block_size, 64);
	ck_assert_int_eq(kv_scenario_set_pair(&scenario, "engine.block_size=128", &err), 0);
	set("engine.block_size", "256", KV_BY_FLAG);
	ck_assert_uint_eq(scenario.engine.block_size, 128);
	ck_assert_str_eq(source("engine.block_size"), "--set");
	ck_assert_int_eq(resolve("vllm-2026-08", "", 0), 0);
	ck_assert_uint_eq(scenario.engine.block_size, 128);
}
END_TEST

START_TEST(weaker_values_are_checked_too)
{
	set("engine.block_size", "64", KV_BY_FLAG);
	ck_assert_int_eq(set("engine.block_size", "x", KV_BY_FILE), -1);
}
END_TEST

START_TEST(pairs_need_a_key_and_a_value)
{
	ck_assert_int_eq(kv_scenario_set_pair(&scenario, "seed", &err), -1);
	ck_assert_str_eq(err.text, "--set: write path.to.key=value, found 'seed'");
	ck_assert_int_eq(kv_scenario_set_pair(&scenario, "sede=1", &err), -1);
	ck_assert_str_eq(err.text, "--set sede: unknown key 'sede': did you mean 'seed'?");
	ck_assert_int_eq(kv_scenario_set_pair(&scenario, "seed=x", &err), -1);
	ck_assert_str_eq(err.text, "--set seed: 'x' is not a whole number");
}
END_TEST

START_TEST(the_profile_fills_in_what_nobody_said)
{
	ck_assert_msg(!resolve("vllm-2026-08", "h100-sxm", 79 * GIB), "%s", err.text);
	ck_assert_uint_eq(scenario.engine.block_size, 16);
	ck_assert_double_eq(scenario.engine.gpu_memory_utilization, 0.92);
	ck_assert_uint_eq(scenario.engine.max_num_seqs, 1024);
	ck_assert_uint_eq(scenario.engine.max_num_batched_tokens, 8192);
	ck_assert_uint_eq(scenario.engine.prefix_cache_retention_interval, 0);
	ck_assert_str_eq(scenario.policy[KV_POLICY_ADMISSION], "prompt-fits");
	ck_assert_str_eq(source("engine.max_num_seqs"), "profile vllm-2026-08 for h100-sxm");
	ck_assert_str_eq(source("engine.watermark"), "profile vllm-2026-08");
}
END_TEST

START_TEST(the_profile_does_not_touch_what_was_said)
{
	set("engine.max_num_seqs", "7", KV_BY_FILE);
	set("engine.enable_chunked_prefill", "false", KV_BY_FLAG);
	ck_assert_int_eq(resolve("vllm-0.11", "a100-80gb", 80 * GIB), 0);
	ck_assert_uint_eq(scenario.engine.max_num_seqs, 7);
	ck_assert_uint_eq(scenario.engine.max_num_batched_tokens, 2048);
	ck_assert(!scenario.engine.enable_chunked_prefill);
	ck_assert_uint_eq(scenario.engine.prefix_cache_retention_interval, KV_RETAIN_ALL);
	ck_assert_str_eq(scenario.policy[KV_POLICY_ADMISSION], "greedy");
}
END_TEST

START_TEST(unknown_memory_asks_for_the_flag)
{
	ck_assert_int_eq(resolve("vllm-2026-08", "b300", 0), -1);
	ck_assert_str_eq(err.text, "the memory of b300 is not known, by which defaults go: give --max-num-seqs, "
	                 "--max-num-batched-tokens, and --kv-cache-memory-bytes or --num-gpu-blocks-override; or --hardware FILE "
	                 "that states its memory (kvsim-size(1), HARDWARE FILES)");
	set("engine.max_num_seqs", "256", KV_BY_FLAG);
	set("engine.max_num_batched_tokens", "8192", KV_BY_FLAG);
	ck_assert_int_eq(resolve("vllm-2026-08", "b300", 0), 0);
}
END_TEST

/* What is given, and what allocation, admission, preemption and prefix come to. */
static const struct {
	const char *given[2][2];
	const char *admission, *preemption, *prefix;
} implied[] = {
	{ { { "engine.scheduler_reserve_full_isl", "no" } }, "greedy", "latest", "block-hash" },
	{ { { "engine.enable_prefix_caching", "false" } }, "prompt-fits", "latest", "none" },
	{ { { "policies.prefix", "none" } }, "prompt-fits", "latest", "none" },
	{ { { "policies.admission", "no-evict" } }, "no-evict", "latest", "block-hash" },
	{ { { "policies.scheduling", "priority" } }, "prompt-fits", "priority", "block-hash" },
	{ { { "policies.scheduling", "priority" }, { "policies.preemption", "latest" } },
	  "prompt-fits", "latest", "block-hash" },
	{ { { "engine.enable_prefix_caching", "off" }, { "policies.prefix", "none" } },
	  "prompt-fits", "latest", "none" },
};

START_TEST(one_setting_implies_another)
{
	for (int i = 0; i < 2 && implied[_i].given[i][0] != NULL; i++)
		ck_assert_int_eq(set(implied[_i].given[i][0], implied[_i].given[i][1], KV_BY_FLAG), 0);
	ck_assert_msg(!resolve("vllm-2026-08", "", 0), "%s", err.text);
	ck_assert_str_eq(scenario.policy[KV_POLICY_ADMISSION], implied[_i].admission);
	ck_assert_str_eq(scenario.policy[KV_POLICY_PREEMPTION], implied[_i].preemption);
	ck_assert_str_eq(scenario.policy[KV_POLICY_PREFIX], implied[_i].prefix);
}
END_TEST

START_TEST(what_another_setting_decides_is_not_listed)
{
	set("policies.admission", "greedy", KV_BY_FLAG);
	ck_assert_int_eq(resolve("vllm-2026-08", "", 0), 0);
	ck_assert(!kv_scenario_is_set(&scenario, "engine.scheduler_reserve_full_isl"));
	ck_assert_str_eq(source("engine.scheduler_reserve_full_isl"), "replaced by policies.admission");
}
END_TEST

START_TEST(contradictions_are_errors)
{
	set("engine.scheduler_reserve_full_isl", "true", KV_BY_FILE);
	set("policies.admission", "greedy", KV_BY_FLAG);
	ck_assert_int_eq(resolve("vllm-2026-08", "", 0), -1);
	ck_assert_str_eq(err.text,
	                 "test: engine.scheduler_reserve_full_isl=true asks for policies.admission=prompt-fits, but "
	                 "policies.admission=greedy is given (test): leave one of them out");
}
END_TEST

START_TEST(every_key_has_help_and_every_flag_is_unique)
{
	size_t count;
	const struct kv_key *keys = kv_scenario_keys(&count);

	for (size_t i = 0; i < count; i++) {
		ck_assert_ptr_nonnull(keys[i].help);
		ck_assert(keys[i].argument != NULL || keys[i].type == KV_KEY_BOOL);
		for (size_t j = 0; j < i; j++) {
			ck_assert_str_ne(keys[i].path, keys[j].path);
			ck_assert(keys[i].flag == NULL || keys[j].flag == NULL ||
			          strcmp(keys[i].flag, keys[j].flag) != 0);
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scenario");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_scenario_file_is_read);
	tcase_add_test(tc, files_are_looked_for_beside_the_scenario);
	tcase_add_loop_test(tc, faults_name_file_line_key_and_what_is_allowed, 0, sizeof faults / sizeof faults[0]);
	tcase_add_test(tc, stronger_origins_win_in_any_order);
	tcase_add_test(tc, weaker_values_are_checked_too);
	tcase_add_test(tc, pairs_need_a_key_and_a_value);
	tcase_add_test(tc, the_profile_fills_in_what_nobody_said);
	tcase_add_test(tc, the_profile_does_not_touch_what_was_said);
	tcase_add_test(tc, unknown_memory_asks_for_the_flag);
	tcase_add_loop_test(tc, one_setting_implies_another, 0, sizeof implied / sizeof implied[0]);
	tcase_add_test(tc, what_another_setting_decides_is_not_listed);
	tcase_add_test(tc, contradictions_are_errors);
	tcase_add_test(tc, every_key_has_help_and_every_flag_is_unique);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
