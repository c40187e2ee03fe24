#include "config.h"

#include "sim/cache/leaves.h"

enum { FEWEST_TO_SWEEP = 1024 };

static void push(struct kv_leaves *leaves, uint32_t n, struct kv_rank key)
{
	kv_heap_push(&leaves->heap, (struct kv_heap_entry){key.primary, key.secondary, n, n});
}

/* Stale entries go when they are as many as all nodes could make. */
static void sweep(struct kv_leaves *leaves, const void *tree, uint32_t nodes)
{
	struct kv_rank key;

	leaves->heap.count = 0;
	for (uint32_t n = 0; n < nodes; n++)
		if (leaves->may_go(tree, n, &key))
			push(leaves, n, key);
}

void kv_leaves_note(struct kv_leaves *leaves, const void *tree, uint32_t n, uint32_t nodes)
{
	struct kv_rank key;

	if (!leaves->may_go(tree, n, &key))
		return;
	push(leaves, n, key);
	if (leaves->heap.count > 2 * (size_t)nodes + FEWEST_TO_SWEEP)
		sweep(leaves, tree, nodes);
}

uint32_t kv_leaves_first(struct kv_leaves *leaves, const void *tree)
{
	while (leaves->heap.count > 0) {
		struct kv_heap_entry top = *kv_heap_peek(&leaves->heap);
		struct kv_rank key;

		if (leaves->may_go(tree, top.payload, &key) && top.primary == key.primary &&
		    top.secondary == key.secondary)
			return top.payload;
		kv_heap_pop(&leaves->heap);
	}
	return UINT32_MAX;
}
