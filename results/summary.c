#include "config.h"

#include "results/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/memory.h"

const char *kv_metric_name(enum kv_metric metric)
{
	static const char *const names[] = {"ttft", "tpot", "itl", "e2el"};

	return names[metric];
}

void kv_summary_init(struct kv_summary *summary, const struct kv_results_options *options)
{
	*summary = (struct kv_summary){
		.options = options,
		.first_start = KV_TIME_NONE,
		.keeps_times = (options->write & KV_WRITE_SUMMARY) != 0 || options->json || options->save_result
	};
	for (int i = 0; i < KV_METRICS; i++)
		kv_distribution_init(&summary->metric[i], i != KV_METRIC_ITL);
}

void kv_summary_fini(struct kv_summary *summary)
{
	for (int i = 0; i < KV_METRICS; i++)
		kv_distribution_fini(&summary->metric[i]);
	free(summary->times);
	for (size_t i = 0; i < summary->stalled_count; i++)
		free(summary->stalled[i].id);
	free(summary->stalled);
}

void kv_summary_start_measuring(struct kv_summary *summary, const struct kv_state *state, kv_time now)
{
	summary->levels = (struct kv_level_sums){0};
	summary->before = *state;
	summary->measured_from = now;
	summary->peak_pinned = 0;
	summary->peak_time = now;
	summary->scheduled_tokens = summary->sum_pinned_blocks = 0;
	summary->first_start = KV_TIME_NONE;
	summary->second = 0;
	summary->second_tokens = summary->peak_second_tokens = 0;
	kv_distribution_fini(&summary->metric[KV_METRIC_ITL]);
	kv_distribution_init(&summary->metric[KV_METRIC_ITL], false);
}

/* vLLM counts tokens in whole seconds from the first start. */
static void count_in_second(struct kv_summary *summary, kv_time end, uint64_t tokens)
{
	int64_t second;

	if (summary->first_start == KV_TIME_NONE)
		return;
	second = (end - summary->first_start) / KV_SECOND;
	if (second != summary->second) {
		summary->second = second;
		summary->second_tokens = 0;
	}
	summary->second_tokens += tokens;
	summary->peak_second_tokens = kv_max(summary->peak_second_tokens, summary->second_tokens);
}

void kv_summary_step(struct kv_summary *summary, const struct kv_step *step)
{
	count_in_second(summary, step->end, step->output_tokens);
	if (step->scheduled_tokens == 0 || step->start < summary->measured_from)
		return;
	summary->scheduled_tokens += step->scheduled_tokens;
	summary->sum_pinned_blocks += step->pinned_blocks;
}

uint64_t kv_time_per_output_token(const struct kv_request_record *record)
{
	uint64_t ns = (uint64_t)(record->finish - record->first_token);
	uint64_t gaps = record->output_tokens - 1;

	if (record->output_tokens < 2)
		return 0;
	/* 128-bit division is slow, and only needed beyond half a year. */
	if (ns < UINT64_MAX / 1000 - gaps)
		return (ns * 1000 + gaps / 2) / gaps;
	return (uint64_t)(((kv_integral)ns * 1000 + gaps / 2) / gaps);
}

static bool within(uint64_t value, kv_time objective, uint64_t unit)
{
	return objective == KV_TIME_NONE || (kv_integral)value <= (kv_integral)objective * unit;
}

/* One output token or none counts as a time per token of 0, as in vLLM. */
static bool is_good(const struct kv_results_options *options, uint64_t ttft, uint64_t tpot, uint64_t e2e)
{
	return within(ttft, options->goodput_ttft, 1) && within(tpot, options->goodput_tpot, 1000) &&
	       within(e2e, options->goodput_e2el, 1);
}

static void add_times(struct kv_summary *summary, const struct kv_request_record *record, uint64_t latency,
                      uint64_t wait)
{
	if (!summary->keeps_times)
		return;
	if (record->index >= KV_DISTRIBUTION_EXACT) {
		free(summary->times);
		summary->times = NULL;
		summary->times_count = 0;
		summary->keeps_times = false;
		return;
	}
	summary->times = kv_grow(summary->times, &summary->times_capacity, record->index + 1, sizeof *summary->times);
	summary->times[record->index] = (struct kv_request_times){.latency = latency, .wait = wait, .present = true};
	summary->times_count = kv_max(summary->times_count, record->index + 1);
}

/* What lies before the first admission, of requests without output too. */
static void add_waits(struct kv_summary *summary, const struct kv_request_record *record)
{
	struct kv_distribution *metric = summary->metric;

	kv_distribution_add(&metric[KV_METRIC_RETRIEVAL], (uint64_t)record->retrieval);
	kv_distribution_add(&metric[KV_METRIC_FRONTEND], (uint64_t)record->frontend);
	kv_distribution_add(&metric[KV_METRIC_QUEUE], (uint64_t)(record->admitted - record->queued));
}

static void add_prefill(struct kv_summary *summary, const struct kv_request_record *record, uint64_t ttft)
{
	struct kv_distribution *metric = summary->metric;
	uint64_t prefill = (uint64_t)(record->first_token - record->admitted);

	KV_ASSERT((uint64_t)(record->retrieval + record->frontend + record->admitted - record->queued) + prefill == ttft,
	          "the parts of request %llu's time to first token do not sum to it",
	          (unsigned long long)record->index);
	kv_distribution_add(&metric[KV_METRIC_PREFILL], prefill);
	kv_distribution_add(&metric[KV_METRIC_PREEMPTED], (uint64_t)record->preempted_before_first);
}

/* A request without output has no first token; its end is what its client waits for. */
static uint64_t add_first_token(struct kv_summary *summary, const struct kv_request_record *record, uint64_t e2e)
{
	struct kv_distribution *metric = summary->metric;
	uint64_t ttft = (uint64_t)(record->first_token - record->sent);

	if (record->first_token == KV_TIME_NONE)
		return e2e;
	KV_ASSERT(record->first_token >= record->sent && record->finish >= record->first_token,
	          "request %llu finished before its first token", (unsigned long long)record->index);
	kv_distribution_add(&metric[KV_METRIC_TTFT], ttft);
	if (record->output_tokens > 1)
		kv_distribution_add(&metric[KV_METRIC_TPOT], kv_time_per_output_token(record));
	add_prefill(summary, record, ttft);
	return ttft;
}

static void add_running_time(struct kv_summary *summary, const struct kv_request_record *record)
{
	kv_time end_of_prefill = record->first_token == KV_TIME_NONE ? record->finish : record->first_token;
	uint64_t prefill = (uint64_t)(end_of_prefill - record->admitted - record->preempted_before_first);
	kv_time preempted_after = record->preempted - record->preempted_before_first;
	uint64_t decode = (uint64_t)(record->finish - end_of_prefill - preempted_after);
	uint64_t prompt = record->prompt_tokens, length = prompt + record->output_tokens;

	summary->running_ns += prefill + decode;
	summary->length_ns += (kv_integral)length * (prefill + decode);
	summary->doubled_held_ns += (kv_integral)(2 * prompt) * prefill + (kv_integral)(prompt + length) * decode;
}

static void add_wait_to_send(struct kv_summary *summary, const struct kv_request_record *record, kv_time retry_wait)
{
	struct kv_distribution *metric = summary->metric;

	if (summary->options->retries > 0)
		kv_distribution_add(&metric[KV_METRIC_RETRY_WAIT], (uint64_t)retry_wait);
	if (record->first_token != KV_TIME_NONE)
		kv_distribution_add(&metric[KV_METRIC_TTFT_FROM_ARRIVAL],
		                    (uint64_t)(retry_wait + record->first_token - record->arrival));
}

static void add_finished(struct kv_summary *summary, const struct kv_request_record *record)
{
	struct kv_distribution *metric = summary->metric;
	uint64_t wait = (uint64_t)(record->sent - record->arrival);
	uint64_t e2e = (uint64_t)(record->finish - record->sent);
	uint64_t ttft = add_first_token(summary, record, e2e);

	add_waits(summary, record);
	kv_distribution_add(&metric[KV_METRIC_E2EL], e2e);
	kv_distribution_add(&metric[KV_METRIC_CLIENT_WAIT], wait);
	kv_distribution_add(&metric[KV_METRIC_E2EL_WITH_WAIT], e2e + wait);
	add_times(summary, record, e2e, wait);
	add_running_time(summary, record);
	summary->input_tokens += record->prompt_tokens;
	summary->output_tokens += record->output_tokens;
	if (is_good(summary->options, ttft, kv_time_per_output_token(record), e2e))
		summary->good++;
}

/* Which of them stopped the run is told at its very end. */
static void note_stalled(struct kv_summary *summary, const struct kv_request_record *record)
{
	char room[32];

	if (record->reason != KV_REASON_STALLED)
		return;
	summary->stalled = kv_grow(summary->stalled, &summary->stalled_capacity, summary->stalled_count + 1,
	                           sizeof *summary->stalled);
	snprintf(room, sizeof room, "r%" PRIu64, record->index);
	summary->stalled[summary->stalled_count++] =
		(struct kv_stalled){record->index, kv_strdup(record->id != NULL ? record->id : room)};
}

static const char *find_stalled(const struct kv_summary *summary, const struct kv_run_outcome *outcome)
{
	for (size_t i = 0; i < summary->stalled_count && (outcome->stalled || outcome->livelocked); i++)
		if (summary->stalled[i].index == outcome->stalled_request)
			return summary->stalled[i].id;
	return NULL;
}

static void add_failed(struct kv_summary *summary, const struct kv_request_record *record)
{
	uint64_t wait = record->sent == KV_TIME_NONE ? 0 : (uint64_t)(record->sent - record->arrival);

	add_times(summary, record, 0, wait);
	if (record->reason == KV_REASON_TOO_LONG && record->prompt_tokens > summary->longest_too_long)
		summary->longest_too_long = record->prompt_tokens;
}

void kv_summary_request(struct kv_summary *summary, const struct kv_request_record *record,
                        const struct kv_sending *sending)
{
	note_stalled(summary, record);
	if (record->arrival < summary->options->warmup)
		return;
	summary->requests++;
	if (record->arrival - sending->wait > summary->last_arrival)
		summary->last_arrival = record->arrival - sending->wait;
	summary->status[record->status]++;
	summary->reason[record->reason]++;
	summary->recomputed_tokens += record->recomputed_tokens;
	if (sending->again)
		summary->sent_again[sending->before]++;
	if (record->status == KV_FINISHED && kv_waits_to_send(summary->options))
		add_wait_to_send(summary, record, sending->wait);
	if (record->status == KV_FINISHED)
		add_finished(summary, record);
	else
		add_failed(summary, record);
}

uint64_t kv_summary_failed(const struct kv_summary *summary, enum kv_reason reason)
{
	return summary->reason[reason] - summary->sent_again[reason];
}

uint64_t kv_summary_sent_again(const struct kv_summary *summary)
{
	uint64_t again = 0;

	for (int i = 0; i < KV_REASONS; i++)
		again += summary->sent_again[i];
	return again;
}

uint64_t kv_summary_failed_for_good(const struct kv_summary *summary)
{
	return summary->requests - summary->status[KV_FINISHED] - kv_summary_sent_again(summary) -
	       kv_summary_failed(summary, KV_REASON_CUT);
}

static void forget_stats(const struct kv_results_options *options, struct kv_metric_stats *stats)
{
	stats->mean = stats->median = stats->deviation = stats->p99 = stats->maximum = NAN;
	stats->error = 0;
	for (size_t i = 0; i < options->percentile_count; i++)
		stats->percentile[i] = NAN;
}

static void take_stats(const struct kv_distribution *d, const struct kv_results_options *options, double unit,
                       struct kv_metric_stats *stats)
{
	static const double always[] = {50, 99};
	double found[2];

	if (d->count == 0) {
		forget_stats(options, stats);
		return;
	}
	stats->mean = kv_distribution_mean(d) / unit;
	stats->deviation = kv_distribution_deviation(d) / unit;
	stats->maximum = (double)d->maximum / unit;
	stats->error = kv_distribution_error(d);
	kv_distribution_percentiles(d, always, 2, found);
	stats->median = found[0] / unit;
	stats->p99 = found[1] / unit;
	kv_distribution_percentiles(d, options->percentiles, options->percentile_count, stats->percentile);
	for (size_t i = 0; i < options->percentile_count; i++)
		stats->percentile[i] /= unit;
}

static void subtract_swap(struct kv_swap_state *counters, const struct kv_swap_state *before)
{
	counters->outs -= before->outs;
	counters->ins -= before->ins;
	counters->host_full -= before->host_full;
	counters->blocks_out -= before->blocks_out;
	counters->blocks_in -= before->blocks_in;
	counters->blocks_found -= before->blocks_found;
	counters->blocks_lost -= before->blocks_lost;
	counters->ns -= before->ns;
}

static void subtract_counters(struct kv_state *counters, const struct kv_state *before)
{
	counters->arrivals -= before->arrivals;
	counters->finishes -= before->finishes;
	counters->refusals -= before->refusals;
	counters->drops -= before->drops;
	counters->preemptions -= before->preemptions;
	counters->steps -= before->steps;
	counters->prefill_tokens -= before->prefill_tokens;
	counters->decode_tokens -= before->decode_tokens;
	counters->evicted_blocks -= before->evicted_blocks;
	counters->queried_tokens -= before->queried_tokens;
	counters->hit_tokens -= before->hit_tokens;
	counters->readmission_queried_tokens -= before->readmission_queried_tokens;
	counters->readmission_hit_tokens -= before->readmission_hit_tokens;
	subtract_swap(&counters->swap, &before->swap);
}

void kv_summary_finish(struct kv_summary *summary, const struct kv_run_outcome *outcome)
{
	const double milliseconds_in_ns = 1e6, milliseconds_in_ps = 1e9;

	summary->outcome = *outcome;
	summary->stalled_id = find_stalled(summary, outcome);
	summary->counters = outcome->final;
	subtract_counters(&summary->counters, &summary->before);
	summary->duration = outcome->end > summary->measured_from ? outcome->end - summary->measured_from : 0;
	for (int i = 0; i < KV_METRICS; i++)
		take_stats(&summary->metric[i], summary->options,
		           i == KV_METRIC_TPOT ? milliseconds_in_ps : milliseconds_in_ns, &summary->stats[i]);
}

double kv_summary_rate(const struct kv_summary *summary, uint64_t count)
{
	if (summary->duration == 0)
		return 0;
	return (double)count / ((double)summary->duration / (double)KV_SECOND);
}

bool kv_has_goodput(const struct kv_results_options *options)
{
	return options->goodput_ttft != KV_TIME_NONE || options->goodput_tpot != KV_TIME_NONE ||
	       options->goodput_e2el != KV_TIME_NONE;
}
