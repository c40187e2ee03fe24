/* summary.json: the keys of `vllm bench serve --save-result` at top level, in its order, with its units and null rules
 * (vllm/benchmarks/serve.py at 009e6d4a1c); what is ours under "kvsim". */
#include "config.h"

#include "results/summary.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "results/json_text.h"
#include "sim/quantity.h"

/* "p99", "p99.9": whole percentiles without a point. */
static void percentile_key(char *key, size_t size, double percentile, const char *suffix)
{
	char digits[KV_QUANTITY_MAX];

	snprintf(key, size, "p%s%s", kv_format_double(percentile, digits), suffix);
}

static void write_stats(struct kv_json *json, const struct kv_summary *summary, enum kv_metric metric, const char *suffix)
{
	const struct kv_metric_stats *stats = &summary->stats[metric];
	char key[96];

	snprintf(key, sizeof key, "mean%s", suffix);
	kv_json_double(json, key, stats->mean);
	snprintf(key, sizeof key, "median%s", suffix);
	kv_json_double(json, key, stats->median);
	snprintf(key, sizeof key, "std%s", suffix);
	kv_json_double(json, key, stats->deviation);
	for (size_t i = 0; i < summary->options->percentile_count; i++) {
		percentile_key(key, sizeof key, summary->options->percentiles[i], suffix);
		kv_json_double(json, key, stats->percentile[i]);
	}
}

static void write_date(struct kv_json *json, kv_time start)
{
	time_t seconds = (time_t)(start / KV_SECOND);
	struct tm parts;
	char text[32];

	gmtime_r(&seconds, &parts);
	strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts);
	kv_json_string(json, "date", text);
}

static void write_setup(struct kv_json *json, const struct kv_summary *summary, const struct kv_run_info *info)
{
	write_date(json, info->start_time);
	kv_json_string(json, "endpoint_type", "kvsim");
	kv_json_string(json, "backend", "kvsim");
	kv_json_null(json, "label");
	kv_json_string(json, "model_id", info->model);
	kv_json_string(json, "tokenizer_id", info->model);
	kv_json_u64(json, "num_prompts", summary->requests);
	if (isinf(info->request_rate))
		kv_json_string(json, "request_rate", "inf");
	else
		kv_json_double(json, "request_rate", info->request_rate);
	kv_json_double(json, "burstiness", info->burstiness);
	if (info->max_concurrency != 0)
		kv_json_u64(json, "max_concurrency", info->max_concurrency);
	else
		kv_json_null(json, "max_concurrency");
}

static void write_totals(struct kv_json *json, const struct kv_summary *summary)
{
	uint64_t completed = summary->status[KV_FINISHED];

	kv_json_seconds(json, "duration", summary->duration);
	kv_json_u64(json, "completed", completed);
	kv_json_u64(json, "failed", summary->requests - completed);
	kv_json_u64(json, "total_input_tokens", summary->input_tokens);
	kv_json_u64(json, "total_output_tokens", summary->output_tokens);
	kv_json_double(json, "request_throughput", kv_summary_rate(summary, completed));
	if (kv_has_goodput(summary->options))
		kv_json_double(json, "request_goodput", kv_summary_rate(summary, summary->good));
	else
		kv_json_null(json, "request_goodput");
	kv_json_double(json, "output_throughput", kv_summary_rate(summary, summary->output_tokens));
	kv_json_double(json, "total_token_throughput",
	               kv_summary_rate(summary, summary->input_tokens + summary->output_tokens));
}

static void write_times(struct kv_json *json, const struct kv_summary *summary)
{
	if (!summary->keeps_times)
		return;
	kv_json_begin_array(json, "latencies");
	for (size_t i = 0; i < summary->times_count; i++)
		if (summary->times[i].present)
			kv_json_seconds(json, NULL, (kv_time)summary->times[i].latency);
	kv_json_end_array(json);
	kv_json_begin_array(json, "queue_times");
	for (size_t i = 0; i < summary->times_count; i++)
		if (summary->times[i].present)
			kv_json_seconds(json, NULL, (kv_time)summary->times[i].wait);
	kv_json_end_array(json);
}

static void write_metrics(struct kv_json *json, const struct kv_summary *summary, const struct kv_run_info *info)
{
	kv_json_double(json, "max_output_tokens_per_s", (double)summary->peak_second_tokens);
	kv_json_u64(json, "max_concurrent_requests", summary->levels.max[KV_LEVEL_IN_FLIGHT]);
	kv_json_double(json, "rtfx", 0);
	write_stats(json, summary, KV_METRIC_TTFT, "_ttft_ms");
	write_stats(json, summary, KV_METRIC_TPOT, "_tpot_ms");
	write_stats(json, summary, KV_METRIC_ITL, "_itl_ms");
	write_stats(json, summary, KV_METRIC_E2EL, "_e2el_ms");
	if (info->max_concurrency == 0)
		return;
	write_stats(json, summary, KV_METRIC_CLIENT_WAIT, "_client_queue_time_ms");
	if (!isinf(info->request_rate))
		write_stats(json, summary, KV_METRIC_E2EL_WITH_WAIT, "_e2el_including_client_queue_ms");
}

static void write_engine(struct kv_json *json, const struct kv_run_info *info)
{
	kv_json_string(json, "version", PACKAGE_VERSION);
	kv_json_string(json, "engine_profile", info->engine_profile);
	kv_json_string(json, "hardware", info->hardware);
	kv_json_string(json, "latency", info->latency);
	kv_json_begin_object(json, "policies");
	for (int i = 0; i < KV_POLICY_KINDS; i++)
		kv_json_string(json, kv_policy_kind_name(i), info->policies[i]);
	kv_json_end_object(json);
	kv_json_bool(json, "oracle", info->oracle);
	kv_json_u64(json, "num_gpu_blocks", info->num_gpu_blocks);
	kv_json_u64(json, "usable_blocks", info->usable_blocks);
	kv_json_u64(json, "block_size", info->block_size);
	kv_json_u64(json, "block_bytes", info->block_bytes);
	kv_json_u64(json, "kv_bytes_per_token", info->kv_bytes_per_token);
	kv_json_u64(json, "kv_cache_bytes", info->kv_cache_bytes);
	kv_json_string(json, "pool_source", info->pool_source);
	kv_json_bool(json, "trace_has_prefixes", info->trace_has_prefixes);
}

static void write_counters(struct kv_json *json, const struct kv_summary *summary)
{
	const struct kv_state *counters = &summary->counters;

	kv_json_u64(json, "steps", counters->steps);
	kv_json_u64(json, "scheduled_tokens", summary->scheduled_tokens);
	kv_json_u64(json, "prefill_tokens", counters->prefill_tokens);
	kv_json_u64(json, "decode_tokens", counters->decode_tokens);
	kv_json_u64(json, "queried_tokens", counters->queried_tokens);
	kv_json_u64(json, "hit_tokens", counters->hit_tokens);
	kv_json_u64(json, "readmission_queried_tokens", counters->readmission_queried_tokens);
	kv_json_u64(json, "readmission_hit_tokens", counters->readmission_hit_tokens);
	kv_json_u64(json, "recomputed_tokens", summary->recomputed_tokens);
	kv_json_u64(json, "evicted_blocks", counters->evicted_blocks);
	kv_json_u64(json, "preemptions", counters->preemptions);
}

static void write_occupancy(struct kv_json *json, const struct kv_summary *summary, const struct kv_run_info *info)
{
	const struct kv_level_sums *levels = &summary->levels;
	static const struct {
		const char *name;
		enum kv_level level;
	} requests[] = {{"running", KV_LEVEL_RUNNING}, {"in_flight", KV_LEVEL_IN_FLIGHT}};

	kv_json_u64(json, "peak_pinned_blocks", levels->max[KV_LEVEL_PINNED]);
	kv_json_u64(json, "peak_cached_blocks", levels->max[KV_LEVEL_CACHED]);
	kv_json_u64(json, "sum_pinned_blocks", summary->sum_pinned_blocks);
	kv_json_double(json, "mean_pinned_blocks", kv_level_mean(levels, KV_LEVEL_PINNED));
	kv_json_double(json, "mean_cached_blocks", kv_level_mean(levels, KV_LEVEL_CACHED));
	kv_json_double(json, "mean_free_blocks", kv_level_mean(levels, KV_LEVEL_FREE));
	kv_json_double(json, "mean_filled_blocks", kv_level_mean(levels, KV_LEVEL_FILLED) / info->block_size);
	kv_json_double(json, "mean_reserved_blocks", kv_level_mean(levels, KV_LEVEL_RESERVED) / info->block_size);
	kv_json_double(json, "mean_waste_blocks", kv_level_mean(levels, KV_LEVEL_WASTE) / info->block_size);
	for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
		char key[32];

		snprintf(key, sizeof key, "mean_%s", requests[i].name);
		kv_json_double(json, key, kv_level_mean(levels, requests[i].level));
		snprintf(key, sizeof key, "peak_%s", requests[i].name);
		kv_json_u64(json, key, levels->max[requests[i].level]);
	}
	kv_json_begin_object(json, "mean_waiting");
	for (int i = 0; i < KV_WAIT_REASONS; i++)
		kv_json_double(json, kv_waiting_reason_name(i), kv_level_mean(levels, KV_LEVEL_WAITING + i));
	kv_json_end_object(json);
}

static void write_fates(struct kv_json *json, const struct kv_summary *summary)
{
	kv_json_u64(json, "arrived", summary->requests);
	kv_json_u64(json, "finished", summary->status[KV_FINISHED]);
	kv_json_u64(json, "refused", summary->status[KV_REFUSED]);
	kv_json_u64(json, "dropped", summary->status[KV_DROPPED]);
	kv_json_u64(json, "unfinished", summary->status[KV_UNFINISHED]);
	kv_json_begin_object(json, "reasons");
	for (int i = 0; i < KV_REASONS; i++)
		if (summary->reason[i] > 0)
			kv_json_u64(json, kv_reason_name(i), summary->reason[i]);
	kv_json_end_object(json);
}

static void write_outcome(struct kv_json *json, const struct kv_summary *summary)
{
	const struct kv_run_outcome *outcome = &summary->outcome;

	kv_json_bool(json, "stalled", outcome->stalled);
	kv_json_bool(json, "livelocked", outcome->livelocked);
	if (outcome->stalled || outcome->livelocked) {
		kv_json_u64(json, "stalled_request", outcome->stalled_request);
		kv_json_u64(json, "stalled_needs_blocks", outcome->stalled_needs_blocks);
	}
	kv_json_bool(json, "partial", outcome->partial);
	kv_json_seconds(json, "simulated_s", outcome->end);
	kv_json_seconds(json, "warmup_s", summary->options->warmup);
}

static void write_ttft_parts(struct kv_json *json, const struct kv_summary *summary)
{
	static const struct {
		const char *name;
		enum kv_metric metric;
	} parts[] = {
		{"client_wait", KV_METRIC_CLIENT_WAIT}, {"retrieval", KV_METRIC_RETRIEVAL},
		{"frontend", KV_METRIC_FRONTEND}, {"queue", KV_METRIC_QUEUE}, {"prefill", KV_METRIC_PREFILL},
		{"preempted", KV_METRIC_PREEMPTED}
	};

	kv_json_begin_object(json, "ttft_parts");
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		kv_json_begin_object(json, parts[i].name);
		write_stats(json, summary, parts[i].metric, "_ms");
		kv_json_end_object(json);
	}
	kv_json_end_object(json);
}

static void write_errors(struct kv_json *json, const struct kv_summary *summary)
{
	kv_json_begin_object(json, "percentile_relative_error");
	kv_json_double(json, "ttft", summary->stats[KV_METRIC_TTFT].error);
	kv_json_double(json, "tpot", summary->stats[KV_METRIC_TPOT].error);
	kv_json_double(json, "itl", summary->stats[KV_METRIC_ITL].error);
	kv_json_double(json, "e2el", summary->stats[KV_METRIC_E2EL].error);
	kv_json_end_object(json);
}

void kv_summary_write_json(const struct kv_summary *summary, const struct kv_run_info *info, struct kv_output *out)
{
	struct kv_json json;

	kv_json_start(&json, out);
	write_setup(&json, summary, info);
	write_totals(&json, summary);
	write_times(&json, summary);
	write_metrics(&json, summary, info);
	kv_json_begin_object(&json, "kvsim");
	write_engine(&json, info);
	write_fates(&json, summary);
	write_counters(&json, summary);
	write_occupancy(&json, summary, info);
	write_outcome(&json, summary);
	write_ttft_parts(&json, summary);
	write_errors(&json, summary);
	kv_json_end_object(&json);
	kv_json_finish(&json);
}
