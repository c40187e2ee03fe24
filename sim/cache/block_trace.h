/* A trace's prompts as paths in a tree of blocks, for replays that look at the cache alone.
 *
 * A block is known by its content and all that stands before it under the same adapter and salt: equal blocks of two
 * prompts are one node. Where the trace says block ids (all of one length, the last one perhaps shorter) a node is an
 * id, whole or not; elsewhere, and where a block size is asked for, prompts are cut into blocks of that size and what
 * is left at the end is never stored. Identity is by 64-bit hashes: two of n blocks collide with probability about
 * n^2 / 2^65.
 *
 * Where position counts for nothing (anywhere), a node is a piece of content alone, with its own length: prompts are
 * cut into pieces from the beginning of each segment on, and what is left at its end is a piece too.
 *
 * A new path gets consecutive nodes, so that a prompt is a few runs of nodes however long it is.
 */
#ifndef KV_SIM_BLOCK_TRACE_H
#define KV_SIM_BLOCK_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/request.h"

#define KV_NO_BLOCK UINT32_MAX

struct kv_block_run {
	uint32_t first, count;  /* nodes first .. first + count - 1, from the root on */
};

struct kv_block_prompt {
	kv_time arrival;
	size_t run;             /* its first run */
	uint32_t runs;
	uint32_t blocks;
	uint32_t block_tokens;  /* of all blocks but the last; anywhere: at most */
	uint32_t last_tokens;   /* of the last one */
	uint32_t tokens;        /* of the prompt, what is never stored included */
};

struct kv_block_trace {
	uint32_t block_size;    /* to cut prompts into; 0 = the trace's ids where it has some */
	bool anywhere;
	struct kv_block_prompt *prompt;
	size_t prompts, prompt_capacity;
	struct kv_block_run *run;
	size_t runs, run_capacity;
	uint32_t *parent;       /* of each node; KV_NO_BLOCK = none */
	size_t parent_capacity;
	uint32_t *piece_tokens; /* of each node; anywhere only */
	size_t piece_capacity;
	uint32_t nodes;
	uint32_t longest;       /* blocks of the longest prompt */

	uint64_t *key;          /* index from hashes to nodes: open addressing, 0 = vacant */
	uint32_t *node;
	size_t slots;
};

/* Cut size where block_size is 0 and the trace has no block ids. */
#define KV_BLOCK_TRACE_TOKENS 16

/* Adds a prompt to a trace that began as all zeroes but for block_size and anywhere. Returns 0, or -1 if there are too
 * many blocks. */
int kv_block_trace_add(struct kv_block_trace *trace, const struct kv_request *request, struct kv_error *err);
void kv_block_trace_fini(struct kv_block_trace *trace);

static inline uint32_t kv_block_tokens(const struct kv_block_prompt *prompt, uint32_t block)
{
	return block + 1 == prompt->blocks ? prompt->last_tokens : prompt->block_tokens;
}

/* Tokens of the first `blocks` blocks. */
static inline uint64_t kv_blocks_tokens(const struct kv_block_prompt *prompt, uint32_t blocks)
{
	uint64_t full = (uint64_t)blocks * prompt->block_tokens;

	return blocks > 0 && blocks == prompt->blocks ? full - prompt->block_tokens + prompt->last_tokens : full;
}

#endif
