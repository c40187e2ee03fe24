/* The pool and what lies in it: extents, holds and the order of eviction.
 *
 * An extent is a run of consecutive blocks of one chain in one group that share all their history: the node of the
 * content tree, block indexes [lo, hi), the time they were registered, the eviction policy's state, and the live requests
 * that hold them. Whatever happens to one block of it happens to all, or splits it. Extents without holders are evictable
 * and stand in the eviction order, which is consumed from the tail of its front extent. Blocks without registered
 * content are counts.
 *
 * Rules: vLLM block pool (engine-semantics 1.1 to 1.5). Registration happens when tokens are scheduled. A lookup finds the
 * copy that was registered first. Of a freed request's blocks, group by group and last to first, those with content go to
 * the order; those without go to the head of the free queue or, in older profiles, into the order too.
 */
#ifndef KV_SIM_CACHE_H
#define KV_SIM_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/cache/content.h"
#include "sim/cache/ghosts.h"
#include "sim/engine_config.h"

struct kv_extent {
	uint32_t node;               /* KV_NONE: blank blocks that stand in the order */
	uint32_t group;
	uint32_t lo, hi;             /* block indexes */
	uint32_t next, prev;         /* extents of the same node and group, by (lo, registered) */
	uint32_t first_hold, last_hold;  /* in the order in which they were acquired */
	uint32_t order_next;         /* place in the eviction order: list link, or position in the heap */
	uint32_t order_prev;
	uint32_t queue;              /* of the eviction policy */
	uint64_t registered;         /* registration number: smaller = found first */
	uint64_t release;            /* release call that made it evictable last; 0 = none yet */
	struct kv_rank rank;
	unsigned char state[KV_ENTRY_STATE_MAX];  /* the eviction policy's */
};

/* One request's reference to one whole extent. */
struct kv_hold {
	uint32_t extent;
	uint32_t request;
	uint32_t next, prev;          /* the request's holds in this group, by block index */
	uint32_t extent_next, extent_prev;
};

/* Extents of one node and group. */
struct kv_chain {
	uint32_t first, last;
	uint32_t overlaps;  /* some block may be there twice: lookups must compare registrations */
};

/* One request's block table in one group. Positions below `trimmed` hold the null block. */
struct kv_table {
	uint32_t first_hold, last_hold;
	uint32_t trimmed;
	uint32_t blocks;      /* length, null positions included */
	uint32_t registered;  /* positions below have been considered for registration */
	uint32_t held;        /* live positions that holds cover; the other live ones are blank */
	uint32_t piece;       /* piece of the path that holds the next block to register */
};

/* Block-time that a request is charged for: each pinned block to its earliest holder. */
struct kv_charge {
	kv_integral sum;
	kv_time since;
	uint64_t blocks;
};

/* A stretch of a request's content: tokens [node's start, end). Pieces follow each other without gaps. */
struct kv_piece {
	uint32_t node;
	uint32_t end;
	uint32_t end_block;  /* whole blocks before `end`: a block belongs to the piece with its last token */
};

struct kv_path {
	const struct kv_piece *piece;
	uint32_t pieces;
};

/* One queue of the eviction order: a list (release_order policies) or a 4-ary heap of extents. */
struct kv_order {
	uint32_t first, last;
	uint32_t *heap;
	size_t capacity;
	uint32_t size;
};

struct kv_cache {
	struct kv_content content;
	uint32_t block_size;
	uint32_t groups;
	const struct kv_policy *eviction;
	void *eviction_state;
	bool blank_first;

	struct kv_extent *extent;
	size_t extent_capacity;
	uint32_t extents, free_extent;
	struct kv_hold *hold;
	size_t hold_capacity;
	uint32_t holds, free_hold;
	struct kv_chain *chain;       /* node * groups + group */
	size_t chain_capacity;
	struct kv_charge *charge;     /* by live request */
	size_t charge_capacity;
	struct kv_table *table;       /* live request * groups + group */
	size_t table_capacity;

	struct kv_order order[KV_EVICTION_QUEUES];
	uint64_t order_blocks[KV_EVICTION_QUEUES];
	unsigned queues;
	bool remembers;               /* ghosts is in use */
	struct kv_ghosts ghosts;
	struct kv_release release;    /* the release call that is under way, or the last one */
	uint32_t cut[KV_EVICTION_CUTS];
	unsigned cuts;

	kv_time now;
	uint64_t registrations;
	uint64_t usable;              /* = pinned + cached + blank + blank_ordered */
	uint64_t pinned;
	uint64_t cached;              /* evictable blocks with content */
	uint64_t blank;               /* at the head of the free queue */
	uint64_t blank_ordered;       /* blank blocks inside the order */
	uint64_t evicted;             /* cumulative */
	uint64_t filled_slots;        /* of pinned blocks */
};

void kv_cache_init(struct kv_cache *cache, const struct kv_engine_config *config);
void kv_cache_fini(struct kv_cache *cache);

static inline uint64_t kv_cache_free_blocks(const struct kv_cache *cache)
{
	return cache->blank + cache->cached + cache->blank_ordered;
}

/* --- sim/cache/extent.c ------------------------------------------------------------------------------------------------- */

static inline struct kv_chain *kv_chain_of(struct kv_cache *cache, uint32_t node, uint32_t group)
{
	return &cache->chain[(size_t)node * cache->groups + group];
}

/* Makes room for the chains of all nodes that exist. To be called after nodes were added. */
void kv_cache_cover_nodes(struct kv_cache *cache);

/* An unused extent; what it holds is undefined. */
uint32_t kv_extent_take(struct kv_cache *cache);

/* Of the blocks [from, to) of a node and group, the first that is not there. */
uint32_t kv_extent_covered_until(struct kv_cache *cache, uint32_t node, uint32_t group, uint32_t from, uint32_t to);

/* The lowest block that is reached going down from block `from` without leaving what is there; from + 1 if `from` itself
 * is missing. Does not look below `floor`. */
uint32_t kv_extent_covered_down_to(struct kv_cache *cache, uint32_t node, uint32_t group, uint32_t from, uint32_t floor);

/* The largest end <= `end` of something that is there at or above `floor`; `floor` if there is nothing. */
uint32_t kv_extent_end_below(struct kv_cache *cache, uint32_t node, uint32_t group, uint32_t end, uint32_t floor);

/* The extent that a lookup of block `at` finds, which must exist, and the first block (<= to) for which it finds another. */
uint32_t kv_extent_find(struct kv_cache *cache, uint32_t node, uint32_t group, uint32_t at, uint32_t to, uint32_t *until);

/* Cuts an extent at block `at` (lo < at < hi): it keeps [lo, at), the new one gets the rest with the same history and
 * holders. Returns the new one. */
uint32_t kv_extent_split(struct kv_cache *cache, uint32_t extent, uint32_t at);

/* A new extent of blocks that are pinned by nobody yet and stand in no order. */
uint32_t kv_extent_insert(struct kv_cache *cache, uint32_t node, uint32_t group, uint32_t lo, uint32_t hi);

/* Makes [extent.hi, hi) part of the extent if it could have been from the start: fresh state, one holder, and no copy that a
 * lookup would find in another order. */
bool kv_extent_grow(struct kv_cache *cache, uint32_t extent, uint32_t hi);

/* Forgets an extent that has no holders and stands in no order. */
void kv_extent_remove(struct kv_cache *cache, uint32_t extent);

/* Appends a hold to the request's table. The extent must be out of the order. */
void kv_hold_add(struct kv_cache *cache, uint32_t extent, uint32_t request);
/* Unlinks it from both lists. */
void kv_hold_remove(struct kv_cache *cache, uint32_t hold);

/* --- sim/cache/eviction_order.c ------------------------------------------------------------------------------------------- */

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

/* --- sim/cache/block_table.c ----------------------------------------------------------------------------------------------- */

static inline struct kv_table *kv_table_of(struct kv_cache *cache, uint32_t request, uint32_t group)
{
	return &cache->table[(size_t)request * cache->groups + group];
}

/* Makes room for the tables and charges of live requests 0 .. requests - 1. */
void kv_cache_cover_requests(struct kv_cache *cache, uint32_t requests);

/* An empty table and no charge, in every group. */
void kv_table_reset(struct kv_cache *cache, uint32_t request);

/* A hit of `to` blocks: pins [from, to) of the path, all of which a lookup has just found; [0, from) stays null. */
void kv_table_hit(struct kv_cache *cache, uint32_t request, uint32_t group, const struct kv_path *path, uint32_t from,
                  uint32_t to);

/* How many of the blocks [from, to) that a lookup finds are evictable now. */
uint64_t kv_path_evictable(struct kv_cache *cache, uint32_t group, const struct kv_path *path, uint32_t from, uint32_t to);

/* Registers the blank blocks [from, to), at or above all registered ones, under the path's content. */
void kv_table_register(struct kv_cache *cache, uint32_t request, uint32_t group, const struct kv_path *path,
                       uint32_t from, uint32_t to);

/* Gives up the live blocks below position `to`, last to first, as one release call. `tokens` = their filled slots,
 * `prompt` = tokens of the request's prompt. */
void kv_table_release(struct kv_cache *cache, uint32_t request, uint32_t group, uint32_t to, uint64_t tokens,
                      uint32_t prompt);

/* --- sim/cache/prefix_lookup.c ---------------------------------------------------------------------------------------------- */

/* What a lookup found for a path, in blocks. */
struct kv_hit {
	uint32_t blocks;               /* accepted by all groups */
	uint32_t full_blocks;          /* matched by the full-attention groups alone; = blocks if there are none */
	uint32_t from[KV_MAX_GROUPS];  /* a windowed group pins [from, blocks) only */
	uint64_t evictable;            /* of the blocks it would pin, all groups */
};

/* The longest prefix of at most `limit` blocks that is reusable in all groups (engine-semantics 1.4, 1.9). */
void kv_prefix_lookup(struct kv_cache *cache, const struct kv_engine_config *config, const struct kv_path *path,
                      uint32_t limit, struct kv_hit *hit);

/* --- charging ----------------------------------------------------------------------------------------------------------- */

static inline void kv_charge_change(struct kv_cache *cache, uint32_t request, int64_t blocks)
{
	struct kv_charge *charge = &cache->charge[request];

	charge->sum += (kv_integral)charge->blocks * (uint64_t)(cache->now - charge->since);
	charge->since = cache->now;
	charge->blocks += (uint64_t)blocks;
}

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
