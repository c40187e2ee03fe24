/* The reordering window: rows go in as they lie in the file and come out in order of (arrival, index).
 *
 * A row comes out once nothing that may still go in can precede it: when more than `rows` others wait, when a row later
 * by more than `time` has come, or when waiting rows hold more than `bytes`. These depend on the file alone, never on how
 * it is cut into chunks. Rows in order are appended to a ring in O(1); only late rows pass through a heap.
 */
#ifndef KV_WORKLOADS_WINDOW_H
#define KV_WORKLOADS_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/request.h"
#include "sim/units.h"

/* What few rows have: kept apart so that rows without it stay small. Strings are offsets behind the segments; 0 = none. */
struct kv_extra {
	size_t bytes;
	kv_time retrieval;
	kv_time deadline;
	int64_t priority;
	uint32_t id, tenant, salt, adapter;
	uint32_t segment_count;
	uint32_t text_length;
	struct kv_segment segments[];
};

struct kv_waiting_row {
	kv_time arrival;
	uint64_t index;
	struct kv_extra *extra;  /* owned; NULL = all defaults and one private segment */
	uint32_t prompt_tokens;
	uint32_t output_tokens;
	uint32_t max_tokens;
};

struct kv_row_ring {
	struct kv_waiting_row *rows;
	size_t capacity;  /* a power of two */
	size_t head, count;
};

struct kv_window {
	kv_time time;
	uint64_t rows;
	size_t bytes;
	kv_time latest;               /* of the rows put in */
	kv_time floor;                /* of the last row let out; earlier ones are too late */
	size_t bytes_held;
	struct kv_row_ring in_order;
	struct kv_row_ring ready;
	struct kv_waiting_row *late;  /* a binary heap */
	size_t late_count, late_capacity;
	bool draining;
};

void kv_window_init(struct kv_window *window, kv_time time, uint64_t rows, size_t bytes);
void kv_window_fini(struct kv_window *window);

/* Takes the row, extra included; false (row not taken) if one that follows it has been let out. */
bool kv_window_put(struct kv_window *window, const struct kv_waiting_row *row);
/* Nothing more will be put in. */
void kv_window_drain(struct kv_window *window);
/* False if no row is ready. The caller owns what extra points to. */
bool kv_window_take(struct kv_window *window, struct kv_waiting_row *row);

#endif
