/* The exhaustive check of the extents: what the cache keeps in sums, counted again one by one. */
#ifndef KV_SIM_CACHE_COUNT_H
#define KV_SIM_CACHE_COUNT_H

#include "sim/cache/cache.h"

/* Blocks with content that somebody holds, and nobody; blank ones that stand in the eviction order. */
struct kv_cache_count {
	uint64_t held;
	uint64_t cached;
	uint64_t blank_ordered;
};

/* Ends the program if extents, chains, holds and order do not agree. */
void kv_cache_count(struct kv_cache *cache, struct kv_cache_count *count);

#endif
