/* TensorRT-LLM's block reuse (engine-semantics 3): a tree of blocks in which the last block of a sequence may be partly filled and
 * may be matched in part, evicted by leaves: the lowest retention priority first, then the least recently freed.
 *
 * A match covers at most all tokens of the prompt but the last and need not end at a block. A block that is matched in part is
 * taken over, and what it held beyond the match is lost, if nobody uses it and nothing follows it; else it is not matched. When
 * a sequence is released its last token is not stored, nor is a block whose content the tree has already.
 */
#ifndef KV_SIM_PARTIAL_BLOCKS_H
#define KV_SIM_PARTIAL_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KV_PARTIAL_DEFAULT_PRIORITY 35

struct kv_partial_block {
	uint64_t *token;      /* of block_size */
	uint32_t tokens;
	uint32_t parent;      /* block, or KV_PARTIAL_ROOT */
	bool stored;          /* in the tree */
	uint32_t children;
	uint32_t holders;
	uint8_t priority;     /* 0 to 100, larger is kept longer */
	uint64_t freed;       /* order in which blocks became free */
};

#define KV_PARTIAL_ROOT UINT32_MAX

struct kv_partial_blocks {
	struct kv_partial_block *block;
	uint32_t blocks;
	uint32_t block_size;
	uint64_t frees;
};

/* A sequence that holds blocks. */
struct kv_partial_sequence {
	uint64_t *token;
	size_t token_capacity;
	uint32_t tokens;
	uint32_t prompt;
	uint32_t *block;
	size_t block_capacity;
	uint32_t blocks;
};

void kv_partial_init(struct kv_partial_blocks *pool, uint32_t blocks, uint32_t block_size);
void kv_partial_fini(struct kv_partial_blocks *pool);

/* Blocks that nobody holds: all of them can be taken. */
uint32_t kv_partial_free(const struct kv_partial_blocks *pool);

/* Matches a prompt and takes blocks for the rest; as many as the whole prompt needs must be free. Returns the position from
 * which it must be computed. The sequence is to be all zeroes. */
uint32_t kv_partial_start(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, const uint64_t *prompt,
                          uint32_t tokens);
/* One more token. False if it needs a block and there is none. */
bool kv_partial_append(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, uint64_t token);
/* Stores what can be matched later, with a priority for blocks that begin in the prompt and one for the others, and frees the
 * sequence's memory. */
void kv_partial_release(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, uint8_t context_priority,
                        uint8_t decode_priority);

#endif
