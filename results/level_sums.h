/* Time-weighted sums and maxima of the levels of struct kv_state over an interval of simulated time. Sums are exact
 * integers, so intervals add up to the run to the last unit. A maximum counts only what held for some time. */
#ifndef KV_RESULTS_LEVEL_SUMS_H
#define KV_RESULTS_LEVEL_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/units.h"
#include "sim/record.h"

enum kv_level {
	KV_LEVEL_FILLED,    /* slots, as are the next two; they sum to pinned blocks * block size */
	KV_LEVEL_RESERVED,
	KV_LEVEL_WASTE,
	KV_LEVEL_PINNED,    /* blocks, as are the next two; they sum to the pool */
	KV_LEVEL_CACHED,
	KV_LEVEL_FREE,
	KV_LEVEL_RUNNING,   /* requests, as are the next two */
	KV_LEVEL_IN_FLIGHT,
	KV_LEVEL_WAITING,   /* one for each enum kv_waiting_reason */
	KV_LEVEL_SWAPPED = KV_LEVEL_WAITING + KV_WAIT_REASONS,  /* of the waiting requests, swapped out */
	KV_LEVEL_HOST,      /* blocks of host memory that they hold */
	KV_LEVEL_BOUND,     /* 1 while the queue waits for this resource, else 0 */
	KV_LEVELS = KV_LEVEL_BOUND + KV_WAIT_RESOURCES
};

struct kv_level_sums {
	kv_time length;
	kv_integral sum[KV_LEVELS];
	uint64_t max[KV_LEVELS];
	uint64_t inverted_min[KV_LEVELS];  /* ~minimum, so that all zeros is an empty interval */
	bool empty_queue;                  /* at some time nobody waited, and the minima say so */
};

static inline void kv_level_sums_put(struct kv_level_sums *sums, enum kv_level level, uint64_t value, uint64_t length)
{
	sums->sum[level] += (kv_integral)value * length;
	if (value > sums->max[level])
		sums->max[level] = value;
	if (~value > sums->inverted_min[level])
		sums->inverted_min[level] = ~value;
}

static inline bool is_anybody_waiting(const struct kv_state *state)
{
	uint64_t waiting = 0;

	for (int i = 0; i < KV_WAIT_REASONS; i++)
		waiting |= state->waiting[i];
	return waiting != 0;
}

/* Adds nothing to sums or maxima. */
static inline void note_empty_queue(struct kv_level_sums *sums)
{
	for (int level = KV_LEVEL_WAITING; level < KV_LEVELS && !sums->empty_queue; level++)
		sums->inverted_min[level] = UINT64_MAX;
	sums->empty_queue = true;
}

/* The state held for `length` > 0 nanoseconds. */
static inline void kv_level_sums_add(struct kv_level_sums *sums, const struct kv_state *state, uint32_t block_size,
                                     kv_time length)
{
	uint64_t ns = (uint64_t)length;

	sums->length += length;
	kv_level_sums_put(sums, KV_LEVEL_FILLED, state->filled_slots, ns);
	kv_level_sums_put(sums, KV_LEVEL_RESERVED,
	                  state->pinned_blocks * block_size - state->filled_slots - state->waste_slots, ns);
	kv_level_sums_put(sums, KV_LEVEL_WASTE, state->waste_slots, ns);
	kv_level_sums_put(sums, KV_LEVEL_PINNED, state->pinned_blocks, ns);
	kv_level_sums_put(sums, KV_LEVEL_CACHED, state->cached_blocks, ns);
	kv_level_sums_put(sums, KV_LEVEL_FREE, state->free_blocks, ns);
	kv_level_sums_put(sums, KV_LEVEL_RUNNING, state->running, ns);
	kv_level_sums_put(sums, KV_LEVEL_IN_FLIGHT, state->in_flight, ns);
	if (!is_anybody_waiting(state)) {
		note_empty_queue(sums);
		return;
	}
	for (int i = 0; i < KV_WAIT_REASONS; i++)
		kv_level_sums_put(sums, KV_LEVEL_WAITING + i, state->waiting[i], ns);
	kv_level_sums_put(sums, KV_LEVEL_SWAPPED, state->swap.requests, ns);
	kv_level_sums_put(sums, KV_LEVEL_HOST, state->swap.blocks, ns);
	for (int i = 0; i < KV_WAIT_RESOURCES; i++)
		kv_level_sums_put(sums, KV_LEVEL_BOUND + i, state->waiting[i] > 0, ns);
}

static inline void kv_level_sums_merge(struct kv_level_sums *sums, const struct kv_level_sums *more)
{
	sums->length += more->length;
	sums->empty_queue |= more->empty_queue;
	for (int i = 0; i < KV_LEVELS; i++) {
		sums->sum[i] += more->sum[i];
		if (more->max[i] > sums->max[i])
			sums->max[i] = more->max[i];
		if (more->inverted_min[i] > sums->inverted_min[i])
			sums->inverted_min[i] = more->inverted_min[i];
	}
}

/* 0 for an empty interval. */
static inline double kv_level_mean(const struct kv_level_sums *sums, enum kv_level level)
{
	return sums->length > 0 ? (double)sums->sum[level] / (double)sums->length : 0;
}

#endif
