/* What dividing the pool by a length promises, and how many requests ran. The two differ by an exact product:
 *
 *     mean running = pool / mean length
 *                  x share of the pool pinned                   was the pool what limited the run?
 *                  x mean length / length by time               unequal lengths: long requests stay longer
 *                  x length by time / held                      growth: they hold less than they will in the end
 *                  x held / filled                              sharing, and windows: some slots are filled once or not
 *                  x filled / pinned                            allocation: reserved and wasted slots
 *
 * The pool, filled and pinned slots are tokens of one sequence in every KV group; filled and pinned ones are means a
 * running request. Length by time and held are of finished requests, weighted by the time that they had blocks; held
 * takes each request to have its prompt from its admission on and to grow evenly from there to its end, so that the
 * line between growth and sharing is drawn by an estimate (prompts of several chunks fill later), while their product
 * is exact. All is of the measured time.
 */
#ifndef KV_RESULTS_CONCURRENCY_H
#define KV_RESULTS_CONCURRENCY_H

#include "results/results.h"
#include "results/summary.h"

struct kv_concurrency {
	double by_limit;       /* vLLM's "Maximum concurrency": all blocks / those of one request of max_model_len */
	double mean_length;    /* prompt + output of finished requests; 0 = none finished */
	double by_mean_length;
	double mean_running;
	double pinned_share;   /* 0 to 1 */
	double length_by_time, held;
	double unequal_lengths, growth, sharing, allocation;  /* the other factors */
	double pinned, filled, reserved, waste;  /* slots a running request, on average */
};

struct kv_concurrency kv_concurrency_of(const struct kv_summary *summary, const struct kv_run_info *info);

#endif
