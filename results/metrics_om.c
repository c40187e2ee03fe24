/* Names, labels and buckets: vllm/v1/metrics/loggers.py of August 2026. A file must also carry the labels job and
 * instance, since no scrape adds them. */
#include "config.h"

#include "results/metrics_om.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/number_text.h"
#include "sim/base/memory.h"

/* --- histograms --------------------------------------------------------------------------------------------------- */

enum histogram {
	TTFT, INTER_TOKEN, TIME_PER_TOKEN, TIME_PER_TOKEN_OLD, E2E, QUEUE, PREFILL, DECODE, INFERENCE, PROMPT_TOKENS,
	GENERATION_TOKENS, MAX_GENERATION_TOKENS, COMPUTED_TOKENS, ITERATION_TOKENS, HISTOGRAMS
};

enum { BOUNDS_MAX = 40, COUNTERS_OF_REASONS = KV_REASONS };

struct bounds {
	double upper[BOUNDS_MAX];
	int count;
};

static const struct bounds ttft_bounds = {
	{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}, 22
};
static const struct bounds token_bounds = {
	{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}, 19
};
static const struct bounds request_bounds = {
	{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}, 21
};
static const struct bounds iteration_bounds = {{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}, 13};

static const struct {
	const char *name, *help;
	const struct bounds *bounds;  /* NULL: 1-2-5 up to max_model_len */
	bool seconds;                 /* observed in ns */
} histograms[HISTOGRAMS] = {
	[TTFT] = {"vllm:time_to_first_token_seconds", "Time to first token", &ttft_bounds, true},
	[INTER_TOKEN] = {"vllm:inter_token_latency_seconds", "Time between tokens", &token_bounds, true},
	[TIME_PER_TOKEN] = {"vllm:request_time_per_output_token_seconds", "Time per output token of a request",
	                    &token_bounds, true},
	[TIME_PER_TOKEN_OLD] = {"vllm:time_per_output_token_seconds",
	                        "Time between tokens, as older dashboards call it", &token_bounds, true},
	[E2E] = {"vllm:e2e_request_latency_seconds", "End to end latency of a request", &request_bounds, true},
	[QUEUE] = {"vllm:request_queue_time_seconds", "Time in the waiting queue", &request_bounds, true},
	[PREFILL] = {"vllm:request_prefill_time_seconds", "Time from admission to the first token", &request_bounds,
	             true},
	[DECODE] = {"vllm:request_decode_time_seconds", "Time from the first to the last token", &request_bounds, true},
	[INFERENCE] = {"vllm:request_inference_time_seconds", "Time from admission to the last token", &request_bounds,
	               true},
	[PROMPT_TOKENS] = {"vllm:request_prompt_tokens", "Prompt tokens of a request", NULL, false},
	[GENERATION_TOKENS] = {"vllm:request_generation_tokens", "Generated tokens of a request", NULL, false},
	[MAX_GENERATION_TOKENS] = {"vllm:request_max_num_generation_tokens",
	                           "Most generated tokens of a sequence group", NULL, false},
	[COMPUTED_TOKENS] = {"vllm:request_prefill_kv_computed_tokens",
	                     "Prompt tokens that were computed, not hit", NULL, false},
	[ITERATION_TOKENS] = {"vllm:iteration_tokens_total", "Tokens of an engine step", &iteration_bounds, false}
};

/* What was observed in one interval. */
struct observed {
	uint64_t bucket[HISTOGRAMS][BOUNDS_MAX + 1];
	uint64_t count[HISTOGRAMS];
	kv_integral sum[HISTOGRAMS];
	uint64_t prompt_tokens, output_tokens, cached_tokens;
	uint64_t ended[KV_REASONS];
};

struct kv_metrics {
	const struct kv_run_info *info;
	struct bounds lengths;
	kv_time interval;
	struct observed *row;   /* KV_METRICS_ROWS + 1: what happens at the very end may open one more */
	char *labels;
};

static void make_length_bounds(struct bounds *bounds, uint32_t limit)
{
	static const double mantissa[] = {1, 2, 5};

	for (double decade = 1; bounds->count < BOUNDS_MAX; decade *= 10)
		for (int i = 0; i < 3 && bounds->count < BOUNDS_MAX; i++) {
			if (mantissa[i] * decade > limit)
				return;
			bounds->upper[bounds->count++] = mantissa[i] * decade;
		}
}

static const struct bounds *bounds_of(const struct kv_metrics *metrics, int histogram)
{
	return histograms[histogram].bounds != NULL ? histograms[histogram].bounds : &metrics->lengths;
}

/* Backslash, quote and newline are escaped in label values. */
static void append_label(char **p, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\\' || *text == '"')
			*(*p)++ = '\\';
		*(*p)++ = *text == '\n' ? ' ' : *text;
	}
}

static char *make_labels(const struct kv_run_info *info)
{
	const char *model = info->model != NULL ? info->model : "";
	char *labels = kv_calloc(2 * strlen(model) + 128, 1);
	char *p = labels + sprintf(labels, "model_name=\"");

	append_label(&p, model);
	strcpy(p, "\",engine=\"0\",job=\"kvsim\",instance=\"kvsim:0\"");
	return labels;
}

struct kv_metrics *kv_metrics_create(const struct kv_run_info *info)
{
	struct kv_metrics *metrics = kv_calloc(1, sizeof *metrics);

	metrics->info = info;
	metrics->interval = KV_TIMELINE_SHORTEST;
	metrics->row = kv_calloc(KV_METRICS_ROWS + 1, sizeof *metrics->row);
	make_length_bounds(&metrics->lengths, info->max_model_len);
	metrics->labels = make_labels(info);
	return metrics;
}

void kv_metrics_free(struct kv_metrics *metrics)
{
	if (metrics == NULL)
		return;
	free(metrics->row);
	free(metrics->labels);
	free(metrics);
}

static void merge(struct observed *row, const struct observed *more)
{
	for (int h = 0; h < HISTOGRAMS; h++) {
		for (int b = 0; b <= BOUNDS_MAX; b++)
			row->bucket[h][b] += more->bucket[h][b];
		row->count[h] += more->count[h];
		row->sum[h] += more->sum[h];
	}
	row->prompt_tokens += more->prompt_tokens;
	row->output_tokens += more->output_tokens;
	row->cached_tokens += more->cached_tokens;
	for (int i = 0; i < KV_REASONS; i++)
		row->ended[i] += more->ended[i];
}

static void lengthen(struct kv_metrics *metrics, kv_time interval)
{
	size_t factor = (size_t)(interval / metrics->interval);

	for (size_t i = 1; i <= KV_METRICS_ROWS; i++) {
		if (i / factor == i)
			continue;
		merge(&metrics->row[i / factor], &metrics->row[i]);
		metrics->row[i] = (struct observed){0};
	}
	metrics->interval = interval;
}

/* What happens at a boundary belongs to the interval that ends there, so that the sample taken then has it. */
static struct observed *row_at(struct kv_metrics *metrics, kv_time time)
{
	kv_time before = time > 0 ? time - 1 : 0;

	while (before / metrics->interval >= KV_METRICS_ROWS)
		lengthen(metrics, kv_longer_interval(metrics->interval));
	return &metrics->row[before / metrics->interval];
}

static void observe(struct kv_metrics *metrics, struct observed *row, enum histogram h, uint64_t value, uint64_t weight)
{
	const struct bounds *bounds = bounds_of(metrics, h);
	double scaled = histograms[h].seconds ? (double)value / 1e9 : (double)value;
	int b = 0;

	while (b < bounds->count && scaled > bounds->upper[b])
		b++;
	row->bucket[h][b] += weight;
	row->count[h] += weight;
	row->sum[h] += (kv_integral)value * weight;
}

/* --- what is told ------------------------------------------------------------------------------------------------- */

void kv_metrics_step(struct kv_metrics *metrics, const struct kv_step *step)
{
	struct observed *row = row_at(metrics, step->end);

	row->output_tokens += step->output_tokens;
	if (step->scheduled_tokens > 0)
		observe(metrics, row, ITERATION_TOKENS, step->scheduled_tokens, 1);
}

void kv_metrics_token_gap(struct kv_metrics *metrics, kv_time now, kv_time gap, uint64_t count)
{
	struct observed *row = row_at(metrics, now);

	observe(metrics, row, INTER_TOKEN, (uint64_t)gap, count);
	observe(metrics, row, TIME_PER_TOKEN_OLD, (uint64_t)gap, count);
}

static void observe_first_token(struct kv_metrics *metrics, const struct kv_request_record *record)
{
	struct observed *row = row_at(metrics, record->first_token);

	observe(metrics, row, TTFT, (uint64_t)(record->first_token - record->sent), 1);
	row->prompt_tokens += record->prompt_tokens;
	row->cached_tokens += record->cached_tokens;
}

static void observe_end(struct kv_metrics *metrics, const struct kv_request_record *record)
{
	struct observed *row = row_at(metrics, record->finish);

	row->ended[record->reason]++;
	observe(metrics, row, E2E, (uint64_t)(record->finish - record->sent), 1);
	observe(metrics, row, QUEUE, (uint64_t)(record->admitted - record->queued), 1);
	observe(metrics, row, INFERENCE, (uint64_t)(record->finish - record->admitted), 1);
	observe(metrics, row, PROMPT_TOKENS, record->prompt_tokens, 1);
	observe(metrics, row, GENERATION_TOKENS, record->output_tokens, 1);
	observe(metrics, row, MAX_GENERATION_TOKENS, record->output_tokens, 1);
	observe(metrics, row, COMPUTED_TOKENS, record->prompt_tokens - record->cached_tokens, 1);
	if (record->first_token == KV_TIME_NONE)
		return;
	observe(metrics, row, PREFILL, (uint64_t)(record->first_token - record->admitted), 1);
	observe(metrics, row, DECODE, (uint64_t)(record->finish - record->first_token), 1);
	if (record->output_tokens > 1)
		observe(metrics, row, TIME_PER_TOKEN,
		        (uint64_t)(record->finish - record->first_token) / (record->output_tokens - 1), 1);
}

void kv_metrics_request(struct kv_metrics *metrics, const struct kv_request_record *record)
{
	if (record->first_token != KV_TIME_NONE)
		observe_first_token(metrics, record);
	if (record->status == KV_FINISHED)
		observe_end(metrics, record);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

struct writer {
	struct kv_metrics *metrics;
	const struct kv_timeline *timeline;
	struct kv_output *out;
};

static void write_family(const struct writer *w, const char *name, const char *type, const char *help)
{
	kv_output_printf(w->out, "# HELP %s %s.\n# TYPE %s %s\n", name, help, name, type);
}

/* Sample 0 is taken at time 0, sample i at the end of row i - 1. */
static size_t sample_count(const struct writer *w)
{
	return w->timeline->count + 1;
}

static void write_sample_head(const struct writer *w, const char *name, const char *suffix, const char *more)
{
	kv_output_text(w->out, name);
	kv_output_text(w->out, suffix);
	kv_output_text(w->out, "{");
	kv_output_text(w->out, w->metrics->labels);
	kv_output_text(w->out, more);
	kv_output_text(w->out, "} ");
}

static void write_time(const struct writer *w, size_t sample)
{
	kv_time time = w->metrics->info->start_time;
	char *p = kv_output_room(w->out, KV_NUMBER_TEXT_MAX + 2);

	if (sample > 0)
		time += w->timeline->rows[sample - 1].start + w->timeline->rows[sample - 1].levels.length;
	*p++ = ' ';
	p = kv_text_seconds(p, time);
	*p++ = '\n';
	kv_output_advance(w->out, p);
}

static void write_u64(const struct writer *w, uint64_t value)
{
	kv_output_advance(w->out, kv_text_u64(kv_output_room(w->out, KV_NUMBER_TEXT_MAX), value));
}

static void write_double(const struct writer *w, double value)
{
	kv_output_advance(w->out, kv_text_double(kv_output_room(w->out, KV_NUMBER_TEXT_MAX), value));
}

/* A level as a mean over each interval, in `unit`. */
static void write_level(const struct writer *w, const char *name, const char *more, enum kv_level level, double unit)
{
	for (size_t i = 0; i < sample_count(w); i++) {
		write_sample_head(w, name, "", more);
		write_double(w, i == 0 ? 0 : kv_level_mean(&w->timeline->rows[i - 1].levels, level) / unit);
		write_time(w, i);
	}
}

static double waiting_mean(const struct kv_level_sums *levels)
{
	double sum = 0;

	/* What clients hold back has not reached the engine. */
	for (int i = 0; i < KV_WAIT_REASONS; i++)
		if (i != KV_WAIT_CLIENT)
			sum += kv_level_mean(levels, KV_LEVEL_WAITING + i);
	return sum;
}

static void write_waiting(const struct writer *w, const char *name, const char *more, bool zero)
{
	for (size_t i = 0; i < sample_count(w); i++) {
		write_sample_head(w, name, "", more);
		write_double(w, i == 0 || zero ? 0 : waiting_mean(&w->timeline->rows[i - 1].levels));
		write_time(w, i);
	}
}

static void write_gauges(const struct writer *w)
{
	static const struct {
		const char *state;
		enum kv_level level;
	} states[] = {
		{"filled", KV_LEVEL_FILLED}, {"reserved", KV_LEVEL_RESERVED}, {"waste", KV_LEVEL_WASTE},
		{"cached", KV_LEVEL_CACHED}, {"free", KV_LEVEL_FREE}
	};
	const struct kv_run_info *info = w->metrics->info;
	double pool = info->usable_blocks > 0 ? (double)info->usable_blocks : 1;
	char more[64];

	write_family(w, "vllm:num_requests_running", "gauge", "Requests in the running batch");
	write_level(w, "vllm:num_requests_running", "", KV_LEVEL_RUNNING, 1);
	write_family(w, "vllm:num_requests_waiting", "gauge", "Requests in the waiting queue");
	write_waiting(w, "vllm:num_requests_waiting", "", false);
	write_family(w, "vllm:num_requests_waiting_by_reason", "gauge", "Requests in the waiting queue by reason");
	write_waiting(w, "vllm:num_requests_waiting_by_reason", ",reason=\"capacity\"", false);
	write_waiting(w, "vllm:num_requests_waiting_by_reason", ",reason=\"deferred\"", true);
	write_family(w, "vllm:kv_cache_usage_perc", "gauge", "Part of the pool that live requests pin, 0 to 1");
	write_level(w, "vllm:kv_cache_usage_perc", "", KV_LEVEL_PINNED, pool);
	write_family(w, "vllm:gpu_cache_usage_perc", "gauge", "The same under its older name");
	write_level(w, "vllm:gpu_cache_usage_perc", "", KV_LEVEL_PINNED, pool);
	if (info->swap.blocks > 0) {
		write_family(w, "vllm:num_requests_swapped", "gauge", "Waiting requests whose KV is in host memory");
		write_level(w, "vllm:num_requests_swapped", "", KV_LEVEL_SWAPPED, 1);
		write_family(w, "vllm:cpu_cache_usage_perc", "gauge", "Part of host memory that they hold, 0 to 1");
		write_level(w, "vllm:cpu_cache_usage_perc", "", KV_LEVEL_HOST, (double)info->swap.blocks);
	}
	write_family(w, "kvsim:kv_blocks", "gauge", "Blocks of the pool by state");
	for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
		snprintf(more, sizeof more, ",state=\"%s\"", states[i].state);
		write_level(w, "kvsim:kv_blocks", more, states[i].level,
		            states[i].level <= KV_LEVEL_WASTE ? info->block_size : 1);
	}
	write_family(w, "kvsim:requests_waiting", "gauge", "Waiting requests by what they wait for");
	for (int i = 0; i < KV_WAIT_REASONS; i++) {
		snprintf(more, sizeof more, ",reason=\"%s\"", kv_waiting_reason_name(i));
		write_level(w, "kvsim:requests_waiting", more, KV_LEVEL_WAITING + i, 1);
	}
}

static void write_config(const struct writer *w)
{
	const struct kv_run_info *info = w->metrics->info;
	char more[128];

	snprintf(more, sizeof more, ",block_size=\"%u\",num_gpu_blocks=\"%" PRIu64 "\"", info->block_size,
	         info->num_gpu_blocks);
	write_family(w, "vllm:cache_config_info", "gauge", "Configuration of the cache");
	for (size_t i = 0; i < sample_count(w); i++) {
		write_sample_head(w, "vllm:cache_config_info", "", more);
		write_u64(w, 1);
		write_time(w, i);
	}
}

enum counter { PREEMPTIONS, QUERIES, HITS, EVICTED, REFUSED, DROPPED, PROMPT, GENERATED, CACHED, COUNTERS };

static uint64_t counted(const struct writer *w, size_t row, enum counter counter)
{
	const struct kv_timeline_row *levels = &w->timeline->rows[row];
	const struct observed *observed = &w->metrics->row[row];
	const uint64_t values[COUNTERS] = {
		[PREEMPTIONS] = levels->preemptions, [QUERIES] = levels->queried_tokens, [HITS] = levels->hit_tokens,
		[EVICTED] = levels->evicted_blocks, [REFUSED] = levels->refusals, [DROPPED] = levels->drops,
		[PROMPT] = observed->prompt_tokens, [GENERATED] = observed->output_tokens,
		[CACHED] = observed->cached_tokens
	};

	return values[counter];
}

static void write_counters(const struct writer *w)
{
	static const struct {
		const char *name, *help;
	} counters[COUNTERS] = {
		[PREEMPTIONS] = {"vllm:num_preemptions", "Preemptions"},
		[QUERIES] = {"vllm:prefix_cache_queries", "Tokens looked up in the prefix cache"},
		[HITS] = {"vllm:prefix_cache_hits", "Tokens hit in the prefix cache"},
		[EVICTED] = {"kvsim:evicted_blocks", "Cached blocks evicted"},
		[REFUSED] = {"kvsim:requests_refused", "Requests refused"},
		[DROPPED] = {"kvsim:requests_dropped", "Requests dropped"},
		[PROMPT] = {"vllm:prompt_tokens", "Prompt tokens of requests with a first token"},
		[GENERATED] = {"vllm:generation_tokens", "Tokens generated"},
		[CACHED] = {"vllm:prompt_tokens_cached", "Prompt tokens that were hit"}
	};

	for (int c = 0; c < COUNTERS; c++) {
		uint64_t sum = 0;

		write_family(w, counters[c].name, "counter", counters[c].help);
		for (size_t i = 0; i < sample_count(w); i++) {
			sum += i > 0 ? counted(w, i - 1, c) : 0;
			write_sample_head(w, counters[c].name, "_total", "");
			write_u64(w, sum);
			write_time(w, i);
		}
	}
}

/* vLLM tells stop and length; what it aborts or refuses does not get this far. */
static void write_successes(const struct writer *w)
{
	static const enum kv_reason reasons[] = {KV_REASON_STOP, KV_REASON_LENGTH};
	char more[64];

	write_family(w, "vllm:request_success", "counter", "Requests finished, by reason");
	for (size_t r = 0; r < sizeof reasons / sizeof reasons[0]; r++) {
		uint64_t sum = 0;

		snprintf(more, sizeof more, ",finished_reason=\"%s\"", kv_reason_name(reasons[r]));
		for (size_t i = 0; i < sample_count(w); i++) {
			sum += i > 0 ? w->metrics->row[i - 1].ended[reasons[r]] : 0;
			write_sample_head(w, "vllm:request_success", "_total", more);
			write_u64(w, sum);
			write_time(w, i);
		}
	}
}

/* Bucket b counts all observations up to its bound. */
static void write_bucket(const struct writer *w, int h, int b)
{
	const struct bounds *bounds = bounds_of(w->metrics, h);
	char bound[KV_NUMBER_TEXT_MAX] = "+Inf", more[KV_NUMBER_TEXT_MAX + 16];
	uint64_t sum = 0;

	if (b < bounds->count)
		*kv_text_double(bound, bounds->upper[b]) = '\0';
	snprintf(more, sizeof more, ",le=\"%s\"", bound);
	for (size_t i = 0; i < sample_count(w); i++) {
		for (int lower = 0; lower <= b && i > 0; lower++)
			sum += w->metrics->row[i - 1].bucket[h][lower];
		write_sample_head(w, histograms[h].name, "_bucket", more);
		write_u64(w, sum);
		write_time(w, i);
	}
}

static void write_histogram(const struct writer *w, int h)
{
	kv_integral sum = 0;
	uint64_t count = 0;

	write_family(w, histograms[h].name, "histogram", histograms[h].help);
	for (int b = 0; b <= bounds_of(w->metrics, h)->count; b++)
		write_bucket(w, h, b);
	for (size_t i = 0; i < sample_count(w); i++) {
		sum += i > 0 ? w->metrics->row[i - 1].sum[h] : 0;
		write_sample_head(w, histograms[h].name, "_sum", "");
		write_double(w, (double)sum / (histograms[h].seconds ? 1e9 : 1));
		write_time(w, i);
	}
	for (size_t i = 0; i < sample_count(w); i++) {
		count += i > 0 ? w->metrics->row[i - 1].count[h] : 0;
		write_sample_head(w, histograms[h].name, "_count", "");
		write_u64(w, count);
		write_time(w, i);
	}
}

void kv_metrics_write(struct kv_metrics *metrics, const struct kv_timeline *timeline, struct kv_output *out)
{
	const struct writer w = {metrics, timeline, out};

	if (timeline->interval > metrics->interval)
		lengthen(metrics, timeline->interval);
	write_gauges(&w);
	write_config(&w);
	write_counters(&w);
	write_successes(&w);
	for (int h = 0; h < HISTOGRAMS; h++)
		write_histogram(&w, h);
	kv_output_text(out, "# EOF\n");
}
