/* A sink that shows on stderr how far a run has come, if stderr is a terminal, and hands everything on. */
#ifndef KV_SIM_CLI_PROGRESS_H
#define KV_SIM_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/record.h"
#include "workloads/trace.h"

struct kv_progress {
	struct kv_sink sink;      /* what to hand to the simulation */
	struct kv_sink *inner;
	const struct kv_trace *trace;
	bool shown;
	uint64_t calls;           /* of advance */
	int64_t start_ns, next_ns;/* of the wall clock: when the line changes next */
};

/* The sink to use: inner itself where nothing is to be shown. */
struct kv_sink *kv_progress_start(struct kv_progress *progress, struct kv_sink *inner, const struct kv_trace *trace,
                                  bool quiet);
/* Wipes the line. */
void kv_progress_end(struct kv_progress *progress);

/* The line for a state at a simulated time, after `elapsed_ns` of work, with `fraction` of the trace read (0 =
 * unknown). */
void kv_progress_line(char *line, size_t size, const struct kv_state *state, kv_time time, int64_t elapsed_ns,
                      double fraction);

#endif
