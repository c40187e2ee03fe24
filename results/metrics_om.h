/* metrics.om: the run as OpenMetrics text with timestamps, under vLLM's names, labels and buckets, to be filled into a
 * Prometheus with `promtool tsdb create-blocks-from openmetrics`. Simulated time 0 is the start time of the run.
 *
 * A sample is taken at the end of each interval; gauges are the interval's time-weighted means. Histograms count an
 * observation in the interval in which a server would have made it: first tokens when they come, all else of a request
 * when it ends.
 */
#ifndef KV_RESULTS_METRICS_OM_H
#define KV_RESULTS_METRICS_OM_H

#include <stdint.h>

#include "results/output_file.h"
#include "results/results.h"
#include "results/timeline.h"
#include "sim/record.h"

#define KV_METRICS_ROWS 300  /* most samples of a series */

struct kv_metrics;

struct kv_metrics *kv_metrics_create(const struct kv_run_info *info);
void kv_metrics_free(struct kv_metrics *metrics);

void kv_metrics_step(struct kv_metrics *metrics, const struct kv_step *step);
void kv_metrics_token_gap(struct kv_metrics *metrics, kv_time now, kv_time gap, uint64_t count);
void kv_metrics_request(struct kv_metrics *metrics, const struct kv_request_record *record);

/* The timeline holds the same run in at most KV_METRICS_ROWS rows. */
void kv_metrics_write(struct kv_metrics *metrics, const struct kv_timeline *timeline, struct kv_output *out);

#endif
