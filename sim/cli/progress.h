/* A source that shows on stderr how far it has been read, if stderr is a terminal. */
#ifndef KV_SIM_CLI_PROGRESS_H
#define KV_SIM_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/request.h"

struct kv_progress {
	struct kv_source source;  /* what to hand to the simulation */
	struct kv_source *inner;
	bool shown;
	uint64_t requests;
	int64_t next_ns;          /* of the wall clock: when the line changes next */
};

/* The source to use: inner itself where nothing is to be shown. */
struct kv_source *kv_progress_start(struct kv_progress *progress, struct kv_source *inner, bool quiet);
/* Wipes the line. */
void kv_progress_end(struct kv_progress *progress);

#endif
