/* The physical step-time model, taken apart: what a step asks of the hardware (terms), and what the constants make of
 * it (seconds). The simulator runs both at once; calibration keeps the terms and varies the constants.
 *
 *     host = c0 + cl L (+ clp L when a prefill is in the step) + c1 A (+ c1p A when no CUDA graph covers it) + cs S
 *     device = sqrt((compute / ec)^2 + (weights / eb)^2)
 *       + attention / ea
 *       + KV read by decode / ek (/ km when a prefill shares the step) + KV read by prefill / (ek km)
 *       + all-reduce bytes / en (/ el in large messages)
 *     t = host + device, or sqrt(host^2 + device^2) where an engine launches ahead of the device
 *
 * Each term is in seconds at efficiency 1. Source: public step measurements, see results/studies/latency. Matrix
 * products overlap with the reading of their weights, and a root of squares fits the knee better than a maximum or a
 * sum. An engine that launches kernel by kernel without waiting for them overlaps in the same way: the longer of host
 * and device decides. Engines' own all-reduce kernels take messages up to a size and hand larger ones to a slower path.
 */
#ifndef KV_SIM_LATENCY_ROOFLINE_H
#define KV_SIM_LATENCY_ROOFLINE_H

#include <stdbool.h>

#include "sim/latency/latency.h"

/* Seconds at efficiency 1, except for the counts. */
struct kv_roofline_terms {
	double steps;             /* count: 1, or 0 of a single layer */
	double layers;            /* count */
	double allreduces;        /* count */
	double sequences;         /* count */
	double compute;
	double weights;
	double attention;         /* prefill, its start-up length included */
	double decode_attention;  /* decode flops of MLA, overlapping with decode_kv */
	double decode_kv;
	double past_kv;           /* KV that prefill finds in the cache */
	double ring;              /* bytes of all-reduces and of hand-overs between stages */
	double large_ring;        /* the same of messages that are large; one of the two is 0 */
	double prefilling;        /* 1 while a prefill is in the step, else 0 */
	double eager;             /* 1 if it is and the step is larger than any CUDA graph, else 0 */
};

/* Coefficients of the terms: a setup without its constants, except for ea_half and large_message. */
struct kv_roofline {
	double layers, allreduces;
	double compute_token, compute_sequence;
	double weights_fixed, weights_head, experts_weight, log_untouched;  /* the head is in the first too */
	double full_pair2, window_pair2, pair_token;
	double decode_pair;
	double full_kv, window_kv;
	double ring_token;
	double large_tokens;      /* a step of so many sends large messages */
};

void kv_roofline_init(struct kv_roofline *roofline, const struct kv_latency_setup *setup);
void kv_roofline_terms(const struct kv_roofline *roofline, const struct kv_step_work *work,
                       struct kv_roofline_terms *terms);
/* The matrix products of an average layer alone, for so many tokens. */
void kv_roofline_layer_terms(const struct kv_roofline *roofline, uint64_t tokens, struct kv_roofline_terms *terms);
/* Seconds, >= 0: the two sides of a step, and what they come to together. */
double kv_roofline_host_seconds(const struct kv_roofline_terms *terms, const struct kv_latency_constants *constants);
double kv_roofline_device_seconds(const struct kv_roofline_terms *terms, const struct kv_latency_constants *constants);
double kv_roofline_seconds(const struct kv_roofline_terms *terms, const struct kv_latency_constants *constants);

/* Terms and constants in one, for the loop that asks once a step: every share is in its coefficient, nothing is
 * divided. Agrees with the two functions above to rounding. */
struct kv_roofline_folded {
	double fixed, work_fixed;         /* c0; c0 and the layers' and all-reduces' overheads */
	double prefill_fixed, eager_fixed;
	double sequence;
	double compute_token, compute_sequence;
	double weights_fixed, experts_weight, log_untouched;
	double full_pair2, window_pair2, pair_token;
	double decode_pair;
	double full_kv, window_kv, mixed_kv;  /* the last: factor on the others while a prefill shares the step */
	double token, large_token;        /* all-reduces and hand-overs */
	double large_tokens;
	bool overlap;
};

void kv_roofline_fold(const struct kv_roofline *roofline, const struct kv_latency_constants *constants,
                      struct kv_roofline_folded *folded);
double kv_roofline_step(const struct kv_roofline_folded *folded, const struct kv_step_work *work);

#endif
