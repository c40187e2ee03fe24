/* What dividing the pool by a length promises, and how many requests ran. The two differ by an exact product:
 *
 *     mean running = pool / mean length  x  share of the pool pinned  x  mean length / slots pinned a running request
 *
 * The share says whether the pool was what limited the run. The last factor is above 1 where requests hold less than they
 * will in the end (they grow) or share blocks, below 1 where blocks are reserved or wasted, or where long requests stay
 * longer than short ones. All is of the measured time; tokens of one sequence in every KV group.
 */
#ifndef KV_RESULTS_CONCURRENCY_H
#define KV_RESULTS_CONCURRENCY_H

#include "results/results.h"
#include "results/summary.h"

struct kv_concurrency {
	double by_limit;       /* pool / max_model_len: vLLM's "Maximum concurrency" */
	double mean_length;    /* prompt + output of finished requests; 0 = none finished */
	double by_mean_length;
	double mean_running;
	double pinned_share;   /* 0 to 1 */
	double pinned, filled, reserved, waste;  /* slots a running request, on average */
};

struct kv_concurrency kv_concurrency_of(const struct kv_summary *summary, const struct kv_run_info *info);

#endif
