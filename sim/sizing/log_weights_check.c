/* Weights as loaded, against the config: of any pipeline stage, with experts spread over ranks, quantised otherwise. */
#include "config.h"

#include "sim/sizing/log_checker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/model/weights.h"
#include "sim/sizing/memory_budget.h"

#define GIB 0x1p30
#define WITHIN 0.02          /* of what is printed */
#define BESIDE_TEXT_GIB 3.0  /* vision and audio parts of the models that have them take less */

struct weights_check {
	struct kv_checker *checker;
	const struct kv_log_value *printed;  /* the largest: drafters load theirs after the model */
	double gib;              /* of the first stage, as logged */
};

static double stage_gib(const struct kv_checker *c, const struct kv_model *model, uint32_t expert_ranks, uint32_t stage)
{
	uint32_t stages = kv_checker_pipeline_parallel(c);
	struct kv_weight_options options = {.tensor_parallel = kv_checker_tensor_parallel(c), .expert_ranks = expert_ranks,
	                                    .pad_experts = c->log->engine == KV_LOG_VLLM};
	struct kv_weights weights;

	if (stages > 1)
		kv_pipeline_stage(model->layers, stages, stage, &options.first_layer, &options.layer_count);
	kv_weights_count(model, &options, &weights);
	return (double)weights.bytes / GIB;
}

/* Adds the row if the weights of a stage come to what is printed; why = NULL: as logged. */
static bool agrees(const struct weights_check *w, const struct kv_model *model, uint32_t expert_ranks, const char *why)
{
	for (uint32_t stage = 0; stage < kv_checker_pipeline_parallel(w->checker); stage++) {
		double gib = stage_gib(w->checker, model, expert_ranks, stage);

		if (fabs(w->printed->number / gib - 1) > WITHIN)
			continue;
		kv_checker_add(w->checker, KV_FACT_WEIGHTS, w->printed, gib, why ? KV_CHECK_EXPLAINED : KV_CHECK_AGREES,
		               "from the config, tensor by tensor, within 2 %%%s%s", why ? ": weights are " : "",
		               why ? why : "");
		return true;
	}
	return false;
}

/* With the weights quantised in a way that the model's name or config does not tell. */
static bool agrees_quantised(const struct weights_check *w, uint32_t expert_ranks)
{
	static const struct {
		const char *name, *why;
	} ways[] = {{"fp8", "fp8"}, {"fp8_block", "fp8 in blocks"}, {"awq", "4 bits (AWQ)"}, {"gptq", "4 bits (GPTQ)"},
	            {"int8", "int8"}, {"nvfp4", "nvfp4"}, {"mxfp4", "mxfp4"}, {"bitsandbytes", "4 bits (bitsandbytes)"},
	            {"none", "not quantised"}};
	bool found = false;

	for (size_t i = 0; i < sizeof ways / sizeof *ways && !found; i++) {
		struct kv_model variant = *w->checker->given->model;
		struct kv_error ignored;

		variant.quantization = (struct kv_quantization){0};
		if (kv_model_quantize(&variant, ways[i].name, &ignored) != 0)
			continue;
		found = agrees(w, &variant, expert_ranks, ways[i].why);
		free(variant.quantization.method);
	}
	return found;
}

/* With --language-model-only, or no images allowed. */
static bool agrees_without_vision(const struct weights_check *w, uint32_t expert_ranks)
{
	struct kv_model text = *w->checker->given->model;

	if (!text.vision.whole)
		return false;
	text.vision = (struct kv_vision){0};
	return agrees(w, &text, expert_ranks, "those of the text model alone");
}

/* Is this the text part of a model with others, and is there room for them in what is printed? */
static bool holds_more_than_text(const struct weights_check *w)
{
	const struct kv_model *m = w->checker->given->model;
	bool part = strstr(m->architecture, "ForConditionalGeneration") || strstr(m->family, "_text");

	return part && w->printed->number > w->gib && w->printed->number - w->gib < BESIDE_TEXT_GIB;
}

/* Expert parallelism over data parallel replicas too. */
static uint32_t expert_ranks_of(const struct kv_checker *c)
{
	uint64_t replicas = kv_checker_number(c->log, KV_FACT_DATA_PARALLEL, 0, 1);
	uint64_t ranks = replicas * kv_checker_tensor_parallel(c);

	return c->given->model->experts && replicas > 1 && c->given->model->experts % ranks == 0 ? (uint32_t)ranks : 1;
}

void kv_checker_weights(struct kv_checker *c)
{
	const struct kv_model *model = c->given->model;
	struct weights_check w = {.checker = c, .printed = kv_log_largest(c->log, KV_FACT_WEIGHTS)};
	bool quantised = c->log->quantization[0] && strcmp(c->log->quantization, "None") != 0;
	uint32_t spread = expert_ranks_of(c);

	if (!w.printed || w.printed->number <= 0)
		return;
	w.gib = stage_gib(c, model, spread, 0);
	if (model->quantization.unsized) {
		agrees_quantised(&w, spread);
		return;
	}
	if (agrees(&w, model, spread, NULL) || (spread > 1 && agrees(&w, model, 1, NULL))
	    || agrees_without_vision(&w, spread))
		return;
	if (holds_more_than_text(&w))
		kv_checker_add(
			c, KV_FACT_WEIGHTS, w.printed, w.gib, KV_CHECK_EXPLAINED,
			"from the config, tensor by tensor; the rest is vision and audio parts beside the text model (%s)",
			model->family);
	else if (!agrees_quantised(&w, spread))
		kv_checker_add(c, KV_FACT_WEIGHTS, w.printed, w.gib, quantised ? KV_CHECK_EXPLAINED : KV_CHECK_DIFFERS,
		               "from the config, tensor by tensor; the engine loaded %s",
		               quantised ? "weights quantised at run time"
		                         : "other weights (quantised: --quantization), or more than the text model");
}
