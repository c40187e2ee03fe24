/* From device memory to blocks: the budget that an engine draws up at start-up, line by line, for one rank.
 *
 *     vLLM          KV = ceil(device memory x utilisation) - weights - runtime - activation peak [- graphs, since 0.21]
 *     SGLang        KV = device memory x static fraction - weights; the fraction leaves a reserve for all else
 *     TensorRT-LLM  KV = fraction x what is free once weights, runtime and activations are in place
 *     llama.cpp     KV = what is asked for; it fits or it does not
 *
 * blocks = floor(KV / page), the smallest number over pipeline stages; for SGLang and TensorRT-LLM windowed layers are
 * sized as if they held whole contexts (sim/sizing/window_pools.h has their pools). SGLang first sets aside slots of
 * recurrent state, mamba_full_memory_ratio (0.9) times the bytes of the KV cache. KV may be negative. `run` and `size` call this one function. Rules: vLLM gpu_worker.py and kv_cache_utils.py of 2026-08, SGLang
 * server_args.py of 2026-07, TensorRT-LLM's KV manager, llama.cpp of 2026-08.
 */
#ifndef KV_SIM_MEMORY_BUDGET_H
#define KV_SIM_MEMORY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/model/drafter.h"
#include "sim/model/kv_layout.h"
#include "sim/model/model.h"
#include "sim/model/weights.h"

enum kv_provenance {
	KV_FROM_USER,     /* "given" */
	KV_FROM_CONFIG,   /* "config": counted from the model's config */
	KV_FROM_PROFILE,  /* "profile": hardware or engine profile */
	KV_FROM_RULE,     /* "computed" from the other lines */
	KV_ASSUMED        /* "assumed" */
};

const char *kv_provenance_name(enum kv_provenance provenance);

enum kv_sizing_engine { KV_SIZING_VLLM, KV_SIZING_SGLANG, KV_SIZING_TENSORRT_LLM, KV_SIZING_LLAMA_CPP };

/* What engine profiles say about sizing. */
struct kv_sizing_rule {
	enum kv_sizing_engine engine;
	bool tokens_by_concurrency;  /* the log's token count is concurrency x max_model_len, not blocks */
	bool graphs_subtracted;      /* graph memory comes off the KV cache */
	bool null_block;             /* one block of the pool is never given out */
	uint32_t block_multiple;     /* tokens: kernels take blocks of multiples of it; 0 = 1 */
};

/* Do windowed layers hold whole contexts in the budget's layout? */
bool kv_sizing_has_whole_contexts(const struct kv_sizing_rule *rule);

/* Bytes that the user gave or left open. */
#define KV_BYTES_UNSET INT64_MIN

/* Which end of their known errors assumed lines are drawn at: as fitted, where they leave the least, or the most. */
enum kv_error_end { KV_AS_FITTED, KV_LEAST_LEFT, KV_MOST_LEFT };

struct kv_budget_question {
	const struct kv_model *model;
	struct kv_sizing_rule rule;
	struct kv_layout_options layout;  /* block size, tensor parallel, cache format, ...; its stage is ignored */
	uint32_t pipeline_parallel;
	uint32_t expert_ranks, expert_slices;  /* as in kv_weight_options */
	enum kv_draft_method drafter;     /* of layout.draft, if there is one */
	uint64_t max_num_batched_tokens, max_num_seqs;
	uint32_t states_per_request;      /* SGLang: slots of recurrent state that one takes; 0 = 1 */
	uint64_t device_bytes;            /* as the framework sees them; 0 = unknown */
	enum kv_provenance device_source;
	double utilization;               /* share of device_bytes (TensorRT-LLM: of what is free), 0..1; 0 = the rule's own */
	enum kv_provenance utilization_source;
	int64_t weights_bytes;            /* KV_BYTES_UNSET = counted from the config; likewise below */
	int64_t runtime_bytes;            /* unset = kv_runtime_bytes(), assumed; likewise the next two */
	int64_t activation_bytes;
	int64_t graph_bytes;
	enum kv_error_end error_end;      /* of the assumed activation peak and runtime */
	int64_t reserve_bytes;            /* services beside the engine; unset = 0 */
	int64_t headroom_bytes;           /* kept free on purpose; unset = 0 */
	uint64_t kv_cache_memory_bytes;   /* replaces the formula; 0 = unset */
	uint64_t num_blocks_override;     /* replaces the result, null block included; 0 = unset */
};

struct kv_budget_line {
	const char *item;
	int64_t bytes;            /* what is taken is negative; the lines sum to kv_bytes */
	enum kv_provenance source;
	const char *note;         /* "" = none */
	bool error_unknown;       /* assumed, and nothing says by how much it may be wrong */
};

enum { KV_BUDGET_LINES = 12 };

struct kv_budget {
	struct kv_budget_line line[KV_BUDGET_LINES];
	uint32_t lines;
	uint32_t stage;           /* the pipeline stage with the fewest blocks, which the lines are about */
	int64_t kv_bytes;         /* available for KV on one rank; may be negative */
	uint64_t num_blocks;      /* as the engine counts them, null block included */
	uint64_t usable_blocks;
	uint64_t state_slots;     /* SGLang's slots of recurrent state; 0 = it has no such pool */
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
