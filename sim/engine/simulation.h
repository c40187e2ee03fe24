/* One run: requests from a source through an engine into a sink. */
#ifndef KV_SIM_SIMULATION_H
#define KV_SIM_SIMULATION_H

#include <signal.h>
#include <stdbool.h>

#include "sim/base/error.h"
#include "sim/engine_config.h"
#include "sim/record.h"
#include "sim/request.h"

struct kv_run_options {
	kv_time duration;   /* cut the run here; KV_TIME_NONE = drain */
	bool check;         /* exhaustive invariants after every step */
	const volatile sig_atomic_t *interrupt;  /* nonzero ends the run like a cut; may be NULL */
	struct kv_source *warm;  /* replayed before time zero, see kv_simulate; NULL = the cache starts cold */
};

struct kv_run_outcome {
	kv_time end;              /* simulated time at the end */
	bool stalled, livelocked; /* nothing could ever be scheduled again */
	bool partial;             /* cut by an interrupt */
	uint64_t stalled_request; /* index of the head of the queue (valid if stalled or livelocked) */
	uint64_t stalled_needs_blocks;
	uint64_t unfinished;
	uint64_t warm_requests;   /* finished before time zero, and the blocks cached then */
	uint64_t warm_blocks;
	struct kv_state final;
};

/* Runs until the source is drained, the duration is reached, nothing can go on, or the interrupt is set. Every request
 * that arrived gets exactly one record. Returns 0, or -1 with err filled (a source that failed, or a warm-up that never
 * ends).
 *
 * With a warm source all its requests go through the engine first. Time zero is when the last of them has ended: the
 * sink hears nothing of them, counters and times begin then, policies that are not of the cache begin as they were, and
 * what is cached stays, with all that the eviction policy knows of it. Names mean the same content in both sources. */
int kv_simulate(const struct kv_engine_config *config, struct kv_source *source, struct kv_sink *sink,
                const struct kv_run_options *options, struct kv_run_outcome *outcome, struct kv_error *err);

#endif
