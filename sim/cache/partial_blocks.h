/* TensorRT-LLM's block reuse (engine-semantics 3): a tree of blocks in which the last block of a sequence may be partly
 * filled and any block may be matched in part, evicted by leaves: the lowest retention priority first, then the block
 * that has been free for longest, with content or without.
 *
 * A match need not end at a block. A block that is matched in part is taken over, and what it held beyond the match is
 * lost, if nobody holds it and nothing follows it; else its content is copied into a block of one's own, or it is not
 * matched. Content is stored along what equal blocks the tree has already; from the first block on that it lacks, a
 * sequence's own blocks follow. If no leaf is free (a block may be held whose parent in the tree is not), a block goes
 * with all that follows it, which stays with its holders but is not found any more.
 *
 * Work grows with blocks and with the siblings that begin with the same token, not with tokens. */
#ifndef KV_SIM_PARTIAL_BLOCKS_H
#define KV_SIM_PARTIAL_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/cache/hash_index.h"
#include "sim/cache/leaves.h"
#include "sim/cache/stretch.h"

#define KV_PARTIAL_DEFAULT_PRIORITY 35
#define KV_PARTIAL_ROOT UINT32_MAX

struct kv_partial_block {
	uint64_t space;
	union {                        /* what it holds, if it is stored: */
		struct kv_stretch only;    /* of one piece */
		struct kv_stretch *piece;  /* of any other number; NULL = none */
	};
	uint32_t pieces, tokens;
	uint32_t parent;               /* block, or KV_PARTIAL_ROOT */
	uint32_t first_child, next_sibling, prev_sibling;
	bool stored;                   /* in the tree */
	uint8_t priority;              /* 0 to 100, larger is kept longer */
	uint32_t first_hold, last_hold;/* in order of acquisition */
	uint64_t freed;                /* order in which blocks became free */
};

/* A sequence's part in a block. */
struct kv_partial_hold {
	uint32_t block;
	uint32_t owner;
	uint32_t next, prev;           /* of the block; KV_PARTIAL_ROOT = none */
};

struct kv_partial_blocks {
	struct kv_partial_block *block;
	size_t capacity;
	uint32_t blocks;
	uint32_t used;                 /* blocks from here on were never taken */
	uint32_t block_size;
	bool copies;                   /* of blocks that are matched in part and cannot be taken over */
	struct kv_partial_hold *hold;
	size_t hold_capacity;
	uint32_t holds, free_hold;
	struct kv_hash_index children; /* blocks by parent and first token */
	struct kv_leaves leaves;       /* free ones */
	uint64_t frees;
	uint64_t held;                 /* blocks with holders */
	uint64_t cached;               /* stored ones without */
	uint64_t evicted;              /* stored ones that were taken or lost what they follow, over the run */
	struct kv_stretches key;
};

/* A sequence that holds blocks, in order. Begins as all zeroes. */
struct kv_partial_sequence {
	uint32_t *hold;
	size_t capacity;
	uint32_t blocks;
};

struct kv_partial_match {
	uint32_t tokens;
	uint32_t blocks;               /* whole ones among them */
	uint32_t unheld;               /* of these */
};

void kv_partial_init(struct kv_partial_blocks *pool, uint32_t blocks, uint32_t block_size, bool copies);
void kv_partial_fini(struct kv_partial_blocks *pool);
void kv_partial_sequence_fini(struct kv_partial_sequence *sequence);

static inline uint64_t kv_partial_free(const struct kv_partial_blocks *pool)
{
	return pool->blocks - pool->held;
}

static inline const struct kv_partial_hold *kv_partial_hold_at(const struct kv_partial_blocks *pool,
                                                                const struct kv_partial_sequence *sequence, uint32_t at)
{
	return &pool->hold[sequence->hold[at]];
}

/* What a start would find of the key. Nothing changes. */
struct kv_partial_match kv_partial_lookup(struct kv_partial_blocks *pool, const struct kv_token_key *key);
/* Takes what matches of the key, and free blocks for the rest of `tokens` tokens, which must be there. */
void kv_partial_start(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, uint32_t owner,
                      const struct kv_token_key *key, uint32_t tokens);
/* One more block; there must be a free one. */
void kv_partial_take(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, uint32_t owner);
/* Makes the key, which the sequence's blocks begin with, findable; `whole`: its whole blocks only. */
void kv_partial_store(struct kv_partial_blocks *pool, const struct kv_partial_sequence *sequence,
                      const struct kv_token_key *key, bool whole);
/* Gives up all blocks, the last one first, with one priority for those that begin in the prompt and one for the
 * others. */
void kv_partial_release(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, uint32_t prompt,
                        uint8_t context_priority, uint8_t decode_priority);

#endif
