/* The pool and what lies in it: extents, holds and the order of eviction.
 *
 * An extent is a run of consecutive blocks of one chain in one group that share all their history: the node of the
 * content tree, block indexes [lo, hi), the time they were registered, the eviction policy's state, and the live
 * requests that hold them. Whatever happens to one block of it happens to all, or splits it. Extents without holders
 * are evictable and stand in the eviction order, which is consumed from the tail of its front extent. Blocks without
 * registered content are counts.
 *
 * Rules: vLLM block pool (engine-semantics 1.1 to 1.5). Registration happens when tokens are scheduled. A lookup finds
 * the copy that was registered first. Of a freed request's blocks, group by group and last to first, those with content
 * go to the order; those without go to the head of the free queue or, in older profiles, into the order too.
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

static inline struct kv_chain *kv_chain_of(struct kv_cache *cache, uint32_t node, uint32_t group)
{
	return &cache->chain[(size_t)node * cache->groups + group];
}

static inline struct kv_table *kv_table_of(struct kv_cache *cache, uint32_t request, uint32_t group)
{
	return &cache->table[(size_t)request * cache->groups + group];
}

static inline void kv_charge_change(struct kv_cache *cache, uint32_t request, int64_t blocks)
{
	struct kv_charge *charge = &cache->charge[request];

	charge->sum += (kv_integral)charge->blocks * (uint64_t)(cache->now - charge->since);
	charge->since = cache->now;
	charge->blocks += (uint64_t)blocks;
}

#endif
