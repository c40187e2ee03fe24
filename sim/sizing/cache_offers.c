#include "config.h"

#include "sim/sizing/cache_offers.h"

#include <stddef.h>
#include <string.h>

const char *const *kv_cache_offers(const struct kv_sizing_rule *rule)
{
	static const char *const vllm[] = {"fp8", "int8_per_token_head", "int4_per_token_head", "nvfp4", NULL};
	static const char *const vllm_before[] = {"fp8", NULL};
	static const char *const sglang[] = {"fp8_e4m3", NULL};
	static const char *const tensorrt_llm[] = {"fp8", "nvfp4", NULL};
	static const char *const llama_cpp[] = {"q8_0", "q5_0", "q4_0", NULL};

	switch (rule->engine) {
	case KV_SIZING_SGLANG: return sglang;
	case KV_SIZING_TENSORRT_LLM: return tensorrt_llm;
	case KV_SIZING_LLAMA_CPP: return llama_cpp;
	default: return rule->tokens_by_concurrency ? vllm : vllm_before;  /* both since 0.21 */
	}
}

static const char *refused_by_card(const char *name, const struct kv_sizing_rule *rule, double capability)
{
	bool family_10 = capability >= 10 && capability < 11;

	if (strcmp(name, "nvfp4") != 0)
		return NULL;
	if (rule->engine == KV_SIZING_VLLM)
		return family_10 ? NULL : "needs a card of compute capability 10.x";
	return capability >= 10 ? NULL : "needs a card of compute capability 10.0 or more";
}

const char *kv_cache_refused(const char *name, const struct kv_sizing_rule *rule, const struct kv_model *model,
                             double compute_capability)
{
	bool scaled = strstr(name, "_per_token_head") != NULL || strcmp(name, "nvfp4") == 0;

	if (rule->engine == KV_SIZING_VLLM && scaled && model->kv_lora_rank)
		return "not with latent attention (MLA)";
	return refused_by_card(name, rule, compute_capability);
}
