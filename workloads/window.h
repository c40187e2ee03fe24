/* The reordering window: rows go in as they lie in the file and come out in order of (arrival, index).
 *
 * A row comes out once nothing that may still go in can precede it: when more than `rows` others wait, when a row later
 * by more than `time` has come, or when waiting rows hold more than `bytes`. These depend on the file alone, never on
 * how it is cut into chunks. Rows in order are appended to a ring in O(1); only late rows pass through a heap.
 */
#ifndef KV_WORKLOADS_WINDOW_H
#define KV_WORKLOADS_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/units.h"
#include "workloads/row_heap.h"

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
	kv_time floor;                /* of the last row let out, with its index; earlier ones are too late */
	uint64_t floor_index;
	size_t bytes_held;
	struct kv_row_ring in_order;
	struct kv_row_ring ready;
	struct kv_row_heap late;
	bool draining;
};

void kv_window_init(struct kv_window *window, kv_time time, uint64_t rows, size_t bytes);
void kv_window_fini(struct kv_window *window);

/* Takes the row, extra included; false (row not taken) if one that follows it has been let out. */
bool kv_window_put(struct kv_window *window, const struct kv_waiting_row *row);
/* Whether the row of that arrival and index, which was put in, has been let out by what followed it in the file. */
bool kv_window_has_released(const struct kv_window *window, kv_time arrival, uint64_t index);
/* Nothing more will be put in. */
void kv_window_drain(struct kv_window *window);
/* False if no row is ready. The caller owns what extra points to. */
bool kv_window_take(struct kv_window *window, struct kv_waiting_row *row);

#endif
