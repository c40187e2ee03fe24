/* Formats of the KV cache that engines have, and where they do not take them.
 *
 * vLLM: the table of attention backends in its documentation (docs/design/attention_backends.md of 2026-08): fp8 on
 * every card, for latents too; per-token-head scales by Triton's kernels alone, which have none for latents; nvfp4 by
 * trtllm-gen's on compute capability 10.x alone, likewise. Releases before 0.21 have fp8. SGLang: fp8_e4m3 (its
 * documentation on quantised KV caches). TensorRT-LLM: fp8, and nvfp4 on Blackwell. llama.cpp: ggml's types.
 */
#ifndef KV_SIM_CACHE_OFFERS_H
#define KV_SIM_CACHE_OFFERS_H

#include "sim/model/model.h"
#include "sim/sizing/memory_budget.h"

/* Names beside the model's own type, the one of 8 bits without scales inside first; NULL behind the last. */
const char *const *kv_cache_offers(const struct kv_sizing_rule *rule);

/* Why one of these is not taken, in a few words; NULL = it is, as far as sources fix it. compute_capability 0 =
 * unknown. */
const char *kv_cache_refused(const char *name, const struct kv_sizing_rule *rule, const struct kv_model *model,
                             double compute_capability);

#endif
