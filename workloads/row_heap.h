/* Rows that wait, the first in order of (arrival, index) on top. */
#ifndef KV_WORKLOADS_ROW_HEAP_H
#define KV_WORKLOADS_ROW_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/heap.h"
#include "sim/base/units.h"
#include "sim/request.h"

/* What few rows have: kept apart so that rows without it stay small. Strings are offsets behind the segments. */
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

struct kv_row_heap {
	struct kv_heap order;         /* by (arrival, index); the payload is a place in rows */
	struct kv_waiting_row *rows;
	size_t capacity, used;
	uint32_t *vacant;
	size_t vacant_capacity, vacant_count;
};

static inline size_t kv_row_heap_count(const struct kv_row_heap *heap)
{
	return heap->order.count;
}

void kv_row_heap_put(struct kv_row_heap *heap, const struct kv_waiting_row *row);
/* The first row; NULL if there is none. Valid until the next put or take. */
const struct kv_waiting_row *kv_row_heap_first(const struct kv_row_heap *heap);
/* The heap must not be empty. */
void kv_row_heap_take(struct kv_row_heap *heap, struct kv_waiting_row *row);
/* Frees the heap, not the rows' extra. */
void kv_row_heap_fini(struct kv_row_heap *heap);

#endif
