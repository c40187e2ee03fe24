#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/model/weights.h"
#include "tests/model_facts.h"
#include "tests/support.h"

static struct kv_model *load(const char *name)
{
	struct kv_error err;
	struct kv_model *model = kv_model_load(name, &err);

	ck_assert_msg(model != NULL, "%s", err.text);
	return model;
}

static struct kv_weights count(const struct kv_model *model, uint32_t tp)
{
	struct kv_weight_options options = {.tensor_parallel = tp, .expert_ranks = 1};
	struct kv_weights weights;

	kv_weights_count(model, &options, &weights);
	return weights;
}

/* The published totals leave out the biases of gpt-oss, OPT and Falcon-40B: at most 0.1 %. */
START_TEST(parameters_agree_with_the_published_totals)
{
	const struct model_facts *facts = &model_facts[_i];
	struct kv_model *model = load(facts->name);
	struct kv_weights weights = count(model, 1);

	ck_assert_double_eq_tol(weights.parameters / 1e9 / facts->parameters, 1, 1e-3);
	ck_assert_double_eq_tol(weights.active_parameters / 1e9 / facts->active, 1, 4e-3);
	kv_model_free(model);
}
END_TEST

/* DeepSeek's model card, in billions as it rounds them. */
static const struct {
	const char *name;
	double parameters, active;
} compressed[] = {{"deepseek-v4-flash", 284, 13}, {"deepseek-v4-pro", 1600, 49}};

START_TEST(models_of_compressed_layers_have_the_parameters_of_their_card)
{
	struct kv_model *model = load(compressed[_i].name);
	struct kv_weights weights = count(model, 1);

	ck_assert_double_eq_tol(weights.parameters / 1e9 / compressed[_i].parameters, 1, 0.02);
	ck_assert_double_eq_tol(weights.active_parameters / 1e9 / compressed[_i].active, 1, 0.08);
	kv_model_free(model);
}
END_TEST

/* Llama-3.1-8B: 32 layers with 2 x 4096 x 4096 + 2 x 4096 x 1024 weights in attention and 3 x 4096 x 14336 in the feed-forward
 * part; embedding, output head and norms stay in bfloat16. */
#define ATTENTION 1342177280ull
#define FEED_FORWARD 5637144576ull
#define WIDE (2ull * (2 * 128256 * 4096 + 65 * 4096))
#define GROUP(targets, weights) "{\"targets\": [" targets "], \"weights\": {" weights "}}"
#define BLOCKS_8 "\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"block\", \"block_structure\": [128, 128]"
#define CHANNELS_8 "\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"channel\""
#define NVFP4 "\"num_bits\": 4, \"type\": \"float\", \"strategy\": \"tensor_group\", \"group_size\": 16"
#define TENSORS "\"quant_method\": \"compressed-tensors\", \"ignore\": [\"lm_head\"], \"config_groups\": "

static const struct {
	const char *quantization;
	uint64_t bytes;
} formats[] = {
	{TENSORS "{\"a\": " GROUP("\"Linear\"", BLOCKS_8) "}", WIDE + (ATTENTION + FEED_FORWARD) / 16384 * (16384 + 4)},
	{TENSORS "{\"a\": " GROUP("\"re:.*self_attn.*\"", CHANNELS_8) ", \"b\": " GROUP("\"re:.*mlp.*\"", NVFP4) "}",
	 WIDE + ATTENTION + 32 * (2 * 4096 + 2 * 1024) * 4 + FEED_FORWARD / 16 * 9},
	{TENSORS "{\"a\": " GROUP("\"re:model.layers.\\\\d+.(?:mlp|experts).*\"", NVFP4) "}", WIDE + 2 * ATTENTION + FEED_FORWARD / 16 * 9},
	{"\"quant_method\": \"auto-round\", \"bits\": 4, \"group_size\": 128", WIDE + (ATTENTION + FEED_FORWARD) / 256 * 133},
	{"\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 128, \"dynamic\": {\"-:.*mlp.*\": {}}",
	 WIDE + ATTENTION / 256 * 133 + 2 * FEED_FORWARD},
};

START_TEST(quantised_weights_take_what_their_format_says)
{
	char text[2048];
	struct kv_error err;
	struct kv_model *model;

	snprintf(text, sizeof text, "{\"model_type\": \"llama\", \"num_hidden_layers\": 32, \"hidden_size\": 4096, "
	         "\"intermediate_size\": 14336, \"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"vocab_size\": 128256, "
	         "\"tie_word_embeddings\": false, \"torch_dtype\": \"bfloat16\", \"quantization_config\": {%s}}",
	         formats[_i].quantization);
	model = kv_model_parse(text, "config.json", &err);
	ck_assert_msg(model != NULL, "%s", err.text);
	ck_assert_uint_eq(count(model, 1).bytes, formats[_i].bytes);
	kv_model_free(model);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("weights");
	TCase *tc = tcase_create("weights");

	tcase_add_loop_test(tc, parameters_agree_with_the_published_totals, 0, MODEL_FACTS);
	tcase_add_loop_test(tc, models_of_compressed_layers_have_the_parameters_of_their_card, 0, 2);
	tcase_add_loop_test(tc, quantised_weights_take_what_their_format_says, 0, sizeof formats / sizeof *formats);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
