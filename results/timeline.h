/* A row an interval, with time-weighted means and maxima of levels, and what happened in it: timeline.csv, and what the
 * report draws. What happens at a boundary belongs to the interval that begins there.
 *
 * With a given interval rows are written as they come. Without, a limited number of rows is held, and whenever they run
 * out the interval grows to the next round one and rows are merged, which is exact: sums add up.
 */
#ifndef KV_RESULTS_TIMELINE_H
#define KV_RESULTS_TIMELINE_H

#include <stddef.h>

#include "results/level_sums.h"
#include "results/output_file.h"
#include "sim/base/units.h"
#include "sim/record.h"

#define KV_TIMELINE_ROWS 8192u  /* most rows of timeline.csv unless an interval is given */
#define KV_TIMELINE_SHORTEST KV_MILLISECOND

struct kv_timeline_row {
	kv_time start;
	struct kv_level_sums levels;
	uint64_t arrivals, finishes, refusals, drops, preemptions, evicted_blocks, prefill_tokens, decode_tokens;
	uint64_t hit_tokens, queried_tokens;  /* first admissions */
};

struct kv_timeline {
	kv_time interval;
	kv_time next;                     /* end of the current interval */
	bool given;
	size_t row_limit;
	struct kv_timeline_row current;
	struct kv_state before;           /* counters at its start */
	struct kv_timeline_row *rows;     /* complete ones that are held */
	size_t count;
	struct kv_output *out;            /* NULL: rows are held only */
	uint32_t block_size;
	uint64_t block_bytes;
};

/* Writes to `out`. interval 0 = not given: at most KV_TIMELINE_ROWS. */
void kv_timeline_init(struct kv_timeline *timeline, kv_time interval, uint32_t block_size, uint64_t block_bytes,
                      struct kv_output *out);
/* Holds at most row_limit rows. */
void kv_timeline_init_held(struct kv_timeline *timeline, size_t row_limit, uint32_t block_size);
void kv_timeline_fini(struct kv_timeline *timeline);

/* Makes sure that `time` will not need more rows than there are. Before levels up to `time` are added. */
void kv_timeline_prepare(struct kv_timeline *timeline, kv_time time);

/* `levels` held since the last call; the sum of lengths must not pass timeline->next. */
void kv_timeline_add(struct kv_timeline *timeline, const struct kv_level_sums *levels);

/* timeline->next is reached: the counters of state belong to the interval that ends. */
void kv_timeline_cut(struct kv_timeline *timeline, const struct kv_state *state);

/* The run has ended with these counters; writes what is held if there is an output. */
void kv_timeline_finish(struct kv_timeline *timeline, const struct kv_state *final);

/* The shortest round interval that is longer. */
kv_time kv_longer_interval(kv_time interval);

#endif
