/* What stores with a block table a request share: blocks are taken one by one as tokens come. */
#ifndef KV_SIM_ENGINE_STORE_TABLES_H
#define KV_SIM_ENGINE_STORE_TABLES_H

#include "sim/cache/stretch.h"
#include "sim/engine/store.h"

static inline uint64_t kv_tables_blocks_for(const struct kv_engine *engine, uint64_t tokens)
{
	return kv_ceil_div(tokens, engine->config->block_size);
}

static inline bool kv_tables_windowed(const struct kv_engine *engine, uint32_t group)
{
	return engine->config->group[group].kind == KV_GROUP_SLIDING_WINDOW;
}

/* Hooks of struct kv_store. */
uint64_t kv_tables_need(const struct kv_engine *engine, const struct kv_live *live, uint64_t tokens,
                        const struct kv_hit *hit);
bool kv_tables_have_room(struct kv_engine *engine, uint32_t live, const struct kv_fit *fit, uint64_t watermark);
uint64_t kv_tables_next(struct kv_engine *engine, uint32_t live);
uint64_t kv_tables_waste(const struct kv_engine *engine, const struct kv_live *live);
uint64_t kv_tables_held(struct kv_engine *engine, uint32_t live);

/* Blocks that are missing for all tokens up to `tokens`, in all groups. */
uint64_t kv_tables_missing(struct kv_engine *engine, uint32_t live, uint32_t tokens);
/* Tells of blocks with content that an allocating call of the request evicted. */
void kv_tables_tell_evicted(struct kv_engine *engine, uint32_t live, uint64_t blocks);
/* After blocks for all tokens up to `tokens` were taken, the last `added` of which fill slots that were empty. */
void kv_tables_extend(struct kv_engine *engine, uint32_t live, uint32_t tokens, uint32_t added);
/* A running request's part of committed_blocks, and what its table has of it: when it starts (1) and ends (-1). */
void kv_tables_commit(struct kv_engine *engine, uint32_t live, int sign);

/* --- for trees of prefixes ---------------------------------------------------------------------------------------- */

struct kv_segments {
	struct kv_segment *segment;
	size_t capacity;
};

/* The request's first `tokens` tokens, in that memory. */
struct kv_token_key kv_tables_key(const struct kv_engine *engine, const struct kv_live *live, uint32_t tokens,
                                  struct kv_segments *memory);
/* Its tokens [from, to) have been stored: for the reasons of later misses. */
void kv_tables_note_stored(struct kv_engine *engine, const struct kv_live *live, uint32_t from, uint32_t to);

#endif
