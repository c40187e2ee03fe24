/* Which prefix of a request is reusable. */
#ifndef KV_SIM_CACHE_PREFIX_LOOKUP_H
#define KV_SIM_CACHE_PREFIX_LOOKUP_H

#include "sim/cache/cache.h"

/* What a lookup found for a path, in blocks. */
struct kv_hit {
	uint32_t blocks;               /* accepted by all groups */
	uint32_t full_blocks;          /* matched by the full-attention groups alone; = blocks if there are none */
	uint32_t from[KV_MAX_GROUPS];  /* a windowed group pins [from, blocks) only */
	uint64_t evictable;            /* of the blocks it would pin, all groups ... */
	uint64_t evictable_windowed;   /* ... and of those of windowed groups */
	bool recomputes;               /* trees only: the next block is there too, and ends with the last token */
};

/* The longest prefix of at most `limit` blocks that is reusable in all groups (engine-semantics 1.4, 1.9). */
void kv_prefix_lookup(struct kv_cache *cache, const struct kv_engine_config *config, const struct kv_path *path,
                      uint32_t limit, struct kv_hit *hit);

#endif
