/* Leaves of a tree that may be evicted, the smallest key first. Their keys change while they stand here: an entry that
 * no longer says what its leaf does is stale and is passed over. */
#ifndef KV_SIM_CACHE_LEAVES_H
#define KV_SIM_CACHE_LEAVES_H

#include <stdbool.h>

#include "sim/base/heap.h"
#include "sim/policy.h"

struct kv_leaves {
	/* Whether node n of the tree is a leaf that may go now, and its key if so. */
	bool (*may_go)(const void *tree, uint32_t n, struct kv_rank *key);
	struct kv_heap heap;
};

/* After anything that node n's key depends on has changed, or it has become a leaf that may go. The tree has nodes 0 to
 * nodes - 1. */
void kv_leaves_note(struct kv_leaves *leaves, const void *tree, uint32_t n, uint32_t nodes);
/* The one to go first, ties to the smaller number; UINT32_MAX if there is none. */
uint32_t kv_leaves_first(struct kv_leaves *leaves, const void *tree);

#endif
