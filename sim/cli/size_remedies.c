#include "config.h"

#include "sim/cli/size.h"

#include <inttypes.h>

/* Before Ampere no kernels take fp8 weights. */
static bool takes_narrow_weights(const struct kv_size_report *r)
{
	enum kv_sizing_engine engine = r->question.budget.rule.engine;
	const struct kv_hardware *card = r->deployment.hardware;
	bool too_old = card != NULL && card->compute_capability > 0 && card->compute_capability < 8;

	return !too_old && (engine == KV_SIZING_VLLM || engine == KV_SIZING_SGLANG);
}

void kv_size_report_remedies(const struct kv_size_report *r, uint64_t sequences, struct kv_size_remedies *remedies)
{
	struct kv_size_goal goal = { .length = r->arguments.length, .sequences = sequences,
	                             .replicas = r->arguments.data_parallel };
	struct kv_model *narrow = NULL;

	if (goal.length == 0 && sequences)
		goal.length = kv_size_report_length(r);
	if (takes_narrow_weights(r))
		narrow = kv_deployment_quantized(&r->deployment, &r->scenario, "fp8");
	goal.narrow = narrow;
	kv_size_find_remedies(&r->question, &goal, remedies);
	kv_model_free(narrow);
}

static uint64_t gpus_asked(const struct kv_size_report *r)
{
	const struct kv_budget_question *b = &r->question.budget;

	return (uint64_t)b->layout.tensor_parallel * b->pipeline_parallel * r->arguments.data_parallel;
}

void kv_size_print_remedies(struct kv_output *out, const struct kv_size_report *r, const char *before, int width,
                            const struct kv_size_remedies *remedies)
{
	for (uint32_t i = 0; i < remedies->count; i++) {
		const struct kv_size_change *c = &remedies->change[i];

		kv_output_printf(out, "  %-*s%-34s # %" PRIu64 " tokens as logged, %.2fx", width, before, c->flags,
		                 c->answer.kv_cache_tokens_reported, c->answer.max_concurrency);
		if (c->replicas > 1)
			kv_output_printf(out, " by each of %" PRIu64 " replicas, %.2fx on all", c->replicas,
			                 c->answer.max_concurrency * (double)c->replicas);
		if (r->arguments.length || r->arguments.sequences)
			kv_output_printf(out, ", %" PRIu64 " requests of %" PRIu64 " at once", c->at_once,
			                 kv_size_report_length(r));
		if (c->gpus != gpus_asked(r))
			kv_output_printf(out, ", %" PRIu64 " GPUs", c->gpus);
		kv_output_printf(out, "%s%s\n", c->remark[0] ? "; " : "", c->remark);
	}
}

void kv_size_print_attempts(struct kv_output *out, const struct kv_size_remedies *remedies)
{
	kv_output_text(out, "Tried, one at a time:");
	for (uint32_t i = 0; i < remedies->tried; i++)
		kv_output_printf(out, "%s %s", i ? "," : "", remedies->attempt[i]);
	kv_output_text(out, ".\n");
}

json_t *kv_size_remedies_json(const struct kv_size_remedies *remedies)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < remedies->count; i++) {
		const struct kv_size_change *c = &remedies->change[i];

		json_array_append_new(
			list, json_pack("{ss ss sI sI sI sI sf sI}", "change", c->flags, "remark", c->remark, "gpus",
			                (json_int_t)c->gpus, "replicas", (json_int_t)c->replicas, "kv_cache_tokens",
			                (json_int_t)c->answer.kv_cache_tokens, "kv_cache_tokens_reported",
			                (json_int_t)c->answer.kv_cache_tokens_reported, "max_concurrency",
			                c->answer.max_concurrency, "at_once", (json_int_t)c->at_once));
	}
	return list;
}

json_t *kv_size_attempts_json(const struct kv_size_remedies *remedies)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < remedies->tried; i++)
		json_array_append_new(list, json_string(remedies->attempt[i]));
	return list;
}
