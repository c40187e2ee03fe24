/* What a memory budget means for requests: does the engine start, how many fit, how long may they be.
 *
 * Blocks of one request are vLLM's upper bound (sim/model/kv_layout.h); concurrency is a bound too, since allocation, sharing
 * and growth move it. llama.cpp has no pool: it holds cells for all its slots or does not start.
 */
#ifndef KV_SIM_SIZING_H
#define KV_SIM_SIZING_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/sizing/memory_budget.h"
#include "sim/sizing/window_pools.h"

struct kv_size_question {
	struct kv_budget_question budget;
	uint64_t max_model_len;
	uint32_t concurrent_batches;   /* 2 with asynchronous scheduling, else 1 */
};

struct kv_size_answer {
	struct kv_budget budget;
	bool starts;
	int64_t shortfall_bytes;       /* on one rank, for one request of max_model_len; 0 if it starts */
	uint64_t shortfall_tokens;
	uint64_t kv_cache_tokens;      /* blocks // groups x the smallest block size */
	uint64_t kv_cache_tokens_reported;  /* what the engine's log calls the KV cache size */
	uint64_t blocks_per_request;   /* of max_model_len tokens */
	uint64_t bytes_per_request;
	double max_concurrency;        /* blocks / blocks_per_request */
	struct kv_window_pools pools;  /* of engines that have one a window; blocks above are then all of theirs */
	uint64_t largest_max_model_len;/* that starts, within the model's own limit unless max_model_len is beyond it */
};

/* Fails as kv_budget_draw does. */
int kv_size(const struct kv_size_question *question, struct kv_size_answer *answer, struct kv_error *err);

/* Blocks of one request of so many tokens, at most; llama.cpp: cells. */
uint64_t kv_size_request_blocks(const struct kv_size_question *question, const struct kv_size_answer *answer,
                                uint64_t tokens);

/* Their bytes on one rank; not for llama.cpp. */
uint64_t kv_size_request_bytes(const struct kv_size_question *question, const struct kv_size_answer *answer,
                               uint64_t tokens);

/* How many of them fit at once; usable leaves out the null block. */
uint64_t kv_size_requests_held(const struct kv_size_question *question, const struct kv_size_answer *answer, uint64_t tokens,
                               bool usable);

/* How many of them run at once on so many replicas: what their memory holds without the null block, and no more than
 * max_num_seqs of each. llama.cpp's slots are asked for one by one: what memory holds. */
uint64_t kv_size_requests_at_once(const struct kv_size_question *question, const struct kv_size_answer *answer,
                                  uint64_t tokens, uint64_t replicas);

/* How many requests of these lengths, in equal parts, usable memory holds at once. */
double kv_size_mix_held(const struct kv_size_question *question, const struct kv_size_answer *answer, const double *tokens,
                        size_t count);

/* Tokens scheduled and not yet computed. */
uint64_t kv_size_in_flight(const struct kv_size_question *question);

/* llama.cpp: bytes of all slots together, each of `tokens` tokens. Full layers hold a cell a token, windowed ones
 * pad(min(tokens, window x slots + micro-batch), 256) in all, recurrent ones 4-byte states a slot. */
uint64_t kv_llama_cache_bytes(const struct kv_budget_question *question, uint64_t tokens, uint64_t slots);

/* llama.cpp: states of one slot, all layers. */
uint64_t kv_llama_state_bytes(const struct kv_model *model);

#endif
