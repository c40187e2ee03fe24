#include "config.h"

#include "sim/base/heap.h"

#include <stdbool.h>
#include <stdlib.h>

#include "sim/base/memory.h"

static bool before(const struct kv_heap_entry *a, const struct kv_heap_entry *b)
{
	if (a->primary != b->primary)
		return a->primary < b->primary;
	if (a->secondary != b->secondary)
		return a->secondary < b->secondary;
	return a->sequence < b->sequence;
}

void kv_heap_push(struct kv_heap *heap, struct kv_heap_entry entry)
{
	size_t i = heap->count++;

	heap->entry = kv_grow(heap->entry, &heap->capacity, heap->count, sizeof *heap->entry);
	while (i > 0 && before(&entry, &heap->entry[(i - 1) / 4])) {
		heap->entry[i] = heap->entry[(i - 1) / 4];
		i = (i - 1) / 4;
	}
	heap->entry[i] = entry;
}

/* Puts an entry at the free place i or below it. */
static void sift_down(struct kv_heap *heap, size_t i, struct kv_heap_entry entry)
{
	for (;;) {
		size_t child = 4 * i + 1;
		size_t end = child + 4 < heap->count ? child + 4 : heap->count;
		size_t best = child;

		if (child >= heap->count)
			break;
		for (size_t c = child + 1; c < end; c++)
			if (before(&heap->entry[c], &heap->entry[best]))
				best = c;
		if (!before(&heap->entry[best], &entry))
			break;
		heap->entry[i] = heap->entry[best];
		i = best;
	}
	heap->entry[i] = entry;
}

void kv_heap_pop(struct kv_heap *heap)
{
	struct kv_heap_entry last = heap->entry[--heap->count];

	sift_down(heap, 0, last);
}

void kv_heap_replace(struct kv_heap *heap, struct kv_heap_entry entry)
{
	sift_down(heap, 0, entry);
}

void kv_heap_rebuild(struct kv_heap *heap)
{
	for (size_t i = heap->count / 4 + 1; i-- > 0;)
		if (i < heap->count)
			sift_down(heap, i, heap->entry[i]);
}

void kv_heap_fini(struct kv_heap *heap)
{
	free(heap->entry);
}
