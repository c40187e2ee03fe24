/* What a live request needs of the pool, takes and gives up. */
#ifndef KV_SIM_ENGINE_LIVE_BLOCKS_H
#define KV_SIM_ENGINE_LIVE_BLOCKS_H

#include "sim/cache/prefix_lookup.h"
#include "sim/engine/engine.h"

/* Blocks that the pool would ever have to give it alone; more than usable = it can never finish. */
uint64_t kv_live_blocks_alone(const struct kv_engine *engine, const struct kv_live *live);
/* Whether it could not run even alone in an empty pool. */
bool kv_live_is_impossible(const struct kv_engine *engine, const struct kv_live *live);
/* Live blocks in all groups. */
uint64_t kv_live_held(struct kv_engine *engine, uint32_t live);
/* Room for `tokens` more of a running request: trims its windows, checks, takes, registers. False = nothing taken. */
bool kv_live_grow(struct kv_engine *engine, uint32_t live, uint32_t tokens);

/* Tokens before the last block that it will take, and the slots of that block that nobody will fill: counted once it is
 * taken. */
static inline uint32_t kv_live_last_block_begin(const struct kv_engine *engine, const struct kv_live *live)
{
	return (live->final - 1) / engine->config->block_size * engine->config->block_size;
}
void kv_live_count_waste(struct kv_engine *engine, struct kv_live *live);

/* The head of the queue against the pool. */
struct kv_fit {
	struct kv_hit hit;
	uint32_t hit_tokens;
	uint32_t tokens;      /* to schedule now */
};
void kv_live_lookup(struct kv_engine *engine, uint32_t live, struct kv_fit *fit);
bool kv_live_fits(struct kv_engine *engine, uint32_t live, const struct kv_fit *fit);
/* Pins its hits, takes the blocks of its first step, registers. */
void kv_live_take(struct kv_engine *engine, uint32_t live, const struct kv_fit *fit);
/* Gives up everything, group by group. Its computed (and scheduled) tokens say what is filled. */
void kv_live_release(struct kv_engine *engine, uint32_t live);

#endif
