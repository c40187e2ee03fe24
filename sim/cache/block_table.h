/* What a request holds in each group: hit, taken, registered, given up. */
#ifndef KV_SIM_CACHE_BLOCK_TABLE_H
#define KV_SIM_CACHE_BLOCK_TABLE_H

#include "sim/cache/cache.h"
#include "sim/cache/eviction_order.h"

/* Makes room for the tables and charges of live requests 0 .. requests - 1. */
void kv_cache_cover_requests(struct kv_cache *cache, uint32_t requests);

/* An empty table and no charge, in every group. */
void kv_table_reset(struct kv_cache *cache, uint32_t request);

/* A hit of `to` blocks: pins [from, to) of the path, all of which a lookup has just found; [0, from) stays null. */
void kv_table_hit(struct kv_cache *cache, uint32_t request, uint32_t group, const struct kv_path *path, uint32_t from,
                  uint32_t to);

/* How many of the blocks [from, to) that a lookup finds are evictable now. */
uint64_t kv_path_evictable(struct kv_cache *cache, uint32_t group, const struct kv_path *path, uint32_t from,
                           uint32_t to);

/* Registers the blank blocks [from, to), at or above all registered ones, under the path's content. */
void kv_table_register(struct kv_cache *cache, uint32_t request, uint32_t group, const struct kv_path *path,
                       uint32_t from, uint32_t to);

/* Gives up the live blocks below position `to`, last to first, as one release call. `tokens` = their filled slots,
 * `prompt` = tokens of the request's prompt. */
void kv_table_release(struct kv_cache *cache, uint32_t request, uint32_t group, uint32_t to, uint64_t tokens,
                      uint32_t prompt);

/* Pins n blocks of the pool as blank blocks of a request. Returns how many cached blocks that evicted. */
static inline uint64_t kv_cache_allocate(struct kv_cache *cache, uint32_t request, uint64_t n)
{
	uint64_t evicted = 0;

	if (n <= cache->blank)
		cache->blank -= n;
	else
		evicted = kv_order_consume(cache, n);
	cache->pinned += n;
	kv_charge_change(cache, request, (int64_t)n);
	return evicted;
}

#endif
