#include "config.h"

#include "results/timeline.h"

#include <stdlib.h>

#include "results/csv_text.h"
#include "sim/base/memory.h"

kv_time kv_longer_interval(kv_time interval)
{
	/* Each divides the next. */
	static const kv_time round_intervals[] = {
		KV_TIMELINE_SHORTEST, 2 * KV_MILLISECOND,   10 * KV_MILLISECOND, 20 * KV_MILLISECOND,
		100 * KV_MILLISECOND, 200 * KV_MILLISECOND, KV_SECOND,           2 * KV_SECOND,
		10 * KV_SECOND,       20 * KV_SECOND,       60 * KV_SECOND,      120 * KV_SECOND,
		600 * KV_SECOND,      1200 * KV_SECOND,     3600 * KV_SECOND,    7200 * KV_SECOND,
		21600 * KV_SECOND,    86400 * KV_SECOND
	};

	for (size_t i = 0; i < sizeof round_intervals / sizeof round_intervals[0]; i++)
		if (round_intervals[i] > interval)
			return round_intervals[i];
	return 10 * interval;
}

static void write_header(struct kv_output *out)
{
	static const char *const occupancy[] = {"pinned", "filled", "reserved", "waste", "cached", "free"};
	static const char *const requests[] = {"running", "in_flight"};
	const size_t occupancies = sizeof occupancy / sizeof occupancy[0];

	kv_output_text(out, "start_s,end_s");
	for (size_t i = 0; i < occupancies; i++)
		kv_output_printf(out, ",%s_blocks_mean,%s_blocks_max", occupancy[i], occupancy[i]);
	for (size_t i = 0; i < occupancies; i++)
		kv_output_printf(out, ",%s_bytes_mean,%s_bytes_max", occupancy[i], occupancy[i]);
	for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
		kv_output_printf(out, ",%s_mean,%s_max", requests[i], requests[i]);
	for (int i = 0; i < KV_WAIT_REASONS; i++)
		kv_output_printf(out, ",waiting_%s_mean,waiting_%s_max", kv_waiting_reason_name(i),
		                 kv_waiting_reason_name(i));
	kv_output_text(out, ",swapped_mean,swapped_max,host_blocks_mean,host_blocks_max");
	kv_output_text(out, ",arrivals,finishes,refusals,drops,preemptions,evicted_blocks,prefill_tokens,decode_tokens,"
	                    "hit_tokens,queried_tokens,pinned_block_seconds\n");
}

void kv_timeline_init(struct kv_timeline *timeline, kv_time interval, uint32_t block_size, uint64_t block_bytes,
                      struct kv_output *out)
{
	*timeline = (struct kv_timeline){
		.interval = interval != 0 ? interval : KV_TIMELINE_SHORTEST,
		.given = interval != 0,
		.row_limit = interval != 0 ? 1 : KV_TIMELINE_ROWS,
		.out = out,
		.block_size = block_size,
		.block_bytes = block_bytes
	};
	timeline->next = timeline->interval;
	timeline->rows = kv_calloc(timeline->row_limit, sizeof *timeline->rows);
	write_header(out);
}

void kv_timeline_init_held(struct kv_timeline *timeline, size_t row_limit, uint32_t block_size)
{
	*timeline = (struct kv_timeline){
		.interval = KV_TIMELINE_SHORTEST, .row_limit = row_limit, .block_size = block_size
	};
	timeline->next = timeline->interval;
	timeline->rows = kv_calloc(row_limit, sizeof *timeline->rows);
}

void kv_timeline_fini(struct kv_timeline *timeline)
{
	free(timeline->rows);
}

/* In slots for the first three levels, which have a block size of slots a block. */
static uint32_t slots_of(const struct kv_timeline *timeline, enum kv_level level)
{
	return level <= KV_LEVEL_WASTE ? timeline->block_size : 1;
}

static const enum kv_level occupancy_levels[] = {
	KV_LEVEL_PINNED, KV_LEVEL_FILLED, KV_LEVEL_RESERVED, KV_LEVEL_WASTE, KV_LEVEL_CACHED, KV_LEVEL_FREE
};
#define OCCUPANCY_LEVELS (sizeof occupancy_levels / sizeof occupancy_levels[0])

/* factor 1: blocks; block_bytes: bytes. */
static char *put_occupancy(char *p, const struct kv_timeline *timeline, const struct kv_level_sums *levels,
                           uint64_t factor)
{
	for (size_t i = 0; i < OCCUPANCY_LEVELS; i++) {
		enum kv_level level = occupancy_levels[i];
		kv_integral slots = slots_of(timeline, level);

		p = kv_csv_ratio(p, levels->sum[level] * factor, slots * (kv_integral)levels->length);
		p = kv_csv_ratio(p, (kv_integral)levels->max[level] * factor, slots);
	}
	return p;
}

static char *put_requests(char *p, const struct kv_level_sums *levels)
{
	for (int level = KV_LEVEL_RUNNING; level < KV_LEVEL_BOUND; level++) {
		p = kv_csv_ratio(p, levels->sum[level], (kv_integral)levels->length);
		p = kv_csv_u64(p, levels->max[level]);
	}
	return p;
}

static char *put_counts(char *p, const struct kv_timeline_row *row)
{
	const uint64_t counts[] = {
		row->arrivals, row->finishes, row->refusals, row->drops, row->preemptions, row->evicted_blocks,
		row->prefill_tokens, row->decode_tokens, row->hit_tokens, row->queried_tokens
	};

	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
		p = kv_csv_u64(p, counts[i]);
	return p;
}

static void write_row(const struct kv_timeline *timeline, const struct kv_timeline_row *row)
{
	char *p = kv_output_room(timeline->out, KV_OUTPUT_ROOM_MAX);

	p = kv_csv_seconds(p, row->start);
	p = kv_csv_seconds(p, row->start + row->levels.length);
	p = put_occupancy(p, timeline, &row->levels, 1);
	p = put_occupancy(p, timeline, &row->levels, timeline->block_bytes);
	p = put_requests(p, &row->levels);
	p = put_counts(p, row);
	p = kv_csv_integral(p, row->levels.sum[KV_LEVEL_PINNED]);
	kv_output_advance(timeline->out, kv_csv_end_row(p));
}

static void merge_row(struct kv_timeline_row *row, const struct kv_timeline_row *more)
{
	kv_level_sums_merge(&row->levels, &more->levels);
	row->arrivals += more->arrivals;
	row->finishes += more->finishes;
	row->refusals += more->refusals;
	row->drops += more->drops;
	row->preemptions += more->preemptions;
	row->evicted_blocks += more->evicted_blocks;
	row->prefill_tokens += more->prefill_tokens;
	row->decode_tokens += more->decode_tokens;
	row->hit_tokens += more->hit_tokens;
	row->queried_tokens += more->queried_tokens;
}

/* Merges held rows into those of the longer interval; the last of them may become the current one again. */
static void lengthen(struct kv_timeline *timeline, kv_time interval)
{
	size_t merged = 0;

	for (size_t i = 0; i < timeline->count; i++) {
		struct kv_timeline_row row = timeline->rows[i];

		if (merged > 0 && timeline->rows[merged - 1].start / interval == row.start / interval)
			merge_row(&timeline->rows[merged - 1], &row);
		else
			timeline->rows[merged++] = row;
	}
	if (merged > 0 && timeline->current.start % interval != 0) {
		merge_row(&timeline->rows[merged - 1], &timeline->current);
		timeline->current = timeline->rows[--merged];
	}
	timeline->count = merged;
	timeline->interval = interval;
	timeline->next = timeline->current.start + interval;
}

void kv_timeline_prepare(struct kv_timeline *timeline, kv_time time)
{
	kv_time interval = timeline->interval;

	if (timeline->given)
		return;
	while (time / interval >= (kv_time)timeline->row_limit)
		interval = kv_longer_interval(interval);
	if (interval != timeline->interval)
		lengthen(timeline, interval);
}

void kv_timeline_add(struct kv_timeline *timeline, const struct kv_level_sums *levels)
{
	kv_level_sums_merge(&timeline->current.levels, levels);
}

static void take_counts(struct kv_timeline *timeline, const struct kv_state *state)
{
	struct kv_timeline_row *row = &timeline->current;
	const struct kv_state *before = &timeline->before;

	row->arrivals += state->arrivals - before->arrivals;
	row->finishes += state->finishes - before->finishes;
	row->refusals += state->refusals - before->refusals;
	row->drops += state->drops - before->drops;
	row->preemptions += state->preemptions - before->preemptions;
	row->evicted_blocks += state->evicted_blocks - before->evicted_blocks;
	row->prefill_tokens += state->prefill_tokens - before->prefill_tokens;
	row->decode_tokens += state->decode_tokens - before->decode_tokens;
	row->hit_tokens += state->hit_tokens - before->hit_tokens;
	row->queried_tokens += state->queried_tokens - before->queried_tokens;
	timeline->before = *state;
}

/* The last row is held even when rows are written as they come: what happens at the very end of the run belongs to it
 * if the end falls on a boundary. */
static void close_current(struct kv_timeline *timeline)
{
	if (timeline->given && timeline->count == 1)
		write_row(timeline, &timeline->rows[--timeline->count]);
	timeline->rows[timeline->count++] = timeline->current;
}

void kv_timeline_cut(struct kv_timeline *timeline, const struct kv_state *state)
{
	take_counts(timeline, state);
	close_current(timeline);
	timeline->current = (struct kv_timeline_row){.start = timeline->next};
	timeline->next += timeline->interval;
}

void kv_timeline_finish(struct kv_timeline *timeline, const struct kv_state *final)
{
	take_counts(timeline, final);
	if (timeline->current.levels.length > 0)
		close_current(timeline);
	else if (timeline->count > 0)
		merge_row(&timeline->rows[timeline->count - 1], &timeline->current);
	for (size_t i = 0; i < timeline->count && timeline->out != NULL; i++)
		write_row(timeline, &timeline->rows[i]);
}
