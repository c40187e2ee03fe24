#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/deploy/deployment.h"
#include "sim/sizing/remedies.h"
#include "sim/sizing/sizing.h"
#include "tests/support.h"

#define GIB (1ll << 30)

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
static void set(const char *settings)
{
	char copy[512], *rest = copy, *pair;

	strcpy(copy, settings);
	while ((pair = strsep(&rest, " ")) != NULL)
		ck_assert_msg(!kv_scenario_set_pair(&scenario, pair, &err), "%s", err.text);
}

static struct kv_size_question plan(const char *settings, uint64_t memory)
{
	struct kv_size_question q = {.concurrent_batches = 1};

	set(settings);
	ck_assert_msg(!kv_deployment_plan(&deployment, &scenario, memory, &err), "%s", err.text);
	q.budget = deployment.question;
	q.max_model_len = scenario.engine.max_model_len;
	return q;
}

static struct kv_size_answer answer(const struct kv_size_question *q)
{
	struct kv_size_answer a;

	ck_assert_msg(!kv_size(q, &a, &err), "%s", err.text);
	return a;
}

/* 32 layers, 8 KV heads, head dimension 128, 2 bytes. */
START_TEST(the_textbook_figures_come_out)
{
	struct kv_size_question q = plan("model=llama-3.1-8b engine.kv_cache_memory_bytes=3GiB "
	                                 "engine.max_model_len=8192",
	                                 0);
	struct kv_size_answer a = answer(&q);

	ck_assert_uint_eq(a.budget.layout.growing_bytes, 131072);
	ck_assert_uint_eq(a.bytes_per_request, 1 * GIB);
	ck_assert_uint_eq(4 * a.bytes_per_request, 4 * GIB);
	q.max_model_len = 3072;
	ck_assert_uint_eq(answer(&q).bytes_per_request, 384 << 20);
	ck_assert_double_eq(answer(&q).max_concurrency, 8);
	q.max_model_len = 6144;
	ck_assert_uint_eq(answer(&q).bytes_per_request, 768 << 20);
	ck_assert_double_eq(answer(&q).max_concurrency, 4);
}
END_TEST

/* vllm-project/vllm#23278: gpt-oss-120b on an 80 GB H100, 65.97 GiB of weights, -2.14 GiB for KV. */
START_TEST(a_budget_below_zero_is_told_with_its_shortfall)
{
	struct kv_size_question q = plan("model=gpt-oss-120b engine.profile=vllm-0.11", (uint64_t)(79.19 * GIB));
	struct kv_size_answer a;

	q.budget.weights_bytes = (int64_t)(65.9651 * GIB);
	q.budget.runtime_bytes = (int64_t)(0.25 * GIB);
	q.budget.activation_bytes = (int64_t)((0.9 * 79.19 - 65.9651 - 0.25 + 2.14) * GIB);
	a = answer(&q);
	ck_assert_double_eq_tol((double)a.budget.kv_bytes / GIB, -2.14, 0.001);
	ck_assert(!a.starts);
	ck_assert_uint_eq(a.budget.num_blocks, 0);
	ck_assert_int_eq(a.shortfall_bytes, (int64_t)a.bytes_per_request - a.budget.kv_bytes);
	ck_assert_uint_eq(a.shortfall_tokens, 131072);
}
END_TEST

/* "Model loading took" figures of published logs. */
static const struct {
	const char *model;
	uint32_t tp;
	double gib;
} loaded[] = {
	{"llama-3.1-8b", 1, 14.9888}, {"gpt-oss-120b", 1, 65.9651}, {"qwen2.5-7b", 1, 14.25}, {"qwen2.5-7b", 2, 7.12},
	{"llama-3.1-8b", 2, 7.51}, {"llama-3.1-8b", 4, 3.77}, {"qwen3-14b", 1, 27.52},
};

START_TEST(weights_are_those_that_engines_load_within_two_percent)
{
	char settings[128];
	struct kv_size_question q;

	snprintf(settings, sizeof settings, "model=%s engine.tensor_parallel_size=%u", loaded[_i].model, loaded[_i].tp);
	q = plan(settings, 400 * GIB);
	ck_assert_double_eq_tol((double)answer(&q).budget.weights.bytes / GIB / loaded[_i].gib, 1, 0.02);
}
END_TEST

START_TEST(tokens_have_two_meanings_by_release)
{
	struct kv_size_question q = plan("model=gpt-oss-120b engine.kv_cache_memory_bytes=40GiB", 0);
	struct kv_size_answer a = answer(&q);

	ck_assert_uint_eq(a.budget.num_blocks, 72817);
	ck_assert_uint_eq(a.kv_cache_tokens, 72817 / 2 * 16);
	ck_assert_uint_eq(a.kv_cache_tokens_reported, (uint64_t)(a.max_concurrency * 131072));
	q.budget.rule.tokens_by_concurrency = false;
	ck_assert_uint_eq(answer(&q).kv_cache_tokens_reported, a.kv_cache_tokens);
	q.concurrent_batches = 2;
	q.budget.max_num_batched_tokens = 8192;
	ck_assert_double_eq_tol(answer(&q).max_concurrency, 7.89, 0.005);
}
END_TEST

START_TEST(every_remedy_makes_it_start)
{
	struct kv_size_question q = plan("model=llama-3.1-8b hardware=rtx-4090", 0);
	struct kv_size_goal start = {.replicas = 1};
	struct kv_size_remedies found;

	kv_size_find_remedies(&q, &start, &found);
	ck_assert(!answer(&q).starts);
	ck_assert_uint_ge(found.count, 2);
	ck_assert_uint_ge(found.tried, found.count);
	for (uint32_t i = 0; i < found.count; i++)
		ck_assert_msg(found.change[i].answer.starts, "%s", found.change[i].flags);
	q.max_model_len = answer(&q).largest_max_model_len;
	ck_assert(answer(&q).starts);
	kv_size_find_remedies(&q, &start, &found);
	ck_assert_uint_eq(found.count + found.tried, 0);
	q.max_model_len += 16;
	ck_assert(!answer(&q).starts);
}
END_TEST

static uint64_t held_with(const struct kv_size_remedies *found, const char *flags)
{
	for (uint32_t i = 0; i < found->count; i++)
		if (strcmp(found->change[i].flags, flags) == 0)
			return found->change[i].at_once;
	return 0;
}

/* 3 GiB are 1,536 blocks of 2 MiB, 3,072 tokens take 192: seven beside the null block. With half the bytes a block (fp8,
 * or half of the heads or layers a rank) fifteen fit, on two replicas fourteen. */
START_TEST(remedies_hold_the_requests_that_are_wanted)
{
	struct kv_size_question q = plan("model=llama-3.1-8b engine.kv_cache_memory_bytes=3GiB "
	                                 "engine.max_model_len=4096", 0);
	struct kv_size_goal nine = {.length = 3072, .sequences = 9, .replicas = 1};
	struct kv_size_remedies found;

	kv_size_find_remedies(&q, &nine, &found);
	ck_assert_uint_eq(held_with(&found, "--kv-cache-dtype fp8"), 15);
	ck_assert_uint_eq(held_with(&found, "--tensor-parallel-size 2"), 15);
	ck_assert_uint_eq(held_with(&found, "--pipeline-parallel-size 2"), 15);
	ck_assert_uint_eq(held_with(&found, "--data-parallel-size 2"), 14);
	ck_assert_uint_eq(found.count, 4);
	nine.sequences = 7;
	kv_size_find_remedies(&q, &nine, &found);
	ck_assert_uint_eq(found.count, 0);
	q.budget.max_num_seqs = 4;
	kv_size_find_remedies(&q, &nine, &found);
	ck_assert_uint_eq(held_with(&found, "--max-num-seqs 7"), 7);
	ck_assert_uint_eq(held_with(&found, "--data-parallel-size 2"), 8);
	ck_assert_uint_eq(found.count, 2);
}
END_TEST

/* lmstudio-bug-tracker#1862: 16 full layers x 4,096 B x 262,144 cells; four recurrent states of 149.625 MiB. */
START_TEST(llama_cpp_holds_cells_and_states)
{
	struct kv_size_question q = plan("model=qwen3.5-27b engine.profile=llama.cpp-2026-08", 128 * GIB);
	uint64_t one = kv_llama_cache_bytes(&q.budget, 65536, 1), four = kv_llama_cache_bytes(&q.budget, 65536, 4);

	ck_assert_uint_eq(kv_llama_cache_bytes(&q.budget, 262144, 1), (16384ull << 20) + 598.5 / 4 * (1 << 20));
	ck_assert_uint_eq(four - 4 * one, 0);
	ck_assert_uint_eq(four, (16384ull << 20) + (uint64_t)(598.5 * (1 << 20)));
	ck_assert(answer(&q).starts);
}
END_TEST

/* qualcomm/GenieX#1346: pad(min(4096, 512 + 1024), 256) = 1536 cells of 4096; here window 1024 of Gemma-3-12B. */
START_TEST(llama_cpp_pads_windowed_cells)
{
	struct kv_size_question q = plan("model=gemma-3-12b engine.profile=llama.cpp-2026-08", 128 * GIB);
	uint64_t cell = 8192;

	q.budget.max_num_batched_tokens = 512;
	ck_assert_uint_eq(kv_llama_cache_bytes(&q.budget, 4096, 1), cell * (8 * 4096 + 40 * 1536));
	q.budget.max_num_batched_tokens = 1000;
	ck_assert_uint_eq(kv_llama_cache_bytes(&q.budget, 4096, 1), cell * (8 * 4096 + 40 * 2048));
}
END_TEST

/* NVIDIA/TensorRT-LLM#224 logged 10,718 tokens: whole tokens, and a block more than they fill. */
START_TEST(tensorrt_llm_takes_a_share_of_what_is_free_and_rounds_up)
{
	struct kv_size_question q = plan("model=llama-2-7b engine.profile=trtllm-2026-08 engine.block_size=16",
	                                 24 * GIB);
	struct kv_size_answer a;
	int64_t others = 0;

	q.budget.runtime_bytes = GIB;
	q.budget.activation_bytes = GIB;
	a = answer(&q);
	others = (int64_t)a.budget.weights.bytes + 2 * GIB;
	ck_assert_int_le(llabs(a.budget.kv_bytes - (int64_t)(0.9 * (24.0 * GIB - others))), 1);
	ck_assert_uint_eq(a.kv_cache_tokens_reported, a.budget.kv_bytes / 524288);
	ck_assert_uint_eq(a.budget.num_blocks, (a.budget.kv_bytes + 16 * 524288 - 1) / (16 * 524288));
	ck_assert_uint_eq(a.budget.usable_blocks, a.budget.num_blocks);
}
END_TEST

/* 512 + 1.5 x chunk + 2 x graph batch + ranks x 128 MiB, at least 10 GiB beyond 60 GiB. */
START_TEST(sglang_leaves_a_reserve)
{
	struct kv_size_question q = plan("model=llama-3.1-8b engine.profile=sglang-2026-07", 80 * GIB);
	struct kv_size_answer a = answer(&q);

	ck_assert_int_eq(a.budget.line[1].bytes, -((512 + 12288ll + 2 * 256 + 128) << 20));
	ck_assert_uint_eq(a.budget.num_blocks, (80 * GIB - (13440ll << 20) - 16060522496) / 131072);
	q.budget.max_num_batched_tokens = 2048;
	ck_assert_int_eq(answer(&q).budget.line[1].bytes, -10 * GIB);
	q.budget.device_bytes = 24 * GIB;
	q.budget.max_num_batched_tokens = 2048;
	a = answer(&q);
	ck_assert_int_eq(a.budget.line[1].bytes, -((512ll + 3072 + 2 * 24 + 128) << 20));
}
END_TEST

/* One setting at a time: run's pool is size's pool. */
static const char *const perturbed[] = {
	"seed=0", "model=llama-3.1-70b", "model=gemma-3-27b", "model=deepseek-v2-lite", "hardware=a100-80gb",
	"hardware=h200",
	"engine.profile=vllm-0.19", "engine.profile=vllm-0.11", "engine.dtype=float32", "engine.quantization=fp8",
	"engine.quantization=awq", "engine.tensor_parallel_size=2", "engine.pipeline_parallel_size=2",
	"engine.max_num_seqs=64", "engine.max_num_batched_tokens=16384", "engine.block_size=32",
	"engine.gpu_memory_utilization=0.8", "engine.kv_cache_dtype=fp8", "engine.kv_cache_dtype=int4_g64",
	"engine.kv_cache_dtype=fp8 engine.kv_cache_dtype_skip_layers=0,31", "engine.kv_cache_memory_bytes=7GiB",
	"engine.num_gpu_blocks_override=4321", "engine.max_model_len=2000", "engine.enable_prefix_caching=false",
	"engine.enable_chunked_prefill=false",
};

START_TEST(run_and_size_draw_one_budget)
{
	struct kv_size_question q;
	struct kv_size_answer a;
	struct kv_deployment run;

	set("model=llama-3.1-8b hardware=h100-sxm engine.max_model_len=4096 engine.tensor_parallel_size=4");
	q = plan(perturbed[_i], 0);
	a = answer(&q);
	kv_scenario_fini(&scenario);
	kv_scenario_init(&scenario);
	set("model=llama-3.1-8b hardware=h100-sxm engine.max_model_len=4096 engine.tensor_parallel_size=4");
	set(perturbed[_i]);
	ck_assert_msg(!kv_deployment_init(&run, &scenario, &err), "%s", err.text);
	ck_assert_int_eq(run.budget.kv_bytes, a.budget.kv_bytes);
	ck_assert_uint_eq(run.budget.num_blocks, a.budget.num_blocks);
	ck_assert_uint_eq(run.config.usable_blocks, a.budget.usable_blocks);
	ck_assert_uint_eq(run.budget.lines, a.budget.lines);
	kv_deployment_fini(&run);
}
END_TEST

/* vLLM's example of an EAGLE head for a model of 12 windowed and 12 full layers: 12 and 13 are padded to 13 and 13. */
#define EAGLE_HEAD "{\"architectures\": [\"LlamaForCausalLMEagle3\"], \"model_type\": \"llama\", \"num_hidden_layers\": 1, " \
	"\"hidden_size\": 2880, \"head_dim\": 64, \"num_attention_heads\": 64, \"num_key_value_heads\": 8, " \
	"\"intermediate_size\": 17280, \"vocab_size\": 201088, \"draft_vocab_size\": 32000, " \
	"\"tie_word_embeddings\": false, \"torch_dtype\": \"bfloat16\"}"

/* TensorRT-LLM's own test: shares 0.0345, 0.4138 and 0.5517 of 16,384 blocks. Windows as 1 : 12 : 16. */
START_TEST(window_pools_share_by_layers_times_window)
{
	static const struct {
		uint32_t window, layers;
		double share;
		uint64_t blocks;
	} rows[] = {{1024, 1, 0.0345, 565}, {4096, 3, 0.4138, 6780}, {0, 2, 0.5517, 9039}};
	struct kv_window_pools pools = {.count = 3, .block_size = 32};

	for (int i = 0; i < 3; i++)
		pools.pool[i] = (struct kv_window_pool){.window = rows[i].window, .layers = rows[i].layers};
	kv_window_pools_share(&pools, 8192);
	for (int i = 0; i < 3; i++) {
		ck_assert_double_eq_tol(pools.pool[i].share, rows[i].share, 5e-5);
		ck_assert_uint_eq(kv_window_pool_part(&pools.pool[i], 16384), rows[i].blocks);
	}
}
END_TEST

/* gpt-oss-20b: 12 layers that keep 4,096 tokens and 12 that keep 128, 2,048 bytes each: 96 of 99 parts and 3 of 99. */
START_TEST(tensorrt_llm_has_a_pool_for_each_window)
{
	struct kv_size_question q = plan("model=gpt-oss-20b engine.profile=trtllm-2026-08 engine.max_model_len=4096 "
	                                 "engine.kv_cache_memory_bytes=10GiB", 0);
	struct kv_size_answer a = answer(&q);
	uint64_t block = 12 * 2048 * 32, all = 10 * GIB / block;  /* 13,653 */

	ck_assert_uint_eq(a.pools.count, 2);
	ck_assert_double_eq_tol(a.pools.pool[0].share, 32.0 / 33, 1e-12);
	ck_assert_uint_eq(all, 13653);
	ck_assert_uint_eq(a.pools.pool[0].blocks, 13239);  /* 13239.27 */
	ck_assert_uint_eq(a.pools.pool[1].blocks, 414);    /* 413.73 */
	ck_assert_uint_eq(a.blocks_per_request, 128 + 4);
	ck_assert_uint_eq(a.bytes_per_request, (128 + 4) * block);
	ck_assert_uint_eq(kv_size_requests_held(&q, &a, 4096, true), 13239 / 128);
	ck_assert_uint_eq(kv_size_requests_held(&q, &a, 128, true), 414 / 4);
	ck_assert(a.starts);
	q.max_model_len = 131072 * 40ull;
	a = answer(&q);
	ck_assert(!a.starts);
	q.max_model_len = a.largest_max_model_len;
	ck_assert(answer(&q).starts);
}
END_TEST

START_TEST(an_eagle_head_joins_the_full_layers)
{
	struct kv_size_question q = plan("model=gpt-oss-20b", 80 * GIB);
	struct kv_model *draft = kv_model_parse(EAGLE_HEAD, "head", &err);
	int64_t without = answer(&q).budget.kv_bytes;
	struct kv_size_answer a;

	ck_assert_ptr_nonnull(draft);
	ck_assert_int_eq(kv_drafter_read(draft, NULL, &q.budget.drafter, &err), 0);
	ck_assert_int_eq(q.budget.drafter, KV_DRAFT_EAGLE3);
	q.budget.layout.draft = draft;
	a = answer(&q);
	ck_assert_uint_eq(a.budget.layout.groups, 2);
	ck_assert_uint_eq(a.budget.layout.group[0].layers, 13);
	ck_assert_uint_eq(a.budget.layout.group[1].layers, 12);
	ck_assert_uint_eq(a.budget.layout.padding_layers, 1);
	ck_assert_uint_eq(a.budget.layout.draft_bytes, 2 * 8 * 64 * 2);
	/* three hidden states to one; q, k, v of twice the width, o; gate, up, down; head; norms of the layer and the
	 * last */
	ck_assert_int_eq(without - a.budget.kv_bytes,
	                 2ll * 2880 * (3 * 2880 + 2 * (64 + 16) * 64 + 64 * 64 + 3 * 17280 + 32000 + 3));
	kv_model_free(draft);
}
END_TEST

START_TEST(a_draft_model_is_loaded_whole_and_adds_its_layers)
{
	struct kv_size_question q = plan("model=llama-3.1-70b engine.tensor_parallel_size=4", 80 * GIB);
	struct kv_model *draft = kv_model_load("llama-3.2-1b", &err);
	struct kv_size_answer a;

	q.budget.layout.draft = draft;
	q.budget.drafter = KV_DRAFT_MODEL;
	a = answer(&q);
	ck_assert_uint_eq(a.budget.layout.groups, 1);
	ck_assert_uint_eq(a.budget.layout.growing_bytes, (327680 + 32768) / 4);
	ck_assert_str_eq(a.budget.line[3].item, "draft weights");
	ck_assert_double_eq_tol((double)-a.budget.line[3].bytes, 2 * 1.236e9 / 4, 1e6);
	kv_model_free(draft);
}
END_TEST

START_TEST(a_profile_for_sizing_only_does_not_run)
{
	set("model=llama-3.1-8b hardware=h100-sxm engine.profile=llama.cpp-2026-08 policies.allocation=paged");
	ck_assert(kv_deployment_init(&deployment, &scenario, &err) != 0);
	ck_assert_ptr_nonnull(strstr(err.text, "its scheduler is not built (llama.cpp of 2026-08 (sizing only))"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sizing");
	TCase *tc = tcase_create("sizing");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_textbook_figures_come_out);
	tcase_add_test(tc, a_budget_below_zero_is_told_with_its_shortfall);
	tcase_add_loop_test(tc, weights_are_those_that_engines_load_within_two_percent, 0,
	                    sizeof loaded / sizeof *loaded);
	tcase_add_test(tc, tokens_have_two_meanings_by_release);
	tcase_add_test(tc, every_remedy_makes_it_start);
	tcase_add_test(tc, remedies_hold_the_requests_that_are_wanted);
	tcase_add_test(tc, llama_cpp_holds_cells_and_states);
	tcase_add_test(tc, llama_cpp_pads_windowed_cells);
	tcase_add_test(tc, tensorrt_llm_takes_a_share_of_what_is_free_and_rounds_up);
	tcase_add_test(tc, sglang_leaves_a_reserve);
	tcase_add_loop_test(tc, run_and_size_draw_one_budget, 0, sizeof perturbed / sizeof *perturbed);
	tcase_add_test(tc, window_pools_share_by_layers_times_window);
	tcase_add_test(tc, tensorrt_llm_has_a_pool_for_each_window);
	tcase_add_test(tc, an_eagle_head_joins_the_full_layers);
	tcase_add_test(tc, a_draft_model_is_loaded_whole_and_adds_its_layers);
	tcase_add_test(tc, a_profile_for_sizing_only_does_not_run);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
