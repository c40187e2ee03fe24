#include "config.h"

#include "sim/cache/partial_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/memory.h"
#include "sim/base/units.h"

void kv_partial_init(struct kv_partial_blocks *pool, uint32_t blocks, uint32_t block_size)
{
	*pool = (struct kv_partial_blocks){.blocks = blocks, .block_size = block_size};
	pool->block = kv_calloc(blocks, sizeof *pool->block);
	for (uint32_t b = 0; b < blocks; b++) {
		pool->block[b].token = kv_calloc(block_size, sizeof *pool->block[b].token);
		pool->block[b].priority = KV_PARTIAL_DEFAULT_PRIORITY;
		pool->block[b].freed = ++pool->frees;
	}
}

void kv_partial_fini(struct kv_partial_blocks *pool)
{
	for (uint32_t b = 0; b < pool->blocks; b++)
		free(pool->block[b].token);
	free(pool->block);
}

/* --- the tree ----------------------------------------------------------------------------------------------------------- */

static void unstore(struct kv_partial_blocks *pool, uint32_t b)
{
	struct kv_partial_block *block = &pool->block[b];

	if (block->stored && block->parent != KV_PARTIAL_ROOT)
		pool->block[block->parent].children--;
	block->stored = false;
	block->tokens = 0;
	block->priority = KV_PARTIAL_DEFAULT_PRIORITY;
}

static uint32_t common_tokens(const struct kv_partial_block *block, const uint64_t *token, uint32_t limit)
{
	uint32_t common = 0;

	while (common < block->tokens && common < limit && block->token[common] == token[common])
		common++;
	return common;
}

/* The child that shares most tokens, a full block before a part of one; *common = 0 if there is none. A part of a block must be
 * free to be taken over. */
static uint32_t best_child(const struct kv_partial_blocks *pool, uint32_t parent, const uint64_t *token, uint32_t limit,
                           uint32_t *common)
{
	uint32_t best = KV_PARTIAL_ROOT;

	*common = 0;
	for (uint32_t b = 0; b < pool->blocks; b++) {
		const struct kv_partial_block *block = &pool->block[b];
		uint32_t shared;

		if (!block->stored || block->parent != parent)
			continue;
		shared = common_tokens(block, token, limit);
		if (shared <= *common || (shared < pool->block_size && (block->holders > 0 || block->children > 0)))
			continue;
		best = b;
		*common = shared;
	}
	return best;
}

/* The free leaf that goes next, or KV_PARTIAL_ROOT. */
static uint32_t first_free(const struct kv_partial_blocks *pool)
{
	uint32_t first = KV_PARTIAL_ROOT;

	for (uint32_t b = 0; b < pool->blocks; b++) {
		const struct kv_partial_block *block = &pool->block[b];

		if (block->holders > 0 || block->children > 0)
			continue;
		if (first == KV_PARTIAL_ROOT || block->priority < pool->block[first].priority
		    || (block->priority == pool->block[first].priority && block->freed < pool->block[first].freed))
			first = b;
	}
	return first;
}

/* --- sequences ------------------------------------------------------------------------------------------------------------ */

static void hold(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, uint32_t b)
{
	sequence->block = kv_grow(sequence->block, &sequence->block_capacity, sequence->blocks + 1, sizeof *sequence->block);
	sequence->block[sequence->blocks++] = b;
	pool->block[b].holders++;
}

static bool take_block(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence)
{
	uint32_t b = first_free(pool);

	if (b == KV_PARTIAL_ROOT)
		return false;
	unstore(pool, b);
	hold(pool, sequence, b);
	return true;
}

/* Takes the blocks that match. Returns the position behind them. */
static uint32_t match(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, const uint64_t *prompt,
                      uint32_t tokens)
{
	uint32_t parent = KV_PARTIAL_ROOT;
	uint32_t at = 0;

	while (at + 1 < tokens) {
		uint32_t common;
		uint32_t b = best_child(pool, parent, prompt + at, (uint32_t)kv_min(tokens - 1 - at, pool->block_size), &common);

		if (common == 0)
			break;
		at += common;
		hold(pool, sequence, b);
		if (common < pool->block_size) {
			unstore(pool, b);
			break;
		}
		parent = b;
	}
	return at;
}

uint32_t kv_partial_free(const struct kv_partial_blocks *pool)
{
	uint32_t count = 0;

	for (uint32_t b = 0; b < pool->blocks; b++)
		count += pool->block[b].holders == 0;
	return count;
}

static void append_token(struct kv_partial_sequence *sequence, uint64_t token)
{
	sequence->token = kv_grow(sequence->token, &sequence->token_capacity, sequence->tokens + 1, sizeof *sequence->token);
	sequence->token[sequence->tokens++] = token;
}

uint32_t kv_partial_start(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, const uint64_t *prompt,
                          uint32_t tokens)
{
	uint32_t position;

	KV_ASSERT(kv_ceil_div(tokens, pool->block_size) <= kv_partial_free(pool), "no room for %u tokens", tokens);
	position = match(pool, sequence, prompt, tokens);
	while ((uint64_t)sequence->blocks * pool->block_size < tokens)
		take_block(pool, sequence);
	for (uint32_t i = 0; i < tokens; i++)
		append_token(sequence, prompt[i]);
	sequence->prompt = tokens;
	return position;
}

bool kv_partial_append(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, uint64_t token)
{
	if (sequence->tokens % pool->block_size == 0 && !take_block(pool, sequence))
		return false;
	append_token(sequence, token);
	return true;
}

/* A child with just these tokens, or KV_PARTIAL_ROOT. */
static uint32_t equal_child(const struct kv_partial_blocks *pool, uint32_t parent, const uint64_t *token, uint32_t tokens)
{
	for (uint32_t b = 0; b < pool->blocks; b++) {
		const struct kv_partial_block *block = &pool->block[b];

		if (block->stored && block->parent == parent && block->tokens == tokens
		    && common_tokens(block, token, tokens) == tokens)
			return b;
	}
	return KV_PARTIAL_ROOT;
}

static void store(struct kv_partial_blocks *pool, uint32_t b, uint32_t parent, const uint64_t *token, uint32_t tokens,
                  uint8_t priority)
{
	struct kv_partial_block *block = &pool->block[b];

	memcpy(block->token, token, tokens * sizeof *token);
	block->tokens = tokens;
	block->parent = parent;
	block->stored = true;
	block->priority = priority;
	if (parent != KV_PARTIAL_ROOT)
		pool->block[parent].children++;
}

void kv_partial_release(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, uint8_t context_priority,
                        uint8_t decode_priority)
{
	uint32_t stored = sequence->tokens > 0 ? sequence->tokens - 1 : 0;
	uint32_t parent = KV_PARTIAL_ROOT;

	for (uint32_t i = 0, at = 0; at < stored; i++, at += pool->block_size) {
		uint32_t tokens = (uint32_t)kv_min(pool->block_size, stored - at);
		uint32_t there = equal_child(pool, parent, sequence->token + at, tokens);

		if (there == KV_PARTIAL_ROOT) {
			there = sequence->block[i];
			store(pool, there, parent, sequence->token + at, tokens,
			      at < sequence->prompt ? context_priority : decode_priority);
		}
		parent = there;
	}
	for (uint32_t i = sequence->blocks; i-- > 0;) {
		struct kv_partial_block *block = &pool->block[sequence->block[i]];

		if (--block->holders == 0)
			block->freed = ++pool->frees;
	}
	free(sequence->token);
	free(sequence->block);
	*sequence = (struct kv_partial_sequence){0};
}
