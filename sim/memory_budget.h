/* From device memory to blocks: the budget that an engine draws up at start-up, line by line, for one rank.
 *
 *     requested = ceil(device memory x utilisation)
 *     KV        = requested - weights - what else is resident while the engine runs      (may be negative)
 *     blocks    = floor(KV / page), the smallest number over pipeline stages
 *
 * vLLM's rule (gpu_worker.py and kv_cache_utils.py, 2026-08); `run` and `size` call this one function.
 */
#ifndef KV_SIM_MEMORY_BUDGET_H
#define KV_SIM_MEMORY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/error.h"
#include "sim/kv_layout.h"
#include "sim/model.h"
#include "sim/weights.h"

enum kv_provenance {
	KV_FROM_USER,     /* "given" */
	KV_FROM_CONFIG,   /* "config": counted from the model's config */
	KV_FROM_PROFILE,  /* "profile": hardware or engine profile */
	KV_FROM_RULE,     /* "computed" from the other lines */
	KV_ASSUMED        /* "assumed" */
};

const char *kv_provenance_name(enum kv_provenance provenance);

/* Bytes that the user gave or left open. */
#define KV_BYTES_UNSET INT64_MIN

struct kv_budget_question {
	const struct kv_model *model;
	struct kv_layout_options layout;  /* block size, tensor parallel, cache format, ...; its stage is ignored */
	uint32_t pipeline_parallel;
	uint32_t expert_ranks;            /* as in kv_weight_options */
	uint64_t device_bytes;            /* as the framework sees them; 0 = unknown */
	enum kv_provenance device_source;
	double utilization;               /* share of device_bytes that the engine may use, 0..1 */
	enum kv_provenance utilization_source;
	int64_t weights_bytes;            /* KV_BYTES_UNSET = counted from the config; likewise below */
	int64_t overhead_bytes;           /* runtime, activation peak and graphs; unset = KV_DEFAULT_OVERHEAD, assumed */
	int64_t reserve_bytes;            /* services beside the engine; unset = 0 */
	int64_t headroom_bytes;           /* kept free on purpose; unset = 0 */
	uint64_t kv_cache_memory_bytes;   /* replaces the formula; 0 = unset */
	uint64_t num_blocks_override;     /* replaces the result, null block included; 0 = unset */
	bool null_block;                  /* one block of the pool is never given out */
};

/* Llama-3.1-8B on an RTX 4090, vLLM 0.19 with 2,048 batched tokens: 22,725,564,826 B requested, 16,060,522,496 B of
 * weights and 5,427,429,376 B of KV leave this (1.15 GiB). */
#define KV_DEFAULT_OVERHEAD INT64_C(1237612954)

struct kv_budget_line {
	const char *item;
	int64_t bytes;            /* what is taken is negative; sums to the KV line */
	enum kv_provenance source;
	const char *note;         /* "" = none */
};

enum { KV_BUDGET_LINES = 12 };

struct kv_budget {
	struct kv_budget_line line[KV_BUDGET_LINES];
	uint32_t lines;
	uint32_t stage;           /* the pipeline stage with the fewest blocks, which the lines are about */
	int64_t kv_bytes;         /* available for KV on one rank; may be negative */
	uint64_t num_blocks;      /* as the engine counts them, null block included */
	uint64_t usable_blocks;
	struct kv_layout layout;
	struct kv_weights weights;/* of that stage */
};

/* Fails with KV_EXIT_USAGE where the question cannot be answered (no device memory and nothing in its place, shapes
 * that do not split). A budget below zero is an answer: zero blocks. */
int kv_budget_draw(const struct kv_budget_question *question, struct kv_budget *budget, struct kv_error *err);

/* Does one request of max_model_len fit? Counts the null block as vLLM does. */
bool kv_budget_starts(const struct kv_budget *budget, uint64_t max_model_len, uint64_t in_flight);

/* The longest request that the pool holds, at most `limit` tokens; 0 = none. */
uint64_t kv_budget_largest_length(const struct kv_budget *budget, uint64_t limit, uint64_t in_flight);

/* First layer and number of layers of a pipeline stage: vLLM's split, which gives the remainder to the last stages but
 * one. */
void kv_pipeline_stage(uint32_t layers, uint32_t stages, uint32_t stage, uint32_t *first, uint32_t *count);

#endif
