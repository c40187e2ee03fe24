/* What the report draws, binned so that the page stays small whatever the run's size: charts.json, and the same inside
 * report.html. Times in seconds, latencies in ms, levels as time-weighted means with minima and maxima. */
#ifndef KV_RESULTS_CHARTS_H
#define KV_RESULTS_CHARTS_H

#include "results/insight.h"
#include "results/output_file.h"
#include "results/summary.h"
#include "results/timeline.h"

#define KV_CHART_ROWS 1000

struct kv_charts {
	const struct kv_timeline *timeline;
	const struct kv_insight *insight;
	const struct kv_summary *summary;
};

void kv_charts_write(const struct kv_charts *charts, struct kv_output *out);

#endif
