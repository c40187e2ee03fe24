/* Extents, their chains and holds. */
#ifndef KV_SIM_CACHE_EXTENT_H
#define KV_SIM_CACHE_EXTENT_H

#include "sim/cache/cache.h"

/* Makes room for the chains of all nodes that exist. To be called after nodes were added. */
void kv_cache_cover_nodes(struct kv_cache *cache);

/* An unused extent; what it holds is undefined. */
uint32_t kv_extent_take(struct kv_cache *cache);

/* Of the blocks [from, to) of a node and group, the first that is not there. */
uint32_t kv_extent_covered_until(struct kv_cache *cache, uint32_t node, uint32_t group, uint32_t from, uint32_t to);

/* The lowest block that is reached going down from block `from` without leaving what is there; from + 1 if `from`
 * itself is missing. Does not look below `floor`. */
uint32_t kv_extent_covered_down_to(struct kv_cache *cache, uint32_t node, uint32_t group, uint32_t from,
                                   uint32_t floor);

/* The largest end <= `end` of something that is there at or above `floor`; `floor` if there is nothing. */
uint32_t kv_extent_end_below(struct kv_cache *cache, uint32_t node, uint32_t group, uint32_t end, uint32_t floor);

/* The extent that a lookup of block `at` finds, which must exist, and the first block (<= to) for which it finds
 * another. */
uint32_t kv_extent_find(struct kv_cache *cache, uint32_t node, uint32_t group, uint32_t at, uint32_t to,
                        uint32_t *until);

/* Cuts an extent at block `at` (lo < at < hi): it keeps [lo, at), the new one gets the rest with the same history and
 * holders. Returns the new one. */
uint32_t kv_extent_split(struct kv_cache *cache, uint32_t extent, uint32_t at);

/* A new extent of blocks that are pinned by nobody yet and stand in no order. */
uint32_t kv_extent_insert(struct kv_cache *cache, uint32_t node, uint32_t group, uint32_t lo, uint32_t hi);

/* Makes [extent.hi, hi) part of the extent if it could have been from the start: fresh state, one holder, and no copy
 * that a lookup would find in another order. */
bool kv_extent_grow(struct kv_cache *cache, uint32_t extent, uint32_t hi);

/* Forgets an extent that has no holders and stands in no order. */
void kv_extent_remove(struct kv_cache *cache, uint32_t extent);

/* Appends a hold to the request's table. The extent must be out of the order. */
void kv_hold_add(struct kv_cache *cache, uint32_t extent, uint32_t request);
/* Unlinks it from both lists. */
void kv_hold_remove(struct kv_cache *cache, uint32_t hold);

#endif
