#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/model/model.h"
#include "sim/profiles/profiles.h"
#include "tests/model_facts.h"
#include "tests/support.h"

#define LLAMA_BODY \
	"\"model_type\": \"llama\", \"num_hidden_layers\": 4, \"hidden_size\": 512, \"num_attention_heads\": 8, " \
	"\"intermediate_size\": 1024, \"vocab_size\": 1000, \"tie_word_embeddings\": false, \"torch_dtype\": \"bfloat16\""
#define LLAMA(more) "{" LLAMA_BODY ", " more "}"
#define KV2 "\"num_key_value_heads\": 2"
#define HD64 "\"head_dim\": 64"
#define V4 "\"head_dim\": 512, \"sliding_window\": 128, \"q_lora_rank\": 32, \"qk_rope_head_dim\": 64, \"o_groups\": 2, " \
	"\"o_lora_rank\": 16, \"index_n_heads\": 4, \"index_head_dim\": 128"
#define OTHER(type, more) \
	"{\"model_type\": \"" type "\", \"num_hidden_layers\": 4, \"hidden_size\": 512, \"num_attention_heads\": 8, " \
	"\"intermediate_size\": 1024, \"vocab_size\": 1000, \"tie_word_embeddings\": false, \"torch_dtype\": \"bfloat16\", " \
	KV2 ", " more "}"

static struct kv_model *parse(const char *text)
{
	struct kv_error err;
	struct kv_model *model = kv_model_parse(text, "config.json", &err);

	ck_assert_msg(model != NULL, "%s", err.text);
	return model;
}

static bool notes_mention(const struct kv_model *model, const char *word)
{
	for (size_t i = 0; i < model->notes.count; i++)
		if (strstr(model->notes.text[i], word))
			return true;
	return false;
}

static const char *kinds(const struct kv_model *model)
{
	static char text[64];
	static const char letters[] = "fscm12dkxvln";

	for (uint32_t i = 0; i < model->layers; i++)
		text[i] = letters[model->layer[i].mixer];
	text[model->layers] = '\0';
	return text;
}

START_TEST(built_in_models_have_the_published_shape)
{
	const struct model_facts *facts = &model_facts[_i];
	struct kv_error err;
	struct kv_model *m = kv_model_load(facts->name, &err);
	uint32_t full = 0, windowed = 0, linear = 0;

	ck_assert_msg(m != NULL, "%s", err.text);
	for (uint32_t i = 0; i < m->layers; i++) {
		enum kv_mixer mixer = m->layer[i].mixer;

		full += mixer == KV_MIXER_FULL || mixer == KV_MIXER_MLA;
		windowed += mixer == KV_MIXER_SLIDING || mixer == KV_MIXER_CHUNKED;
		linear += mixer == KV_MIXER_DELTA_NET || mixer == KV_MIXER_MAMBA1;
	}
	ck_assert_uint_eq(m->layers, facts->layers);
	ck_assert_uint_eq(m->hidden, facts->hidden);
	ck_assert_uint_eq(m->q_heads, facts->q_heads);
	ck_assert_uint_eq(full, facts->full);
	ck_assert_uint_eq(windowed, facts->windowed);
	ck_assert_uint_eq(linear, facts->linear);
	kv_model_free(m);
}
END_TEST

START_TEST(built_in_models_assume_nothing)
{
	struct kv_error err;

	for (const struct kv_profile *p = kv_profile_next("models", NULL); p; p = kv_profile_next("models", p)) {
		struct kv_model *m = kv_model_load(p->name, &err);

		ck_assert_msg(m != NULL, "%s: %s", p->name, err.text);
		ck_assert_msg(m->notes.count == 0, "%s: %s", p->name, m->notes.text[0]);
		ck_assert_str_eq(m->name, p->name);
		kv_model_free(m);
	}
}
END_TEST

static const struct {
	const char *alias, *name;
} aliases[] = {
	{"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"}, {"LLAMA-3.1-8B", "llama-3.1-8b"},
	{"llama-3.3-70b", "llama-3.1-70b"}, {"deepseek-ai/DeepSeek-R1", "deepseek-v3"}, {"mistral-7b", "mistral-7b-v0.2"},
	{"llama3-8b", "llama-3.1-8b"}, {"llama2-70b", "llama-2-70b"}, {"qwen2-7b", "qwen2.5-7b"},
	{"qwen2-72b", "qwen2.5-72b"}, {"openai/gpt-oss-120b", "gpt-oss-120b"}, {"Qwen/Qwen3-32B", "qwen3-32b"},
	{"MiniMaxAI/MiniMax-M2.5", "minimax-m2.5"}, {"internlm-20b", "internlm-20b"}, {"phi-2", "phi-2"},
};

START_TEST(aliases_and_hugging_face_names_find_the_model)
{
	struct kv_error err;
	struct kv_model *m = kv_model_load(aliases[_i].alias, &err);

	ck_assert_msg(m != NULL, "%s", err.text);
	ck_assert_str_eq(m->name, aliases[_i].name);
	kv_model_free(m);
}
END_TEST

START_TEST(an_unknown_name_gets_the_nearest)
{
	struct kv_error err;

	ck_assert_ptr_null(kv_model_load("llama-3.1-9b", &err));
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "llama-3.1-8b"));
	ck_assert_ptr_null(kv_model_load("no/such/config.json", &err));
	ck_assert_int_eq(err.status, KV_EXIT_MISSING);
}
END_TEST

/* A config, and the words that its error must hold. */
static const struct {
	const char *text, *field, *says;
} refused[] = {
	{"", "config.json", "not JSON"},
	{"[1]", "config.json", "not a JSON object"},
	{"{\"a\": 1, \"a\": 2}", "config.json", "duplicate"},
	{"{\"model_type\": \"llama\"}", "num_hidden_layers", "missing"},
	{LLAMA(KV2 ", \"head_dim\": -1"), "head_dim", "it must be a whole number"},
	{LLAMA("\"num_key_value_heads\": 3"), "num_key_value_heads", "divide"},
	{LLAMA("\"num_key_value_heads\": \"2\""), "num_key_value_heads", "\"2\""},
	{LLAMA(KV2 ", \"layer_types\": [\"full_attention\"]"), "layer_types", "has 1 elements: it must have 4"},
	{LLAMA(KV2 ", \"layer_types\": [\"a\", \"a\", \"a\", \"a\"]"), "layer_types", "sliding_attention"},
	{LLAMA(KV2 ", \"layer_types\": [\"sliding_attention\", \"full_attention\", \"full_attention\", \"full_attention\"]"),
	 "sliding_window", "missing"},
	{LLAMA(KV2 ", \"quantization_config\": 7"), "quantization_config", "must be an object"},
	{LLAMA(KV2 ", \"quantization_config\": {\"quant_method\": \"fp8\", \"weight_block_size\": [128]}"),
	 "weight_block_size", "two whole numbers"},
	{"{\"model_type\": \"llama\", \"num_hidden_layers\": 4, \"hidden_size\": 512, \"num_attention_heads\": 8, "
	 "\"num_key_value_heads\": 2, \"vocab_size\": 1000}", "\"intermediate_size\"", "missing"},
	{"{\"model_type\": \"gpt2\", \"n_layer\": 4, \"n_embd\": 512, \"n_head\": \"8\"}", "\"n_head\"", "\"8\""},
	{"{\"model_type\": \"llava\", \"text_config\": 7}", "text_config", "must be an object"},
	{"{\"model_type\": \"llava\", \"text_config\": {\"text_config\": {}}}", "text_config", "another"},
	{"{\"model_type\": \"mamba\", \"num_hidden_layers\": 64, \"hidden_size\": 2560, \"state_size\": 16}",
	 "num_attention_heads", "recurrent layers alone"},
	{OTHER("qwen3", "\"max_position_embeddings\": 100"), "head_dim", "add head_dim"},
	{OTHER("something", "\"max_position_embeddings\": 100"), "head_dim", "add head_dim"},
	{OTHER("something", HD64 ", \"sliding_window\": 128"), "sliding_window", "layer_types"},
	{OTHER("something", HD64 ", \"block_types\": [\"recurrent\", \"attention\"]"), "block_types", "recurrent state"},
	{OTHER("bamba", "\"attn_layer_indices\": [4]"), "attn_layer_indices", "from 0 to 3"},
	{OTHER("nemotron-nas", "\"block_configs\": [1, 2, 3, 4]"), "block_configs", "list of objects"},
	{OTHER("something", HD64 ", \"num_experts_held\": 8"), "num_experts_held", "add num_experts"},
	{"{\"architectures\": [\"LlamaForCausalLM\"], \"num_hidden_layers\": 4}", "model_type", "is missing"},
	{OTHER("t5", HD64 ", \"is_encoder_decoder\": true"), "is_encoder_decoder", "decoders alone"},
	{OTHER("something", HD64 ", \"cross_attention_layers\": [1]"), "cross_attention_layers", "not known"},
	{OTHER("something", HD64 ", \"moe_num_experts\": [8, 4], \"moe_k\": 2"), "moe_num_experts", "differs between layers 0 and 1"},
	{OTHER("gemma2", HD64), "sliding_window", "missing"},
	{OTHER("llama", "\"layer_types\": [\"mamba\", \"mamba\", \"mamba\", \"mamba\"]"), "layer_types", "mamba"},
	{OTHER("deepseek_v4", V4 ", \"compress_ratios\": [0, 4, 128]"), "compress_ratios", "has 3 elements: it must have 4"},
	{OTHER("deepseek_v4", V4 ", \"compress_ratios\": [0, 4, 64, 128]"), "compress_ratios", "known are 0, 4 and 128"},
	{OTHER("deepseek_v4", V4 ", \"compress_ratios\": [0, 4, 4, 128], \"expert_dtype\": \"fp6\", \"quantization_config\": "
	       "{\"quant_method\": \"fp8\"}"), "expert_dtype", "known are fp4 and fp8"},
	{OTHER("deepseek_v4", V4 ", \"layer_types\": [\"sliding_attention\", \"a\", \"a\", \"a\"]"), "layer_types",
	 "compress_rates holds no number"},
	{OTHER("llama", "\"num_local_experts\": 8"), "num_experts_per_tok", "missing"},
	{OTHER("llama", "\"num_local_experts\": 8, \"num_experts_per_tok\": 9"), "num_experts_per_tok", "from 1 to 8"},
};

START_TEST(what_makes_no_sense_is_refused_by_field)
{
	struct kv_error err;

	ck_assert_ptr_null(kv_model_parse(refused[_i].text, "config.json", &err));
	ck_assert_int_eq(err.status, KV_EXIT_DATA);
	ck_assert_msg(strstr(err.text, refused[_i].field) != NULL, "%s", err.text);
	ck_assert_msg(strstr(err.text, refused[_i].says) != NULL, "%s", err.text);
}
END_TEST

START_TEST(a_missing_head_dim_is_derived_where_the_class_does_and_said)
{
	struct kv_model *m = parse(LLAMA(KV2));

	ck_assert_uint_eq(m->head_dim, 64);
	ck_assert(notes_mention(m, "head_dim is missing: 64"));
	kv_model_free(m);
}
END_TEST

START_TEST(a_head_dim_that_is_there_counts_whatever_hidden_says)
{
	struct kv_model *m = parse(LLAMA(KV2 ", \"head_dim\": 128"));

	ck_assert_uint_eq(m->head_dim, 128);
	ck_assert(!notes_mention(m, "head_dim"));
	kv_model_free(m);
}
END_TEST

START_TEST(missing_kv_heads_are_said)
{
	struct kv_model *m = parse(LLAMA(HD64));

	ck_assert_uint_eq(m->kv_heads, 8);
	ck_assert(notes_mention(m, "num_key_value_heads is missing: 8 assumed"));
	kv_model_free(m);
}
END_TEST

START_TEST(an_unknown_class_is_taken_at_its_word_and_said)
{
	struct kv_model *m = parse(OTHER("something", HD64));

	ck_assert(!m->known_family);
	ck_assert(notes_mention(m, "\"something\" is unknown"));
	ck_assert_str_eq(kinds(m), "ffff");
	kv_model_free(m);
}
END_TEST

/* vLLM caches MiniCPM3's 40 heads whole. */
START_TEST(latents_of_an_unknown_class_are_doubted)
{
	struct kv_model *m = parse(OTHER("minicpm3", "\"kv_lora_rank\": 256, \"q_lora_rank\": 768, \"qk_nope_head_dim\": 64, "
	                                 "\"qk_rope_head_dim\": 32, \"v_head_dim\": 64"));

	ck_assert(notes_mention(m, "kv_lora_rank: one latent a token is counted"));
	kv_model_free(m);
}
END_TEST

START_TEST(a_nested_text_config_is_found)
{
	struct kv_model *m = parse("{\"architectures\": [\"X\"], \"model_type\": \"gemma3\", \"torch_dtype\": \"float16\", "
	                           "\"tie_word_embeddings\": true, \"text_config\": {\"model_type\": \"gemma3_text\", "
	                           "\"num_hidden_layers\": 7, \"hidden_size\": 512, \"num_attention_heads\": 8, "
	                           "\"num_key_value_heads\": 4, \"head_dim\": 256, \"intermediate_size\": 1024, "
	                           "\"vocab_size\": 1000, \"sliding_window\": 512}, \"vision_config\": {\"hidden_size\": 9}}");

	ck_assert_uint_eq(m->layers, 7);
	ck_assert_str_eq(kinds(m), "sssssfs");
	ck_assert_int_eq(m->dtype, KV_DTYPE_F16);
	ck_assert(m->tied_embeddings);
	ck_assert(notes_mention(m, "text part"));
	kv_model_free(m);
}
END_TEST

/* google/gemma-3-4b-it says no more of its attention than this; the rest is Gemma3TextConfig's. */
START_TEST(what_a_published_config_leaves_to_its_class_is_filled_in_and_said)
{
	struct kv_model *m = parse("{\"model_type\": \"gemma3\", \"torch_dtype\": \"bfloat16\", \"text_config\": "
	                           "{\"hidden_size\": 2560, \"intermediate_size\": 10240, \"model_type\": \"gemma3_text\", "
	                           "\"num_hidden_layers\": 34, \"sliding_window\": 1024}}");

	ck_assert_uint_eq(m->q_heads, 8);
	ck_assert_uint_eq(m->kv_heads, 4);
	ck_assert_uint_eq(m->head_dim, 256);
	ck_assert_uint_eq(m->vocab, 262208);
	ck_assert_uint_eq(m->max_position, 131072);
	ck_assert(notes_mention(m, "num_attention_heads is missing: 8 assumed"));
	ck_assert(notes_mention(m, "max_position_embeddings is missing: 131072 assumed"));
	kv_model_free(m);
}
END_TEST

#define COMPRESSED_8_BITS "\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"group_0\": {\"weights\": " \
	"{\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"channel\"}}}"
#define MODELOPT "\"quant_method\": \"modelopt\", "

static const struct {
	const char *quantization, *cache;
} caches[] = {
	{COMPRESSED_8_BITS, NULL},
	{COMPRESSED_8_BITS ", \"kv_cache_scheme\": null", NULL},
	{COMPRESSED_8_BITS ", \"kv_cache_scheme\": {\"num_bits\": 8, \"type\": \"float\"}", "fp8"},
	{COMPRESSED_8_BITS ", \"kv_cache_scheme\": {\"num_bits\": 8, \"type\": \"int\"}", NULL},
	{MODELOPT "\"quant_algo\": \"NVFP4\", \"kv_cache_scheme\": {\"num_bits\": 8, \"type\": \"float\"}", "fp8"},
	{MODELOPT "\"quantization\": {\"quant_algo\": \"FP8\", \"kv_cache_quant_algo\": \"FP8\"}", "fp8"},
	{MODELOPT "\"quantization\": {\"quant_algo\": \"FP8\", \"kv_cache_quant_algo\": null}", NULL},
};

START_TEST(a_checkpoint_may_have_scales_for_its_kv_cache)
{
	char text[1024];
	struct kv_model *m;

	snprintf(text, sizeof text, LLAMA(KV2 ", \"quantization_config\": {%s}"), caches[_i].quantization);
	m = parse(text);
	ck_assert_pstr_eq(m->quantization.cache, caches[_i].cache);
	ck_assert(notes_mention(m, "KV cache other than fp8") == (strstr(text, "\"int\"") != NULL));
	kv_model_free(m);
}
END_TEST

static const struct {
	const char *quantization, *why;
} unsized[] = {
	{"\"quant_method\": \"hqq\"", "\"hqq\": known are fp8"},
	{"\"bits\": 4", "quant_method is missing"},
	{"\"quant_method\": \"gptq\", \"bits\": 3", "has 3 bits"},
	{"\"quant_method\": \"gptq\", \"bits\": 4, \"dynamic\": {\"+:.*down.*\": {\"bits\": 8}}", "other bits for \"+:.*down.*\""},
	{"\"quant_method\": \"modelopt\", \"quant_algo\": \"W4A8_AWQ\"", "\"W4A8_AWQ\": FP8 and NVFP4"},
	{"\"quant_method\": \"compressed-tensors\", \"config_groups\": {}", "no config_groups"},
	{"\"quant_method\": \"fp8\", \"ignored_layers\": [\"re:(?!a)b\"]", "the expression \"re:(?!a)b\""},
};

START_TEST(weights_of_unknown_formats_have_no_bytes_and_a_reason)
{
	char text[1024];
	struct kv_model *m;

	snprintf(text, sizeof text, LLAMA(KV2 ", \"quantization_config\": {%s}"), unsized[_i].quantization);
	m = parse(text);
	ck_assert_ptr_nonnull(m->quantization.unsized);
	ck_assert_msg(strstr(m->quantization.unsized, unsized[_i].why) != NULL, "%s", m->quantization.unsized);
	kv_model_free(m);
}
END_TEST

static const struct {
	const char *text, *kinds;
} windows[] = {
	{OTHER("llama", "\"sliding_window\": 128"), "ffff"},
	{OTHER("mistral", "\"sliding_window\": 128"), "ssss"},
	{OTHER("mistral", "\"sliding_window\": null"), "ffff"},
	{OTHER("mistral", "\"sliding_window\": 4096, \"max_position_embeddings\": 4096"), "ffff"},
	{OTHER("gemma2", HD64 ", \"sliding_window\": 128"), "sfsf"},
	{OTHER("gemma3_text", HD64 ", \"sliding_window\": 128, \"sliding_window_pattern\": 3"), "ssfs"},
	{OTHER("cohere2", "\"sliding_window\": 128"), "sssf"},
	{OTHER("nemotron_h", HD64 ", \"layers_block_type\": [\"linear_attention\", \"mlp\", \"full_attention\", \"moe\"], "
	       "\"n_groups\": 2, \"mamba_num_heads\": 4, \"mamba_head_dim\": 8, \"ssm_state_size\": 16, \"conv_kernel\": 4"), "2nfn"},
	{OTHER("cohere2", "\"sliding_window\": 128, \"sliding_window_pattern\": 2"), "sfsf"},
	{OTHER("qwen2", "\"sliding_window\": 128, \"use_sliding_window\": false, \"max_window_layers\": 2"), "ffff"},
	{OTHER("qwen2", "\"sliding_window\": 128, \"use_sliding_window\": true, \"max_window_layers\": 2"), "ffss"},
	{OTHER("llama4_text", HD64 ", \"attention_chunk_size\": 128"), "cccf"},
	{OTHER("llama4_text", HD64 ", \"attention_chunk_size\": 128, \"no_rope_layers\": [0, 1, 0, 1]"), "fcfc"},
	{OTHER("gpt_oss", HD64 ", \"sliding_window\": 128, \"layer_types\": [\"full_attention\", \"sliding_attention\", "
	       "\"full_attention\", \"sliding_attention\"]"), "fsfs"},
	{OTHER("qwen3_next", HD64 ", \"linear_num_key_heads\": 2, \"linear_num_value_heads\": 4, \"linear_key_head_dim\": 8, "
	       "\"linear_value_head_dim\": 8, \"linear_conv_kernel_dim\": 4"), "dddf"},
	{OTHER("deepseek_v4", V4 ", \"compress_ratios\": [0, 0, 4, 128]"), "xxxx"},
	{OTHER("deepseek_v4", V4 ", \"layer_types\": [\"sliding_attention\", \"sliding_attention\", \"csa\", \"hca\"], "
	       "\"compress_rates\": {\"csa\": 4, \"hca\": 128}"), "xxxx"},
	{OTHER("nemotron_h", HD64 ", \"hybrid_override_pattern\": \"M-*M\", \"n_groups\": 2, \"mamba_num_heads\": 4, "
	       "\"mamba_head_dim\": 8, \"ssm_state_size\": 16, \"conv_kernel\": 4"), "2nf2"},
	{OTHER("kimi_linear", "\"kv_lora_rank\": 32, \"qk_nope_head_dim\": 16, \"qk_rope_head_dim\": 8, \"v_head_dim\": 16, "
	       "\"linear_attn_config\": {\"num_heads\": 4, \"head_dim\": 8, \"short_conv_kernel_size\": 4, "
	       "\"full_attn_layers\": [4]}"), "kkkm"},
};

START_TEST(windows_and_states_follow_the_rule_of_the_family)
{
	struct kv_model *m = parse(windows[_i].text);

	ck_assert_str_eq(kinds(m), windows[_i].kinds);
	kv_model_free(m);
}
END_TEST

START_TEST(experts_sit_where_the_config_says)
{
	struct kv_model *m = parse(OTHER("deepseek_v3", "\"kv_lora_rank\": 32, \"q_lora_rank\": null, \"qk_nope_head_dim\": 16, "
	                                 "\"qk_rope_head_dim\": 8, \"v_head_dim\": 16, \"n_routed_experts\": 16, "
	                                 "\"num_experts_per_tok\": 2, \"n_shared_experts\": 1, \"moe_intermediate_size\": 64, "
	                                 "\"first_k_dense_replace\": 1, \"num_nextn_predict_layers\": 1"));

	ck_assert_int_eq(m->layer[0].ffn, KV_FFN_DENSE);
	ck_assert_uint_eq(m->layer[0].ffn_size, 1024);
	ck_assert_int_eq(m->layer[1].ffn, KV_FFN_MOE);
	ck_assert_uint_eq(m->layer[1].ffn_size, 64);
	ck_assert_uint_eq(m->mtp_layers, 1);
	ck_assert_int_eq(m->layer[4].mixer, KV_MIXER_MLA);
	kv_model_free(m);
}
END_TEST

START_TEST(late_layers_can_share_keys_and_values)
{
	struct kv_model *m = parse(OTHER("gemma4_text", HD64 ", \"sliding_window\": 128, \"sliding_window_pattern\": 2, "
	                                 "\"num_kv_shared_layers\": 2"));

	ck_assert_str_eq(kinds(m), "sfsf");
	ck_assert_int_eq(m->layer[1].shares_kv_with, -1);
	ck_assert_int_eq(m->layer[2].shares_kv_with, 0);
	ck_assert_int_eq(m->layer[3].shares_kv_with, 1);
	kv_model_free(m);
}
END_TEST

START_TEST(a_config_file_is_read_from_disk)
{
	char path[] = "/tmp/kvsim-model-XXXXXX.json";
	int fd = mkstemps(path, 5);
	struct kv_error err;
	struct kv_model *m;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, LLAMA(KV2), strlen(LLAMA(KV2))), (ssize_t)strlen(LLAMA(KV2)));
	close(fd);
	m = kv_model_load(path, &err);
	unlink(path);
	ck_assert_msg(m != NULL, "%s", err.text);
	ck_assert_str_eq(m->name, path);
	kv_model_free(m);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model");
	TCase *tc = tcase_create("model");

	tcase_add_loop_test(tc, built_in_models_have_the_published_shape, 0, MODEL_FACTS);
	tcase_add_test(tc, built_in_models_assume_nothing);
	tcase_add_loop_test(tc, aliases_and_hugging_face_names_find_the_model, 0, sizeof aliases / sizeof *aliases);
	tcase_add_test(tc, an_unknown_name_gets_the_nearest);
	tcase_add_loop_test(tc, what_makes_no_sense_is_refused_by_field, 0, sizeof refused / sizeof *refused);
	tcase_add_test(tc, a_missing_head_dim_is_derived_where_the_class_does_and_said);
	tcase_add_test(tc, a_head_dim_that_is_there_counts_whatever_hidden_says);
	tcase_add_test(tc, missing_kv_heads_are_said);
	tcase_add_test(tc, latents_of_an_unknown_class_are_doubted);
	tcase_add_loop_test(tc, weights_of_unknown_formats_have_no_bytes_and_a_reason, 0, sizeof unsized / sizeof *unsized);
	tcase_add_test(tc, an_unknown_class_is_taken_at_its_word_and_said);
	tcase_add_test(tc, a_nested_text_config_is_found);
	tcase_add_test(tc, what_a_published_config_leaves_to_its_class_is_filled_in_and_said);
	tcase_add_loop_test(tc, a_checkpoint_may_have_scales_for_its_kv_cache, 0, sizeof caches / sizeof *caches);
	tcase_add_loop_test(tc, windows_and_states_follow_the_rule_of_the_family, 0, sizeof windows / sizeof *windows);
	tcase_add_test(tc, experts_sit_where_the_config_says);
	tcase_add_test(tc, late_layers_can_share_keys_and_values);
	tcase_add_test(tc, a_config_file_is_read_from_disk);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
