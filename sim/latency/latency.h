/* How long one engine step takes. One function, on integer aggregates of a step, serves every caller.
 *
 * Backends: fixed (every step takes a given time), roofline (a physical model with a dozen constants), linear (a line
 * fitted to one configuration) and table (interpolation in a measured grid). A call allocates nothing, and its result
 * depends on its arguments alone; of the first two it costs a few dozen floating-point operations.
 */
#ifndef KV_SIM_LATENCY_H
#define KV_SIM_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/units.h"

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

/* Twice the query-key pairs of n new tokens after c old ones when each token sees at most `window` keys. Without a
 * window: n * (2c + n). */
static inline uint64_t kv_window_pairs2(uint64_t c, uint64_t n, uint64_t window)
{
	uint64_t after = c + n <= window ? (c + n) * (c + n) : window * window + 2 * window * (c + n - window);
	uint64_t before = c <= window ? c * c : window * window + 2 * window * (c - window);

	return after - before;
}

struct kv_latency;

/* Duration of a step, > 0. A step without any work lasts the model's fixed part. */
kv_time kv_latency_step(const struct kv_latency *latency, const struct kv_step_work *work);

void kv_latency_free(struct kv_latency *latency);

/* A region of steps: at most so many sequences and so many computed tokens in a step, and contexts of so many tokens on
 * average over its prefills or decodes. */
struct kv_latency_region {
	uint64_t sequences, step_tokens, sequence_context;
};

/* Grows the region to hold a step. */
void kv_latency_region_extend(struct kv_latency_region *region, const struct kv_step_work *work);

/* From now on, tell of every step before it is answered; NULL stops it. */
void kv_latency_listen(struct kv_latency *latency, void (*hear)(void *self, const struct kv_step_work *work),
                       void *self);

/* Steps, and those of them that left the region in each direction. */
struct kv_latency_outside {
	uint64_t steps;
	uint64_t sequences, step_tokens, sequence_context;
};

/* From now on, count the steps that leave the region. NULL where nothing is watched. */
void kv_latency_watch(struct kv_latency *latency, const struct kv_latency_region *region);
const struct kv_latency_outside *kv_latency_outside(const struct kv_latency *latency);

/* Every step takes this long (> 0). For tests and teaching. */
struct kv_latency *kv_latency_fixed(kv_time duration);

/* The numbers of a model that time depends on. Parameters and flops are the whole model's, before any division over
 * ranks; KV bytes are one rank's, because how KV heads divide is not for this module to know. */
struct kv_latency_model {
	double layers;
	double hidden;
	double linear_params;     /* weights of the layers that every token meets:
	                             projections, dense FFN, shared experts */
	double linear_bytes;      /* what they take in memory */
	double head_params;       /* vocabulary x hidden: read every step, used once a sequence */
	double head_bytes;
	double experts;           /* routed experts of a layer; 0 = dense model */
	double experts_used;      /* of them, by one token */
	double expert_params;     /* one expert, summed over the layers that have experts */
	double expert_bytes;
	double full_pair_flops;   /* one query-key pair: 2 h (d_qk + d_v), summed over the layers without a window */
	double window_pair_flops; /* the same, over the layers with one */
	double decode_pair_flops; /* one decode query over one context token,
	                             where it is worth charging (MLA); else 0 */
	double full_kv_bytes;     /* KV of one token on one tensor-parallel rank,
	                             summed over all layers without a window */
	double window_kv_bytes;
};

/* Data-sheet rates of one GPU: dense, decimal, one direction. */
struct kv_latency_rates {
	double compute_flops;     /* of the type that the matrix products run in, per second */
	double attention_flops;   /* of the type that attention runs in */
	double memory_bandwidth;  /* bytes per second */
	double link_bandwidth;    /* bytes per second between GPUs; read only for more than one rank */
};

/* The constants: shares of the data sheet (hardware), overheads and habits (engine). The usual model has ten; clp, c1p
 * and what only some engines have (el, large_message, overlap) are zero in it: results/studies/latency. */
struct kv_latency_constants {
	double ec;       /* share of compute_flops that whole layers of matrix products reach */
	double eb;       /* share of memory_bandwidth that reading weights reaches */
	double ea;       /* share of attention_flops that long prefill attention reaches */
	double ea_half;  /* tokens: prefill of m tokens reaches ea * m / (m + ea_half); 0 = ea at any length */
	double ek;       /* share of memory_bandwidth that reading the KV cache reaches */
	double km;       /* factor on ek while a prefill shares the step */
	double en;       /* share of link_bandwidth that an all-reduce reaches */
	double el;       /* factor on en for large messages; read only where there are any */
	double c0;       /* seconds a step */
	double cl;       /* seconds a layer */
	double clp;      /* seconds a layer more while a prefill is in the step: floors of its attention kernels */
	double c1;       /* seconds an all-reduce, two a layer */
	double c1p;      /* seconds an all-reduce more in steps with a prefill that no CUDA graph covers */
	double cs;       /* seconds a sequence */
	double large_message;  /* bytes from which on an all-reduce takes another, slower path; 0 = none does */
	bool overlap;    /* the host launches ahead of the device: the
	                    overheads hide behind its work, and it behind them */
};

struct kv_latency_setup {
	struct kv_latency_model model;
	struct kv_latency_rates rates;
	struct kv_latency_constants constants;
	double tensor_parallel;    /* ranks, >= 1 */
	double pipeline_parallel;  /* stages, >= 1: a step passes them one after the other */
};

/* All rates and constants that the setup needs are finite and > 0 (ea_half and the overheads may be 0). */
struct kv_latency *kv_latency_roofline(const struct kv_latency_setup *setup);

/* A measured step. */
struct kv_timed_work {
	struct kv_step_work work;
	double seconds;  /* > 0 */
};

struct kv_linear;
struct kv_latency_table;

/* Copies the line. Watches the region of its rows. */
struct kv_latency *kv_latency_linear(const struct kv_linear *linear);
/* Takes the table over. Watches the region of its rows. */
struct kv_latency *kv_latency_from_table(struct kv_latency_table *table);

#endif
