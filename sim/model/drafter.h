/* A drafter of another model, as speculative decoding adds it to a target: its layers cache keys and values in the target's
 * pool, its weights stand beside the target's.
 *
 * A draft model is loaded whole. An EAGLE head (one decoder layer, as a rule) shares the target's embedding and output head and
 * joins token and hidden state by a matrix of hidden x 2 hidden; an EAGLE-3 head shares the embedding, joins three of the
 * target's hidden states, feeds its attention with twice its width, and has a head of its own for draft_vocab_size tokens.
 * Source: vLLM v1/spec_decode of 2026-08, models llama_eagle.py and llama_eagle3.py.
 */
#ifndef KV_SIM_DRAFTER_H
#define KV_SIM_DRAFTER_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/model/model.h"

enum kv_draft_method { KV_DRAFT_MODEL, KV_DRAFT_EAGLE, KV_DRAFT_EAGLE3 };

/* method as vLLM spells it; NULL = what the draft's architecture says. KV_EXIT_USAGE for others, whose memory is not known. */
int kv_drafter_read(const struct kv_model *draft, const char *method, enum kv_draft_method *out, struct kv_error *err);

const char *kv_draft_method_name(enum kv_draft_method method);

/* On one rank. */
uint64_t kv_drafter_weights(const struct kv_model *draft, enum kv_draft_method method, const struct kv_model *target,
                            uint32_t tensor_parallel);

#endif
