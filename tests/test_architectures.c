/* Published models of many classes (tests/data/architectures.json: the fields of their config.json that tell the shape,
 * numbers only): parameters as their own class in transformers or mlx-lm counts them, KV bytes by layers x 2 x KV heads x
 * head dimension x 2 bytes; vision towers as transformers builds them. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "sim/model/kv_layout.h"
#include "sim/model/model.h"
#include "sim/model/weights.h"
#include "tests/support.h"

static json_t *published;

static const char *text_of(const json_t *entry, const char *key)
{
	return json_string_value(json_object_get(entry, key));
}

static uint64_t number_of(const json_t *entry, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(entry, key));
}

static struct kv_model *model_of(const json_t *entry)
{
	char *text = json_dumps(json_object_get(entry, "config"), JSON_COMPACT);
	struct kv_error err;
	struct kv_model *model = kv_model_parse(text, text_of(entry, "name"), &err);

	ck_assert_msg(model != NULL, "%s", err.text);
	ck_assert_msg(model->known_family, "%s", model->name);
	free(text);
	return model;
}

static const json_t *entry_of(const char *name)
{
	size_t at;
	json_t *entry;

	json_array_foreach(published, at, entry)
		if (!strcmp(text_of(entry, "name"), name))
			return entry;
	ck_abort_msg("no entry %s", name);
}

START_TEST(parameters_are_what_the_models_own_class_counts)
{
	const json_t *entry = json_array_get(published, (size_t)_i);
	struct kv_model *model = model_of(entry);
	struct kv_weight_options options = {.tensor_parallel = 1, .expert_ranks = 1};
	struct kv_weights weights;
	double counted, expected = (double)number_of(entry, "parameters");

	kv_weights_count(model, &options, &weights);
	counted = (double)weights.parameters;
	ck_assert_msg(counted > 0.998 * expected && counted < 1.002 * expected, "%s: %.0f instead of %.0f", model->name, counted,
	              expected);
	kv_model_free(model);
}
END_TEST

START_TEST(a_token_takes_what_the_published_layers_keep)
{
	const json_t *entry = json_array_get(published, (size_t)_i);
	struct kv_model *model = model_of(entry);
	struct kv_error err;
	struct kv_layout_options options = {.block_size = 16, .tensor_parallel = 1, .cache = kv_cache_format_find("auto", &err)};
	struct kv_layout layout;

	ck_assert_msg(kv_layout_plan(model, &options, &layout, &err) == 0, "%s", err.text);
	ck_assert_msg(layout.growing_bytes == number_of(entry, "growing"), "%s: %llu bytes", model->name,
	              (unsigned long long)layout.growing_bytes);
	ck_assert_msg(layout.windowed_bytes == number_of(entry, "windowed"), "%s: %llu bytes", model->name,
	              (unsigned long long)layout.windowed_bytes);
	ck_assert_uint_eq(layout.state_bytes, number_of(entry, "state"));
	kv_model_free(model);
}
END_TEST

START_TEST(vision_towers_have_the_parameters_of_their_class)
{
	const json_t *entry = json_array_get(published, (size_t)_i);
	struct kv_model *model = model_of(entry);

	ck_assert_uint_eq(model->vision.split + model->vision.whole, number_of(entry, "vision"));
	kv_model_free(model);
}
END_TEST

/* Half of the matrices of a tower are on each of two ranks. */
START_TEST(vision_towers_are_split_over_ranks)
{
	struct kv_model *model = model_of(entry_of("gemma-3-4b"));
	struct kv_weight_options options = {.tensor_parallel = 2, .expert_ranks = 1};
	struct kv_weights weights;
	uint64_t matrices = 27ull * (4 * 1152 * 1152 + 2 * 1152 * 4304);

	kv_weights_count(model, &options, &weights);
	ck_assert_uint_eq(weights.part_bytes[KV_WEIGHTS_VISION], 2 * (419816304 - matrices / 2));
	kv_model_free(model);
}
END_TEST

/* vLLM on two ranks logged blocks of 960 tokens and 1.89 % of padding beside 576 bfloat16 latents (vllm-project/vllm#28228):
 * 1,105,920 bytes over 1,085,440, of which 1,048,576 are recurrent state with 4 bytes an element. */
START_TEST(kimi_linear_keeps_its_recurrent_state_in_float32)
{
	struct kv_model *model = model_of(entry_of("kimi-linear-48b"));
	struct kv_error err;
	struct kv_layout_options options = {.block_size = 16, .tensor_parallel = 2, .state_alignment = 64,
	                                    .cache = kv_cache_format_find("auto", &err)};
	struct kv_layout layout;

	ck_assert_msg(kv_layout_plan(model, &options, &layout, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(layout.group[0].block_size, 960);
	ck_assert_uint_eq(layout.state_bytes, 20 * 1085440);
	kv_model_free(model);
}
END_TEST

/* Cross-layer attention by two: half of the layers have keys of their own. */
START_TEST(layers_that_attend_to_others_keys_cache_nothing)
{
	static const char text[] = "{\"model_type\": \"hunyuan_v1_dense\", \"num_hidden_layers\": 64, \"hidden_size\": 6400, "
		"\"num_attention_heads\": 80, \"num_key_value_heads\": 8, \"head_dim\": 128, \"intermediate_size\": 18304, "
		"\"vocab_size\": 128512, \"tie_word_embeddings\": true, \"torch_dtype\": \"bfloat16\", \"use_cla\": true, "
		"\"cla_share_factor\": 2}";
	struct kv_error err;
	struct kv_layout_options options = {.block_size = 16, .tensor_parallel = 1, .cache = kv_cache_format_find("auto", &err)};
	struct kv_model *model = kv_model_parse(text, "config.json", &err);
	struct kv_layout layout;

	ck_assert_msg(model != NULL, "%s", err.text);
	ck_assert_msg(kv_layout_plan(model, &options, &layout, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(layout.growing_bytes, 32 * 2 * 8 * 128 * 2);
	kv_model_free(model);
}
END_TEST

static json_t *load(void)
{
	const char *srcdir = getenv("srcdir");
	char path[4096];
	json_error_t error;
	json_t *list;

	snprintf(path, sizeof path, "%s/tests/data/architectures.json", srcdir ? srcdir : ".");
	list = json_load_file(path, 0, &error);
	if (!list)
		fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
	return list;
}

int main(void)
{
	Suite *suite = suite_create("architectures");
	TCase *cases = tcase_create("published");
	int count, failed;

	published = load();
	count = (int)json_array_size(published);
	if (count == 0)
		return 1;
	tcase_add_loop_test(cases, parameters_are_what_the_models_own_class_counts, 0, count);
	tcase_add_loop_test(cases, a_token_takes_what_the_published_layers_keep, 0, count);
	tcase_add_loop_test(cases, vision_towers_have_the_parameters_of_their_class, 0, count);
	tcase_add_test(cases, vision_towers_are_split_over_ranks);
	tcase_add_test(cases, kimi_linear_keeps_its_recurrent_state_in_float32);
	tcase_add_test(cases, layers_that_attend_to_others_keys_cache_nothing);
	suite_add_tcase(suite, cases);
	failed = kv_run_suite(suite);
	json_decref(published);
	return failed;
}
