/* How long one engine step takes. One function, on integer aggregates of a step, serves every caller.
 *
 * Backends: fixed (every step takes a given time) and roofline (../shared reference: docs in latency_roofline.c).
 */
#ifndef KV_SIM_LATENCY_H
#define KV_SIM_LATENCY_H

#include <stdint.h>

#include "sim/units.h"

/* What one step computes. n_i = new tokens, c_i = tokens already in the cache of prefill sequence i. A decode sequence
 * computes one token; its context counts the KV tokens that it reads, its own included. The window_ sums are the same
 * with attention limited to the model's window; they equal the plain sums for models without one. */
struct kv_step_work {
	uint64_t prefill_seqs;
	uint64_t prefill_tokens;         /* sum n_i */
	uint64_t prefill_past;           /* sum c_i */
	uint64_t prefill_pairs2;         /* sum n_i * (2 c_i + n_i): twice the query-key pairs, causal half */
	uint64_t decode_seqs;
	uint64_t decode_context;         /* sum of contexts */
	uint64_t window_prefill_past;    /* sum min(c_i, W) */
	uint64_t window_prefill_pairs2;  /* twice the pairs inside the window */
	uint64_t window_decode_context;  /* sum min(context, W) */
};

struct kv_latency;

/* Duration of a step, > 0. A step without any work lasts the model's fixed part. */
kv_time kv_latency_step(const struct kv_latency *latency, const struct kv_step_work *work);

void kv_latency_free(struct kv_latency *latency);

/* Every step takes this long (> 0). For tests and teaching. */
struct kv_latency *kv_latency_fixed(kv_time duration);

#endif
