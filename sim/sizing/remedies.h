/* Single changes of settings with which an engine starts, or holds as many requests as are wanted: the smallest of each
 * kind that does, each recomputed.
 *
 * fp8 weights go with vLLM and SGLang, which quantise when they load (--quantization fp8; before Ada weights alone, by
 * Marlin kernels: vLLM's fp8.md of 2026-08).
 */
#ifndef KV_SIM_REMEDIES_H
#define KV_SIM_REMEDIES_H

#include <stdint.h>

#include "sim/sizing/sizing.h"

struct kv_size_goal {
	uint64_t length;               /* tokens of one request, at most max_model_len; 0 = none is asked for */
	uint64_t sequences;            /* such requests at once on all replicas; 0 = it only has to start */
	uint64_t replicas;
	const struct kv_model *narrow; /* the model with fp8 weights; NULL = they are not to be tried */
};

struct kv_size_change {
	char flags[64];                /* "--kv-cache-dtype fp8", as it is typed */
	const char *remark;            /* what it changes besides memory; "" = nothing */
	uint64_t gpus;                 /* of all replicas */
	uint64_t replicas;
	uint64_t at_once;              /* requests of the goal's length */
	struct kv_size_answer answer;
};

enum { KV_SIZE_CHANGES = 10 };

struct kv_size_remedies {
	uint32_t count, tried;
	struct kv_size_change change[KV_SIZE_CHANGES];
	const char *attempt[KV_SIZE_CHANGES];  /* every kind of change that was tried, whether it does or not */
};

/* Nothing is tried where the goal is reached already. */
void kv_size_find_remedies(const struct kv_size_question *question, const struct kv_size_goal *goal,
                           struct kv_size_remedies *remedies);

/* Does the engine start, and hold what is wanted? */
bool kv_size_reaches(const struct kv_size_question *question, const struct kv_size_answer *answer,
                     const struct kv_size_goal *goal);

#endif
