/* Blocks on demand, and beside them a tree of token sequences that outlives requests: SGLang's radix cache under a pool
 * of pages (engine-semantics 2.1, 2.2 and 2.5). A page is a block.
 *
 * A request keeps the path of the tree that it matched; what it computes lies in pages of its own. When a part of its
 * prompt has been computed, the whole pages become part of the tree: those that somebody else has put there meanwhile
 * are given back, and it keeps the longer path. When it ends all that it computed goes that way, but for what does not
 * fill a page; when it loses its blocks, its own pages are given back as they are. What nobody keeps is evicted by
 * whole leaves when pages are missing, which may free more than was asked for.
 *
 * Where the queue is ordered by what requests would hit, that alone refreshes nothing (SGLang's does). */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/cache/block_table.h"
#include "sim/cache/radix.h"
#include "sim/engine/live.h"
#include "sim/engine/store_tables.h"

/* A request's part in a node that it keeps. */
struct hold {
	uint32_t node;
	uint32_t request;
	uint32_t next_of_request;
	uint32_t next, prev;      /* of the node, by admission */
};

struct holders {
	uint32_t first, last;
};

struct kept {
	uint32_t first_hold;
	uint32_t end;             /* node at which its path ends */
};

struct tree {
	struct kv_engine *engine;
	struct kv_radix radix;
	struct holders *holders;  /* by node */
	size_t holders_capacity;
	struct hold *hold;
	size_t hold_capacity;
	uint32_t holds, free_hold;
	struct kept *kept;        /* by live request */
	size_t kept_capacity;
	struct kv_segments key;
};

static void note_split(void *self, uint32_t lower, uint32_t upper);

static void init(struct kv_engine *engine)
{
	struct tree *tree = kv_calloc(1, sizeof *tree);

	kv_radix_init(&tree->radix, engine->config->block_size, &engine->config->policy[KV_POLICY_EVICTION]);
	tree->radix.split = note_split;
	tree->radix.self = tree;
	tree->engine = engine;
	tree->free_hold = KV_NONE;
	engine->store_state = tree;
}

static void fini(struct kv_engine *engine)
{
	struct tree *tree = engine->store_state;

	kv_radix_fini(&tree->radix);
	free(tree->holders);
	free(tree->hold);
	free(tree->kept);
	free(tree->key.segment);
	free(tree);
}

static struct kv_token_key key_of(const struct kv_engine *engine, const struct kv_live *live, uint32_t tokens)
{
	struct tree *tree = engine->store_state;

	return kv_tables_key(engine, live, tokens, &tree->key);
}

/* --- holds -------------------------------------------------------------------------------------------------------- */

static uint64_t blocks_of(const struct tree *tree, uint32_t node)
{
	return tree->radix.node[node].tokens / tree->radix.page_size;
}

static struct holders *holders_of(struct tree *tree, uint32_t node)
{
	size_t old = tree->holders_capacity;

	if (node >= old) {
		tree->holders = kv_grow(tree->holders, &tree->holders_capacity, tree->radix.used,
		                        sizeof *tree->holders);
		for (size_t i = old; i < tree->holders_capacity; i++)
			tree->holders[i] = (struct holders){KV_NONE, KV_NONE};
	}
	return &tree->holders[node];
}

static struct kept *kept_of(struct tree *tree, uint32_t id)
{
	tree->kept = kv_grow(tree->kept, &tree->kept_capacity, tree->engine->lives, sizeof *tree->kept);
	return &tree->kept[id];
}

static uint32_t take_hold(struct tree *tree)
{
	uint32_t h = tree->free_hold;

	if (h != KV_NONE) {
		tree->free_hold = tree->hold[h].next;
		return h;
	}
	tree->hold = kv_grow(tree->hold, &tree->hold_capacity, tree->holds + 1, sizeof *tree->hold);
	return tree->holds++;
}

/* One more holder of a node, behind hold `after` (KV_NONE = first). */
static uint32_t add_hold(struct tree *tree, uint32_t node, uint32_t id, uint32_t after)
{
	struct kept *kept = kept_of(tree, id);
	struct holders *holders = holders_of(tree, node);
	uint32_t h = take_hold(tree);
	struct hold *hold = &tree->hold[h];

	*hold = (struct hold){.node = node, .request = id, .next_of_request = kept->first_hold, .prev = after};
	kept->first_hold = h;
	hold->next = after == KV_NONE ? holders->first : tree->hold[after].next;
	*(hold->next == KV_NONE ? &holders->last : &tree->hold[hold->next].prev) = h;
	*(after == KV_NONE ? &holders->first : &tree->hold[after].next) = h;
	return h;
}

static void remove_hold(struct tree *tree, uint32_t h)
{
	struct hold *hold = &tree->hold[h];
	struct holders *holders = holders_of(tree, hold->node);

	*(hold->next == KV_NONE ? &holders->last : &tree->hold[hold->next].prev) = hold->prev;
	*(hold->prev == KV_NONE ? &holders->first : &tree->hold[hold->prev].next) = hold->next;
	hold->next = tree->free_hold;
	tree->free_hold = h;
}

/* Who holds the lower part holds the upper one, in the same order; the charge of both stays where it was. */
static void note_split(void *self, uint32_t lower, uint32_t upper)
{
	struct tree *tree = self;
	uint32_t after = KV_NONE;

	for (uint32_t h = holders_of(tree, lower)->first; h != KV_NONE; h = tree->hold[h].next)
		after = add_hold(tree, upper, tree->hold[h].request, after);
}

/* Blocks of the pool that were evictable and are pinned now, charged to the request, or the other way round. */
static void pin(struct kv_cache *cache, uint32_t id, uint64_t blocks)
{
	cache->cached -= blocks;
	cache->pinned += blocks;
	cache->filled_slots += blocks * cache->block_size;
	kv_charge_change(cache, id, (int64_t)blocks);
}

static void unpin(struct kv_cache *cache, uint32_t id, uint64_t blocks)
{
	cache->cached += blocks;
	cache->pinned -= blocks;
	cache->filled_slots -= blocks * cache->block_size;
	kv_charge_change(cache, id, -(int64_t)blocks);
}

/* One that is being admitted has no place in the running list yet: it comes last. */
static bool admitted_before(const struct kv_engine *engine, uint32_t a, uint32_t b)
{
	return engine->live[a].place < engine->live[b].place;
}

static void keep_node(struct tree *tree, uint32_t node, uint32_t id)
{
	struct kv_cache *cache = &tree->engine->cache;
	uint32_t first = holders_of(tree, node)->first;
	uint32_t after = holders_of(tree, node)->last;
	int64_t blocks = (int64_t)blocks_of(tree, node);

	while (after != KV_NONE && admitted_before(tree->engine, id, tree->hold[after].request))
		after = tree->hold[after].prev;
	add_hold(tree, node, id, after);
	if (first == KV_NONE) {
		pin(cache, id, (uint64_t)blocks);
	} else if (after == KV_NONE) {
		kv_charge_change(cache, tree->hold[first].request, -blocks);
		kv_charge_change(cache, id, blocks);
	}
}

/* Makes the request keep the path to `end`, which its present path leads to. */
static void keep_path(struct tree *tree, uint32_t id, uint32_t end)
{
	uint32_t old = kept_of(tree, id)->end;

	kv_radix_lock(&tree->radix, end, old);
	for (uint32_t n = end; n != old; n = tree->radix.node[n].parent)
		keep_node(tree, n, id);
	kept_of(tree, id)->end = end;
}

static void let_node_go(struct tree *tree, uint32_t h)
{
	struct kv_cache *cache = &tree->engine->cache;
	uint32_t node = tree->hold[h].node;
	uint32_t id = tree->hold[h].request;
	bool charged = tree->hold[h].prev == KV_NONE;
	int64_t blocks = (int64_t)blocks_of(tree, node);
	uint32_t heir;

	remove_hold(tree, h);
	heir = holders_of(tree, node)->first;
	if (heir == KV_NONE) {
		unpin(cache, id, (uint64_t)blocks);
	} else if (charged) {
		kv_charge_change(cache, id, -blocks);
		kv_charge_change(cache, tree->hold[heir].request, blocks);
	}
}

static void let_path_go(struct tree *tree, uint32_t id)
{
	struct kept *kept = kept_of(tree, id);

	kv_radix_unlock(&tree->radix, kept->end);
	for (uint32_t h = kept->first_hold, next; h != KV_NONE; h = next) {
		next = tree->hold[h].next_of_request;
		let_node_go(tree, h);
	}
}

/* --- pages -------------------------------------------------------------------------------------------------------- */

static uint64_t consume(struct kv_engine *engine, uint64_t n)
{
	struct tree *tree = engine->store_state;
	struct kv_cache *cache = &engine->cache;
	uint64_t evicted = 0;

	if (n > cache->blank)
		evicted = kv_radix_evict(&tree->radix, (n - cache->blank) * cache->block_size) / cache->block_size;
	cache->cached -= evicted;
	cache->evicted += evicted;
	cache->blank += evicted;
	KV_ASSERT(n <= cache->blank, "%" PRIu64 " blocks are wanted, %" PRIu64 " are free", n, cache->blank);
	cache->blank -= n;
	cache->pinned += n;
	return evicted;
}

static void take_blocks(struct kv_engine *engine, uint32_t id, uint64_t n)
{
	uint64_t evicted = n > 0 ? consume(engine, n) : 0;

	kv_charge_change(&engine->cache, id, (int64_t)n);
	kv_tables_tell_evicted(engine, id, evicted);
}

static bool grow(struct kv_engine *engine, uint32_t id, uint32_t tokens)
{
	uint32_t end = engine->live[id].computed + tokens;
	uint64_t missing = kv_tables_missing(engine, id, end);

	if (missing > kv_cache_free_blocks(&engine->cache))
		return false;
	take_blocks(engine, id, missing);
	kv_tables_extend(engine, id, end, tokens);
	return true;
}

/* Puts the whole pages of its first `tokens` tokens into the tree, out of its own pages behind those that it keeps.
 * Returns where they end, which it does not keep yet. */
static uint32_t insert(struct kv_engine *engine, uint32_t id, uint32_t tokens, bool counts)
{
	struct tree *tree = engine->store_state;
	struct kv_cache *cache = &engine->cache;
	const struct kv_live *live = &engine->live[id];
	struct kv_table *table = kv_table_of(cache, id, 0);
	uint32_t whole = tokens - tokens % cache->block_size;
	struct kv_token_key key = key_of(engine, live, whole);
	uint32_t node;
	uint64_t found = kv_radix_insert(&tree->radix, &key, -live->priority, counts, &node);

	unpin(cache, id, whole / cache->block_size - table->held);
	cache->cached -= found / cache->block_size - table->held;
	cache->blank += found / cache->block_size - table->held;
	table->held = whole / cache->block_size;
	kv_tables_note_stored(engine, live, (uint32_t)found, whole);
	return node;
}

static void delivered(struct kv_engine *engine, uint32_t id, bool last)
{
	keep_path(engine->store_state, id, insert(engine, id, engine->live[id].computed, last));
}

/* --- admission ---------------------------------------------------------------------------------------------------- */

/* Whether only the rule that the last token is computed keeps a hit from being longer. For the reasons of misses. */
static bool recomputes(struct kv_engine *engine, const struct kv_live *live, uint32_t hit_tokens)
{
	struct tree *tree = engine->store_state;
	struct kv_token_key key;
	uint64_t unlocked;

	if (engine->sink->miss == NULL)
		return false;
	key = key_of(engine, live, live->prompt);
	return kv_radix_peek(&tree->radix, &key, &unlocked) > hit_tokens;
}

static void look_up(struct kv_engine *engine, uint32_t id, struct kv_fit *fit)
{
	struct tree *tree = engine->store_state;
	const struct kv_live *live = &engine->live[id];
	uint32_t page = engine->config->block_size;
	bool swapped = live->swapped_tokens > 0;
	struct kv_token_key key = key_of(engine, live,
	                                 swapped ? live->swapped_tokens : live->prompt + live->generated - 1);
	uint64_t unlocked;

	fit->hit_tokens = (uint32_t)kv_radix_peek(&tree->radix, &key, &unlocked);
	fit->computed = swapped ? live->swapped_tokens : fit->hit_tokens;
	fit->hit = (struct kv_hit){
		.blocks = fit->hit_tokens / page, .full_blocks = fit->hit_tokens / page, .evictable = unlocked / page,
		.recomputes = recomputes(engine, live, fit->hit_tokens)
	};
}

static uint32_t match(struct kv_engine *engine, uint32_t id, uint32_t tokens)
{
	struct tree *tree = engine->store_state;
	struct kv_token_key key = key_of(engine, &engine->live[id], tokens);
	uint32_t node;

	kv_radix_match(&tree->radix, &key, &node);
	return node;
}

static void consider(struct kv_engine *engine, uint32_t id, struct kv_fit *fit)
{
	look_up(engine, id, fit);
	match(engine, id, fit->hit_tokens);
}

static void take(struct kv_engine *engine, uint32_t id, const struct kv_fit *fit)
{
	struct tree *tree = engine->store_state;
	struct kv_table *table = kv_table_of(&engine->cache, id, 0);
	uint32_t end = fit->computed + fit->tokens;

	engine->live[id].computed = fit->computed;
	*kept_of(tree, id) = (struct kept){.first_hold = KV_NONE, .end = KV_RADIX_ROOT};
	keep_path(tree, id, match(engine, id, fit->hit_tokens));
	table->blocks = table->held = fit->hit.blocks;
	engine->table_blocks += fit->hit.blocks;
	kv_tables_commit(engine, id, 1);
	take_blocks(engine, id, kv_tables_missing(engine, id, end));
	kv_tables_extend(engine, id, end, end - fit->hit_tokens);
}

static void release(struct kv_engine *engine, uint32_t id, bool ended)
{
	struct kv_cache *cache = &engine->cache;
	struct kv_live *live = &engine->live[id];
	const struct kv_table *table = kv_table_of(cache, id, 0);
	uint64_t own;

	if (ended)
		insert(engine, id, live->computed, true);
	kv_tables_commit(engine, id, -1);
	own = table->blocks - table->held;
	cache->pinned -= own;
	cache->blank += own;
	cache->filled_slots -= live->computed + live->scheduled - (uint64_t)table->held * cache->block_size;
	kv_charge_change(cache, id, -(int64_t)own);
	let_path_go(engine->store_state, id);
	kv_store_uncount_waste(engine, live);
	kv_table_reset(cache, id);
}

/* --- the exhaustive check ----------------------------------------------------------------------------------------- */

static void count(struct kv_engine *engine, struct kv_cache_count *count)
{
	struct tree *tree = engine->store_state;

	for (uint32_t n = KV_RADIX_ROOT + 1; n < tree->radix.used; n++) {
		uint32_t locks = 0;

		for (uint32_t h = holders_of(tree, n)->first; h != KV_NONE; h = tree->hold[h].next) {
			KV_ASSERT(tree->hold[h].node == n, "hold %u of node %u is of node %u", h, n,
			          tree->hold[h].node);
			locks++;
		}
		KV_ASSERT(locks == tree->radix.node[n].locks, "%u holders of node %u, %u locks", locks, n,
		          tree->radix.node[n].locks);
		*(locks > 0 ? &count->held : &count->cached) += blocks_of(tree, n);
	}
}

static uint64_t unregistered(struct kv_engine *engine, uint32_t id)
{
	return kv_tables_held(engine, id) - kv_table_of(&engine->cache, id, 0)->held;
}

const struct kv_store kv_store_radix = {
	.init = init, .fini = fini, .need = kv_tables_need, .lookup = look_up, .consider = consider,
	.has_room = kv_tables_have_room, .take = take, .grow = grow, .next = kv_tables_next, .consume = consume,
	.delivered = delivered, .waste = kv_tables_waste, .held = kv_tables_held, .count = count,
	.unregistered = unregistered, .release = release, .swaps = true
};
