/* What summary.json, the console and the report say about a run, gathered as it goes.
 *
 * Metrics are over requests that arrived at or after the warm-up time; latencies over those of them that finished, as
 * vllm bench serve counts. Levels and counters of the engine are taken from the warm-up time on, whatever request
 * they serve.
 */
#ifndef KV_RESULTS_SUMMARY_H
#define KV_RESULTS_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "results/distribution.h"
#include "results/level_sums.h"
#include "results/output_file.h"
#include "results/results.h"
#include "results/retries.h"
#include "sim/engine/simulation.h"
#include "sim/record.h"

enum kv_metric {
	KV_METRIC_TTFT,
	KV_METRIC_TPOT,         /* (e2e - ttft) / (output - 1), requests of at least two output tokens */
	KV_METRIC_ITL,          /* gaps between tokens, pooled over requests */
	KV_METRIC_E2EL,
	KV_METRIC_CLIENT_WAIT,
	KV_METRIC_E2EL_WITH_WAIT,
	KV_METRIC_RETRIEVAL,    /* the parts of TTFT */
	KV_METRIC_FRONTEND,
	KV_METRIC_QUEUE,
	KV_METRIC_PREFILL,
	KV_METRIC_PREEMPTED,    /* of which preempted, before the first token */
	KV_METRIC_RETRY_WAIT,   /* before this sending: with retries only */
	KV_METRIC_TTFT_FROM_ARRIVAL,  /* those and the client's wait included: where requests may wait before they are sent */
	KV_METRICS
};

/* The first four, as options and keys name them. */
const char *kv_metric_name(enum kv_metric metric);

/* NAN where no request has the metric: no time was measured, not one of zero. */
struct kv_metric_stats {
	double mean, median, deviation, p99, maximum;    /* ms */
	double percentile[KV_PERCENTILES_MAX];           /* ms, of options.percentiles */
	double error;                                    /* largest relative error of the percentiles */
};

/* latency and wait of one request for the arrays of summary.json, in ns; excluded: arrived in the warm-up. */
struct kv_request_times {
	uint64_t latency, wait;
	bool present;
};

struct kv_summary {
	const struct kv_results_options *options;

	struct kv_level_sums levels;
	struct kv_state before;              /* counters at the warm-up time */
	kv_time measured_from;
	uint64_t peak_pinned;                /* since then, and when it was first reached */
	kv_time peak_time;

	uint64_t scheduled_tokens, sum_pinned_blocks;
	kv_time first_start;                 /* KV_TIME_NONE until a request has been sent */
	int64_t second;                      /* since first_start, of the tokens below */
	uint64_t second_tokens, peak_second_tokens;

	uint64_t status[KV_UNFINISHED + 1], reason[KV_REASONS];
	uint64_t sent_again[KV_REASONS];     /* of these, sendings that another one followed */
	uint32_t longest_too_long;           /* prompt that was refused as longer than max_model_len */
	uint64_t input_tokens, output_tokens;  /* of finished requests */
	kv_integral running_ns; /* of finished requests: time with blocks, the same times prompt and output, */
	kv_integral length_ns, doubled_held_ns; /* and times twice what they held, prompts at once and outputs evenly */
	uint64_t good;
	uint64_t recomputed_tokens;
	kv_time last_arrival;                /* of a first sending */
	uint64_t miss_tokens[KV_MISS_REASONS];
	struct kv_distribution metric[KV_METRICS];

	bool keeps_times;                    /* all indices so far are below KV_DISTRIBUTION_EXACT */
	struct kv_request_times *times;
	size_t times_capacity, times_count;

	struct kv_stalled {
		uint64_t index;
		char *id;
	} *stalled;                          /* unfinished requests of a run that cannot go on */
	size_t stalled_capacity, stalled_count;

	/* Set by kv_summary_finish. */
	struct kv_run_outcome outcome;
	struct kv_state counters;            /* from the warm-up time on */
	kv_time duration;
	const char *stalled_id;              /* of the request at the head of the queue, NULL = none */
	uint64_t requests;                   /* counted in the metrics */
	struct kv_metric_stats stats[KV_METRICS];
};

void kv_summary_init(struct kv_summary *summary, const struct kv_results_options *options);
void kv_summary_fini(struct kv_summary *summary);

/* The warm-up ends now: counters so far are not counted. */
void kv_summary_start_measuring(struct kv_summary *summary, const struct kv_state *state, kv_time now);

void kv_summary_step(struct kv_summary *summary, const struct kv_step *step);
void kv_summary_request(struct kv_summary *summary, const struct kv_request_record *record,
                        const struct kv_sending *sending);
void kv_summary_finish(struct kv_summary *summary, const struct kv_run_outcome *outcome);

/* Requests that failed for this reason, and no sending followed. */
uint64_t kv_summary_failed(const struct kv_summary *summary, enum kv_reason reason);
/* All sendings that another one followed: num_prompts less these is how many requests users had. */
uint64_t kv_summary_sent_again(const struct kv_summary *summary);
/* Requests that did not finish with any of their sendings, nor were under way when the run ended. */
uint64_t kv_summary_failed_for_good(const struct kv_summary *summary);
/* Requests may wait before they are sent. */
static inline bool kv_waits_to_send(const struct kv_results_options *options)
{
	return options->capped || options->retries > 0;
}

/* A second of measured time; 0 if there was none. After kv_summary_finish. */
double kv_summary_rate(const struct kv_summary *summary, uint64_t count);
bool kv_has_goodput(const struct kv_results_options *options);

/* Picoseconds; 0 for fewer than two output tokens. */
uint64_t kv_time_per_output_token(const struct kv_request_record *record);

/* `facts` is what kv_facts_build made of this summary. */
void kv_summary_write_json(const struct kv_summary *summary, json_t *facts, struct kv_output *out);
void kv_summary_write_text(const struct kv_summary *summary, const struct kv_run_info *info, struct kv_output *out);

#endif
