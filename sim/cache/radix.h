/* SGLang's radix cache (engine-semantics 2.1 and 2.2): a compressed tree of token sequences that grows, splits and
 * shrinks by whole pages and is evicted by whole leaves.
 *
 * Keys are content as segments, so a key of a million tokens is a few pieces, and work grows with pieces and nodes
 * passed. Times are readings of a logical clock: an operation reads it once at its start and stamps the nodes it
 * passes; a node made by the operation, the upper half of a split too, takes a later reading of its own. */
#ifndef KV_SIM_RADIX_H
#define KV_SIM_RADIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/cache/hash_index.h"
#include "sim/cache/leaves.h"
#include "sim/cache/stretch.h"
#include "sim/policy.h"

struct kv_radix_node {
	uint64_t space;
	struct kv_stretch *piece;  /* its tokens */
	uint32_t pieces;
	uint32_t tokens;
	uint32_t parent;               /* or the next of the free list */
	uint32_t children;
	uint32_t locks;
	uint64_t hits;
	int64_t priority;              /* larger is kept longer */
	uint64_t created, accessed;
};

struct kv_radix {
	uint32_t page_size;
	const struct kv_policy_use *eviction;  /* orders leaves; not owned */
	struct kv_radix_node *node;
	size_t capacity;
	uint32_t used, free_node;
	struct kv_hash_index children; /* nodes by parent and first page */
	struct kv_leaves leaves;       /* unlocked ones */
	uint64_t clock;
	uint64_t evictable, protected; /* tokens */
	struct kv_stretches key;       /* of the operation that is under way */
	/* Told when `upper` has been split off from above `lower`, with as many locks. May be NULL. */
	void (*split)(void *self, uint32_t lower, uint32_t upper);
	void *self;
};

#define KV_RADIX_ROOT 0u

/* The policy must have a leaf hook. */
void kv_radix_init(struct kv_radix *radix, uint32_t page_size, const struct kv_policy_use *eviction);
void kv_radix_fini(struct kv_radix *radix);

/* What a match would find, and nothing changes. *unlocked = tokens of it that no lock keeps. */
uint64_t kv_radix_peek(struct kv_radix *radix, const struct kv_token_key *key, uint64_t *unlocked);
/* The longest prefix of the key, by whole pages, that is there; *node = where it ends. Splits a node that it ends
 * in. */
uint64_t kv_radix_match(struct kv_radix *radix, const struct kv_token_key *key, uint32_t *node);
/* Stores the key's whole pages; *node = where they end. `counts`: it is a use of its own, not one more part of the same
 * request. Returns how many of the tokens were there already. */
uint64_t kv_radix_insert(struct kv_radix *radix, const struct kv_token_key *key, int64_t priority, bool counts,
                         uint32_t *node);
/* Removes unlocked leaves until at least so many tokens are gone or none is left. Returns how many went. */
uint64_t kv_radix_evict(struct kv_radix *radix, uint64_t tokens);
/* Keeps the path from below `above` to a node; KV_RADIX_ROOT = all of the path. The root alone is nothing to keep. */
void kv_radix_lock(struct kv_radix *radix, uint32_t node, uint32_t above);
void kv_radix_unlock(struct kv_radix *radix, uint32_t node);

#endif
