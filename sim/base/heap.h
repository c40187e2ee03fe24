/* Min-heap of integer keys: the event queue and the waiting queue.
 *
 * Entries are ordered by (primary, secondary, sequence); the caller gives keys that are never all equal, so the order
 * is total. A 4-ary array heap; both queues stay small because arrivals are streamed.
 */
#ifndef KV_SIM_HEAP_H
#define KV_SIM_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct kv_heap_entry {
	int64_t primary, secondary;
	uint64_t sequence;
	uint32_t payload;
};

struct kv_heap {
	struct kv_heap_entry *entry;
	size_t capacity;
	size_t count;
};

void kv_heap_push(struct kv_heap *heap, struct kv_heap_entry entry);
/* The smallest entry; the heap must not be empty. */
static inline const struct kv_heap_entry *kv_heap_peek(const struct kv_heap *heap)
{
	return &heap->entry[0];
}
void kv_heap_pop(struct kv_heap *heap);
/* Puts an entry in place of the smallest: the nearer to it, the cheaper. */
void kv_heap_replace(struct kv_heap *heap, struct kv_heap_entry entry);
/* Puts entries whose keys were changed back in order, all at once. */
void kv_heap_rebuild(struct kv_heap *heap);
void kv_heap_fini(struct kv_heap *heap);

#endif
