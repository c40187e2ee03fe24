#include "config.h"

#include "workloads/row_heap.h"

#include <stdlib.h>

#include "sim/base/memory.h"

static uint32_t find_place(struct kv_row_heap *heap)
{
	if (heap->vacant_count > 0)
		return heap->vacant[--heap->vacant_count];
	heap->rows = kv_grow(heap->rows, &heap->capacity, heap->used + 1, sizeof *heap->rows);
	return (uint32_t)heap->used++;
}

void kv_row_heap_put(struct kv_row_heap *heap, const struct kv_waiting_row *row)
{
	uint32_t place = find_place(heap);

	heap->rows[place] = *row;
	kv_heap_push(&heap->order, (struct kv_heap_entry){row->arrival, (int64_t)row->index, 0, place});
}

const struct kv_waiting_row *kv_row_heap_first(const struct kv_row_heap *heap)
{
	return heap->order.count > 0 ? &heap->rows[kv_heap_peek(&heap->order)->payload] : NULL;
}

void kv_row_heap_take(struct kv_row_heap *heap, struct kv_waiting_row *row)
{
	uint32_t place = kv_heap_peek(&heap->order)->payload;

	*row = heap->rows[place];
	kv_heap_pop(&heap->order);
	heap->vacant = kv_grow(heap->vacant, &heap->vacant_capacity, heap->vacant_count + 1, sizeof *heap->vacant);
	heap->vacant[heap->vacant_count++] = place;
}

void kv_row_heap_fini(struct kv_row_heap *heap)
{
	kv_heap_fini(&heap->order);
	free(heap->rows);
	free(heap->vacant);
}
