/* requests.csv: one row a request, in the order in which their fates were decided. Times in seconds, exact; what never
 * came is empty. */
#ifndef KV_RESULTS_REQUESTS_CSV_H
#define KV_RESULTS_REQUESTS_CSV_H

#include "results/output_file.h"
#include "sim/record.h"

void kv_requests_csv_header(struct kv_output *out);
/* retry_wait: see kv_retries_wait. */
void kv_requests_csv_row(struct kv_output *out, const struct kv_request_record *record, kv_time retry_wait);

#endif
