#include "config.h"

#include <string.h>

#include "sim/sizing/memory_budget.h"
#include "tests/support.h"

#define GIB (1ll << 30)

static struct kv_budget_question question(const char *model, uint32_t tp)
{
	struct kv_error err;
	struct kv_budget_question q = {
		.model = kv_model_load(model, &err), .pipeline_parallel = 1, .expert_ranks = 1, .utilization = 0.9,
		.weights_bytes = KV_BYTES_UNSET, .runtime_bytes = KV_BYTES_UNSET, .activation_bytes = KV_BYTES_UNSET,
		.graph_bytes = KV_BYTES_UNSET, .reserve_bytes = KV_BYTES_UNSET, .headroom_bytes = KV_BYTES_UNSET,
		.rule = {KV_SIZING_VLLM, .null_block = true}, .max_num_batched_tokens = 2048, .max_num_seqs = 256,
		.layout = {.block_size = 16, .tensor_parallel = tp, .cache = kv_cache_format_find("auto", &err)},
	};

	ck_assert_msg(q.model != NULL, "%s", err.text);
	return q;
}

static struct kv_budget draw(const struct kv_budget_question *q)
{
	struct kv_budget budget;
	struct kv_error err;

	ck_assert_msg(kv_budget_draw(q, &budget, &err) == 0, "%s", err.text);
	return budget;
}

static void finish(struct kv_budget_question *q)
{
	kv_model_free((struct kv_model *)(uintptr_t)q->model);
}

static int64_t sum(const struct kv_budget *budget)
{
	int64_t total = 0;

	for (uint32_t i = 0; i < budget->lines; i++)
		total += budget->line[i].bytes;
	return total;
}

START_TEST(the_measured_rtx_4090_run_comes_out_to_the_byte)
{
	struct kv_budget_question q = question("llama-3.1-8b", 1);
	struct kv_budget budget;

	q.device_bytes = 25250627584;
	q.runtime_bytes = 1237612954;  /* all that is neither weights nor KV */
	q.activation_bytes = 0;
	budget = draw(&q);
	ck_assert_int_eq(-budget.line[2].bytes, 16060522496);
	ck_assert_int_eq(budget.kv_bytes, 5427429376);
	ck_assert_uint_eq(budget.num_blocks, 2588);
	ck_assert_uint_eq(budget.num_blocks * 16, 41408);
	ck_assert_uint_eq(budget.usable_blocks, 2587);
	ck_assert_int_eq(sum(&budget), budget.kv_bytes);
	finish(&q);
}
END_TEST

/* KV memory given in hundredths of GiB as logs print it, and the blocks they print (engine-semantics.md 1.15). */
static const struct {
	const char *model;
	double gib;
	uint64_t blocks, length;
	double concurrency;
} logged[] = {
	{"llama-3.1-8b", 2.89, 1478, 29000, 0.82},
	{"llama-3.1-8b", 3.81, 1952, 20000, 1.56},
	{"llama-3.1-8b", 19.92, 10198, 131072, 1.24},
	{"llama-3.1-8b", 40, 20480, 8192, 40.0},
	{"deepseek-v3", 40, 38199, 131072, 4.66},
	{"opt-13b", 12, 983, 2048, 7.68},
};

START_TEST(logged_pools_come_out_within_the_rounding_of_the_printed_gib)
{
	struct kv_budget_question q = question(logged[_i].model, 1);
	struct kv_budget low, high;

	q.kv_cache_memory_bytes = (uint64_t)((logged[_i].gib - 0.005) * GIB);
	low = draw(&q);
	q.kv_cache_memory_bytes = (uint64_t)((logged[_i].gib + 0.005) * GIB);
	high = draw(&q);
	ck_assert_uint_le(low.num_blocks, logged[_i].blocks);
	ck_assert_uint_ge(high.num_blocks, logged[_i].blocks);
	q.kv_cache_memory_bytes = 0;
	q.num_blocks_override = logged[_i].blocks;
	low = draw(&q);
	ck_assert_double_eq_tol((double)low.num_blocks / kv_layout_request_blocks(&low.layout, logged[_i].length, 2048),
	                        logged[_i].concurrency, 0.006);
	ck_assert(kv_budget_starts(&low, logged[_i].length, 2048) == (logged[_i].concurrency >= 1));
	ck_assert_uint_eq(kv_budget_largest_length(&low, UINT32_MAX, 2048), logged[_i].blocks * 16);
	finish(&q);
}
END_TEST

START_TEST(a_negative_budget_is_an_answer)
{
	struct kv_budget_question q = question("gpt-oss-120b", 1);
	struct kv_budget budget;

	q.device_bytes = 40 * GIB;
	budget = draw(&q);
	ck_assert_int_lt(budget.kv_bytes, -20 * GIB);
	ck_assert_uint_eq(budget.num_blocks, 0);
	ck_assert_uint_eq(budget.usable_blocks, 0);
	ck_assert(!kv_budget_starts(&budget, 1, 2048));
	ck_assert_uint_eq(kv_budget_largest_length(&budget, 131072, 2048), 0);
	finish(&q);
}
END_TEST

START_TEST(every_line_takes_its_bytes)
{
	struct kv_budget_question q = question("llama-3.1-8b", 1);
	int64_t before;

	q.device_bytes = 80 * GIB;
	q.weights_bytes = 20 * GIB;
	q.runtime_bytes = GIB / 2;
	q.activation_bytes = 3 * GIB / 2;
	before = draw(&q).kv_bytes;
	ck_assert_int_eq(before, 50 * GIB);
	q.reserve_bytes = GIB;
	ck_assert_int_eq(draw(&q).kv_bytes, before - GIB);
	q.headroom_bytes = 3 * GIB;
	ck_assert_int_eq(draw(&q).kv_bytes, before - 4 * GIB);
	q.utilization = 1;
	ck_assert_int_eq(draw(&q).kv_bytes, before + 4 * GIB);
	finish(&q);
}
END_TEST

START_TEST(given_kv_bytes_bypass_the_formula_and_an_override_replaces_the_result)
{
	struct kv_budget_question q = question("llama-3.1-8b", 1);

	q.device_bytes = 80 * GIB;
	q.kv_cache_memory_bytes = 40 * GIB;
	ck_assert_uint_eq(draw(&q).num_blocks, 20480);
	q.num_blocks_override = 11;
	ck_assert_uint_eq(draw(&q).num_blocks, 11);
	ck_assert_uint_eq(draw(&q).usable_blocks, 10);
	q.rule.null_block = false;
	ck_assert_uint_eq(draw(&q).usable_blocks, 11);
	finish(&q);
}
END_TEST

START_TEST(nothing_to_size_by_is_refused)
{
	struct kv_budget_question q = question("llama-3.1-8b", 1);
	struct kv_budget budget;
	struct kv_error err;

	ck_assert_int_ne(kv_budget_draw(&q, &budget, &err), 0);
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "--num-gpu-blocks-override"));
	finish(&q);
}
END_TEST

START_TEST(fp8_gives_twice_the_blocks_or_one_more)
{
	struct kv_budget_question q = question("llama-3.1-8b", 1);
	struct kv_error err;

	for (uint64_t bytes = 1 << 21; bytes < (1 << 25); bytes += 777777) {
		uint64_t wide, narrow;

		q.kv_cache_memory_bytes = bytes;
		q.layout.cache = kv_cache_format_find("auto", &err);
		wide = draw(&q).num_blocks;
		q.layout.cache = kv_cache_format_find("fp8", &err);
		narrow = draw(&q).num_blocks;
		ck_assert(narrow == 2 * wide || narrow == 2 * wide + 1);
	}
	finish(&q);
}
END_TEST

START_TEST(more_ranks_never_shrink_the_pool)
{
	static const uint32_t ranks[] = {1, 2, 4, 8, 16, 32, 64};
	struct kv_budget_question q = question("llama-3.1-70b", 1);
	uint64_t before = 0;

	q.device_bytes = 80 * GIB;
	for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
		uint64_t blocks;

		q.layout.tensor_parallel = ranks[i];
		blocks = draw(&q).num_blocks;
		ck_assert_uint_ge(blocks, before);
		before = blocks;
	}
	finish(&q);
}
END_TEST

START_TEST(the_stage_with_the_fewest_blocks_counts)
{
	struct kv_budget_question q = question("llama-3.1-70b", 1);
	struct kv_budget budget;
	uint32_t first, count;

	q.device_bytes = 80 * GIB;
	q.pipeline_parallel = 3;
	budget = draw(&q);
	kv_pipeline_stage(80, 3, budget.stage, &first, &count);
	ck_assert_uint_eq(count, 27);
	ck_assert_uint_eq(budget.layout.growing_bytes, 27 * 4096);
	finish(&q);
}
END_TEST

/* vLLM's get_pp_indices: the remainder goes to the stages before the last. */
static const struct {
	uint32_t layers, stages, counts[4];
} splits[] = {
	{80, 4, {20, 20, 20, 20}}, {61, 4, {15, 15, 16, 15}}, {62, 4, {15, 16, 16, 15}}, {63, 4, {16, 16, 16, 15}},
	{5, 2, {3, 2}}, {7, 1, {7}},
};

START_TEST(stages_split_as_in_vllm)
{
	uint32_t next = 0;

	for (uint32_t stage = 0; stage < splits[_i].stages; stage++) {
		uint32_t first, count;

		kv_pipeline_stage(splits[_i].layers, splits[_i].stages, stage, &first, &count);
		ck_assert_uint_eq(first, next);
		ck_assert_uint_eq(count, splits[_i].counts[stage]);
		next = first + count;
	}
	ck_assert_uint_eq(next, splits[_i].layers);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory_budget");
	TCase *tc = tcase_create("memory_budget");

	tcase_add_test(tc, the_measured_rtx_4090_run_comes_out_to_the_byte);
	tcase_add_loop_test(tc, logged_pools_come_out_within_the_rounding_of_the_printed_gib, 0,
	                    sizeof logged / sizeof *logged);
	tcase_add_test(tc, a_negative_budget_is_an_answer);
	tcase_add_test(tc, every_line_takes_its_bytes);
	tcase_add_test(tc, given_kv_bytes_bypass_the_formula_and_an_override_replaces_the_result);
	tcase_add_test(tc, nothing_to_size_by_is_refused);
	tcase_add_test(tc, fp8_gives_twice_the_blocks_or_one_more);
	tcase_add_test(tc, more_ranks_never_shrink_the_pool);
	tcase_add_test(tc, the_stage_with_the_fewest_blocks_counts);
	tcase_add_loop_test(tc, stages_split_as_in_vllm, 0, sizeof splits / sizeof *splits);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
