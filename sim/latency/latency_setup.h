/* From profiles to the numbers of the step-time model: a model's shape, a card, an engine's overheads, and how the
 * model is laid out and stored. */
#ifndef KV_SIM_LATENCY_SETUP_H
#define KV_SIM_LATENCY_SETUP_H

#include <stdbool.h>

#include "sim/base/error.h"
#include "sim/latency/latency.h"
#include "sim/model/model.h"
#include "sim/model/wide_layers.h"
#include "sim/profiles/hardware.h"

struct kv_latency_layout {
	uint32_t tensor_parallel;
	uint32_t pipeline_parallel;
	enum kv_dtype kv_dtype;    /* of the KV cache */
	struct kv_wide_layers wide;/* layers whose KV cache has the model's own type */
};

/* The model as it stands on one of tensor_parallel ranks. Weights have the model's own quantisation. Counts are of
 * matrix products; embeddings, norms and activations are left to the constants. */
void kv_latency_model_from(const struct kv_model *model, const struct kv_latency_layout *layout,
                           struct kv_latency_model *out);

/* Are the card's rates known that step times go by; linked = with more than one GPU? Else all that its profile lacks
 * are named, memory among them. */
int kv_latency_check_card(const struct kv_hardware *hardware, bool linked, struct kv_error *err);

/* A calibrated card (has_overheads) keeps its own constants; on another, efficiencies that the engine names and the
 * engine's overheads count. engine_efficiency may be NULL; its members may be NAN. -1 with err filled where the card
 * lacks a rate that is needed. */
int kv_latency_setup_fill(const struct kv_model *model, const struct kv_hardware *hardware,
                          const struct kv_overheads *engine, const struct kv_efficiency *engine_efficiency,
                          const struct kv_latency_layout *layout, struct kv_latency_setup *out, struct kv_error *err);

/* Only the constants of it. The rates of *out decide which: products of narrow types have their own. */
void kv_latency_setup_constants(const struct kv_model *model, const struct kv_hardware *hardware,
                                const struct kv_overheads *engine, const struct kv_efficiency *engine_efficiency,
                                struct kv_latency_setup *out);

#endif
