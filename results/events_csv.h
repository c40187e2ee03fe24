/* events.csv: one row a decision, in the order of decisions. */
#ifndef KV_RESULTS_EVENTS_CSV_H
#define KV_RESULTS_EVENTS_CSV_H

#include "results/output_file.h"
#include "sim/record.h"

void kv_events_csv_header(struct kv_output *out);
void kv_events_csv_row(struct kv_output *out, const struct kv_event *event);

#endif
