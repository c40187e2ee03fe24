#include "config.h"

#include <math.h>
#include <string.h>

#include "sim/latency/latency_setup.h"
#include "sim/model/weights.h"
#include "tests/support.h"

static struct kv_model *model(const char *name)
{
	struct kv_error err = {0};
	struct kv_model *m = kv_model_load(name, &err);

	ck_assert_msg(m != NULL, "%s", err.text);
	return m;
}

/* Shapes of the models of the calibration files: the matrices of their layers, N_lin = L (d h hd + 2 d kv hd + h hd d +
 * nf d ff), and of their heads. */
static const struct {
	const char *name;
	double layers, d, h, kv, hd, ff, vocab, nf;
} shapes[] = {
	{"llama2-7b", 32, 4096, 32, 32, 128, 11008, 32000, 3},
	{"llama2-70b", 80, 8192, 64, 8, 128, 28672, 32000, 3},
	{"llama3-8b", 32, 4096, 32, 8, 128, 14336, 128256, 3},
	{"llama3-70b", 80, 8192, 64, 8, 128, 28672, 128256, 3},
	{"llama3-405b", 126, 16384, 128, 8, 128, 53248, 128256, 3},
	{"mistral-7b", 32, 4096, 32, 8, 128, 14336, 32000, 3},
	{"qwen2-7b", 28, 3584, 28, 4, 128, 18944, 152064, 3},
	{"qwen2-72b", 80, 8192, 64, 8, 128, 29568, 152064, 3},
	{"qwen-72b", 80, 8192, 64, 64, 128, 24576, 152064, 3},
	{"qwen3-32b", 64, 5120, 64, 8, 128, 25600, 151936, 3},
	{"codellama-34b", 48, 8192, 64, 8, 128, 22016, 32000, 3},
	{"internlm-20b", 60, 5120, 40, 40, 128, 13824, 103168, 3},
	{"phi-2", 32, 2560, 32, 32, 80, 10240, 51200, 2},
	{"bloom-176b", 70, 14336, 112, 112, 128, 57344, 250880, 2},
};

START_TEST(shapes_of_the_calibration_files_give_their_matrices)
{
	double layers = shapes[_i].layers, d = shapes[_i].d, h = shapes[_i].h, kv = shapes[_i].kv, hd = shapes[_i].hd;
	double linear = layers * (2 * d * h * hd + 2 * d * kv * hd + shapes[_i].nf * d * shapes[_i].ff);
	struct kv_model *m = model(shapes[_i].name);
	struct kv_latency_layout layout = {.tensor_parallel = 4, .pipeline_parallel = 1, .kv_dtype = KV_DTYPE_BF16};
	struct kv_latency_model out;

	kv_latency_model_from(m, &layout, &out);
	ck_assert_double_eq(out.layers, layers);
	ck_assert_double_eq(out.linear_params, linear);
	ck_assert_double_eq(out.head_params, shapes[_i].vocab * d);
	ck_assert_double_eq(out.full_pair_flops, 4 * layers * h * hd);
	ck_assert_double_eq(out.full_kv_bytes, 4 * layers * hd * kv / 4);
	ck_assert_double_eq_tol(out.linear_bytes / (2 * linear), 1, 5e-4);  /* biases */
	ck_assert_double_eq_tol(out.head_bytes / (2 * shapes[_i].vocab * d), 1, 5e-4);
	ck_assert_double_eq(out.experts, 0);
	kv_model_free(m);
}
END_TEST

/* Published active parameters, in billions, embeddings counted once (the head included). */
static const struct {
	const char *name;
	double active, head;
} mixtures[] = {
	{"mixtral-8x7b", 12.88, .131},
	{"qwen3-30b-a3b", 3.35, .311},
	{"qwen3-235b-a22b", 22.19, .622},
	{"gpt-oss-120b", 5.71, .579},
	{"deepseek-v3", 37.55, .927},
};

START_TEST(a_token_uses_the_published_active_parameters)
{
	struct kv_model *m = model(mixtures[_i].name);
	struct kv_latency_layout layout = {.tensor_parallel = 1, .pipeline_parallel = 1, .kv_dtype = KV_DTYPE_BF16};
	struct kv_latency_model out;

	kv_latency_model_from(m, &layout, &out);
	double active = out.linear_params + out.experts_used * out.expert_params + 2 * out.head_params;

	ck_assert_double_eq_tol(out.head_params / 1e9, mixtures[_i].head, .001);
	ck_assert_double_eq_tol(active / 1e9, mixtures[_i].active, .012 * mixtures[_i].active);
	kv_model_free(m);
}
END_TEST

START_TEST(latents_are_whole_on_every_rank_and_kv_heads_are_not)
{
	struct kv_model *mla = model("deepseek-v3"), *llama = model("llama-3.1-8b");
	struct kv_latency_layout one = {.tensor_parallel = 1, .pipeline_parallel = 1, .kv_dtype = KV_DTYPE_BF16};
	struct kv_latency_layout sixteen = {.tensor_parallel = 16, .pipeline_parallel = 1, .kv_dtype = KV_DTYPE_FP8};
	struct kv_latency_model out;

	kv_latency_model_from(mla, &one, &out);
	ck_assert_double_eq(out.full_kv_bytes, 61 * 1152.0);
	ck_assert_double_eq(out.full_pair_flops, 61 * 2.0 * 128 * (192 + 128));
	kv_latency_model_from(mla, &sixteen, &out);
	ck_assert_double_eq(out.full_kv_bytes, 61 * 576.0);
	kv_latency_model_from(llama, &one, &out);
	ck_assert_double_eq(out.full_kv_bytes, 131072);
	kv_latency_model_from(llama, &sixteen, &out);
	ck_assert_double_eq(out.full_kv_bytes, 131072 / 2.0 / 8);  /* a rank holds one of eight heads */
	kv_model_free(mla);
	kv_model_free(llama);
}
END_TEST

START_TEST(windowed_layers_are_counted_apart)
{
	struct kv_model *m = model("gpt-oss-120b");
	struct kv_latency_layout layout = {.tensor_parallel = 1, .pipeline_parallel = 1, .kv_dtype = KV_DTYPE_BF16};
	struct kv_latency_model out;

	kv_latency_model_from(m, &layout, &out);
	ck_assert_double_eq(out.full_kv_bytes, 36864);
	ck_assert_double_eq(out.window_kv_bytes, 36864);
	kv_model_free(m);
}
END_TEST

static const struct kv_overheads vllm = {.c0 = 1e-3, .cl = 20e-6, .cl_fp8 = 40e-6, .c1 = 8e-6, .cs = 6e-6};

static struct kv_latency_setup fill(const char *model_name, const char *quantization, const char *card,
                                    const struct kv_efficiency *engine)
{
	struct kv_error err = {0};
	struct kv_model *m = model(model_name);
	struct kv_hardware *hw = kv_hardware_load(card, &err);
	struct kv_latency_layout layout = {.tensor_parallel = 2, .pipeline_parallel = 1, .kv_dtype = KV_DTYPE_BF16};
	struct kv_latency_setup setup;

	ck_assert_msg(hw != NULL, "%s", err.text);
	ck_assert_msg(kv_model_quantize(m, quantization, &err) == 0, "%s", err.text);
	ck_assert_msg(kv_latency_setup_fill(m, hw, &vllm, engine, &layout, &setup, &err) == 0, "%s", err.text);
	kv_hardware_free(hw);
	kv_model_free(m);
	return setup;
}

START_TEST(fp8_weights_run_on_fp8_units_where_there_are_any)
{
	struct kv_latency_setup h100 = fill("llama-3.1-70b", "fp8", "h100-sxm", NULL);
	struct kv_latency_setup a100 = fill("llama-3.1-70b", "fp8", "a100-80gb", NULL);

	ck_assert_double_eq_tol(h100.rates.compute_flops, 1979e12, 1e6);
	ck_assert_double_eq_tol(h100.rates.attention_flops, 989e12, 1e6);
	ck_assert_double_eq(h100.constants.ec, .50);
	ck_assert_double_eq(h100.constants.eb, .75);
	ck_assert_double_eq(h100.constants.cl, 40e-6);
	ck_assert_double_eq_tol(h100.model.linear_bytes / h100.model.linear_params, 1, .001);
	ck_assert_double_eq_tol(a100.rates.compute_flops, 312e12, 1e6);
	ck_assert_double_eq(a100.constants.ec, .70);
	ck_assert_double_eq(a100.constants.cl, 20e-6);
}
END_TEST

START_TEST(an_engine_overrides_what_a_data_sheet_assumes)
{
	struct kv_efficiency engine;

	kv_efficiency_unset(&engine);
	engine.km = 1;

	struct kv_latency_setup setup = fill("llama-3.1-8b", "none", "h100-sxm", &engine);

	ck_assert_double_eq(setup.constants.km, 1);
	ck_assert_double_eq(setup.constants.ec, .62);
	ck_assert_double_eq(setup.constants.c0, 1e-3);
}
END_TEST

START_TEST(a_calibrated_card_keeps_its_own_constants)
{
	static const char text[] =
		"name: measured\nmemory_bandwidth: 1TB/s\nflops: {bf16: 100TFLOP/s}\nlink_bandwidth: 10GB/s\n"
		"efficiency: {km: 0.5}\noverheads: {c0: 2ms, cl: 10us, c1: 9us, cs: 3us}\n";
	struct kv_error err = {0};
	struct kv_hardware *hw = kv_hardware_parse(text, "measured.yaml", &err);
	struct kv_model *m = model("llama-3.1-8b");
	struct kv_latency_layout layout = {.tensor_parallel = 1, .pipeline_parallel = 1, .kv_dtype = KV_DTYPE_BF16};
	struct kv_latency_setup setup;
	struct kv_efficiency engine;

	ck_assert_msg(hw != NULL, "%s", err.text);
	kv_efficiency_unset(&engine);
	engine.km = 1;
	ck_assert_int_eq(kv_latency_setup_fill(m, hw, &vllm, &engine, &layout, &setup, &err), 0);
	ck_assert_double_eq(setup.constants.km, .5);
	ck_assert_double_eq(setup.constants.c0, 2e-3);
	ck_assert_double_eq(setup.constants.clp, 0);
	kv_model_free(m);
	kv_hardware_free(hw);
}
END_TEST

static const struct {
	const char *card, *missing;
} incomplete[] = {
	{"gb300", "flops.bf16"}, {"gb200", "flops.bf16"}, {"l4", "link_bandwidth"},
};

START_TEST(a_rate_that_is_not_known_is_asked_for)
{
	struct kv_error err = {0};
	struct kv_hardware *hw = kv_hardware_load(incomplete[_i].card, &err);
	struct kv_model *m = model("llama-3.1-8b");
	struct kv_latency_layout layout = {.tensor_parallel = 2, .pipeline_parallel = 1, .kv_dtype = KV_DTYPE_BF16};
	struct kv_latency_setup setup;

	ck_assert_int_eq(kv_latency_setup_fill(m, hw, &vllm, NULL, &layout, &setup, &err), -1);
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
	ck_assert_msg(strstr(err.text, incomplete[_i].missing) != NULL, "%s", err.text);
	kv_model_free(m);
	kv_hardware_free(hw);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("latency_setup");
	TCase *tc = tcase_create("model");

	tcase_add_loop_test(tc, shapes_of_the_calibration_files_give_their_matrices, 0, sizeof shapes / sizeof *shapes);
	tcase_add_loop_test(tc, a_token_uses_the_published_active_parameters, 0, sizeof mixtures / sizeof *mixtures);
	tcase_add_test(tc, latents_are_whole_on_every_rank_and_kv_heads_are_not);
	tcase_add_test(tc, windowed_layers_are_counted_apart);
	suite_add_tcase(suite, tc);
	tc = tcase_create("card");
	tcase_add_test(tc, fp8_weights_run_on_fp8_units_where_there_are_any);
	tcase_add_test(tc, an_engine_overrides_what_a_data_sheet_assumes);
	tcase_add_test(tc, a_calibrated_card_keeps_its_own_constants);
	tcase_add_loop_test(tc, a_rate_that_is_not_known_is_asked_for, 0, sizeof incomplete / sizeof *incomplete);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
