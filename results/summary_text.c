/* The summary on standard output: first the block that `vllm bench serve` prints, character for character
 * (vllm/benchmarks/serve.py at 009e6d4a1c: width 50, "{:<40} {:<10}"), then one of ours in the same layout. */
#include "config.h"

#include "results/summary.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "results/concurrency.h"
#include "results/number_text.h"
#include "sim/base/quantity.h"

enum { WIDTH = 50, VALUE_COLUMN = 40 };

/* Python's centring: the odd fill character goes to the right. */
static void write_title(struct kv_output *out, const char *title, char fill)
{
	int room = WIDTH - (int)strlen(title);
	char left[WIDTH], right[WIDTH];

	memset(left, fill, sizeof left);
	memset(right, fill, sizeof right);
	kv_output_printf(out, "%.*s%s%.*s\n", room / 2, left, title, room - room / 2, right);
}

static void write_rule(struct kv_output *out)
{
	write_title(out, "", '=');
}

static void write_count(struct kv_output *out, const char *label, uint64_t value)
{
	kv_output_printf(out, "%-40s %-10llu\n", label, (unsigned long long)value);
}

/* vLLM prints 0.00 where no request has the metric: see write_without_values. */
static void write_number(struct kv_output *out, const char *label, double value)
{
	kv_output_printf(out, "%-40s %-10.2f\n", label, isnan(value) ? 0 : value);
}

static void write_totals(struct kv_output *out, const struct kv_summary *summary, const struct kv_run_info *info)
{
	uint64_t completed = summary->status[KV_FINISHED];

	write_count(out, "Successful requests:", completed);
	write_count(out, "Failed requests:", summary->requests - completed);
	if (info->max_concurrency != 0)
		write_count(out, "Maximum request concurrency:", info->max_concurrency);
	if (!isinf(info->request_rate))
		write_number(out, "Request rate configured (RPS):", info->request_rate);
	write_number(out, "Benchmark duration (s):", (double)summary->duration / (double)KV_SECOND);
	write_count(out, "Total input tokens:", summary->input_tokens);
	write_count(out, "Total generated tokens:", summary->output_tokens);
	write_number(out, "Request throughput (req/s):", kv_summary_rate(summary, completed));
	if (kv_has_goodput(summary->options))
		write_number(out, "Request goodput (req/s):", kv_summary_rate(summary, summary->good));
	write_number(out, "Output token throughput (tok/s):", kv_summary_rate(summary, summary->output_tokens));
	write_number(out, "Peak output token throughput (tok/s):", (double)summary->peak_second_tokens);
	write_number(out, "Peak concurrent requests:", (double)summary->levels.max[KV_LEVEL_IN_FLIGHT]);
	write_number(out, "Total token throughput (tok/s):",
	             kv_summary_rate(summary, summary->input_tokens + summary->output_tokens));
}

static void write_percentile(struct kv_output *out, double percentile, const char *name, double value)
{
	char digits[KV_QUANTITY_MAX], label[VALUE_COLUMN + 32];

	snprintf(label, sizeof label, "P%s %s (ms):", kv_format_double(percentile, digits), name);
	write_number(out, label, value);
}

/* vLLM's default is P99 alone. It is computed whatever percentiles were asked for. */
static void write_percentiles(struct kv_output *out, const struct kv_summary *summary, enum kv_metric metric,
                              const char *name)
{
	const struct kv_results_options *options = summary->options;
	const struct kv_metric_stats *stats = &summary->stats[metric];

	if (!options->percentiles_given) {
		write_percentile(out, 99, name, stats->p99);
		return;
	}
	for (size_t i = 0; i < options->percentile_count; i++)
		write_percentile(out, options->percentiles[i], name, stats->percentile[i]);
}

static void write_metric(struct kv_output *out, const struct kv_summary *summary, enum kv_metric metric,
                         const char *name, const char *header)
{
	const struct kv_metric_stats *stats = &summary->stats[metric];
	char label[VALUE_COLUMN + 32];

	write_title(out, header, '-');
	snprintf(label, sizeof label, "Mean %s (ms):", name);
	write_number(out, label, stats->mean);
	snprintf(label, sizeof label, "Median %s (ms):", name);
	write_number(out, label, stats->median);
	write_percentiles(out, summary, metric, name);
}

static void write_vllm_block(struct kv_output *out, const struct kv_summary *summary, const struct kv_run_info *info)
{
	write_title(out, " Serving Benchmark Result ", '=');
	write_totals(out, summary, info);
	write_metric(out, summary, KV_METRIC_TTFT, "TTFT", "Time to First Token");
	write_metric(out, summary, KV_METRIC_TPOT, "TPOT", "Time per Output Token (excl. 1st token)");
	write_metric(out, summary, KV_METRIC_ITL, "ITL", "Inter-token Latency");
	write_metric(out, summary, KV_METRIC_E2EL, "E2EL", "End-to-end Latency");
	if (info->max_concurrency != 0)
		write_metric(out, summary, KV_METRIC_CLIENT_WAIT, "Client Queue Time", "Client-side Queueing");
	if (info->max_concurrency != 0 && !isinf(info->request_rate))
		write_metric(out, summary, KV_METRIC_E2EL_WITH_WAIT, "E2EL incl. Client Queue",
		             "Queue-inclusive End-to-end Latency");
	write_rule(out);
}

static void write_text(struct kv_output *out, const char *label, const char *value)
{
	if (value != NULL)
		kv_output_printf(out, "%-40s %s\n", label, value);
}

static void write_setup(struct kv_output *out, const struct kv_run_info *info)
{
	char bytes[KV_QUANTITY_MAX];

	write_title(out, " kvsim ", '=');
	write_text(out, "Model:", info->model);
	write_text(out, "Hardware:", info->hardware);
	write_text(out, "Engine profile:", info->engine_profile);
	write_text(out, "Step time:", info->latency);
	write_text(out, "Step time, error:", info->latency_error);
	for (int i = 0; i < KV_POLICY_KINDS; i++) {
		char label[VALUE_COLUMN];

		snprintf(label, sizeof label, "Policy, %s:", kv_policy_kind_name(i));
		write_text(out, label, info->policies[i]);
	}
	if (info->oracle)
		kv_output_text(out, "This run is an oracle: it uses output lengths that a real engine cannot know.\n");
	kv_output_printf(out, "%-40s %llu blocks of %u tokens, %s a rank\n", "KV cache pool:",
	                 (unsigned long long)info->usable_blocks, info->block_size,
	                 kv_format_bytes_short((int64_t)(info->usable_blocks * info->block_bytes), bytes));
	write_text(out, "Pool size from:", info->pool_source);
	for (size_t i = 0; i < info->budget_count; i++)
		kv_output_printf(out, "  %-38s %12s  (%s)\n", info->budget[i].item,
		                 kv_format_bytes_short(info->budget[i].bytes, bytes), info->budget[i].source);
}

static void write_share(struct kv_output *out, const char *label, double mean, double peak, uint64_t pool)
{
	double percent = pool > 0 ? 100 / (double)pool : 0;

	kv_output_printf(out, "%-40s %10.2f %6.2f %10.2f %6.2f\n", label, mean, mean * percent, peak, peak * percent);
}

static void write_occupancy(struct kv_output *out, const struct kv_summary *summary, const struct kv_run_info *info)
{
	static const struct {
		const char *label;
		enum kv_level level;
		bool slots;
	} rows[] = {
		{"Pinned by live requests", KV_LEVEL_PINNED, false}, {"  of which filled", KV_LEVEL_FILLED, true},
		{"  of which reserved", KV_LEVEL_RESERVED, true},    {"  of which waste", KV_LEVEL_WASTE, true},
		{"Cached, reusable", KV_LEVEL_CACHED, false},        {"Free", KV_LEVEL_FREE, false}
	};
	const struct kv_level_sums *levels = &summary->levels;

	write_title(out, "Occupancy (blocks)", '-');
	kv_output_printf(out, "%-40s %10s %6s %10s %6s\n", "", "mean", "%", "peak", "%");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		double unit = rows[i].slots ? info->block_size : 1;

		write_share(out, rows[i].label, kv_level_mean(levels, rows[i].level) / unit,
		            (double)levels->max[rows[i].level] / unit, info->usable_blocks);
	}
}

static void write_factor(struct kv_output *out, const char *label, double factor, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void write_factor(struct kv_output *out, const char *label, double factor, const char *format, ...)
{
	char why[160];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof why, format, args);
	va_end(args);
	kv_output_printf(out, "  x %-36s %-10.*f %s\n", label, kv_decimals(factor, 3), factor, why);
}

static void write_concurrency(struct kv_output *out, const struct kv_summary *summary, const struct kv_run_info *info)
{
	struct kv_concurrency c = kv_concurrency_of(summary, info);

	if (summary->status[KV_FINISHED] == 0 || c.mean_running == 0)
		return;
	write_title(out, "Promised by division, and admitted", '-');
	kv_output_printf(out, "%-40s %-10.2f (of %u tokens)\n", "Blocks / those of one max_model_len:", c.by_limit,
	                 info->max_model_len);
	kv_output_printf(out, "%-40s %-10.*f (of %.0f tokens)\n", "Pool / mean length:",
	                 kv_decimals(c.by_mean_length, 2), c.by_mean_length, c.mean_length);
	write_factor(out, "share of the pool pinned", c.pinned_share, "the rest was free, or cached only");
	write_factor(out, "unequal lengths", c.unequal_lengths, "%.0f tokens by the time that requests run",
	             c.length_by_time);
	write_factor(out, "growth", c.growth, "of these they have about %.0f, on average", c.held);
	write_factor(out, info->kv_groups > 1 ? "sharing, and windows" : "sharing", c.sharing,
	             "in %.0f slots a request", c.filled);
	write_factor(out, "allocation", c.allocation, "with %.0f reserved and %.0f wasted, %.0f pinned", c.reserved,
	             c.waste, c.pinned);
	kv_output_printf(out, "%-40s %-10.*f (at most %.0f)\n", "= requests that ran, on average:",
	                 kv_decimals(c.mean_running, 2), c.mean_running, (double)summary->levels.max[KV_LEVEL_RUNNING]);
	kv_output_text(out, "Dividing the pool by a length promises so many at once; pool / mean length times the factors\n"
	                    "is what ran. A factor below 1 cost requests, one above 1 made room for more.\n");
}

static void write_copies(struct kv_output *out, const char *label, uint64_t blocks, uint64_t block_bytes)
{
	char bytes[KV_QUANTITY_MAX];

	kv_output_printf(out, "%-40s %-10llu %s a rank\n", label, (unsigned long long)blocks,
	                 kv_format_bytes_short((int64_t)(blocks * block_bytes), bytes));
}

static void write_swap(struct kv_output *out, const struct kv_summary *summary, const struct kv_run_info *info)
{
	const struct kv_swap_state *counters = &summary->counters.swap;

	if (info->swap.blocks == 0)
		return;
	write_count(out, "  by swap to host memory:", counters->outs);
	write_count(out, "  by recompute, host memory full:", counters->host_full);
	write_copies(out, "Blocks copied out:", counters->blocks_out, info->swap.block_bytes);
	write_copies(out, "Blocks copied back:", counters->blocks_in, info->swap.block_bytes);
	write_count(out, "Blocks found cached at the return:", counters->blocks_found);
	write_number(out, "Time of copies (s):", (double)counters->ns / (double)KV_SECOND);
	kv_output_printf(out, "%-40s %-10llu of %llu\n", "Blocks of host memory at the peak:",
	                 (unsigned long long)summary->levels.max[KV_LEVEL_HOST], (unsigned long long)info->swap.blocks);
}

static void write_cache(struct kv_output *out, const struct kv_summary *summary, const struct kv_run_info *info)
{
	const struct kv_state *counters = &summary->counters;
	double rate = counters->queried_tokens > 0
		? 100 * (double)counters->hit_tokens / (double)counters->queried_tokens : 0;

	write_title(out, "Prefix cache and memory pressure", '-');
	write_count(out, "Prefix cache queries (tokens):", counters->queried_tokens);
	write_count(out, "Prefix cache hits (tokens):", counters->hit_tokens);
	write_number(out, "Prefix cache hit rate (%):", rate);
	if (info->warm_trace != NULL)
		kv_output_printf(
			out, "The cache started warm: %s was replayed before time zero and left %llu blocks in it.\n",
			info->warm_trace, (unsigned long long)summary->outcome.warm_blocks);
	if (!info->trace_has_prefixes)
		kv_output_text(out, "The trace does not say what prompts share: hits are not to be expected.\n");
	write_count(out, "Evicted blocks:", counters->evicted_blocks);
	write_count(out, "Preemptions:", counters->preemptions);
	write_swap(out, summary, info);
	write_count(out, "Recomputed tokens:", summary->recomputed_tokens);
	write_count(out, "Engine steps:", counters->steps);
}

static void write_fates(struct kv_output *out, const struct kv_summary *summary)
{
	write_count(out, "Requests refused:", summary->status[KV_REFUSED]);
	if (kv_summary_sent_again(summary) > 0) {
		write_count(out, "Sent again after refusals:", kv_summary_sent_again(summary));
		write_count(out, "Requests that failed for good:", kv_summary_failed_for_good(summary));
	}
	write_count(out, "Requests dropped:", summary->status[KV_DROPPED]);
	write_count(out, "Requests unfinished:", summary->status[KV_UNFINISHED]);
	for (int i = KV_REASON_LENGTH + 1; i < KV_REASONS; i++) {
		char label[VALUE_COLUMN];

		snprintf(label, sizeof label, "  reason %s:", kv_reason_name(i));
		if (summary->reason[i] > 0)
			write_count(out, label, summary->reason[i]);
	}
}

static void write_wait(struct kv_output *out, const struct kv_summary *summary, enum kv_metric metric,
                       const char *label)
{
	const struct kv_metric_stats *stats = &summary->stats[metric];

	if (isnan(stats->mean))
		kv_output_printf(out, "%-40s %10s %10s %10s\n", label, "-", "-", "-");
	else
		kv_output_printf(out, "%-40s %10.2f %10.2f %10.2f\n", label, stats->mean, stats->median, stats->p99);
}

static void write_ttft_parts(struct kv_output *out, const struct kv_summary *summary)
{
	static const struct {
		const char *label;
		enum kv_metric metric;
	} parts[] = {
		{"Client wait (before sending)", KV_METRIC_CLIENT_WAIT}, {"TTFT = retrieval", KV_METRIC_RETRIEVAL},
		{"     + front end", KV_METRIC_FRONTEND}, {"     + queue", KV_METRIC_QUEUE},
		{"     + prefill", KV_METRIC_PREFILL}, {"       of which preempted", KV_METRIC_PREEMPTED}
	};

	write_title(out, "Where the first token waits (ms)", '-');
	kv_output_printf(out, "%-40s %10s %10s %10s\n", "", "mean", "median", "P99");
	if (summary->options->retries > 0)
		write_wait(out, summary, KV_METRIC_RETRY_WAIT, "Retries (before this sending)");
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		write_wait(out, summary, parts[i].metric, parts[i].label);
	if (kv_waits_to_send(summary->options))
		write_wait(out, summary, KV_METRIC_TTFT_FROM_ARRIVAL, "TTFT after the first arrival, all these");
}

static void write_without_values(struct kv_output *out, const struct kv_summary *summary)
{
	static const char *const missing[] = {
		"a first token (TTFT)", "a second token (TPOT)", "two tokens to lie between (ITL)", "an end (E2EL)"
	};

	for (enum kv_metric metric = KV_METRIC_TTFT; metric <= KV_METRIC_E2EL; metric++)
		if (isnan(summary->stats[metric].mean))
			kv_output_printf(out, "No finished request has %s: its 0.00 above stands for none.\n", missing[metric]);
}

static void write_error(struct kv_output *out, const struct kv_summary *summary)
{
	if (summary->stats[KV_METRIC_TTFT].error > 0)
		kv_output_printf(out, "Percentiles are within %.2f %%: more than %u requests.\n",
		                 100 * KV_DISTRIBUTION_ERROR, KV_DISTRIBUTION_EXACT);
	else
		kv_output_printf(out, "Percentiles are exact; of token gaps (ITL) within %.2f %%.\n",
		                 100 * KV_DISTRIBUTION_ERROR);
}

/* Rows that wait for one that failed are whole: they were not sent. */
static void write_skipped(struct kv_output *out, const struct kv_run_info *info)
{
	for (size_t i = 0; i < info->skipped_rows_count; i++) {
		const struct kv_count_line *line = &info->skipped_rows[i];
		bool unsent = strcmp(line->name, "after_refusal") == 0;

		kv_output_printf(out, "%s, %s: %llu\n",
		                 unsent ? "Requests never sent, as the one before had failed" : "Trace rows skipped",
		                 line->name, (unsigned long long)line->count);
	}
}

static void write_notices(struct kv_output *out, const struct kv_summary *summary, const struct kv_run_info *info)
{
	const struct kv_run_outcome *outcome = &summary->outcome;

	if (outcome->stalled && !outcome->livelocked && outcome->stalled_needs_blocks <= info->usable_blocks)
		kv_output_printf(out,
		                 "STALLED: request %s is never let in, though its %llu blocks fit the pool of %llu.\n",
		                 summary->stalled_id, (unsigned long long)outcome->stalled_needs_blocks,
		                 (unsigned long long)info->usable_blocks);
	else if (outcome->stalled || outcome->livelocked)
		kv_output_printf(out, "%s: request %s needs %llu blocks, the pool has %llu.\n",
		                 outcome->livelocked ? "LIVELOCKED" : "STALLED", summary->stalled_id,
		                 (unsigned long long)outcome->stalled_needs_blocks,
		                 (unsigned long long)info->usable_blocks);
	if (outcome->partial)
		kv_output_text(out, "PARTIAL: the run was interrupted.\n");
	if (summary->requests == 0 && summary->options->warmup > 0)
		kv_output_text(out, "Nothing was measured: no request arrived after --warmup.\n");
	if (info->arrivals != NULL)
		kv_output_printf(out, "%s\n", info->arrivals);
	write_skipped(out, info);
	write_without_values(out, summary);
	write_error(out, summary);
}

void kv_summary_write_text(const struct kv_summary *summary, const struct kv_run_info *info, struct kv_output *out)
{
	write_vllm_block(out, summary, info);
	write_setup(out, info);
	write_occupancy(out, summary, info);
	write_concurrency(out, summary, info);
	write_cache(out, summary, info);
	write_fates(out, summary);
	write_ttft_parts(out, summary);
	write_rule(out);
	write_notices(out, summary, info);
}
