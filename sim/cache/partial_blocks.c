#include "config.h"

#include "sim/cache/partial_blocks.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sim/base/error.h"
#include "sim/base/memory.h"
#include "sim/base/units.h"

enum { NONE = KV_PARTIAL_ROOT };

/* --- free leaves -------------------------------------------------------------------------------------------------- */

static bool is_free_leaf(const struct kv_partial_block *block)
{
	return block->first_hold == NONE && block->first_child == NONE;
}

static bool may_go(const void *tree, uint32_t b, struct kv_rank *key)
{
	const struct kv_partial_block *block = &((const struct kv_partial_blocks *)tree)->block[b];

	*key = (struct kv_rank){block->priority, (int64_t)block->freed};
	return is_free_leaf(block);
}

static void note_leaf(struct kv_partial_blocks *pool, uint32_t b)
{
	kv_leaves_note(&pool->leaves, pool, b, pool->used);
}

/* --- the pool ----------------------------------------------------------------------------------------------------- */

void kv_partial_init(struct kv_partial_blocks *pool, uint32_t blocks, uint32_t block_size, bool copies)
{
	*pool = (struct kv_partial_blocks){
		.blocks = blocks, .block_size = block_size, .copies = copies, .free_hold = NONE,
		.frees = blocks, .leaves.may_go = may_go
	};
	kv_hash_index_init(&pool->children);
}

static void drop_content(struct kv_partial_block *block)
{
	if (block->pieces != 1)
		free(block->piece);
	block->piece = NULL;
	block->pieces = 0;
	block->tokens = 0;
}

void kv_partial_fini(struct kv_partial_blocks *pool)
{
	for (uint32_t b = 0; b < pool->used; b++)
		drop_content(&pool->block[b]);
	free(pool->block);
	free(pool->hold);
	kv_hash_index_fini(&pool->children);
	free(pool->key.piece);
	kv_heap_fini(&pool->leaves.heap);
}

void kv_partial_sequence_fini(struct kv_partial_sequence *sequence)
{
	free(sequence->hold);
	*sequence = (struct kv_partial_sequence){0};
}

/* Of the free blocks that others follow. */
static uint32_t first_branch(const struct kv_partial_blocks *pool)
{
	uint32_t first = NONE;

	for (uint32_t b = 0; b < pool->used; b++) {
		const struct kv_partial_block *block = &pool->block[b];

		if (block->first_hold == NONE
		    && (first == NONE || block->priority < pool->block[first].priority
		        || (block->priority == pool->block[first].priority && block->freed < pool->block[first].freed)))
			first = b;
	}
	return first;
}

static uint32_t unused_block(struct kv_partial_blocks *pool)
{
	uint32_t b = pool->used++;

	pool->block = kv_grow(pool->block, &pool->capacity, pool->used, sizeof *pool->block);
	pool->block[b] = (struct kv_partial_block){.first_child = NONE, .first_hold = NONE, .last_hold = NONE};
	return b;
}

/* The free block that goes next. Those that were never taken are free since the beginning. */
static uint32_t next_free(struct kv_partial_blocks *pool)
{
	uint32_t b = kv_leaves_first(&pool->leaves, pool);

	if (pool->used < pool->blocks && (b == NONE || pool->block[b].priority >= KV_PARTIAL_DEFAULT_PRIORITY))
		return unused_block(pool);
	return b != NONE ? b : first_branch(pool);
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */

static struct kv_cursor cursor_of(const struct kv_partial_block *block)
{
	return (struct kv_cursor){.piece = block->pieces == 1 ? &block->only : block->piece, .pieces = block->pieces};
}

static uint64_t first_hash(uint64_t space, uint32_t parent, const struct kv_cursor *cursor)
{
	struct kv_stretch rest = kv_cursor_rest(cursor);
	uint64_t data[4] = {space, rest.stream, (uint64_t)rest.kind << 32 | rest.from, parent};

	return XXH3_64bits(data, sizeof data);
}

static void link_block(struct kv_partial_blocks *pool, uint32_t b, uint64_t first)
{
	struct kv_partial_block *block = &pool->block[b];

	kv_hash_index_add(&pool->children, b, first);
	block->prev_sibling = block->next_sibling = NONE;
	if (block->parent == NONE)
		return;
	block->next_sibling = pool->block[block->parent].first_child;
	if (block->next_sibling != NONE)
		pool->block[block->next_sibling].prev_sibling = b;
	pool->block[block->parent].first_child = b;
}

static void unlink_block(struct kv_partial_blocks *pool, uint32_t b)
{
	struct kv_partial_block *block = &pool->block[b];

	kv_hash_index_remove(&pool->children, b);
	if (block->parent == NONE)
		return;
	if (block->next_sibling != NONE)
		pool->block[block->next_sibling].prev_sibling = block->prev_sibling;
	*(block->prev_sibling == NONE ? &pool->block[block->parent].first_child :
	                                &pool->block[block->prev_sibling].next_sibling) = block->next_sibling;
}

/* Takes a block that nothing follows out of the tree. */
static void unstore(struct kv_partial_blocks *pool, uint32_t b)
{
	struct kv_partial_block *block = &pool->block[b];

	unlink_block(pool, b);
	drop_content(block);
	block->stored = false;
	pool->cached -= block->first_hold == NONE;
	if (block->parent != NONE)
		note_leaf(pool, block->parent);
}

/* Takes a block and all that follows it out of the tree. What of it is free loses its content. */
static void evict(struct kv_partial_blocks *pool, uint32_t top)
{
	uint32_t b = top;

	for (;;) {
		uint32_t parent;

		while (pool->block[b].first_child != NONE)
			b = pool->block[b].first_child;
		parent = pool->block[b].parent;
		pool->evicted += pool->block[b].first_hold == NONE;
		unstore(pool, b);
		if (b == top)
			return;
		note_leaf(pool, b);
		b = parent;
	}
}

static void store(struct kv_partial_blocks *pool, uint32_t b, uint64_t space, uint32_t parent,
                  const struct kv_cursor *cursor, uint32_t tokens)
{
	struct kv_partial_block *block = &pool->block[b];

	KV_ASSERT(!block->stored, "block %u is stored twice", b);
	block->space = space;
	block->parent = parent;
	block->tokens = tokens;
	block->stored = true;
	block->pieces = kv_cursor_count(*cursor, tokens);
	if (block->pieces == 1) {
		block->only = kv_cursor_rest(cursor);
		block->only.length = tokens;
	} else {
		kv_cursor_copy(*cursor, tokens, &block->piece);
	}
	link_block(pool, b, first_hash(space, parent, cursor));
}

/* The child that shares most tokens with what is at the cursor, NONE if there is none; the smaller number of equals. */
static uint32_t best_child(const struct kv_partial_blocks *pool, uint64_t space, uint32_t parent,
                           struct kv_cursor cursor, uint32_t *common)
{
	const struct kv_hash_index *index = &pool->children;
	uint64_t first = first_hash(space, parent, &cursor);
	uint32_t best = NONE;

	*common = 0;
	for (uint32_t b = kv_hash_index_first(index, first); b != NONE; b = kv_hash_index_next(index, b)) {
		const struct kv_partial_block *block = &pool->block[b];
		struct kv_cursor content = cursor_of(block);
		uint32_t shared;

		if (block->parent != parent || block->space != space)
			continue;
		shared = kv_cursor_common(cursor, content);
		if (shared == 0 || shared < *common || (shared == *common && b > best)
		    || (shared < pool->block_size && !pool->copies && !is_free_leaf(block)))
			continue;
		best = b;
		*common = shared;
	}
	return best;
}

/* A child with just these tokens, or NONE. */
static uint32_t equal_child(const struct kv_partial_blocks *pool, uint64_t space, uint32_t parent,
                            struct kv_cursor cursor, uint32_t tokens)
{
	const struct kv_hash_index *index = &pool->children;
	uint64_t first = first_hash(space, parent, &cursor);

	for (uint32_t b = kv_hash_index_first(index, first); b != NONE; b = kv_hash_index_next(index, b)) {
		const struct kv_partial_block *block = &pool->block[b];
		struct kv_cursor content = cursor_of(block);

		if (block->parent == parent && block->space == space && block->tokens == tokens
		    && kv_cursor_common(cursor, content) == tokens)
			return b;
	}
	return NONE;
}

/* --- sequences ---------------------------------------------------------------------------------------------------- */

static void hold(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, uint32_t owner, uint32_t b)
{
	struct kv_partial_block *block = &pool->block[b];
	uint32_t h = pool->free_hold;

	if (h != NONE) {
		pool->free_hold = pool->hold[h].next;
	} else {
		h = pool->holds++;
		pool->hold = kv_grow(pool->hold, &pool->hold_capacity, pool->holds, sizeof *pool->hold);
	}
	if (block->first_hold == NONE) {
		pool->held++;
		pool->cached -= block->stored;
	}
	pool->hold[h] = (struct kv_partial_hold){.block = b, .owner = owner, .next = NONE, .prev = block->last_hold};
	*(block->last_hold == NONE ? &block->first_hold : &pool->hold[block->last_hold].next) = h;
	block->last_hold = h;
	sequence->hold = kv_grow(sequence->hold, &sequence->capacity, sequence->blocks + 1, sizeof *sequence->hold);
	sequence->hold[sequence->blocks++] = h;
}

static void let_go(struct kv_partial_blocks *pool, uint32_t h)
{
	struct kv_partial_hold *gone = &pool->hold[h];
	struct kv_partial_block *block = &pool->block[gone->block];

	*(gone->next == NONE ? &block->last_hold : &pool->hold[gone->next].prev) = gone->prev;
	*(gone->prev == NONE ? &block->first_hold : &pool->hold[gone->prev].next) = gone->next;
	if (block->first_hold == NONE) {
		pool->held--;
		pool->cached += block->stored;
		block->freed = ++pool->frees;
		note_leaf(pool, gone->block);
	}
	gone->next = pool->free_hold;
	pool->free_hold = h;
}

void kv_partial_take(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, uint32_t owner)
{
	uint32_t b = next_free(pool);

	KV_ASSERT(b != NONE, "none of %u blocks is free", pool->blocks);
	if (pool->block[b].stored)
		evict(pool, b);
	hold(pool, sequence, owner, b);
}

struct kv_partial_match kv_partial_lookup(struct kv_partial_blocks *pool, const struct kv_token_key *key)
{
	struct kv_partial_match match = {0};
	struct kv_cursor cursor;
	uint32_t tokens = kv_cursor_load(&pool->key, key, 1, &cursor);
	uint32_t parent = NONE;

	while (match.tokens < tokens) {
		uint32_t common;
		uint32_t b = best_child(pool, key->space, parent, cursor, &common);

		match.tokens += common;
		if (common < pool->block_size)
			break;
		match.blocks++;
		match.unheld += pool->block[b].first_hold == NONE;
		kv_cursor_skip(&cursor, common);
		parent = b;
	}
	return match;
}

/* A block that is matched in part becomes the sequence's own, or gives its content to one. */
static void take_part(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, uint32_t owner, uint32_t b)
{
	if (!is_free_leaf(&pool->block[b])) {
		kv_partial_take(pool, sequence, owner);
		return;
	}
	unstore(pool, b);
	hold(pool, sequence, owner, b);
}

void kv_partial_start(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, uint32_t owner,
                      const struct kv_token_key *key, uint32_t tokens)
{
	struct kv_cursor cursor;
	uint32_t offered = kv_cursor_load(&pool->key, key, 1, &cursor);
	uint32_t parent = NONE;
	uint32_t common = pool->block_size;

	for (uint32_t at = 0; at < offered && common == pool->block_size; at += common) {
		uint32_t b = best_child(pool, key->space, parent, cursor, &common);

		if (b == NONE)
			break;
		if (common < pool->block_size)
			take_part(pool, sequence, owner, b);
		else
			hold(pool, sequence, owner, b);
		kv_cursor_skip(&cursor, common);
		parent = b;
	}
	while ((uint64_t)sequence->blocks * pool->block_size < tokens)
		kv_partial_take(pool, sequence, owner);
}

void kv_partial_store(struct kv_partial_blocks *pool, const struct kv_partial_sequence *sequence,
                      const struct kv_token_key *key, bool whole)
{
	struct kv_cursor cursor;
	uint32_t tokens = kv_cursor_load(&pool->key, key, whole ? pool->block_size : 1, &cursor);
	uint32_t parent = NONE;
	bool has_more = true;

	for (uint32_t i = 0, at = 0; at < tokens; i++, at += pool->block_size) {
		uint32_t part = (uint32_t)kv_min(pool->block_size, tokens - at);
		uint32_t b = has_more ? equal_child(pool, key->space, parent, cursor, part) : NONE;

		has_more = b != NONE;
		if (!has_more) {
			b = kv_partial_hold_at(pool, sequence, i)->block;
			store(pool, b, key->space, parent, &cursor, part);
		}
		kv_cursor_skip(&cursor, part);
		parent = b;
	}
}

void kv_partial_release(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, uint32_t prompt,
                        uint8_t context_priority, uint8_t decode_priority)
{
	for (uint32_t i = sequence->blocks; i-- > 0;) {
		uint32_t b = kv_partial_hold_at(pool, sequence, i)->block;

		pool->block[b].priority = (uint64_t)i * pool->block_size < prompt ? context_priority : decode_priority;
		let_go(pool, sequence->hold[i]);
	}
	sequence->blocks = 0;
}
