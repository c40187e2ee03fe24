/* The order among evictable extents. */
#ifndef KV_SIM_CACHE_EVICTION_ORDER_H
#define KV_SIM_CACHE_EVICTION_ORDER_H

#include "sim/cache/cache.h"

/* Opens the next release call: `blocks` is the length of the request's table, `prompt` that of its prompt in tokens. */
void kv_order_begin_release(struct kv_cache *cache, uint32_t prompt, uint32_t blocks);
/* The lowest block from which on the call treats all blocks of an extent alike: to be cut there before kv_order_add. */
uint32_t kv_order_cut(struct kv_cache *cache, uint32_t extent);
/* The extent has become evictable by the current call. */
void kv_order_add(struct kv_cache *cache, uint32_t extent);
void kv_order_take_out(struct kv_cache *cache, uint32_t extent);
/* `upper` was just split off `lower`, which stands in the order: puts it directly before. */
void kv_order_add_split(struct kv_cache *cache, uint32_t lower, uint32_t upper);
/* Blank entries of the order (profiles that do not put blank blocks first). */
void kv_order_add_blank(struct kv_cache *cache, uint32_t lo, uint32_t hi);
/* Does what is due by the policy's clock. Returns how many blocks were dropped. */
uint64_t kv_order_expire(struct kv_cache *cache);
/* Takes n free blocks: blank ones first, then from the front of the order. The caller pins them. Returns how many had
 * content, which is gone now. */
uint64_t kv_order_consume(struct kv_cache *cache, uint64_t n);

#endif
