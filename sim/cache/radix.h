/* SGLang's radix cache (engine-semantics 2.1 and 2.2): a compressed tree of token sequences that grows, splits and shrinks by
 * whole pages and is evicted by whole leaves.
 *
 * Keys are content as segments, so a key of a million tokens is a few pieces, and work grows with pieces and nodes passed.
 * Times are readings of a logical clock: an operation reads it once at its start and stamps the nodes it passes; a node made
 * by the operation, the upper half of a split too, takes a later reading of its own.
 */
#ifndef KV_SIM_RADIX_H
#define KV_SIM_RADIX_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/heap.h"
#include "sim/request.h"

/* The smallest key goes first. */
enum kv_radix_strategy {
	KV_RADIX_LRU,       /* last access */
	KV_RADIX_LFU,       /* hit count, last access */
	KV_RADIX_FIFO,      /* creation */
	KV_RADIX_MRU,       /* - last access */
	KV_RADIX_FILO,      /* - creation */
	KV_RADIX_SLRU,      /* hit count >= 2, last access */
	KV_RADIX_PRIORITY,  /* priority, last access */
	KV_RADIX_STRATEGIES
};

/* Tokens [from, from + length) of a stream. */
struct kv_radix_piece {
	uint64_t stream;
	uint32_t kind;
	uint32_t from, length;
};

struct kv_radix_node {
	struct kv_radix_piece *piece;  /* its tokens */
	uint32_t pieces;
	uint32_t tokens;
	uint32_t parent;
	uint32_t children;
	uint32_t next;                 /* of the same slot of the index, or of the free list */
	uint32_t locks;
	uint64_t page;                 /* hash of parent and first page: how it is found */
	uint64_t hits;
	int64_t priority;              /* larger is kept longer */
	uint64_t created, accessed;
};

struct kv_radix {
	uint32_t page_size;
	enum kv_radix_strategy strategy;
	struct kv_radix_node *node;
	size_t capacity;
	uint32_t used, free_node;
	uint32_t *slot;
	uint32_t slots;                /* a power of two */
	uint32_t indexed;
	struct kv_heap leaves;         /* unlocked ones; entries that no longer say what their node does are stale */
	uint64_t clock;
	uint64_t evictable, protected; /* tokens */
	struct kv_radix_piece *key;    /* of the operation that is under way */
	size_t key_capacity;
};

#define KV_RADIX_ROOT 0u

void kv_radix_init(struct kv_radix *radix, uint32_t page_size, enum kv_radix_strategy strategy);
void kv_radix_fini(struct kv_radix *radix);

/* The longest prefix of the key, by whole pages, that is there; *node = where it ends. Splits a node that it ends in. */
uint64_t kv_radix_match(struct kv_radix *radix, const struct kv_segment *key, uint32_t segments, uint32_t *node);
/* Stores the key's whole pages. Returns how many of their tokens were there already. */
uint64_t kv_radix_insert(struct kv_radix *radix, const struct kv_segment *key, uint32_t segments, int64_t priority);
/* Removes unlocked leaves until at least so many tokens are gone or none is left. Returns how many went. */
uint64_t kv_radix_evict(struct kv_radix *radix, uint64_t tokens);
/* Keeps the path from the root to a node; the root alone is nothing to keep. */
void kv_radix_lock(struct kv_radix *radix, uint32_t node);
void kv_radix_unlock(struct kv_radix *radix, uint32_t node);

#endif
