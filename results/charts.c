#include "config.h"

#include "results/charts.h"

#include <stdio.h>

#include "results/json_text.h"

enum { CDF_POINTS = 256 };

/* --- levels and counters over time -------------------------------------------------------------------------------- */

struct level_name {
	const char *name;
	enum kv_level level;
};

static const struct level_name levels[] = {
	{"filled", KV_LEVEL_FILLED}, {"reserved", KV_LEVEL_RESERVED}, {"waste", KV_LEVEL_WASTE},
	{"pinned", KV_LEVEL_PINNED}, {"cached", KV_LEVEL_CACHED},     {"free", KV_LEVEL_FREE},
	{"running", KV_LEVEL_RUNNING}, {"in_flight", KV_LEVEL_IN_FLIGHT}
};

static uint32_t slots_of(const struct kv_charts *charts, enum kv_level level)
{
	return level <= KV_LEVEL_WASTE ? charts->timeline->block_size : 1;
}

enum statistic { MEAN, MINIMUM, MAXIMUM };

static void write_level(struct kv_json *json, const struct kv_charts *charts, const char *key, enum kv_level level,
                        enum statistic statistic)
{
	const struct kv_timeline *timeline = charts->timeline;
	kv_integral slots = slots_of(charts, level);

	kv_json_begin_array(json, key);
	for (size_t i = 0; i < timeline->count; i++) {
		const struct kv_level_sums *sums = &timeline->rows[i].levels;

		if (statistic == MEAN)
			kv_json_ratio(json, NULL, sums->sum[level], slots * (kv_integral)sums->length);
		else
			kv_json_ratio(json, NULL, statistic == MAXIMUM ? sums->max[level] : ~sums->inverted_min[level],
			              slots);
	}
	kv_json_end_array(json);
}

static void write_level_group(struct kv_json *json, const struct kv_charts *charts, const char *key,
                              enum statistic statistic)
{
	kv_json_begin_object(json, key);
	for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
		write_level(json, charts, levels[i].name, levels[i].level, statistic);
	for (int i = 0; i < KV_WAIT_REASONS; i++) {
		char name[64];

		snprintf(name, sizeof name, "waiting_%s", kv_waiting_reason_name(i));
		write_level(json, charts, name, KV_LEVEL_WAITING + i, statistic);
	}
	kv_json_end_object(json);
}

static void write_bound(struct kv_json *json, const struct kv_charts *charts)
{
	kv_json_begin_object(json, "queue_waits_for");
	for (int i = 0; i < KV_WAIT_RESOURCES; i++)
		write_level(json, charts, kv_waiting_reason_name(i), KV_LEVEL_BOUND + i, MEAN);
	kv_json_end_object(json);
}

static uint64_t counter_of(const struct kv_timeline_row *row, int counter)
{
	const uint64_t counters[] = {
		row->arrivals, row->finishes, row->preemptions, row->evicted_blocks, row->prefill_tokens,
		row->decode_tokens, row->hit_tokens, row->queried_tokens
	};

	return counters[counter];
}

/* In a second. */
static void write_rates(struct kv_json *json, const struct kv_charts *charts)
{
	static const char *const names[] = {
		"arrivals", "finishes", "preemptions", "evicted_blocks", "prefill_tokens", "decode_tokens",
		"hit_tokens", "queried_tokens"
	};
	const struct kv_timeline *timeline = charts->timeline;

	kv_json_begin_object(json, "per_second");
	for (size_t c = 0; c < sizeof names / sizeof names[0]; c++) {
		kv_json_begin_array(json, names[c]);
		for (size_t i = 0; i < timeline->count; i++)
			kv_json_ratio(json, NULL,
			              (kv_integral)counter_of(&timeline->rows[i], (int)c) * (uint64_t)KV_SECOND,
			              (kv_integral)timeline->rows[i].levels.length);
		kv_json_end_array(json);
	}
	kv_json_end_object(json);
}

static void write_timeline(struct kv_json *json, const struct kv_charts *charts)
{
	const struct kv_timeline *timeline = charts->timeline;

	kv_json_begin_object(json, "timeline");
	kv_json_seconds(json, "interval_s", timeline->interval);
	kv_json_begin_array(json, "start_s");
	for (size_t i = 0; i < timeline->count; i++)
		kv_json_ratio(json, NULL, (kv_integral)timeline->rows[i].start, (uint64_t)KV_SECOND);
	kv_json_end_array(json);
	write_level_group(json, charts, "mean", MEAN);
	write_level_group(json, charts, "min", MINIMUM);
	write_level_group(json, charts, "max", MAXIMUM);
	write_bound(json, charts);
	if (charts->summary->levels.max[KV_LEVEL_HOST] > 0) {
		write_level(json, charts, "host_blocks", KV_LEVEL_HOST, MEAN);
		write_level(json, charts, "swapped", KV_LEVEL_SWAPPED, MEAN);
	}
	write_rates(json, charts);
	kv_json_end_object(json);
}

/* --- first tokens ------------------------------------------------------------------------------------------------- */

static void write_arrival_times(struct kv_json *json, const struct kv_insight *insight)
{
	kv_json_begin_array(json, "start_s");
	for (uint64_t i = 0; i < KV_ARRIVAL_BINS; i++)
		if (insight->by_arrival[i].count > 0)
			kv_json_ratio(json, NULL, (kv_integral)i * (uint64_t)insight->arrival_interval,
			              (uint64_t)KV_SECOND);
	kv_json_end_array(json);
}

static void write_arrival_extremes(struct kv_json *json, const struct kv_insight *insight)
{
	kv_json_begin_array(json, "requests");
	for (int i = 0; i < KV_ARRIVAL_BINS; i++)
		if (insight->by_arrival[i].count > 0)
			kv_json_u64(json, NULL, insight->by_arrival[i].count);
	kv_json_end_array(json);
	kv_json_begin_array(json, "shortest_ms");
	for (int i = 0; i < KV_ARRIVAL_BINS; i++)
		if (insight->by_arrival[i].count > 0)
			kv_json_ratio(json, NULL, insight->by_arrival[i].shortest, (uint64_t)KV_MILLISECOND);
	kv_json_end_array(json);
	kv_json_begin_array(json, "longest_ms");
	for (int i = 0; i < KV_ARRIVAL_BINS; i++)
		if (insight->by_arrival[i].count > 0)
			kv_json_ratio(json, NULL, insight->by_arrival[i].longest, (uint64_t)KV_MILLISECOND);
	kv_json_end_array(json);
}

static void write_arrivals(struct kv_json *json, const struct kv_insight *insight)
{
	kv_json_begin_object(json, "ttft_by_arrival");
	kv_json_seconds(json, "interval_s", insight->arrival_interval);
	write_arrival_times(json, insight);
	write_arrival_extremes(json, insight);
	kv_json_begin_object(json, "mean_ms");
	for (int p = 0; p < KV_PARTS; p++) {
		kv_json_begin_array(json, kv_part_name(p));
		for (int i = 0; i < KV_ARRIVAL_BINS; i++) {
			const struct kv_part_sums *sums = &insight->by_arrival[i];

			if (sums->count > 0)
				kv_json_ratio(json, NULL, sums->part[p],
				              (kv_integral)sums->count * (uint64_t)KV_MILLISECOND);
		}
		kv_json_end_array(json);
	}
	kv_json_end_object(json);
	kv_json_end_object(json);
}

/* Left and lower edge of a cell: a quarter octave. */
static double grid_edge(uint32_t step)
{
	return (double)(4 + step % KV_GRID_STEPS) / 4 * (double)((uint64_t)1 << (step / KV_GRID_STEPS));
}

/* Cells that are not empty: [prompt tokens, ms, requests], at the middle of the cell. */
static void write_grid(struct kv_json *json, const struct kv_insight *insight)
{
	kv_json_begin_array(json, "ttft_by_prompt");
	for (uint32_t column = 0; column < KV_GRID_LENGTHS; column++)
		for (uint32_t row = 0; row < KV_GRID_TIMES; row++) {
			uint32_t count = insight->grid[column * KV_GRID_TIMES + row];

			if (count == 0)
				continue;
			kv_json_begin_array(json, NULL);
			kv_json_u64(json, NULL, (uint64_t)((grid_edge(column) + grid_edge(column + 1)) / 2));
			kv_json_ratio(json, NULL, (kv_integral)(grid_edge(row) + grid_edge(row + 1)), 2000);
			kv_json_u64(json, NULL, count);
			kv_json_end_array(json);
		}
	kv_json_end_array(json);
}

/* --- distributions ------------------------------------------------------------------------------------------------ */

/* Points [value in ms, share of values up to it], at most about CDF_POINTS. */
static void write_cdf(struct kv_json *json, const char *key, const struct kv_distribution *d, double unit)
{
	uint64_t reached = 0, told = 0;

	kv_json_begin_array(json, key);
	for (uint32_t bin = 0; bin < KV_BINS && reached < d->count; bin++) {
		if (d->bins[bin] == 0)
			continue;
		reached += d->bins[bin];
		if (told > 0 && reached < d->count && (reached - told) * CDF_POINTS < d->count)
			continue;
		kv_json_begin_array(json, NULL);
		kv_json_ratio(json, NULL, (kv_integral)(kv_bin_middle(bin) / unit * 1000), 1000);
		kv_json_double(json, NULL, (double)reached / (double)d->count);
		kv_json_end_array(json);
		told = reached;
	}
	kv_json_end_array(json);
}

static void write_distributions(struct kv_json *json, const struct kv_summary *summary)
{
	static const struct {
		const char *name;
		enum kv_metric metric;
	} metrics[] = {
		{"ttft", KV_METRIC_TTFT}, {"tpot", KV_METRIC_TPOT}, {"itl", KV_METRIC_ITL}, {"e2el", KV_METRIC_E2EL},
		{"client_wait", KV_METRIC_CLIENT_WAIT}, {"retrieval", KV_METRIC_RETRIEVAL}, {"queue", KV_METRIC_QUEUE},
		{"prefill", KV_METRIC_PREFILL}
	};

	kv_json_begin_object(json, "cumulative");
	for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
		write_cdf(json, metrics[i].name, &summary->metric[metrics[i].metric],
		          metrics[i].metric == KV_METRIC_TPOT ? 1e9 : 1e6);
	kv_json_end_object(json);
}

void kv_charts_write(const struct kv_charts *charts, struct kv_output *out)
{
	struct kv_json json;

	kv_json_start(&json, out);
	write_timeline(&json, charts);
	write_arrivals(&json, charts->insight);
	write_grid(&json, charts->insight);
	write_distributions(&json, charts->summary);
	kv_json_finish(&json);
}
