/* chrome-trace.json: the run as a timeline for Perfetto or chrome://tracing: engine steps and blocks, one track a
 * request with what it waited for and computed, preemptions. At most KV_CHROME_ROWS rows; what is left out is counted
 * and said. */
#ifndef KV_RESULTS_CHROME_TRACE_H
#define KV_RESULTS_CHROME_TRACE_H

#include <stdint.h>

#include "results/json_text.h"
#include "results/output_file.h"
#include "sim/record.h"

#define KV_CHROME_ROWS 300000u

struct kv_chrome_trace {
	struct kv_json json;
	uint64_t rows, left_out;
};

void kv_chrome_trace_start(struct kv_chrome_trace *trace, struct kv_output *out);
void kv_chrome_trace_step(struct kv_chrome_trace *trace, const struct kv_step *step);
void kv_chrome_trace_event(struct kv_chrome_trace *trace, const struct kv_event *event);
void kv_chrome_trace_request(struct kv_chrome_trace *trace, const struct kv_request_record *record);
void kv_chrome_trace_finish(struct kv_chrome_trace *trace);

#endif
