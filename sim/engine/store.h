/* Where the KV of live requests lies: one descriptor for each way to keep it, chosen by allocation and prefix policy.
 *
 * All of them count in blocks of the engine's cache: pinned, cached, blank. A descriptor only says what differs; what
 * is the same for all is in store.c.
 */
#ifndef KV_SIM_ENGINE_STORE_H
#define KV_SIM_ENGINE_STORE_H

#include "sim/cache/cache_count.h"
#include "sim/cache/prefix_lookup.h"
#include "sim/engine/engine.h"

/* The head of the queue against the pool. */
struct kv_fit {
	struct kv_hit hit;
	uint32_t hit_tokens;
	uint32_t computed;    /* that it has without computing them: the hit, or what comes back from host memory */
	uint32_t tokens;      /* to schedule now */
};

struct kv_store {
	/* Both may be NULL. */
	void (*init)(struct kv_engine *engine);
	void (*fini)(struct kv_engine *engine);

	/* --- admission --- */

	/* Blocks that must be free to have `tokens` tokens of a request without blocks, its hits taken off, those of
	 * them that nobody holds added: they leave the free blocks too. Groups count at most their admission cap. */
	uint64_t (*need)(const struct kv_engine *engine, const struct kv_live *live, uint64_t tokens,
	                 const struct kv_hit *hit);
	/* What it would hit; one that is swapped out looks for what it has computed. Nothing changes. */
	void (*lookup)(struct kv_engine *engine, uint32_t live, struct kv_fit *fit);
	/* The same for a head of the queue that may start, with the traces that the engine's look at it leaves: twice
	 * must be as good as once while nothing else touches what was found. NULL: it leaves none. */
	void (*consider)(struct kv_engine *engine, uint32_t live, struct kv_fit *fit);
	/* Room for the first step, `watermark` blocks to be left. */
	bool (*has_room)(struct kv_engine *engine, uint32_t live, const struct kv_fit *fit, uint64_t watermark);
	/* Pins its hits, takes the blocks of its first step. There must be room. */
	void (*take)(struct kv_engine *engine, uint32_t live, const struct kv_fit *fit);

	/* --- while it runs --- */

	/* Room for `tokens` more. False = nothing taken. */
	bool (*grow)(struct kv_engine *engine, uint32_t live, uint32_t tokens);
	/* Blocks that one more token takes, once those that fell out of their windows are given up. NULL if nothing
	 * grows. */
	uint64_t (*next)(struct kv_engine *engine, uint32_t live);
	/* Takes n free blocks for steady requests, which must be there. Returns how many with content that cost. */
	uint64_t (*consume)(struct kv_engine *engine, uint64_t n);
	/* It has, or is about to have, so many tokens: it decoded for a while without being looked at. May be NULL. */
	void (*generated)(struct kv_engine *engine, uint32_t live, uint32_t tokens);
	/* A step has computed a part of its prompt (or of what it computes again), or the last of it, and has ended;
	 * the request goes on. Told in running order, with those that end. May be NULL. */
	void (*delivered)(struct kv_engine *engine, uint32_t live, bool last);
	bool looks_at_each;   /* blocks are not alike: nobody decodes without
	                         being looked at, and consume is not called */
	bool whole;           /* all blocks are taken at admission: nothing grows */
	bool swaps;           /* lookup and take know requests that come back from host memory; without windows */
	bool one_slot;        /* a token takes one slot, whatever the groups */
	/* Slots of what it holds that nobody will ever fill. */
	uint64_t (*waste)(const struct kv_engine *engine, const struct kv_live *live);
	/* Blocks that it holds now, in all groups. */
	uint64_t (*held)(struct kv_engine *engine, uint32_t live);
	/* For the exhaustive check, which they end the program for: all blocks with content, and those that a request
	 * holds without. */
	void (*count)(struct kv_engine *engine, struct kv_cache_count *count);
	uint64_t (*unregistered)(struct kv_engine *engine, uint32_t live);

	/* Gives up everything. Its computed (and scheduled) tokens say what is filled. `ended`: for good, with no step
	 * in flight; else it has lost its blocks and will be back. */
	void (*release)(struct kv_engine *engine, uint32_t live, bool ended);
};

extern const struct kv_store kv_store_paged;
extern const struct kv_store kv_store_contiguous;
extern const struct kv_store kv_store_radix;
extern const struct kv_store kv_store_partial;

const struct kv_store *kv_store_for(const struct kv_engine_config *config);

/* Blocks that the pool would ever have to give it alone; more than usable = it can never finish. */
uint64_t kv_store_blocks_alone(const struct kv_engine *engine, const struct kv_live *live);
/* Whether it could not run even alone in an empty pool. */
bool kv_store_is_impossible(const struct kv_engine *engine, const struct kv_live *live);
static inline void kv_store_consider(struct kv_engine *engine, uint32_t live, struct kv_fit *fit)
{
	if (engine->store->consider != NULL)
		engine->store->consider(engine, live, fit);
	else
		engine->store->lookup(engine, live, fit);
}

/* Whether the head of the queue may start now. One that is swapped out has been admitted: it only needs room. */
bool kv_store_fits(struct kv_engine *engine, uint32_t live, const struct kv_fit *fit);

/* Tokens before the last block that it will take, and the slots of that block that nobody will fill: counted once it is
 * taken. */
static inline uint32_t kv_store_last_block_begin(const struct kv_engine *engine, const struct kv_live *live)
{
	return (live->final - 1) / engine->config->block_size * engine->config->block_size;
}
void kv_store_count_waste(struct kv_engine *engine, struct kv_live *live);
void kv_store_uncount_waste(struct kv_engine *engine, struct kv_live *live);

#endif
