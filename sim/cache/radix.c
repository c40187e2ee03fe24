#include "config.h"

#include "sim/cache/radix.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sim/base/memory.h"
#include "sim/base/units.h"

enum { NONE = KV_HASH_INDEX_NONE };

/* --- leaves ------------------------------------------------------------------------------------------------------- */

static bool may_go(const void *tree, uint32_t n, struct kv_rank *key)
{
	const struct kv_radix *radix = tree;
	const struct kv_radix_node *node = &radix->node[n];
	struct kv_leaf_view view = {
		.created = node->created, .accessed = node->accessed, .hits = node->hits, .priority = node->priority
	};

	if (n == KV_RADIX_ROOT || node->tokens == 0 || node->children > 0 || node->locks > 0)
		return false;
	*key = radix->eviction->policy->hooks.eviction.leaf(radix->eviction->state, &view);
	return true;
}

static void note_leaf(struct kv_radix *radix, uint32_t n)
{
	kv_leaves_note(&radix->leaves, radix, n, radix->used);
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */

void kv_radix_init(struct kv_radix *radix, uint32_t page_size, const struct kv_policy_use *eviction)
{
	*radix = (struct kv_radix){
		.page_size = page_size, .eviction = eviction, .free_node = NONE, .leaves.may_go = may_go
	};
	radix->node = kv_grow(NULL, &radix->capacity, 64, sizeof *radix->node);
	radix->used = 1;
	radix->node[KV_RADIX_ROOT] = (struct kv_radix_node){.parent = NONE, .locks = 1};
	kv_hash_index_init(&radix->children);
}

void kv_radix_fini(struct kv_radix *radix)
{
	for (uint32_t n = 0; n < radix->used; n++)
		free(radix->node[n].piece);
	free(radix->node);
	kv_hash_index_fini(&radix->children);
	free(radix->key.piece);
	kv_heap_fini(&radix->leaves.heap);
}

static struct kv_cursor cursor_of(const struct kv_radix_node *node)
{
	return (struct kv_cursor){.piece = node->piece, .pieces = node->pieces};
}

/* --- the index of children: by parent and first page -------------------------------------------------------------- */

static uint64_t page_hash(uint64_t space, uint32_t parent, struct kv_cursor cursor, uint32_t page_size)
{
	uint64_t hash = space + parent;

	while (page_size > 0) {
		struct kv_stretch rest = kv_cursor_rest(&cursor);
		uint64_t data[4] = {hash, rest.stream, (uint64_t)rest.kind << 32 | rest.from, 0};

		rest.length = (uint32_t)kv_min(rest.length, page_size);
		data[3] = rest.length;
		hash = XXH3_64bits(data, sizeof data);
		kv_cursor_advance(&cursor, rest.length);
		page_size -= rest.length;
	}
	return hash;
}

/* Makes a node findable under its parent. */
static void index_node(struct kv_radix *radix, uint32_t n)
{
	const struct kv_radix_node *node = &radix->node[n];

	kv_hash_index_add(&radix->children, n, page_hash(node->space, node->parent, cursor_of(node), radix->page_size));
}

/* The child that begins with the page at the cursor; *common = tokens that they share, by whole pages. */
static uint32_t find_child(const struct kv_radix *radix, uint64_t space, uint32_t parent, struct kv_cursor cursor,
                           uint32_t *common)
{
	const struct kv_hash_index *index = &radix->children;
	uint64_t page = page_hash(space, parent, cursor, radix->page_size);

	for (uint32_t n = kv_hash_index_first(index, page); n != NONE; n = kv_hash_index_next(index, n)) {
		const struct kv_radix_node *node = &radix->node[n];

		if (node->parent != parent || node->space != space)
			continue;
		*common = kv_cursor_common(cursor, cursor_of(node));
		*common -= *common % radix->page_size;
		if (*common > 0)
			return n;
	}
	return NONE;
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

static uint32_t take_node(struct kv_radix *radix)
{
	uint32_t n = radix->free_node;

	if (n != NONE) {
		radix->free_node = radix->node[n].parent;
		return n;
	}
	radix->node = kv_grow(radix->node, &radix->capacity, radix->used + 1, sizeof *radix->node);
	return radix->used++;
}

/* Gives a node's first `tokens` tokens to a new node above it, which inherits locks, hits and priority. Returns
 * that. */
static uint32_t split(struct kv_radix *radix, uint32_t lower, uint32_t tokens)
{
	uint32_t upper = take_node(radix);
	struct kv_radix_node *low = &radix->node[lower];
	struct kv_radix_node *up = &radix->node[upper];
	struct kv_stretch *all = low->piece;
	struct kv_cursor cursor = cursor_of(low);

	kv_hash_index_remove(&radix->children, lower);
	radix->clock++;
	*up = (struct kv_radix_node){
		.space = low->space, .tokens = tokens, .parent = low->parent, .children = 1, .locks = low->locks,
		.hits = low->hits,
		.priority = low->priority, .created = radix->clock, .accessed = radix->clock
	};
	up->pieces = kv_cursor_copy(cursor, tokens, &up->piece);
	kv_cursor_skip(&cursor, tokens);
	low->pieces = kv_cursor_copy(cursor, low->tokens - tokens, &low->piece);
	low->tokens -= tokens;
	low->parent = upper;
	free(all);
	index_node(radix, upper);
	index_node(radix, lower);
	if (radix->split != NULL)
		radix->split(radix->self, lower, upper);
	return upper;
}

static uint32_t add_leaf(struct kv_radix *radix, uint64_t space, uint32_t parent, struct kv_cursor cursor,
                         uint32_t tokens)
{
	uint32_t n = take_node(radix);
	struct kv_radix_node *node = &radix->node[n];

	radix->clock++;
	*node = (struct kv_radix_node){
		.space = space, .tokens = tokens, .parent = parent, .created = radix->clock, .accessed = radix->clock
	};
	node->pieces = kv_cursor_copy(cursor, tokens, &node->piece);
	radix->node[parent].children++;
	radix->evictable += tokens;
	index_node(radix, n);
	return n;
}

static void remove_leaf(struct kv_radix *radix, uint32_t n)
{
	struct kv_radix_node *node = &radix->node[n];

	kv_hash_index_remove(&radix->children, n);
	radix->evictable -= node->tokens;
	radix->node[node->parent].children--;
	note_leaf(radix, node->parent);
	free(node->piece);
	*node = (struct kv_radix_node){.parent = radix->free_node};
	radix->free_node = n;
}

/* --- operations --------------------------------------------------------------------------------------------------- */

uint64_t kv_radix_peek(struct kv_radix *radix, const struct kv_token_key *key, uint64_t *unlocked)
{
	struct kv_cursor cursor;
	uint32_t tokens = kv_cursor_load(&radix->key, key, radix->page_size, &cursor);
	uint32_t found = 0;
	uint32_t n = KV_RADIX_ROOT;

	*unlocked = 0;
	while (found < tokens) {
		uint32_t common = 0;

		n = find_child(radix, key->space, n, cursor, &common);
		if (n == NONE)
			break;
		if (radix->node[n].locks == 0)
			*unlocked += common;
		found += common;
		if (common < radix->node[n].tokens)
			break;
		kv_cursor_skip(&cursor, common);
	}
	return found;
}

/* How a descent changes the nodes that it passes, beside the time of their last use. */
struct passing {
	bool raises;      /* priorities to at least this: */
	int64_t priority;
	bool counts;      /* one more hit */
};

static void pass(struct kv_radix_node *node, const struct passing *passing)
{
	node->hits += passing->counts;
	if (passing->raises && node->priority < passing->priority)
		node->priority = passing->priority;
}

/* Goes down from the root along the key, stamping what it passes, until a node that the key ends in, which is split,
 * or one without a fitting child: *node. Of a split node only the upper half is passed. Returns the tokens found. */
static uint32_t descend(struct kv_radix *radix, uint64_t space, struct kv_cursor *cursor, uint32_t tokens,
                        const struct passing *passing, uint32_t *node)
{
	uint64_t now = ++radix->clock;
	uint32_t found = 0;
	uint32_t common = 0;
	uint32_t n = KV_RADIX_ROOT;

	while (found < tokens) {
		uint32_t child = find_child(radix, space, n, *cursor, &common);

		if (child == NONE)
			break;
		radix->node[child].accessed = now;
		n = child;
		if (common < radix->node[child].tokens) {
			n = split(radix, child, common);
			note_leaf(radix, child);
		}
		pass(&radix->node[n], passing);
		note_leaf(radix, n);
		kv_cursor_skip(cursor, common);
		found += common;
	}
	*node = n;
	return found;
}

uint64_t kv_radix_match(struct kv_radix *radix, const struct kv_token_key *key, uint32_t *node)
{
	const struct passing passing = {0};
	struct kv_cursor cursor;
	uint32_t tokens = kv_cursor_load(&radix->key, key, radix->page_size, &cursor);

	return descend(radix, key->space, &cursor, tokens, &passing, node);
}

uint64_t kv_radix_insert(struct kv_radix *radix, const struct kv_token_key *key, int64_t priority, bool counts,
                         uint32_t *node)
{
	const struct passing passing = {.raises = true, .priority = priority, .counts = counts};
	struct kv_cursor cursor;
	uint32_t tokens = kv_cursor_load(&radix->key, key, radix->page_size, &cursor);
	uint32_t found = descend(radix, key->space, &cursor, tokens, &passing, node);

	if (found < tokens) {
		*node = add_leaf(radix, key->space, *node, cursor, tokens - found);
		radix->node[*node].priority = priority;
		radix->node[*node].hits = counts;
		note_leaf(radix, *node);
	}
	return found;
}

uint64_t kv_radix_evict(struct kv_radix *radix, uint64_t tokens)
{
	uint64_t evicted = 0;

	radix->clock++;
	while (evicted < tokens) {
		uint32_t leaf = kv_leaves_first(&radix->leaves, radix);

		if (leaf == NONE)
			break;
		evicted += radix->node[leaf].tokens;
		remove_leaf(radix, leaf);
	}
	return evicted;
}

void kv_radix_lock(struct kv_radix *radix, uint32_t node, uint32_t above)
{
	for (uint32_t n = node; n != above; n = radix->node[n].parent)
		if (radix->node[n].locks++ == 0) {
			radix->evictable -= radix->node[n].tokens;
			radix->protected += radix->node[n].tokens;
		}
}

void kv_radix_unlock(struct kv_radix *radix, uint32_t node)
{
	for (uint32_t n = node; n != KV_RADIX_ROOT; n = radix->node[n].parent)
		if (--radix->node[n].locks == 0) {
			radix->evictable += radix->node[n].tokens;
			radix->protected -= radix->node[n].tokens;
			note_leaf(radix, n);
		}
}
