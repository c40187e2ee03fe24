#include "config.h"

#include "results/facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "results/concurrency.h"
#include "results/json_text.h"
#include "sim/base/error.h"
#include "sim/base/quantity.h"

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static void set_count(json_t *object, const char *key, uint64_t value)
{
	set(object, key, json_integer((json_int_t)value));
}

static void set_real(json_t *object, const char *key, double value)
{
	set(object, key, isfinite(value) ? json_real(value) : json_null());
}

static void set_seconds(json_t *object, const char *key, kv_time time)
{
	set_real(object, key, (double)time / (double)KV_SECOND);
}

static void set_text(json_t *object, const char *key, const char *text)
{
	set(object, key, kv_json_text(text));
}

static json_t *add_object(json_t *object, const char *key)
{
	json_t *inner = json_object();

	set(object, key, inner);
	return inner;
}

/* --- the keys of vllm bench serve --------------------------------------------------------------------------------- */

/* `missing` stands where no request has the metric: NAN (null), or what vLLM writes. */
static void set_stats(json_t *object, const struct kv_summary *summary, enum kv_metric metric, const char *suffix,
                      double missing)
{
	const struct kv_metric_stats *stats = &summary->stats[metric];
	char key[96], digits[KV_QUANTITY_MAX];

	snprintf(key, sizeof key, "mean%s", suffix);
	set_real(object, key, isnan(stats->mean) ? missing : stats->mean);
	snprintf(key, sizeof key, "median%s", suffix);
	set_real(object, key, isnan(stats->median) ? missing : stats->median);
	snprintf(key, sizeof key, "std%s", suffix);
	set_real(object, key, isnan(stats->deviation) ? missing : stats->deviation);
	for (size_t i = 0; i < summary->options->percentile_count; i++) {
		/* "p99", "p99.9": whole percentiles without a point. */
		snprintf(key, sizeof key, "p%s%s", kv_format_double(summary->options->percentiles[i], digits), suffix);
		set_real(object, key, isnan(stats->percentile[i]) ? missing : stats->percentile[i]);
	}
}

static void set_date(json_t *object, kv_time start)
{
	time_t seconds = (time_t)(start / KV_SECOND);
	struct tm parts;
	char text[32];

	gmtime_r(&seconds, &parts);
	strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts);
	set_text(object, "date", text);
}

static void set_setup(json_t *object, const struct kv_summary *summary, const struct kv_run_info *info)
{
	set_date(object, info->start_time);
	set_text(object, "endpoint_type", "kvsim");
	set_text(object, "backend", "kvsim");
	set(object, "label", json_null());
	set_text(object, "model_id", info->model);
	set_text(object, "tokenizer_id", info->model);
	set_count(object, "num_prompts", summary->requests);
	set(object, "request_rate", isinf(info->request_rate) ? json_string("inf") : json_real(info->request_rate));
	set_real(object, "burstiness", info->burstiness);
	set(object, "max_concurrency", info->max_concurrency != 0 ? json_integer(info->max_concurrency) : json_null());
}

static void set_totals(json_t *object, const struct kv_summary *summary)
{
	uint64_t completed = summary->status[KV_FINISHED];
	uint64_t tokens = summary->input_tokens + summary->output_tokens;

	set_seconds(object, "duration", summary->duration);
	set_count(object, "completed", completed);
	set_count(object, "failed", summary->requests - completed);
	set_count(object, "total_input_tokens", summary->input_tokens);
	set_count(object, "total_output_tokens", summary->output_tokens);
	set_real(object, "request_throughput", kv_summary_rate(summary, completed));
	if (kv_has_goodput(summary->options))
		set_real(object, "request_goodput", kv_summary_rate(summary, summary->good));
	else
		set(object, "request_goodput", json_null());
	set_real(object, "output_throughput", kv_summary_rate(summary, summary->output_tokens));
	set_real(object, "total_token_throughput", kv_summary_rate(summary, tokens));
}

static void set_metrics(json_t *object, const struct kv_summary *summary, const struct kv_run_info *info)
{
	set_real(object, "max_output_tokens_per_s", (double)summary->peak_second_tokens);
	set_count(object, "max_concurrent_requests", summary->levels.max[KV_LEVEL_IN_FLIGHT]);
	set_real(object, "rtfx", 0);
	set_stats(object, summary, KV_METRIC_TTFT, "_ttft_ms", 0);
	set_stats(object, summary, KV_METRIC_TPOT, "_tpot_ms", 0);
	set_stats(object, summary, KV_METRIC_ITL, "_itl_ms", 0);
	set_stats(object, summary, KV_METRIC_E2EL, "_e2el_ms", 0);
	if (info->max_concurrency == 0)
		return;
	set_stats(object, summary, KV_METRIC_CLIENT_WAIT, "_client_queue_time_ms", 0);
	if (!isinf(info->request_rate))
		set_stats(object, summary, KV_METRIC_E2EL_WITH_WAIT, "_e2el_including_client_queue_ms", 0);
}

/* --- kvsim -------------------------------------------------------------------------------------------------------- */

/* Settings that the findings name, as resolved. */
static void set_settings(json_t *object, const json_t *scenario)
{
	static const char *const names[] = {"max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char key[64];
		json_t *value;

		snprintf(key, sizeof key, "engine.%s", names[i]);
		value = json_object_get(json_object_get(scenario, key), "value");
		if (json_is_number(value))
			json_object_set(object, names[i], value);
	}
}

static void set_engine(json_t *object, const struct kv_run_info *info)
{
	json_t *policies;

	set_text(object, "version", PACKAGE_VERSION);
	set_text(object, "engine_profile", info->engine_profile);
	set_text(object, "hardware", info->hardware);
	set_text(object, "latency", info->latency);
	set_text(object, "latency_source", info->latency_source);
	set_text(object, "latency_error", info->latency_error);
	set_count(object, "tensor_parallel_size", info->tensor_parallel);
	set_count(object, "pipeline_parallel_size", info->pipeline_parallel);
	policies = add_object(object, "policies");
	for (int i = 0; i < KV_POLICY_KINDS; i++)
		set_text(policies, kv_policy_kind_name(i), info->policies[i]);
	set(object, "oracle", json_boolean(info->oracle));
	set_count(object, "num_gpu_blocks", info->num_gpu_blocks);
	set_count(object, "usable_blocks", info->usable_blocks);
	set_count(object, "block_size", info->block_size);
	set_count(object, "block_bytes", info->block_bytes);
	set_count(object, "kv_bytes_per_token", info->kv_bytes_per_token);
	set_count(object, "kv_cache_bytes", info->kv_cache_bytes);
	set_count(object, "max_model_len", info->max_model_len);
	set_settings(object, info->scenario);
	set_text(object, "pool_source", info->pool_source);
	set(object, "trace_has_prefixes", json_boolean(info->trace_has_prefixes));
	set_text(object, "initial_cache", info->warm_trace != NULL ? "warm" : "cold");
}

/* Users' requests, each counted once however often it was sent. The end of the run is no failure. */
static void set_unanswered(json_t *object, const struct kv_summary *summary, const struct kv_run_info *info)
{
	json_t *unanswered = add_object(object, "unanswered"), *reasons = json_object();
	uint64_t all = summary->requests - kv_summary_sent_again(summary) + info->after_refusal;
	uint64_t lost = info->after_refusal;

	for (int i = KV_REASON_LENGTH + 1; i < KV_REASON_CUT; i++) {
		uint64_t failed = kv_summary_failed(summary, i);

		lost += failed;
		if (failed > 0)
			set_count(reasons, kv_reason_name(i), failed);
	}
	if (info->after_refusal > 0)
		set_count(reasons, "after_refusal", info->after_refusal);
	set_count(unanswered, "requests", lost);
	set_count(unanswered, "of", all);
	set_real(unanswered, "share", all > 0 ? (double)lost / (double)all : 0);
	set(unanswered, "reasons", reasons);
	if (summary->longest_too_long > 0)
		set_count(unanswered, "longest_too_long_tokens", summary->longest_too_long);
}

static void set_fates(json_t *object, const struct kv_summary *summary, const struct kv_run_info *info)
{
	json_t *reasons;

	set_unanswered(object, summary, info);

	set_count(object, "arrived", summary->requests);
	set_count(object, "finished", summary->status[KV_FINISHED]);
	set_count(object, "refused", summary->status[KV_REFUSED]);
	set_count(object, "sent_again", kv_summary_sent_again(summary));
	set_count(object, "failed_for_good", kv_summary_failed_for_good(summary));
	set_count(object, "dropped", summary->status[KV_DROPPED]);
	set_count(object, "unfinished", summary->status[KV_UNFINISHED]);
	set_count(object, "after_refusal", info->after_refusal);
	reasons = add_object(object, "reasons");
	for (int i = 0; i < KV_REASONS; i++)
		if (summary->reason[i] > 0)
			set_count(reasons, kv_reason_name(i), summary->reason[i]);
}

static void set_counters(json_t *object, const struct kv_summary *summary)
{
	const struct kv_state *counters = &summary->counters;
	json_t *misses;

	set_count(object, "steps", counters->steps);
	set_count(object, "scheduled_tokens", summary->scheduled_tokens);
	set_count(object, "prefill_tokens", counters->prefill_tokens);
	set_count(object, "decode_tokens", counters->decode_tokens);
	set_count(object, "queried_tokens", counters->queried_tokens);
	set_count(object, "hit_tokens", counters->hit_tokens);
	misses = add_object(object, "miss_tokens");
	for (int i = 0; i < KV_MISS_REASONS; i++)
		if (summary->miss_tokens[i] > 0)
			set_count(misses, kv_miss_reason_name(i), summary->miss_tokens[i]);
	set_count(object, "readmission_queried_tokens", counters->readmission_queried_tokens);
	set_count(object, "readmission_hit_tokens", counters->readmission_hit_tokens);
	set_count(object, "recomputed_tokens", summary->recomputed_tokens);
	set_count(object, "evicted_blocks", counters->evicted_blocks);
	set_count(object, "preemptions", counters->preemptions);
}

/* Bytes and blocks are of one rank. */
static void set_swap(json_t *object, const struct kv_summary *summary, const struct kv_run_info *info)
{
	const struct kv_swap_state *counters = &summary->counters.swap;
	const struct kv_level_sums *levels = &summary->levels;
	uint64_t bytes = info->swap.block_bytes;
	json_t *swap;

	if (info->swap.blocks == 0)
		return;
	swap = add_object(object, "swap");
	set_count(swap, "space_blocks", info->swap.blocks);
	set_count(swap, "space_bytes", info->swap.blocks * bytes);
	set_count(swap, "bandwidth_bytes_per_s", info->swap.bandwidth);
	set_count(swap, "preemptions_by_swap", counters->outs);
	set_count(swap, "preemptions_by_recompute", counters->host_full);
	set_count(swap, "returns", counters->ins);
	set_count(swap, "out_blocks", counters->blocks_out);
	set_count(swap, "in_blocks", counters->blocks_in);
	set_count(swap, "found_blocks", counters->blocks_found);
	set_count(swap, "dropped_blocks", counters->blocks_lost);
	set_count(swap, "out_bytes", counters->blocks_out * bytes);
	set_count(swap, "in_bytes", counters->blocks_in * bytes);
	set_seconds(swap, "copy_s", (kv_time)counters->ns);
	set_count(swap, "peak_blocks", levels->max[KV_LEVEL_HOST]);
	set_real(swap, "mean_blocks", kv_level_mean(levels, KV_LEVEL_HOST));
	set_count(swap, "peak_swapped", levels->max[KV_LEVEL_SWAPPED]);
	set_real(swap, "mean_swapped", kv_level_mean(levels, KV_LEVEL_SWAPPED));
}

static void set_occupancy(json_t *object, const struct kv_summary *summary, const struct kv_run_info *info)
{
	const struct kv_level_sums *levels = &summary->levels;
	double slots = info->block_size;

	set_count(object, "peak_pinned_blocks", levels->max[KV_LEVEL_PINNED]);
	set_seconds(object, "peak_pinned_s", summary->peak_time);
	set_count(object, "peak_cached_blocks", levels->max[KV_LEVEL_CACHED]);
	set_count(object, "peak_free_blocks", levels->max[KV_LEVEL_FREE]);
	set_real(object, "peak_filled_blocks", (double)levels->max[KV_LEVEL_FILLED] / slots);
	set_real(object, "peak_reserved_blocks", (double)levels->max[KV_LEVEL_RESERVED] / slots);
	set_real(object, "peak_waste_blocks", (double)levels->max[KV_LEVEL_WASTE] / slots);
	set_count(object, "sum_pinned_blocks", summary->sum_pinned_blocks);
	set_real(object, "mean_pinned_blocks", kv_level_mean(levels, KV_LEVEL_PINNED));
	set_real(object, "mean_cached_blocks", kv_level_mean(levels, KV_LEVEL_CACHED));
	set_real(object, "mean_free_blocks", kv_level_mean(levels, KV_LEVEL_FREE));
	set_real(object, "mean_filled_blocks", kv_level_mean(levels, KV_LEVEL_FILLED) / slots);
	set_real(object, "mean_reserved_blocks", kv_level_mean(levels, KV_LEVEL_RESERVED) / slots);
	set_real(object, "mean_waste_blocks", kv_level_mean(levels, KV_LEVEL_WASTE) / slots);
}

static void set_requests(json_t *object, const struct kv_summary *summary)
{
	const struct kv_level_sums *levels = &summary->levels;
	json_t *waiting, *bound;

	set_real(object, "mean_running", kv_level_mean(levels, KV_LEVEL_RUNNING));
	set_count(object, "peak_running", levels->max[KV_LEVEL_RUNNING]);
	set_real(object, "mean_in_flight", kv_level_mean(levels, KV_LEVEL_IN_FLIGHT));
	waiting = add_object(object, "mean_waiting");
	for (int i = 0; i < KV_WAIT_REASONS; i++)
		set_real(waiting, kv_waiting_reason_name(i), kv_level_mean(levels, KV_LEVEL_WAITING + i));
	bound = add_object(object, "queue_waits_for");
	for (int i = 0; i < KV_WAIT_RESOURCES; i++)
		set_real(bound, kv_waiting_reason_name(i), kv_level_mean(levels, KV_LEVEL_BOUND + i));
}

static void set_concurrency(json_t *object, const struct kv_summary *summary, const struct kv_run_info *info)
{
	struct kv_concurrency c = kv_concurrency_of(summary, info);
	json_t *concurrency = add_object(object, "concurrency"), *slots;

	set_real(concurrency, "by_max_model_len", c.by_limit);
	set_real(concurrency, "mean_length", c.mean_length);
	set_real(concurrency, "by_mean_length", c.by_mean_length);
	set_real(concurrency, "mean_running", c.mean_running);
	set_real(concurrency, "pinned_share", c.pinned_share);
	set_real(concurrency, "unequal_lengths", c.unequal_lengths);
	set_real(concurrency, "growth", c.growth);
	set_real(concurrency, "sharing", c.sharing);
	set_real(concurrency, "allocation", c.allocation);
	set_real(concurrency, "length_by_time", c.length_by_time);
	set_real(concurrency, "held", c.held);
	slots = add_object(concurrency, "slots_a_running_request");
	set_real(slots, "pinned", c.pinned);
	set_real(slots, "filled", c.filled);
	set_real(slots, "reserved", c.reserved);
	set_real(slots, "waste", c.waste);
}

static void set_outcome(json_t *object, const struct kv_summary *summary)
{
	const struct kv_run_outcome *outcome = &summary->outcome;

	set(object, "stalled", json_boolean(outcome->stalled));
	set(object, "livelocked", json_boolean(outcome->livelocked));
	if (outcome->stalled || outcome->livelocked) {
		set_text(object, "stalled_request", summary->stalled_id);
		set_count(object, "stalled_needs_blocks", outcome->stalled_needs_blocks);
	}
	set(object, "partial", json_boolean(outcome->partial));
	set_seconds(object, "simulated_s", outcome->end);
	set_seconds(object, "last_arrival_s", summary->last_arrival);
	set_seconds(object, "warmup_s", summary->options->warmup);
}

/* Of the keys of vllm bench serve, those whose zeros stand for nothing measured. */
static void set_without_values(json_t *object, const struct kv_summary *summary)
{
	json_t *names = json_array();

	for (enum kv_metric metric = KV_METRIC_TTFT; metric <= KV_METRIC_E2EL; metric++)
		if (isnan(summary->stats[metric].mean))
			json_array_append_new(names, json_string(kv_metric_name(metric)));
	set(object, "without_values", names);
}

static void set_ttft_parts(json_t *object, const struct kv_summary *summary)
{
	static const struct {
		const char *name;
		enum kv_metric metric;
	} metrics[] = {
		{"client_wait", KV_METRIC_CLIENT_WAIT}, {"retrieval", KV_METRIC_RETRIEVAL},
		{"frontend", KV_METRIC_FRONTEND}, {"queue", KV_METRIC_QUEUE}, {"prefill", KV_METRIC_PREFILL},
		{"preempted", KV_METRIC_PREEMPTED}
	};
	json_t *parts = add_object(object, "ttft_parts");

	for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
		set_stats(add_object(parts, metrics[i].name), summary, metrics[i].metric, "_ms", NAN);
	if (summary->options->retries > 0)
		set_stats(add_object(parts, "retry_wait"), summary, KV_METRIC_RETRY_WAIT, "_ms", NAN);
	if (kv_waits_to_send(summary->options))
		set_stats(add_object(object, "ttft_from_arrival"), summary, KV_METRIC_TTFT_FROM_ARRIVAL, "_ms", NAN);
	/* Whatever percentiles were asked for. */
	set_real(object, "p99_ttft_ms", summary->stats[KV_METRIC_TTFT].p99);
}

static void set_errors(json_t *object, const struct kv_summary *summary)
{
	json_t *errors = add_object(object, "percentile_relative_error");

	for (enum kv_metric metric = KV_METRIC_TTFT; metric <= KV_METRIC_E2EL; metric++)
		set_real(errors, kv_metric_name(metric), summary->stats[metric].error);
}

/* --- insight ------------------------------------------------------------------------------------------------------ */

static void set_parts(json_t *object, const kv_integral part[KV_PARTS], uint64_t count)
{
	for (int i = 0; i < KV_PARTS; i++)
		set_real(object, kv_part_name(i), count > 0 ? (double)part[i] / (double)count / 1e6 : 0);
}

static void merge_parts(struct kv_part_sums *into, const struct kv_part_sums *from)
{
	into->count += from->count;
	into->longest = kv_max(into->longest, from->longest);
	for (int i = 0; i < KV_PARTS; i++)
		into->part[i] += from->part[i];
}

static json_t *band_value(const char *name, const struct kv_part_sums *sums)
{
	json_t *band = json_object();

	set_text(band, "band", name);
	set_count(band, "requests", sums->count);
	set_real(band, "longest_ttft_ms", (double)sums->longest / 1e6);
	set_parts(add_object(band, "mean_ms"), sums->part, sums->count);
	return band;
}

/* Bands of TTFT percentiles; a limit that falls inside a bin of about 1 % moves to the bin's end. */
static json_t *bands_value(const struct kv_insight *insight, uint64_t total)
{
	static const struct {
		const char *name;
		double until;
	} bands[] = {
		{"all", 0}, {"up to P50", 0.5}, {"P50 to P90", 0.9}, {"P90 to P95", 0.95}, {"P95 to P99", 0.99},
		{"above P99", 1}
	};
	const uint32_t bins = (KV_BINS >> KV_TTFT_BANDS_BITS) + 1;
	json_t *array = json_array();
	struct kv_part_sums all = {0};
	uint64_t reached = 0;
	uint32_t bin = 0;

	for (uint32_t i = 0; i < bins; i++)
		merge_parts(&all, &insight->by_ttft[i]);
	json_array_append_new(array, band_value(bands[0].name, &all));
	for (size_t b = 1; b < sizeof bands / sizeof bands[0]; b++) {
		struct kv_part_sums band = {0};

		for (; bin < bins && (double)reached < bands[b].until * (double)total; bin++) {
			merge_parts(&band, &insight->by_ttft[bin]);
			reached += insight->by_ttft[bin].count;
		}
		json_array_append_new(array, band_value(bands[b].name, &band));
	}
	return array;
}

static json_t *worst_value(struct kv_insight *insight)
{
	json_t *array = json_array();

	kv_top_list_sort(&insight->worst_ttft);
	for (size_t i = 0; i < insight->worst_ttft.count; i++) {
		const struct kv_named_request *entry = &insight->worst_ttft.entry[i];
		json_t *object = json_object();
		uint64_t parts[KV_PARTS];
		kv_integral wide[KV_PARTS];

		kv_parts_of(&entry->record, parts);
		for (int p = 0; p < KV_PARTS; p++)
			wide[p] = parts[p];
		set_text(object, "request_id", entry->id);
		set_text(object, "tenant", entry->tenant);
		set_seconds(object, "arrival_s", entry->record.arrival);
		set_count(object, "prompt_tokens", entry->record.prompt_tokens);
		set_count(object, "cached_tokens", entry->record.cached_tokens);
		set_count(object, "preemptions", entry->record.preemptions);
		set_real(object, "ttft_ms", (double)entry->weight / 1e6);
		set_parts(add_object(object, "ms"), wide, 1);
		json_array_append_new(array, object);
	}
	return array;
}

static bool lived_at(const struct kv_request_record *record, kv_time time)
{
	return record->admitted <= time && (record->finish == KV_TIME_NONE || record->finish > time);
}

/* Tokens at their end: what they may have held at the peak. */
static json_t *largest_value(struct kv_insight *insight, kv_time peak)
{
	enum { SHOWN = 10 };
	json_t *array = json_array();

	kv_top_list_sort(&insight->largest);
	for (size_t i = 0; i < insight->largest.count && json_array_size(array) < SHOWN; i++) {
		const struct kv_named_request *entry = &insight->largest.entry[i];
		json_t *object;

		if (!lived_at(&entry->record, peak))
			continue;
		object = json_object();
		set_text(object, "request_id", entry->id);
		set_text(object, "tenant", entry->tenant);
		set_count(object, "prompt_tokens", entry->record.prompt_tokens);
		set_count(object, "output_tokens", entry->record.output_tokens);
		set_count(object, "blocks", kv_ceil_div(entry->weight, insight->block_size));
		set_seconds(object, "admitted_s", entry->record.admitted);
		json_array_append_new(array, object);
	}
	return array;
}

/* Prompts are looked up when they are admitted, unless prefix caching is off. */
static json_t *crowd_value(const struct kv_crowd *crowd, bool caching)
{
	static const double asked[] = {50, 95, 99};
	double ttft[3];
	char key[16];
	json_t *object = json_object();

	kv_distribution_percentiles(&crowd->ttft, asked, 3, ttft);
	set_text(object, "name", crowd->name);
	set_count(object, "requests", crowd->requests);
	set_count(object, "finished", crowd->finished);
	set_count(object, "prompt_tokens", crowd->prompt_tokens);
	set_count(object, "queried_tokens", caching ? crowd->admitted_tokens : 0);
	set_count(object, "cached_tokens", crowd->cached_tokens);
	set_count(object, "computed_tokens", crowd->computed_tokens);
	set_count(object, "output_tokens", crowd->output_tokens);
	set_count(object, "preemptions", crowd->preemptions);
	set_real(object, "block_seconds", (double)crowd->block_ns / 1e9);
	set_real(object, "mean_queue_ms",
	         crowd->finished > 0 ? (double)crowd->queue_ns / (double)crowd->finished / 1e6 : NAN);
	for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
		snprintf(key, sizeof key, "p%.0f_ttft_ms", asked[i]);
		set_real(object, key, crowd->ttft.count > 0 ? ttft[i] / 1e6 : NAN);
	}
	return object;
}

static json_t *classes_value(const struct kv_insight *insight, bool caching)
{
	json_t *array = json_array();

	for (int i = 0; i < KV_LENGTH_CLASSES; i++)
		if (insight->length_class[i].requests > 0)
			json_array_append_new(array, crowd_value(&insight->length_class[i], caching));
	return array;
}

static json_t *tenants_value(const struct kv_insight *insight, bool caching)
{
	json_t *array = json_array();

	for (size_t i = 0; i < insight->tenants; i++)
		json_array_append_new(array, crowd_value(&insight->tenant[i], caching));
	if (insight->tenant[KV_TENANTS_MAX].requests > 0)
		json_array_append_new(array, crowd_value(&insight->tenant[KV_TENANTS_MAX], caching));
	return array;
}

static json_t *miss_examples_value(const struct kv_insight *insight)
{
	json_t *object = json_object();

	for (int i = 0; i < KV_MISS_REASONS; i++) {
		const struct kv_miss_example *example = &insight->miss_example[i];
		json_t *value;

		if (example->id == NULL)
			continue;
		value = add_object(object, kv_miss_reason_name(i));
		set_text(value, "request_id", example->id);
		set_count(value, "tokens", example->miss.tokens[i]);
		set_count(value, "prompt_tokens", example->miss.prompt_tokens);
		set_count(value, "hit_tokens", example->miss.hit_tokens);
		if (example->miss.new_segment == UINT32_MAX)
			continue;
		set_count(value, "new_segment", example->miss.new_segment);
		set_count(value, "new_token", example->miss.new_token);
	}
	return object;
}

static void set_insight(json_t *object, const struct kv_summary *summary, struct kv_insight *insight)
{
	static const double asked[] = {10, 50, 90};
	bool caching = summary->counters.queried_tokens > 0;
	double ago[3];
	json_t *evicted;

	set(object, "ttft_bands", bands_value(insight, summary->metric[KV_METRIC_TTFT].count));
	set(object, "worst_ttft", worst_value(insight));
	set(object, "largest_at_peak", largest_value(insight, summary->peak_time));
	set(object, "length_classes", classes_value(insight, caching));
	set(object, "tenants", tenants_value(insight, caching));
	set(object, "miss_examples", miss_examples_value(insight));
	kv_distribution_percentiles(&insight->evicted_ago, asked, 3, ago);
	evicted = add_object(object, "evicted_before_s");
	set_count(evicted, "requests", insight->evicted_ago.count);
	set_real(evicted, "p10", ago[0] / 1e9);
	set_real(evicted, "p50", ago[1] / 1e9);
	set_real(evicted, "p90", ago[2] / 1e9);
}

json_t *kv_facts_build(const struct kv_summary *summary, struct kv_insight *insight, const struct kv_run_info *info)
{
	json_t *facts = json_object();
	json_t *kvsim;

	set_setup(facts, summary, info);
	set_totals(facts, summary);
	set_metrics(facts, summary, info);
	kvsim = add_object(facts, "kvsim");
	set_fates(kvsim, summary, info);
	set_engine(kvsim, info);
	set_counters(kvsim, summary);
	set_swap(kvsim, summary, info);
	set_occupancy(kvsim, summary, info);
	set_requests(kvsim, summary);
	set_concurrency(kvsim, summary, info);
	set_outcome(kvsim, summary);
	set_without_values(kvsim, summary);
	set_ttft_parts(kvsim, summary);
	set_errors(kvsim, summary);
	if (insight != NULL)
		set_insight(kvsim, summary, insight);
	return facts;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

const json_t *kv_facts_at(const json_t *facts, const char *path)
{
	char key[64];

	while (*path != '\0' && facts != NULL) {
		size_t length = strcspn(path, "/");

		KV_ASSERT(length < sizeof key, "%s is too long", path);
		memcpy(key, path, length);
		key[length] = '\0';
		facts = json_object_get(facts, key);
		path += length + (path[length] == '/');
	}
	return facts;
}

double kv_facts_number(const json_t *facts, const char *path)
{
	return json_number_value(kv_facts_at(facts, path));
}

const char *kv_facts_text(const json_t *facts, const char *path)
{
	return json_string_value(kv_facts_at(facts, path));
}
