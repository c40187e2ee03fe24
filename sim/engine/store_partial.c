/* Blocks on demand that may be matched in part: TensorRT-LLM's KVCacheManager (engine-semantics 3).
 *
 * A prompt is matched when it is admitted: whole blocks are shared, a part of the next one is taken over or copied.
 * The whole blocks of a prompt are stored when it has been computed, but for its last token; when a request gives up
 * its blocks, for good or not, all that it computed is, but for the newest of its tokens. Who comes back after a
 * preemption has what it had generated as a part of its prompt. */
#include "config.h"

#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/cache/block_table.h"
#include "sim/cache/partial_blocks.h"
#include "sim/engine/live.h"
#include "sim/engine/store_tables.h"

struct reuse {
	struct kv_partial_blocks pool;
	struct kv_partial_reuse policy;
	struct kv_partial_sequence *sequence;  /* by live request */
	size_t capacity;
	struct kv_segments key;
};

static void init(struct kv_engine *engine)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_PREFIX];
	struct reuse *reuse = kv_calloc(1, sizeof *reuse);

	KV_ASSERT(engine->config->usable_blocks < KV_NONE, "a pool of more than 2^32 blocks");
	reuse->policy = use->policy->hooks.prefix.partial_reuse(use->state);
	kv_partial_init(&reuse->pool, (uint32_t)engine->config->usable_blocks, engine->config->block_size,
	                reuse->policy.copies);
	engine->store_state = reuse;
}

static void fini(struct kv_engine *engine)
{
	struct reuse *reuse = engine->store_state;

	for (size_t i = 0; i < reuse->capacity; i++)
		kv_partial_sequence_fini(&reuse->sequence[i]);
	kv_partial_fini(&reuse->pool);
	free(reuse->sequence);
	free(reuse->key.segment);
	free(reuse);
}

static struct kv_partial_sequence *sequence_of(struct kv_engine *engine, uint32_t id)
{
	struct reuse *reuse = engine->store_state;

	reuse->sequence = kv_grow(reuse->sequence, &reuse->capacity, engine->lives, sizeof *reuse->sequence);
	return &reuse->sequence[id];
}

static struct kv_token_key key_of(const struct kv_engine *engine, const struct kv_live *live, uint32_t tokens)
{
	struct reuse *reuse = engine->store_state;

	return kv_tables_key(engine, live, tokens, &reuse->key);
}

/* Brings the engine's counts up to the pool's. Returns how many blocks with content were evicted since the last
 * time. */
static uint64_t settle(struct kv_engine *engine)
{
	const struct kv_partial_blocks *pool = &((struct reuse *)engine->store_state)->pool;
	struct kv_cache *cache = &engine->cache;
	uint64_t evicted = pool->evicted;

	cache->pinned = pool->held;
	cache->cached = pool->cached;
	cache->blank = pool->blocks - pool->held - pool->cached;
	cache->evicted += evicted;
	((struct reuse *)engine->store_state)->pool.evicted = 0;
	return evicted;
}

/* --- admission ---------------------------------------------------------------------------------------------------- */

/* The last known token is always computed; who is swapped out looks for what it has. */
static uint32_t offered_tokens(const struct kv_live *live)
{
	return live->swapped_tokens > 0 ? live->swapped_tokens : live->prompt + live->generated - 1;
}

/* Whether only the rule that the last token is computed keeps a hit from being whole. For the reasons of misses. */
static bool recomputes(struct kv_engine *engine, const struct kv_live *live)
{
	struct reuse *reuse = engine->store_state;
	struct kv_token_key key;

	if (engine->sink->miss == NULL)
		return false;
	key = key_of(engine, live, live->prompt);
	return kv_partial_lookup(&reuse->pool, &key).tokens == live->prompt;
}

static void look_up(struct kv_engine *engine, uint32_t id, struct kv_fit *fit)
{
	struct reuse *reuse = engine->store_state;
	const struct kv_live *live = &engine->live[id];
	struct kv_token_key key = key_of(engine, live, offered_tokens(live));
	struct kv_partial_match match = kv_partial_lookup(&reuse->pool, &key);

	fit->hit_tokens = match.tokens;
	fit->computed = live->swapped_tokens > 0 ? live->swapped_tokens : match.tokens;
	fit->hit = (struct kv_hit){
		.blocks = match.blocks, .full_blocks = match.blocks, .evictable = match.unheld,
		.recomputes = recomputes(engine, live)
	};
}

/* Blocks of its sequence from place `from` on are charged to whoever has held them longest. */
static void charge_new(struct kv_engine *engine, uint32_t id, uint32_t from)
{
	const struct kv_partial_blocks *pool = &((struct reuse *)engine->store_state)->pool;
	const struct kv_partial_sequence *sequence = sequence_of(engine, id);
	int64_t blocks = 0;

	for (uint32_t i = from; i < sequence->blocks; i++)
		blocks += kv_partial_hold_at(pool, sequence, i)->prev == KV_PARTIAL_ROOT;
	kv_charge_change(&engine->cache, id, blocks);
}

static void take(struct kv_engine *engine, uint32_t id, const struct kv_fit *fit)
{
	struct reuse *reuse = engine->store_state;
	struct kv_live *live = &engine->live[id];
	struct kv_token_key key = key_of(engine, live, offered_tokens(live));
	struct kv_table *table = kv_table_of(&engine->cache, id, 0);
	uint32_t end = fit->computed + fit->tokens;
	uint32_t whole = fit->hit.blocks * engine->config->block_size;

	live->computed = fit->computed;
	kv_partial_start(&reuse->pool, sequence_of(engine, id), id, &key, end);
	charge_new(engine, id, 0);
	engine->cache.filled_slots += fit->hit.evictable * engine->config->block_size;
	table->blocks = fit->hit.blocks;
	engine->table_blocks += fit->hit.blocks;
	kv_tables_commit(engine, id, 1);
	kv_tables_tell_evicted(engine, id, settle(engine));
	kv_tables_extend(engine, id, end, end - whole);
}

/* --- while it runs ------------------------------------------------------------------------------------------------ */

static bool grow(struct kv_engine *engine, uint32_t id, uint32_t tokens)
{
	struct reuse *reuse = engine->store_state;
	struct kv_partial_sequence *sequence = sequence_of(engine, id);
	uint32_t end = engine->live[id].computed + tokens;
	uint64_t missing = kv_tables_missing(engine, id, end);
	uint32_t from = sequence->blocks;

	if (missing > kv_cache_free_blocks(&engine->cache))
		return false;
	for (uint64_t i = 0; i < missing; i++)
		kv_partial_take(&reuse->pool, sequence, id);
	charge_new(engine, id, from);
	kv_tables_tell_evicted(engine, id, settle(engine));
	kv_tables_extend(engine, id, end, tokens);
	return true;
}

static void store(struct kv_engine *engine, uint32_t id, uint32_t tokens, bool whole)
{
	struct reuse *reuse = engine->store_state;
	const struct kv_live *live = &engine->live[id];
	struct kv_token_key key = key_of(engine, live, tokens);

	kv_partial_store(&reuse->pool, sequence_of(engine, id), &key, whole);
	kv_tables_note_stored(engine, live, 0, tokens);
}

static void delivered(struct kv_engine *engine, uint32_t id, bool last)
{
	if (last)
		store(engine, id, engine->live[id].computed - 1, true);
}

/* Passes what it is charged for to the next holders, and empties the slots that nobody else fills. */
static void discharge(struct kv_engine *engine, uint32_t id)
{
	const struct kv_partial_blocks *pool = &((struct reuse *)engine->store_state)->pool;
	const struct kv_partial_sequence *sequence = sequence_of(engine, id);
	struct kv_cache *cache = &engine->cache;
	uint64_t tokens = engine->live[id].computed + engine->live[id].scheduled;

	for (uint32_t i = 0; i < sequence->blocks; i++) {
		const struct kv_partial_hold *hold = kv_partial_hold_at(pool, sequence, i);
		uint64_t behind = kv_sub_floor(tokens, (uint64_t)i * cache->block_size);

		if (hold->prev != KV_PARTIAL_ROOT)
			continue;
		kv_charge_change(cache, id, -1);
		if (hold->next != KV_PARTIAL_ROOT)
			kv_charge_change(cache, pool->hold[hold->next].owner, 1);
		else
			cache->filled_slots -= kv_min(behind, cache->block_size);
	}
}

static void release(struct kv_engine *engine, uint32_t id, bool ended)
{
	struct reuse *reuse = engine->store_state;
	struct kv_live *live = &engine->live[id];
	uint32_t known = live->prompt + live->generated;

	(void)ended;
	kv_tables_commit(engine, id, -1);
	store(engine, id, (uint32_t)kv_min(live->computed, known - 1), false);
	discharge(engine, id);
	kv_partial_release(&reuse->pool, sequence_of(engine, id), live->prompt + live->generated_before,
	                   reuse->policy.context_priority, reuse->policy.decode_priority);
	settle(engine);
	kv_store_uncount_waste(engine, live);
	kv_table_reset(&engine->cache, id);
}

/* --- the exhaustive check ----------------------------------------------------------------------------------------- */

static void count(struct kv_engine *engine, struct kv_cache_count *count)
{
	const struct kv_partial_blocks *pool = &((struct reuse *)engine->store_state)->pool;

	for (uint32_t b = 0; b < pool->used; b++) {
		const struct kv_partial_block *block = &pool->block[b];

		for (uint32_t h = block->first_hold; h != KV_PARTIAL_ROOT; h = pool->hold[h].next)
			KV_ASSERT(pool->hold[h].block == b, "hold %u of block %u is of block %u", h, b,
			          pool->hold[h].block);
		count->held += block->first_hold != KV_PARTIAL_ROOT;
		count->cached += block->first_hold == KV_PARTIAL_ROOT && block->stored;
	}
}

/* All of them have been counted. */
static uint64_t unregistered(struct kv_engine *engine, uint32_t id)
{
	KV_ASSERT(sequence_of(engine, id)->blocks == kv_table_of(&engine->cache, id, 0)->blocks,
	          "the table of live request %u has not the length of its sequence", id);
	return 0;
}

const struct kv_store kv_store_partial = {
	.init = init, .fini = fini, .need = kv_tables_need, .lookup = look_up, .has_room = kv_tables_have_room,
	.take = take, .grow = grow, .next = kv_tables_next, .delivered = delivered, .looks_at_each = true,
	.waste = kv_tables_waste, .held = kv_tables_held, .count = count,
	.unregistered = unregistered, .release = release, .swaps = true
};
