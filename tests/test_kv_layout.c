#include "config.h"

#include <stdio.h>
#include <string.h>

#include "sim/model/kv_layout.h"
#include "sim/model/model.h"
#include "tests/model_facts.h"
#include "tests/support.h"

static struct kv_model *load(const char *name)
{
	struct kv_error err;
	struct kv_model *model = kv_model_load(name, &err);

	ck_assert_msg(model != NULL, "%s", err.text);
	return model;
}

static struct kv_layout_options options(const char *cache, uint32_t tp)
{
	struct kv_error err;
	struct kv_layout_options o = {.block_size = 16, .tensor_parallel = tp, .cache = kv_cache_format_find(cache, &err)};

	ck_assert_msg(o.cache != NULL, "%s", err.text);
	return o;
}

static struct kv_layout plan(const char *name, const struct kv_layout_options *o)
{
	struct kv_model *model = load(name);
	struct kv_error err;
	struct kv_layout layout;

	ck_assert_msg(kv_layout_plan(model, o, &layout, &err) == 0, "%s", err.text);
	kv_model_free(model);
	return layout;
}

START_TEST(bytes_per_token_are_the_published_ones)
{
	const struct model_facts *facts = &model_facts[_i];
	struct kv_layout_options wide = options("auto", 1), narrow = options("fp8", 1);
	struct kv_layout layout = plan(facts->name, &wide);

	ck_assert_uint_eq(layout.growing_bytes, facts->growing);
	ck_assert_uint_eq(layout.growing_bytes + layout.windowed_bytes, facts->inside_window);
	ck_assert_uint_eq(layout.state_bytes, facts->state);
	layout = plan(facts->name, &narrow);
	ck_assert_uint_eq(layout.growing_bytes + layout.windowed_bytes, facts->inside_window_fp8);
}
END_TEST

/* 40 GiB of KV memory, blocks of 16, 8,192 batched tokens, asynchronous scheduling: engine-semantics.md 1.9. */
static const struct {
	const char *name;
	const char *groups;  /* kind initial and layers of each */
	uint64_t page_bytes, blocks, request_blocks;
	double concurrency;
	uint64_t length;
} real_layouts[] = {
	{"llama-3.1-8b", "f32", 2097152, 20480, 8192, 2.50, 131072},
	{"gpt-oss-120b", "f18 s18", 589824, 72817, 8192 + 1033, 7.89, 131072},
	{"gemma-3-27b", "f10 s9 s9 s9 s9 s8 s8", 1310720, 32768, 8192 + 6 * 1089, 2.23, 131072},
	{"gemma-2-27b", "f23 s23", 3014656, 14246, 512 + 513, 13.90, 8192},
	{"llama-4-scout", "f12 c12 c12 c12", 786432, 54613, 8192 + 3 * 1536, 4.27, 131072},
	{"deepseek-v3", "m61", 1124352, 38199, 8192, 4.66, 131072},
	{"qwen3-next-80b-a3b", "f12 r12 r12 r12", 13369344, 3212, 241 + 3, 13.16, 131072},
};

START_TEST(groups_pages_and_request_blocks_are_those_of_real_engines)
{
	struct kv_layout_options o = options("auto", 1);
	struct kv_layout layout = plan(real_layouts[_i].name, &o);
	uint64_t blocks = (40ull << 30) / layout.page_bytes;
	uint64_t request = kv_layout_request_blocks(&layout, real_layouts[_i].length, 2 * 8192);
	static const char initials[] = "fmscr";
	char groups[256] = "";

	for (uint32_t i = 0; i < layout.groups; i++)
		sprintf(groups + strlen(groups), "%s%c%u", i ? " " : "", initials[layout.group[i].kind], layout.group[i].layers);
	ck_assert_str_eq(groups, real_layouts[_i].groups);
	ck_assert_uint_eq(layout.page_bytes, real_layouts[_i].page_bytes);
	ck_assert_uint_eq(blocks, real_layouts[_i].blocks);
	ck_assert_uint_eq(request, real_layouts[_i].request_blocks);
	ck_assert_double_eq_tol((double)blocks / request, real_layouts[_i].concurrency, 0.005);
}
END_TEST

START_TEST(state_makes_the_attention_block_grow)
{
	struct kv_layout_options o = options("auto", 1);
	struct kv_layout layout = plan("qwen3-next-80b-a3b", &o);

	ck_assert_uint_eq(layout.group[0].block_size, 544);
	ck_assert_uint_eq(layout.state_bytes, 36 * 1097728);
}
END_TEST

/* Nemotron-H-56B's Mamba-2 layers: 122,880 + 16,777,216 bytes each, float32 as vLLM has it for that class. */
START_TEST(nemotron_h_keeps_its_state_in_float32)
{
	static const char text[] = "{\"model_type\": \"nemotron_h\", \"num_hidden_layers\": 4, \"hidden_size\": 8192, "
		"\"num_attention_heads\": 64, \"num_key_value_heads\": 8, \"head_dim\": 128, \"intermediate_size\": 32768, "
		"\"vocab_size\": 131072, \"tie_word_embeddings\": false, \"torch_dtype\": \"bfloat16\", "
		"\"hybrid_override_pattern\": \"M-*M\", \"n_groups\": 8, \"mamba_num_heads\": 256, \"mamba_head_dim\": 64, "
		"\"ssm_state_size\": 256, \"conv_kernel\": 4}";
	struct kv_layout_options o = options("auto", 1);
	struct kv_error err;
	struct kv_model *model = kv_model_parse(text, "config.json", &err);
	struct kv_layout layout;

	ck_assert_msg(model != NULL, "%s", err.text);
	ck_assert_msg(kv_layout_plan(model, &o, &layout, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(layout.state_bytes, 2 * (122880 + 16777216));
	kv_model_free(model);
}
END_TEST

/* A convolution over one token keeps nothing: blocks stay as they were. */
START_TEST(state_of_no_bytes_leaves_blocks_alone)
{
	static const char text[] = "{\"model_type\": \"lfm2\", \"num_hidden_layers\": 2, \"hidden_size\": 512, "
		"\"num_attention_heads\": 8, \"num_key_value_heads\": 2, \"intermediate_size\": 1024, \"vocab_size\": 1000, "
		"\"tie_word_embeddings\": true, \"torch_dtype\": \"bfloat16\", \"layer_types\": [\"conv\", \"full_attention\"], "
		"\"conv_L_cache\": 1}";
	struct kv_layout_options o = options("auto", 1);
	struct kv_error err;
	struct kv_model *model = kv_model_parse(text, "config.json", &err);
	struct kv_layout layout;

	ck_assert_msg(model != NULL, "%s", err.text);
	ck_assert_msg(kv_layout_plan(model, &o, &layout, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(layout.group[0].block_size, 16);
	kv_model_free(model);
}
END_TEST

/* Blocks beside state are whole multiples of --block-size: 544 tokens cover Qwen3-Next's state, 576 are the next 64s. */
START_TEST(blocks_beside_state_are_multiples_of_what_was_asked_for)
{
	struct kv_layout_options o = options("auto", 1);

	o.block_size = 64;
	ck_assert_uint_eq(plan("qwen3-next-80b-a3b", &o).group[0].block_size, 576);
}
END_TEST

START_TEST(windowed_and_chunked_requests_hold_window_plus_tokens_in_flight)
{
	struct kv_layout layout = {0};
	struct kv_group sliding = {KV_GROUP_SLIDING_WINDOW, 1, 1024, 16, 1};
	struct kv_group chunked = {KV_GROUP_CHUNKED_LOCAL, 1, 1024, 16, 1};

	ck_assert_uint_eq(kv_group_request_blocks(&layout, &sliding, 1000000, 1024), 129);
	ck_assert_uint_eq(kv_group_request_blocks(&layout, &sliding, 1000000, 2048), 193);
	ck_assert_uint_eq(kv_group_request_blocks(&layout, &chunked, 1000000, 1024), 128);
	ck_assert_uint_eq(kv_group_request_blocks(&layout, &chunked, 1000000, 2048), 192);
	ck_assert_uint_eq(kv_group_request_blocks(&layout, &sliding, 100, 1024), 8);
}
END_TEST

static const struct {
	const char *name;
	uint32_t tp;
	uint64_t token_bytes, page_bytes;
} split[] = {
	{"llama-3.1-70b", 4, 81920, 1310720},
	{"llama-3.1-70b", 16, 40960, 655360},  /* still one KV head a rank */
	{"deepseek-v3", 8, 70272, 1124352},    /* the latent is whole on every rank */
	{"qwen3-235b-a22b", 4, 48128, 770048},
};

START_TEST(kv_heads_split_down_to_one_a_rank_and_latents_do_not)
{
	struct kv_layout_options o = options("auto", split[_i].tp);
	struct kv_layout layout = plan(split[_i].name, &o);

	ck_assert_uint_eq(layout.growing_bytes, split[_i].token_bytes);
	ck_assert_uint_eq(layout.page_bytes, split[_i].page_bytes);
}
END_TEST

START_TEST(without_groups_windowed_layers_hold_everything)
{
	struct kv_layout_options o = options("auto", 1);
	struct kv_layout layout;

	o.whole_context = true;
	layout = plan("gemma-3-27b", &o);
	ck_assert_uint_eq(layout.groups, 1);
	ck_assert_uint_eq(layout.growing_bytes, 507904);
	ck_assert_uint_eq(layout.page_bytes, 16 * 507904);
}
END_TEST

START_TEST(scales_are_counted_apart)
{
	struct kv_layout_options o = options("fp8_per_token_head", 1);
	struct kv_layout layout = plan("llama-3.1-8b", &o);

	ck_assert_uint_eq(layout.metadata_bytes, 32 * 2 * 8 * 4);
	ck_assert_uint_eq(layout.growing_bytes, 65536 + layout.metadata_bytes);
	o = options("nvfp4", 1);
	layout = plan("llama-3.1-8b", &o);
	ck_assert_uint_eq(layout.growing_bytes, 32 * 2 * 8 * (64 + 8));
	ck_assert_uint_eq(layout.metadata_bytes, 32 * 2 * 8 * 8);
}
END_TEST

START_TEST(the_sparse_mla_format_takes_656_bytes_a_layer)
{
	struct kv_layout_options o = options("fp8_ds_mla", 1);
	struct kv_layout layout = plan("deepseek-v3", &o);
	struct kv_model *dense = load("llama-3.1-8b");
	struct kv_error err;

	ck_assert_uint_eq(layout.growing_bytes, 40016);
	ck_assert_int_ne(kv_layout_plan(dense, &o, &layout, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "MLA"));
	kv_model_free(dense);
}
END_TEST

/* Bytes of a block id and blocks of one request, as logged or computed by vLLM. */
static const struct {
	const char *name;
	enum kv_packing packing;
	bool mtp;
	uint64_t page_bytes;
	uint64_t tokens, in_flight, request_blocks;
	double request_gib;  /* as printed */
} compressed[] = {
	/* vllm-project/vllm#53961: 23.32 GiB for 1,048,576 tokens, 16,384 batched tokens, asynchronous scheduling. */
	{"deepseek-v4-pro", KV_PACKING_DENSE, false, 1435968, 1048576, 32768, 17434, 23.32},
	/* #48993 before it: 1,473,408 bytes. */
	{"deepseek-v4-pro", KV_PACKING_BY_SIZE, true, 1473408, 0, 0, 0, 0},
	/* #44454: 329,601 tokens became 333,437 in the same memory, 1,051,776 / 1,039,680. */
	{"deepseek-v4-flash", KV_PACKING_BY_SIZE, false, 1039680, 0, 0, 0, 0},
	/* #44376, release 0.22: 6.66 GiB for 30,000 tokens; 5.44 GiB hold 13,528. */
	{"deepseek-v4-flash", KV_PACKING_TUPLES, false, 1051776, 30000, 16384, 6800, 6.66},
	{"deepseek-v4-flash", KV_PACKING_TUPLES, false, 1051776, 13528, 16384, 5554, 5.44},
	{"deepseek-v4-flash", KV_PACKING_DENSE, false, 1002240, 1048576, 8192, 4096 + 2 * 131 + 2051 + 1041, 0},
};

START_TEST(compressed_layers_are_laid_out_as_logged)
{
	struct kv_layout_options o = options("fp8", 8);
	struct kv_layout layout;
	uint64_t blocks;

	o.packing = compressed[_i].packing;
	o.mtp = compressed[_i].mtp;
	layout = plan(compressed[_i].name, &o);
	ck_assert_uint_eq(layout.page_bytes, compressed[_i].page_bytes);
	ck_assert_uint_eq(layout.groups, 5);
	if (!compressed[_i].tokens)
		return;
	blocks = kv_layout_request_blocks(&layout, compressed[_i].tokens, compressed[_i].in_flight);
	ck_assert_uint_eq(blocks, compressed[_i].request_blocks);
	if (compressed[_i].request_gib > 0)
		ck_assert_double_eq_tol((double)(blocks * layout.page_bytes) / 0x1p30, compressed[_i].request_gib, 0.005);
}
END_TEST

/* 21 layers of 584 + 132 bytes every 4 tokens, 20 of 584 every 128. */
START_TEST(compressed_rows_have_584_bytes_and_their_indexer_132)
{
	struct kv_layout_options o = options("fp8_ds_mla", 1);
	struct kv_layout layout = plan("deepseek-v4-flash", &o);

	ck_assert_uint_eq(layout.growing_bytes, 3851);  /* 3850.25 */
	ck_assert_uint_eq(layout.windowed_bytes, 43 * 584 + 21 * (8192 + 2048) + 20 * 4096);
	ck_assert_uint_eq(layout.metadata_bytes, 43 * 8 + 65);  /* 21 x (8 + 4) / 4 + 20 x 8 / 128 = 64.25 */
}
END_TEST

static const struct {
	const char *cache;
	uint32_t block_size;
	bool whole_context;
	const char *says;
} compressed_refusals[] = {
	{"auto", 16, false, "give --kv-cache-dtype fp8"}, {"nvfp4", 16, false, "give --kv-cache-dtype fp8"},
	{"fp8", 64, false, "blocks of 256"}, {"fp8", 16, true, "vLLM"},
};

START_TEST(what_sources_do_not_fix_of_compressed_layers_is_refused)
{
	struct kv_layout_options o = options(compressed_refusals[_i].cache, 1);
	struct kv_model *model = load("deepseek-v4-flash");
	struct kv_layout layout;
	struct kv_error err;

	o.block_size = compressed_refusals[_i].block_size;
	o.whole_context = compressed_refusals[_i].whole_context;
	ck_assert_int_ne(kv_layout_plan(model, &o, &layout, &err), 0);
	ck_assert_msg(strstr(err.text, compressed_refusals[_i].says) != NULL, "%s", err.text);
	kv_model_free(model);
}
END_TEST

/* Elements, scales and zero points of a head of 128: bytes of one token, layer and head, keys alone. */
static const struct {
	const char *cache;
	uint64_t bytes, metadata;
} quantised[] = {
	{"fp8", 128, 0}, {"int8_per_token_head", 132, 4}, {"fp8_per_token_head", 132, 4}, {"int4_per_token_head", 68, 4},
	{"nvfp4", 72, 8}, {"int4_g32", 64 + 4 * 4, 16}, {"int4_g64", 64 + 2 * 4, 8}, {"int4_g128", 64 + 4, 4},
};

START_TEST(quantised_caches_hold_scales_and_zero_points)
{
	struct kv_layout_options o = options(quantised[_i].cache, 1);
	struct kv_layout layout = plan("llama-3.1-8b", &o);

	ck_assert_uint_eq(layout.growing_bytes, 32 * 8 * 2 * quantised[_i].bytes);
	ck_assert_uint_eq(layout.metadata_bytes, 32 * 8 * 2 * quantised[_i].metadata);
	ck_assert(o.cache->lossy);
}
END_TEST

static struct kv_layout plan_with_wide(const char *name, const char *cache, const char *list)
{
	struct kv_layout_options o = options(cache, 1);
	struct kv_model *model = load(name);
	struct kv_layout layout;
	struct kv_error err;

	ck_assert_msg(kv_wide_layers_parse(list, model, &o.wide, &err) == 0, "%s", err.text);
	ck_assert_msg(kv_layout_plan(model, &o, &layout, &err) == 0, "%s", err.text);
	kv_model_free(model);
	return layout;
}

/* One kind of attention: one block table, and a page of what each layer needs. */
START_TEST(layers_that_stay_wide_share_the_block_table_of_full_layers)
{
	struct kv_layout layout = plan_with_wide("llama-3.1-8b", "fp8", "0,31");

	ck_assert_uint_eq(layout.groups, 1);
	ck_assert_uint_eq(layout.growing_bytes, 30 * 2048 + 2 * 4096);
	ck_assert_uint_eq(layout.page_bytes, 16 * layout.growing_bytes);
}
END_TEST

/* gpt-oss-20b: 12 full layers of 1,024 bytes a token in fp8, 12 windowed ones of 2,048: equal pages take blocks of 32 and 16. */
START_TEST(wide_windows_beside_narrow_full_layers_make_pages_equal_again)
{
	struct kv_layout layout = plan_with_wide("gpt-oss-20b", "fp8", "sliding_window");

	ck_assert_uint_eq(layout.groups, 2);
	ck_assert_int_eq(layout.group[0].kind, KV_GROUP_FULL);
	ck_assert_uint_eq(layout.group[0].block_size, 32);
	ck_assert_uint_eq(layout.group[1].block_size, 16);
	ck_assert_uint_eq(layout.page_bytes, 12 * 16 * 2048);
}
END_TEST

static const struct {
	const char *model, *list, *says;
} wide_refusals[] = {
	{"llama-3.1-8b", "32", "layer 32 is beyond the 32 layers"}, {"llama-3.1-8b", "first", "'first' is neither"},
	{"llama-3.1-8b", "1,,2", "'' is neither"}, {"llama-3.1-8b", "sliding_window", "no sliding_window layer"},
	{"qwen3-next-80b-a3b", "0", "no KV cache of its own"},
};

START_TEST(wide_layers_that_do_not_exist_are_refused)
{
	struct kv_model *model = load(wide_refusals[_i].model);
	struct kv_wide_layers wide;
	struct kv_error err;

	ck_assert_int_ne(kv_wide_layers_parse(wide_refusals[_i].list, model, &wide, &err), 0);
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
	ck_assert_msg(strstr(err.text, wide_refusals[_i].says) != NULL, "%s", err.text);
	kv_model_free(model);
}
END_TEST

START_TEST(unknown_cache_formats_list_the_valid_ones)
{
	struct kv_error err;

	ck_assert_ptr_null(kv_cache_format_find("fp7x", &err));
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "fp8"));
}
END_TEST

START_TEST(a_split_that_does_not_go_is_refused)
{
	struct kv_layout_options o = options("auto", 3);
	struct kv_model *model = load("llama-3.1-8b");
	struct kv_layout layout;
	struct kv_error err;

	ck_assert_int_ne(kv_layout_plan(model, &o, &layout, &err), 0);
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "32 query heads"));
	kv_model_free(model);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kv_layout");
	TCase *tc = tcase_create("kv_layout");

	tcase_add_loop_test(tc, bytes_per_token_are_the_published_ones, 0, MODEL_FACTS);
	tcase_add_loop_test(tc, groups_pages_and_request_blocks_are_those_of_real_engines, 0,
	                    sizeof real_layouts / sizeof *real_layouts);
	tcase_add_test(tc, state_makes_the_attention_block_grow);
	tcase_add_test(tc, nemotron_h_keeps_its_state_in_float32);
	tcase_add_test(tc, state_of_no_bytes_leaves_blocks_alone);
	tcase_add_test(tc, blocks_beside_state_are_multiples_of_what_was_asked_for);
	tcase_add_test(tc, windowed_and_chunked_requests_hold_window_plus_tokens_in_flight);
	tcase_add_loop_test(tc, kv_heads_split_down_to_one_a_rank_and_latents_do_not, 0, sizeof split / sizeof *split);
	tcase_add_test(tc, without_groups_windowed_layers_hold_everything);
	tcase_add_test(tc, scales_are_counted_apart);
	tcase_add_test(tc, the_sparse_mla_format_takes_656_bytes_a_layer);
	tcase_add_loop_test(tc, compressed_layers_are_laid_out_as_logged, 0, sizeof compressed / sizeof *compressed);
	tcase_add_test(tc, compressed_rows_have_584_bytes_and_their_indexer_132);
	tcase_add_loop_test(tc, what_sources_do_not_fix_of_compressed_layers_is_refused, 0,
	                    sizeof compressed_refusals / sizeof *compressed_refusals);
	tcase_add_loop_test(tc, quantised_caches_hold_scales_and_zero_points, 0, sizeof quantised / sizeof *quantised);
	tcase_add_test(tc, layers_that_stay_wide_share_the_block_table_of_full_layers);
	tcase_add_test(tc, wide_windows_beside_narrow_full_layers_make_pages_equal_again);
	tcase_add_loop_test(tc, wide_layers_that_do_not_exist_are_refused, 0, sizeof wide_refusals / sizeof *wide_refusals);
	tcase_add_test(tc, unknown_cache_formats_list_the_valid_ones);
	tcase_add_test(tc, a_split_that_does_not_go_is_refused);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
