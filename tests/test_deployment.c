/* From scenarios to engine configurations. Figures are published logs and worked examples of vLLM's rules. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "sim/deploy/deployment.h"
#include "tests/support.h"

static struct kv_scenario scenario;
static struct kv_deployment deployment;
static struct kv_error err;

static void setup(void)
{
	kv_scenario_init(&scenario);
}

static void teardown(void)
{
	kv_deployment_fini(&deployment);
	kv_scenario_fini(&scenario);
}

/* settings: "key=value" separated by blanks. */
static int build(const char *settings)
{
	char copy[512], *rest = copy, *pair;

	strcpy(copy, settings);
	while ((pair = strsep(&rest, " ")) != NULL)
		ck_assert_msg(!kv_scenario_set_pair(&scenario, pair, &err), "%s", err.text);
	return kv_deployment_init(&deployment, &scenario, &err);
}

/* Llama-3.1-8B on an RTX 4090 logged 2,588 blocks of 5,427,429,376 B under vLLM 0.19. */
START_TEST(a_logged_pool_is_reproduced)
{
	ck_assert_msg(!build("model=llama-3.1-8b hardware=rtx-4090 engine.profile=vllm-0.19 engine.max_model_len=8192 "
	                     "engine.kv_cache_memory_bytes=5427429376"), "%s", err.text);
	ck_assert_uint_eq(deployment.budget.num_blocks, 2588);
	ck_assert_uint_eq(deployment.config.usable_blocks, 2587);
	ck_assert_uint_eq(deployment.config.block_size, 16);
	ck_assert_uint_eq(deployment.config.max_num_seqs, 256);
	ck_assert_uint_eq(deployment.config.max_num_batched_tokens, 2048);
	ck_assert(!deployment.config.blank_blocks_first);
	ck_assert(deployment.config.retention_interval == KV_RETAIN_ALL);
	ck_assert_uint_eq(deployment.config.admission_cap[0], UINT64_MAX);
	ck_assert(!deployment.oracle);
}
END_TEST

START_TEST(an_override_counts_the_null_block_and_the_watermark_the_whole)
{
	ck_assert_msg(!build("model=llama-3.1-8b latency.backend=fixed:10ms engine.num_gpu_blocks_override=11 "
	                     "engine.max_model_len=160 engine.watermark=0.2"), "%s", err.text);
	ck_assert_uint_eq(deployment.config.usable_blocks, 10);
	ck_assert_uint_eq(deployment.config.watermark_blocks, 2);
	ck_assert(deployment.config.blank_blocks_first);
	ck_assert_uint_eq(deployment.config.retention_interval, 0);
}
END_TEST

/* ceil(min(1024 - 1 + 8192, 131072) / 16) + 1 */
START_TEST(windowed_groups_are_capped_by_window_and_tokens_in_flight)
{
	ck_assert_msg(!build("model=gemma-3-27b hardware=h100-sxm engine.tensor_parallel_size=2"), "%s", err.text);
	ck_assert_uint_eq(deployment.config.groups, 7);
	ck_assert_uint_eq(deployment.config.admission_cap[0], UINT64_MAX);
	ck_assert_uint_eq(deployment.config.group[1].window, 1024);
	ck_assert_uint_eq(deployment.config.admission_cap[1], 577);
}
END_TEST

START_TEST(without_chunked_prefill_a_step_takes_any_prompt)
{
	ck_assert_msg(!build("model=llama-3.1-8b hardware=h100-sxm engine.enable_chunked_prefill=false"), "%s",
	              err.text);
	ck_assert_uint_eq(deployment.config.max_num_batched_tokens, 131072);
	ck_assert(!deployment.config.enable_chunked_prefill);
}
END_TEST

START_TEST(what_a_real_engine_would_not_allow_is_a_warning)
{
	ck_assert_msg(!build("model=llama-3.1-8b latency.backend=fixed:1ms engine.kv_cache_memory_bytes=400G "
	                     "engine.max_model_len=1100000"), "%s", err.text);
	ck_assert_uint_eq(deployment.warnings.count, 1);
	ck_assert_str_eq(deployment.warnings.text[0],
	                 "max_model_len 1100000 is beyond the 131072 tokens of llama-3.1-8b: the real "
	                 "engine needs to be told to allow it");
}
END_TEST

START_TEST(reserving_the_whole_context_is_told)
{
	static const char *const settings = "model=llama-3.1-8b latency.backend=fixed:1ms "
	                                    "engine.kv_cache_memory_bytes=40G policies.admission=no-evict";
	char with_length[256];

	ck_assert_int_eq(build(settings), 0);
	ck_assert_uint_eq(deployment.warnings.count, 1);
	ck_assert_ptr_nonnull(strstr(deployment.warnings.text[0], "--default-max-tokens"));
	kv_deployment_fini(&deployment);
	snprintf(with_length, sizeof with_length, "%s workload.default_max_tokens=500", settings);
	ck_assert_int_eq(build(with_length), 0);
	ck_assert_uint_eq(deployment.warnings.count, 0);
}
END_TEST

START_TEST(a_page_is_a_block)
{
	ck_assert_int_eq(build("model=llama-3.1-8b hardware=h100-sxm policies.prefix=radix,page=4"), 0);
	ck_assert_uint_eq(deployment.config.block_size, 4);
	kv_deployment_fini(&deployment);
	ck_assert_int_eq(build("model=llama-3.1-8b hardware=h100-sxm policies.prefix=radix"), 0);
	ck_assert_uint_eq(deployment.config.block_size, 16);
}
END_TEST

START_TEST(oracles_are_marked)
{
	ck_assert_int_eq(build("model=llama-3.1-8b hardware=h100-sxm workload.default_max_tokens=output"), 0);
	ck_assert(deployment.oracle);
	kv_deployment_fini(&deployment);
	ck_assert_int_eq(build("model=llama-3.1-8b hardware=h100-sxm workload.default_max_tokens=model "
	                       "policies.allocation=contiguous-exact policies.prefix=none"), 0);
	ck_assert(deployment.oracle);
}
END_TEST

/* Profiles before 2026-04-28 did not hold an override against max_model_len. */
START_TEST(older_releases_start_with_any_override)
{
	ck_assert_int_eq(build("model=llama-3.1-8b latency.backend=fixed:1ms engine.profile=vllm-0.11 "
	                       "engine.num_gpu_blocks_override=100"), 0);
	ck_assert_uint_eq(deployment.config.usable_blocks, 99);
}
END_TEST

static const struct {
	const char *settings;
	enum kv_exit status;
	const char *error;
} refused[] = {
	{ "seed=1", KV_EXIT_USAGE, "no model: give --model NAME or --model config.json (kvsim list models)" },
	{ "model=llama-3.1-8b", KV_EXIT_USAGE,
	  "no hardware: give --hardware NAME (kvsim list hardware), or a step time with "
	  "--latency fixed:DURATION" },
	{ "model=llama-3.1-8b engine.profile=vllm", KV_EXIT_USAGE,
	  "--set engine.profile: unknown engine profile 'vllm': valid are eager-2023, llama.cpp-2026-08, orca-max, "
	  "orca-oracle, orca-pow2, sglang-2026-07, static-batching, trtllm-2024, trtllm-2026-08, "
	  "trtllm-guaranteed-no-evict, trtllm-max-utilization, vllm-0.11, vllm-0.19, vllm-0.5, vllm-2026-08" },
	{ "model=llama-3.1-8b hardware=no/such.yaml", KV_EXIT_MISSING,
	  "--set hardware: no/such.yaml: No such file or directory" },
	{ "model=llama-3.1-8b latency.backend=fixed:1ms engine.num_gpu_blocks_override=1", KV_EXIT_USAGE,
	  "the pool has no usable block: 1 in all with the null block, 2.00 MiB each" },
	{ "model=llama-3.1-8b latency.backend=fixed:1ms engine.num_gpu_blocks_override=100", KV_EXIT_USAGE,
	  "one request of max_model_len 131072 takes 8192 blocks and the pool has 100, so the engine would not start: "
	  "the "
	  "largest --max-model-len that fits is 1600" },
	{ "model=jamba-v0.1 hardware=h100-sxm engine.tensor_parallel_size=8", KV_EXIT_USAGE,
	  "jamba-v0.1 has layers of kind "
	  "state, which run does not simulate: it runs models with full, mla and sliding_window layers" },
	{ "model=llama-4-scout hardware=h100-sxm engine.tensor_parallel_size=8", KV_EXIT_USAGE,
	  "llama-4-scout has layers of "
	  "kind chunked_local, which run does not simulate: it runs models with full, mla and sliding_window layers" },
	{ "model=llama-3.1-8b hardware=h100-sxm policies.allocation=contiguous-max", KV_EXIT_USAGE,
	  "allocation contiguous-max does not go with prefix block-hash: a contiguous piece belongs to one request and "
	  "cannot "
	  "share blocks with another: add --no-enable-prefix-caching" },
	{ "model=gemma-3-27b hardware=h200 policies.allocation=contiguous-max policies.prefix=none", KV_EXIT_USAGE,
	  "allocation contiguous-max does not go with this model: a contiguous piece holds a whole context, and this "
	  "model's "
	  "windowed layers do not keep theirs: choose one that takes blocks on demand" },
	{ "model=llama-3.1-8b hardware=h100-sxm policies.prefix=radix policies.eviction=arc", KV_EXIT_USAGE,
	  "eviction arc does not go with prefix radix, which evicts whole leaves of its tree: choose one that orders "
	  "leaves (lru, fifo, lfu, mru, filo, slru, priority)" },
	{ "model=llama-3.1-8b hardware=h100-sxm policies.prefix=radix policies.eviction=priority,decode=9", KV_EXIT_USAGE,
	  "eviction priority does not go with prefix radix: its parameters order blocks, and leaves of a tree go by "
	  "the priority of their requests: leave them out" },
	{ "model=llama-3.1-8b hardware=h100-sxm policies.prefix=partial-block policies.eviction=lfu", KV_EXIT_USAGE,
	  "eviction lfu does not go with prefix partial-block: leaves of its tree go by the priorities that it gives "
	  "them, then the oldest: choose lru" },
	{ "model=gemma-3-27b hardware=h200 policies.prefix=partial-block", KV_EXIT_USAGE,
	  "prefix partial-block does not go with this model: its tree holds whole contexts of one kind of layers: "
	  "choose block-hash" },
	{ "model=llama-3.1-8b hardware=h100-sxm policies.prefix=partial-block policies.allocation=contiguous-max", KV_EXIT_USAGE,
	  "allocation contiguous-max does not go with prefix partial-block: a contiguous piece belongs to one request "
	  "and cannot share blocks with another: add --no-enable-prefix-caching" },
	{ "model=gemma-3-27b hardware=h200 policies.prefix=radix", KV_EXIT_USAGE,
	  "prefix radix does not go with this model: its tree holds whole contexts of one kind of layers: choose "
	  "block-hash" },
	{ "model=llama-3.1-8b hardware=h100-sxm policies.prefix=radix,page=4 engine.block_size=8", KV_EXIT_USAGE,
	  "prefix radix,page=4: a page is a block, and engine.block_size is given as 8: give one of them" },
	{ "model=llama-3.1-8b hardware=h100-sxm policies.prefix=radix policies.allocation=contiguous-max", KV_EXIT_USAGE,
	  "allocation contiguous-max does not go with prefix radix: a contiguous piece belongs to one request and "
	  "cannot share blocks with another: add --no-enable-prefix-caching" },
	{ "model=llama-3.1-8b hardware=h100-sxm engine.dtype=fp8", KV_EXIT_USAGE,
	  "--set engine.dtype: unknown type 'fp8': valid are auto, bfloat16, float16, float32" },
};

START_TEST(what_cannot_run_says_why)
{
	ck_assert_int_eq(build(refused[_i].settings), -1);
	ck_assert_str_eq(err.text, refused[_i].error);
	ck_assert_int_eq(err.status, refused[_i].status);
}
END_TEST

/* 131.42 GiB of weights do not fit 92 % of one H100. */
START_TEST(a_negative_budget_names_its_lines)
{
	ck_assert_int_eq(build("model=llama-3.1-70b hardware=h100-sxm"), -1);
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "no memory is left for the KV cache: -62."));
	ck_assert_ptr_nonnull(strstr(err.text, "weights -131.4"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("deployment");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_logged_pool_is_reproduced);
	tcase_add_test(tc, an_override_counts_the_null_block_and_the_watermark_the_whole);
	tcase_add_test(tc, windowed_groups_are_capped_by_window_and_tokens_in_flight);
	tcase_add_test(tc, without_chunked_prefill_a_step_takes_any_prompt);
	tcase_add_test(tc, what_a_real_engine_would_not_allow_is_a_warning);
	tcase_add_test(tc, a_page_is_a_block);
	tcase_add_test(tc, oracles_are_marked);
	tcase_add_test(tc, reserving_the_whole_context_is_told);
	tcase_add_test(tc, older_releases_start_with_any_override);
	tcase_add_loop_test(tc, what_cannot_run_says_why, 0, sizeof refused / sizeof refused[0]);
	tcase_add_test(tc, a_negative_budget_names_its_lines);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
