/* Arrival processes of generated workloads: gaps of a distribution at a rate, or the arrivals of a trace at its
 * recorded times (also of rows that would wait for others), along a curve over time; the schedule of vLLM's benchmark
 * client; and closed loops, which have no times of their own.
 *
 * Gaps are drawn in the process's own time, in which its rate is constant; the curve maps that to simulated time.
 */
#ifndef KV_WORKLOADS_ARRIVALS_H
#define KV_WORKLOADS_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

#include <gsl/gsl_rng.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/base/yaml_tree.h"
#include "workloads/trace.h"

/* Fields of all processes; not all use all. */
struct kv_arrival_state {
	double rate;           /* per second; of a trace: 0 = its own */
	double burstiness;     /* gamma: vLLM's word for the shape */
	double shape;          /* weibull */
	bool rescale;          /* as vLLM does: the last of all arrivals falls at their number / rate */
	uint64_t clients;      /* closed */
	uint32_t ramp;         /* vllm: the rate follows the number of requests, not time */
	double ramp_start, ramp_end;
	char file[KV_PARAM_TEXT_MAX];
};

struct kv_curve_state {
	double to;             /* times the rate, at the end of a ramp */
	kv_time over;
	kv_time on, off;
	double amplitude;
	kv_time period, peak;
};

struct kv_arrival_kind;
struct kv_curve_kind;

struct kv_arrivals {
	const struct kv_arrival_kind *kind;
	const struct kv_curve_kind *curve;   /* NULL = none */
	struct kv_arrival_state state;
	struct kv_curve_state curve_state;
	gsl_rng *rng;
	double clock;          /* s, in the process's own time */
	double stretch;        /* of all gaps */
	uint64_t total, count; /* arrivals that there will be (0 = not known), and so far */
	struct kv_trace *trace;
	char *path;            /* of that trace */
};

/* arrivals: "poisson,rate=2", ...; curve (may be NULL): "on-off,on=60s,off=2min", ...; total: number of arrivals that
 * there will be, 0 = not known. The generator is taken over. kv_arrivals_fini is to be called in any case. */
int kv_arrivals_init(struct kv_arrivals *arrivals, const struct kv_node *node, const struct kv_node *curve,
                     uint64_t total, gsl_rng *rng, struct kv_error *err);
void kv_arrivals_fini(struct kv_arrivals *arrivals);

/* 1 = *time is that of the next arrival, 0 = there are no more (a trace has ended), -1 = err filled. */
int kv_arrivals_next(struct kv_arrivals *arrivals, kv_time *time, struct kv_error *err);

/* The trace whose arrivals are taken, and how many of the rows read so far have no time of their own since they follow
 * others: they are no arrivals. */
const char *kv_arrivals_untimed(const struct kv_arrivals *arrivals, uint64_t *rows);

/* Clients of a closed loop, 0 for all others. */
uint64_t kv_arrivals_clients(const struct kv_arrivals *arrivals);

#endif
