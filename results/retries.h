/* What came before when a request is sent this time (--retries): a client counts its wait from the first time, load tools
 * count latencies from the last; and a sending that failed is no lost request if another one followed.
 *
 * Memory: an entry for each request that has been turned away and may come again.
 */
#ifndef KV_RESULTS_RETRIES_H
#define KV_RESULTS_RETRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/units.h"
#include "sim/record.h"

struct kv_retries {
	uint64_t limit;    /* how often a request is sent again at most; 0 = never: nothing is to be noted */
	kv_time warmup;    /* sendings that arrive before it are not counted */
	void *tree;        /* what is known of requests, by index */
};

void kv_retries_fini(struct kv_retries *retries);

struct kv_sending {
	kv_time wait;           /* from the arrival of the first sending to that of this one; 0 for the first */
	bool again;             /* one before it is counted in the metrics: it arrived after the warm-up */
	enum kv_reason before;  /* why that one was turned away */
};

/* To be called once for each record, in their order. */
struct kv_sending kv_retries_note(struct kv_retries *retries, const struct kv_request_record *record);

#endif
