/* How long requests have been sent again when they are sent this time (--retries): a client counts its wait from the
 * first time, load tools count latencies from the last.
 *
 * Memory: an entry for each request that has been turned away and may come again.
 */
#ifndef KV_RESULTS_RETRIES_H
#define KV_RESULTS_RETRIES_H

#include <stdint.h>

#include "sim/base/units.h"
#include "sim/record.h"

struct kv_retries {
	uint64_t limit;    /* how often a request is sent again at most; 0 = never */
	void *tree;        /* what is known of requests, by index */
};

void kv_retries_fini(struct kv_retries *retries);

/* From the arrival of the request's first sending to that of the one whose record this is; 0 for the first. To be
 * called once for each record, in their order. */
kv_time kv_retries_wait(struct kv_retries *retries, const struct kv_request_record *record);

#endif
