#include "config.h"

#include "results/report_parts.h"

#include <stdio.h>
#include <string.h>

#include "results/facts.h"
#include "results/html.h"
#include "results/number_text.h"

static const struct {
	const char *key, *header;
} percentile_columns[] = {{"p50", "P50"}, {"p90", "P90"}, {"p95", "P95"}, {"p99", "P99"}, {"p99.9", "P99.9"}};

enum { PERCENTILE_COLUMNS = sizeof percentile_columns / sizeof percentile_columns[0] };

/* Whether requests have the metric of vllm bench serve whose keys end so. */
static bool has_values(const json_t *facts, const char *suffix)
{
	const json_t *name;
	size_t i;

	json_array_foreach(kv_facts_at(facts, "kvsim/without_values"), i, name) {
		char keys[32];

		snprintf(keys, sizeof keys, "_%s_ms", json_string_value(name));
		if (strcmp(keys, suffix) == 0)
			return false;
	}
	return true;
}

/* prefix and suffix around "mean" and "p99". */
static void put_latency_row(struct kv_output *out, const json_t *facts, const char *label, const char *prefix,
                            const char *suffix)
{
	char path[128];

	kv_html_begin_row(out, label);
	for (int i = -1; i < PERCENTILE_COLUMNS; i++) {
		snprintf(path, sizeof path, "%s%s%s", prefix, i < 0 ? "mean" : percentile_columns[i].key, suffix);
		if (has_values(facts, suffix))
			kv_html_fact(out, facts, path, KV_HTML_AS_DURATION);
		else
			kv_html_text_cell(out, NULL);
	}
	kv_html_end_row(out);
}

static void put_latencies(struct kv_output *out, const json_t *facts)
{
	kv_html_begin_table(out, "Latencies of finished requests", "|mean|P50|P90|P95|P99|P99.9");
	put_latency_row(out, facts, "Time to first token (TTFT), from sending", "", "_ttft_ms");
	put_latency_row(out, facts, "  retrieval", "kvsim/ttft_parts/retrieval/", "_ms");
	put_latency_row(out, facts, "  + front end", "kvsim/ttft_parts/frontend/", "_ms");
	put_latency_row(out, facts, "  + queue", "kvsim/ttft_parts/queue/", "_ms");
	put_latency_row(out, facts, "  + prefill", "kvsim/ttft_parts/prefill/", "_ms");
	put_latency_row(out, facts, "    of which preempted", "kvsim/ttft_parts/preempted/", "_ms");
	put_latency_row(out, facts, "Client wait, before sending", "kvsim/ttft_parts/client_wait/", "_ms");
	if (kv_facts_at(facts, "kvsim/ttft_parts/retry_wait") != NULL)
		put_latency_row(out, facts, "Retries, before this sending", "kvsim/ttft_parts/retry_wait/", "_ms");
	if (kv_facts_at(facts, "kvsim/ttft_from_arrival") != NULL)
		put_latency_row(out, facts, "First token after the first arrival, all these",
		                "kvsim/ttft_from_arrival/", "_ms");
	put_latency_row(out, facts, "Time per output token (TPOT)", "", "_tpot_ms");
	put_latency_row(out, facts, "Inter-token latency (ITL)", "", "_itl_ms");
	put_latency_row(out, facts, "End to end (E2EL), from sending", "", "_e2el_ms");
	kv_html_end_table(out);
}

/* One of the chain from what division promises to what ran. */
static void put_factor(struct kv_output *out, const json_t *facts, const char *label, const char *path, int decimals)
{
	kv_html_fact_row(out, facts, label, path, kv_decimals(kv_facts_number(facts, path), decimals));
}

static void put_load(struct kv_output *out, const json_t *facts)
{
	kv_html_begin_table(out, "Requests and throughput", "|");
	kv_html_fact_row(out, facts, "Requests", "num_prompts", 0);
	kv_html_fact_row(out, facts, "Finished", "completed", 0);
	kv_html_fact_row(out, facts, "Refused", "kvsim/refused", 0);
	if (json_integer_value(kv_facts_at(facts, "kvsim/sent_again")) > 0) {
		kv_html_fact_row(out, facts, "Sent again after refusals", "kvsim/sent_again", 0);
		kv_html_fact_row(out, facts, "Failed for good, however often sent", "kvsim/failed_for_good", 0);
	}
	kv_html_fact_row(out, facts, "Dropped", "kvsim/dropped", 0);
	kv_html_fact_row(out, facts, "Unfinished", "kvsim/unfinished", 0);
	if (kv_facts_number(facts, "kvsim/unanswered/reasons/after_refusal") > 0)
		kv_html_fact_row(out, facts, "Never sent, as the one before had failed",
		                 "kvsim/unanswered/reasons/after_refusal", 0);
	kv_html_fact_row(out, facts, "Measured time (s)", "duration", 2);
	kv_html_fact_row(out, facts, "Prompt tokens", "total_input_tokens", 0);
	kv_html_fact_row(out, facts, "Output tokens", "total_output_tokens", 0);
	kv_html_fact_row(out, facts, "Requests a second", "request_throughput", 2);
	if (json_is_number(kv_facts_at(facts, "request_goodput")))
		kv_html_fact_row(out, facts, "Goodput, requests a second", "request_goodput", 2);
	kv_html_fact_row(out, facts, "Output tokens a second", "output_throughput", 2);
	kv_html_fact_row(out, facts, "Most output tokens in a second", "max_output_tokens_per_s", 0);
	kv_html_fact_row(out, facts, "Most requests in flight", "max_concurrent_requests", 0);
	kv_html_fact_row(out, facts, "Most requests running", "kvsim/peak_running", 0);
	kv_html_fact_row(out, facts, "Promised by division: blocks / those of max_model_len", "kvsim/concurrency/by_max_model_len",
	                 2);
	put_factor(out, facts, "Promised by division: pool / mean length", "kvsim/concurrency/by_mean_length", 2);
	put_factor(out, facts, "x share of the pool pinned", "kvsim/concurrency/pinned_share", 3);
	put_factor(out, facts, "x unequal lengths: long requests run longer", "kvsim/concurrency/unequal_lengths", 3);
	put_factor(out, facts, "x growth: they do not hold all of it yet", "kvsim/concurrency/growth", 3);
	put_factor(out, facts, "x sharing of blocks, and windows", "kvsim/concurrency/sharing", 3);
	put_factor(out, facts, "x allocation: reserved and wasted slots", "kvsim/concurrency/allocation", 3);
	put_factor(out, facts, "= requests running, mean", "kvsim/concurrency/mean_running", 2);
	kv_html_fact_row(out, facts, "Engine steps", "kvsim/steps", 0);
	kv_html_end_table(out);
}

static void put_occupancy_row(struct kv_output *out, const json_t *facts, const char *label, const char *name)
{
	double pool = kv_facts_number(facts, "kvsim/usable_blocks");
	double gib = kv_facts_number(facts, "kvsim/block_bytes") / 1073741824.0;
	char path[64];
	double mean;

	snprintf(path, sizeof path, "kvsim/mean_%s_blocks", name);
	mean = kv_facts_number(facts, path);
	kv_html_begin_row(out, label);
	kv_html_fact(out, facts, path, 1);
	kv_html_cell(out, pool > 0 ? 100 * mean / pool : 0, 1);
	kv_html_cell(out, mean * gib, 2);
	snprintf(path, sizeof path, "kvsim/peak_%s_blocks", name);
	kv_html_fact(out, facts, path, 1);
	kv_html_end_row(out);
}

static void put_occupancy(struct kv_output *out, const json_t *facts)
{
	kv_html_begin_table(out, "The pool over the measured time (a rank)",
	                    "|mean blocks|% of pool|mean GiB|peak blocks");
	put_occupancy_row(out, facts, "Pinned by live requests", "pinned");
	put_occupancy_row(out, facts, "  filled", "filled");
	put_occupancy_row(out, facts, "  reserved, to be filled", "reserved");
	put_occupancy_row(out, facts, "  waste, never filled", "waste");
	put_occupancy_row(out, facts, "Cached, reusable", "cached");
	put_occupancy_row(out, facts, "Free", "free");
	kv_html_end_table(out);
}

static void put_misses(struct kv_output *out, const json_t *facts)
{
	double queried = kv_facts_number(facts, "kvsim/queried_tokens");
	const char *reason;
	json_t *tokens;

	kv_html_begin_table(out, "Prompt tokens looked up in the prefix cache", "|tokens|%");
	kv_html_begin_row(out, "Looked up at first admission");
	kv_html_fact(out, facts, "kvsim/queried_tokens", 0);
	kv_html_cell(out, queried > 0 ? 100 : 0, 1);
	kv_html_end_row(out);
	kv_html_begin_row(out, "Hit");
	kv_html_fact(out, facts, "kvsim/hit_tokens", 0);
	kv_html_cell(out, queried > 0 ? 100 * kv_facts_number(facts, "kvsim/hit_tokens") / queried : 0, 1);
	kv_html_end_row(out);
	json_object_foreach((json_t *)kv_facts_at(facts, "kvsim/miss_tokens"), reason, tokens) {
		char path[64];

		snprintf(path, sizeof path, "Missed: %s", reason);
		kv_html_begin_row(out, path);
		snprintf(path, sizeof path, "kvsim/miss_tokens/%s", reason);
		kv_html_fact(out, facts, path, 0);
		kv_html_cell(out, 100 * json_number_value(tokens) / queried, 1);
		kv_html_end_row(out);
	}
	kv_html_fact_row(out, facts, "Evicted blocks", "kvsim/evicted_blocks", 0);
	kv_html_fact_row(out, facts, "Preemptions", "kvsim/preemptions", 0);
	if (kv_facts_at(facts, "kvsim/swap") != NULL) {
		kv_html_fact_row(out, facts, "  by swap to host memory", "kvsim/swap/preemptions_by_swap", 0);
		kv_html_fact_row(out, facts, "  by recompute, host memory full", "kvsim/swap/preemptions_by_recompute",
		                 0);
		kv_html_fact_row(out, facts, "Blocks copied to host memory", "kvsim/swap/out_blocks", 0);
		kv_html_fact_row(out, facts, "Blocks copied back", "kvsim/swap/in_blocks", 0);
		kv_html_fact_row(out, facts, "Seconds that copies added to steps", "kvsim/swap/copy_s", 3);
		kv_html_fact_row(out, facts, "Blocks of host memory at the peak", "kvsim/swap/peak_blocks", 0);
		kv_html_fact_row(out, facts, "Blocks of host memory", "kvsim/swap/space_blocks", 0);
	}
	kv_html_fact_row(out, facts, "Tokens computed again after preemptions", "kvsim/recomputed_tokens", 0);
	kv_html_end_table(out);
}

void kv_report_numbers(struct kv_output *out, const json_t *facts)
{
	kv_html_begin_section(out, "numbers", "Numbers");
	put_latencies(out, facts);
	kv_output_text(out, "<div class=\"columns\">\n");
	put_load(out, facts);
	kv_output_text(out, "<div>\n");
	put_occupancy(out, facts);
	put_misses(out, facts);
	kv_output_text(out, "</div></div>\n");
	kv_html_end_section(out);
}
