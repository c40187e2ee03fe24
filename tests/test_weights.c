#include "config.h"

#include <math.h>
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

int main(void)
{
	Suite *suite = suite_create("weights");
	TCase *tc = tcase_create("weights");

	tcase_add_loop_test(tc, parameters_agree_with_the_published_totals, 0, MODEL_FACTS);
	tcase_add_loop_test(tc, models_of_compressed_layers_have_the_parameters_of_their_card, 0, 2);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
