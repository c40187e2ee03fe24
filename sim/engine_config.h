/* Everything that the engine needs to know, resolved: no defaults, no profiles, no units. Production and the oracle
 * read the same struct. */
#ifndef KV_SIM_ENGINE_CONFIG_H
#define KV_SIM_ENGINE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/latency/latency.h"
#include "sim/model/kv_layout.h"
#include "sim/policy.h"

/* What a step holds. MIXED (vLLM): tokens of prompts and of decodes under one budget, running requests first.
 * PREFILL_FIRST (SGLang without mixed chunks): prompts alone as long as there is one to go on with or to admit; else
 * one token of every running request, for which whole requests give up what blocks it lacks before it begins. */
enum kv_step_order { KV_STEPS_MIXED, KV_STEPS_PREFILL_FIRST };

enum kv_cache_scope { KV_SCOPE_GLOBAL, KV_SCOPE_TENANT, KV_SCOPE_REQUEST };

/* prefix_cache_retention_interval: which content of windowed groups stays findable (vLLM, engine-semantics 1.10). */
#define KV_RETAIN_ALL UINT64_MAX  /* None: every full block; 0: prompt end and junction only */

/* Host memory that preemption by swap copies blocks to, per rank: ranks copy their parts side by side. */
struct kv_swap_space {
	uint64_t blocks;                  /* of the pool's size each; 0 = nothing is swapped */
	uint64_t block_bytes;
	uint64_t bandwidth;               /* bytes per second, one direction; UINT64_MAX = copies take no time */
};

/* To the nearest nanosecond. */
static inline kv_time kv_swap_time(const struct kv_swap_space *space, uint64_t blocks)
{
	kv_integral bytes = (kv_integral)blocks * space->block_bytes;

	if (blocks == 0 || space->bandwidth == UINT64_MAX)
		return 0;
	return (kv_time)((bytes * KV_SECOND + space->bandwidth / 2) / space->bandwidth);
}

struct kv_engine_config {
	uint32_t block_size;              /* tokens, all groups */
	uint64_t usable_blocks;           /* the pool: without the null block */
	uint64_t watermark_blocks;
	uint32_t groups;
	struct kv_group group[KV_MAX_GROUPS];
	uint64_t admission_cap[KV_MAX_GROUPS];  /* most blocks one request can hold in the group; UINT64_MAX = no cap.
	                                           Windowed: ceil(min(W - 1 + in-flight, max_model_len) / block) + 1 */
	uint32_t max_num_seqs;
	enum kv_step_order step_order;
	uint64_t max_num_batched_tokens;  /* prefill first: of a step of prompts,
	                                     if they are chunked; whole blocks then */
	uint64_t max_prefill_tokens;      /* prefill first: a prompt as long as what is left of it
	                                     waits for another step, unless it is the first of this one */
	uint32_t max_model_len;
	uint32_t long_prefill_token_threshold;  /* 0 = off */
	bool enable_chunked_prefill;
	bool blank_blocks_first;          /* unhashed freed blocks go to the head
	                                     of the free queue (else to its tail) */
	uint64_t retention_interval;      /* KV_RETAIN_ALL or 0 */
	bool refuse_impossible;           /* refuse at arrival what the pool can never hold */
	enum kv_cache_scope cache_scope;
	uint32_t default_max_tokens;      /* KV_TOKENS_UNSET = max_model_len - prompt */
	bool default_max_tokens_is_output;/* --default-max-tokens output: makes reserving policies oracles */
	uint32_t max_concurrency;         /* client-side cap on requests in flight; 0 = none */
	struct kv_swap_space swap;
	kv_time frontend;                 /* front-end time of each request between sent and queued */
	struct kv_policy_use policy[KV_POLICY_KINDS];
	const struct kv_latency *latency;
};

#endif
