#include "config.h"

#include "tests/oracle/radix.h"

void oracle_radix_init(struct oracle_radix *radix, uint64_t page_size, const char *strategy)
{
	*radix = (struct oracle_radix){.page_size = page_size, .strategy = strategy};
}

static void free_below(struct oracle_radix_node *node)
{
	for (size_t i = 0; i < node->children.count; i++) {
		free_below(node->children.items[i]);
		free(node->children.items[i]);
	}
	oracle_list_fini(&node->children);
	free(node->tokens);
}

void oracle_radix_fini(struct oracle_radix *radix)
{
	free_below(&radix->root);
}

/* The key's tokens, whole pages of them. */
static struct oracle_token *spell_out(const struct oracle_radix *radix, const struct kv_segment *key, uint32_t segments,
                                      uint64_t *count)
{
	struct oracle_token *tokens = NULL;
	size_t capacity = 0;

	*count = 0;
	for (uint32_t s = 0; s < segments; s++)
		for (uint32_t i = 0; i < key[s].length; i++) {
			tokens = kv_grow(tokens, &capacity, *count + 1, sizeof *tokens);
			tokens[(*count)++] = (struct oracle_token){key[s].stream, key[s].kind, i};
		}
	*count -= *count % radix->page_size;
	return tokens;
}

static struct oracle_token *copy_tokens(const struct oracle_token *tokens, uint64_t count)
{
	struct oracle_token *copy = kv_calloc(count, sizeof *copy);

	memcpy(copy, tokens, count * sizeof *copy);
	return copy;
}

static uint64_t common_pages(const struct oracle_radix *radix, const struct oracle_radix_node *node,
                             const struct oracle_token *tokens, uint64_t count)
{
	uint64_t common = 0;

	while (common < count && common < node->count && node->tokens[common].stream == tokens[common].stream &&
	       node->tokens[common].kind == tokens[common].kind && node->tokens[common].position == tokens[common].position)
		common++;
	return common - common % radix->page_size;
}

static struct oracle_radix_node *find_child(const struct oracle_radix *radix, const struct oracle_radix_node *node,
                                            const struct oracle_token *tokens, uint64_t count)
{
	for (size_t i = 0; i < node->children.count; i++)
		if (common_pages(radix, node->children.items[i], tokens, count) > 0)
			return node->children.items[i];
	return NULL;
}

static struct oracle_radix_node *split(struct oracle_radix *radix, struct oracle_radix_node *lower, uint64_t at)
{
	struct oracle_radix_node *upper = kv_calloc(1, sizeof *upper);
	struct oracle_token *all = lower->tokens;

	radix->clock++;
	upper->parent = lower->parent;
	upper->tokens = copy_tokens(all, at);
	upper->count = at;
	upper->locks = lower->locks;
	upper->hits = lower->hits;
	upper->priority = lower->priority;
	upper->created = upper->accessed = radix->clock;
	oracle_list_remove(&lower->parent->children, lower);
	oracle_list_append(&lower->parent->children, upper);
	oracle_list_append(&upper->children, lower);
	lower->parent = upper;
	lower->tokens = copy_tokens(all + at, lower->count - at);
	lower->count -= at;
	free(all);
	return upper;
}

uint64_t oracle_radix_match(struct oracle_radix *radix, const struct kv_segment *key, uint32_t segments,
                            struct oracle_radix_node **node)
{
	uint64_t count, found = 0, now = ++radix->clock;
	struct oracle_token *tokens = spell_out(radix, key, segments, &count);
	struct oracle_radix_node *child;

	*node = &radix->root;
	while ((child = find_child(radix, *node, tokens + found, count - found)) != NULL) {
		uint64_t common = common_pages(radix, child, tokens + found, count - found);

		child->accessed = now;
		*node = common < child->count ? split(radix, child, common) : child;
		found += common;
	}
	free(tokens);
	return found;
}

uint64_t oracle_radix_insert(struct oracle_radix *radix, const struct kv_segment *key, uint32_t segments, int64_t priority)
{
	uint64_t count, found = 0, now = ++radix->clock;
	struct oracle_token *tokens = spell_out(radix, key, segments, &count);
	struct oracle_radix_node *node = &radix->root, *child;

	while ((child = find_child(radix, node, tokens + found, count - found)) != NULL) {
		uint64_t common = common_pages(radix, child, tokens + found, count - found);

		child->accessed = now;
		node = common < child->count ? split(radix, child, common) : child;
		node->hits++;
		if (node->priority < priority)
			node->priority = priority;
		found += common;
	}
	if (found < count) {
		struct oracle_radix_node *leaf = kv_calloc(1, sizeof *leaf);

		radix->clock++;
		*leaf = (struct oracle_radix_node){
			.parent = node,
			.tokens = copy_tokens(tokens + found, count - found),
			.count = count - found,
			.hits = 1,
			.priority = priority,
			.created = radix->clock,
			.accessed = radix->clock,
		};
		oracle_list_append(&node->children, leaf);
	}
	free(tokens);
	return found;
}

/* --- eviction ---------------------------------------------------------------------------------------------------------- */

static struct kv_rank rank_of(const struct oracle_radix *radix, const struct oracle_radix_node *leaf)
{
	int64_t accessed = (int64_t)leaf->accessed, created = (int64_t)leaf->created, hits = (int64_t)leaf->hits;

	if (strcmp(radix->strategy, "lru") == 0)
		return (struct kv_rank){accessed, 0};
	if (strcmp(radix->strategy, "lfu") == 0)
		return (struct kv_rank){hits, accessed};
	if (strcmp(radix->strategy, "fifo") == 0)
		return (struct kv_rank){created, 0};
	if (strcmp(radix->strategy, "mru") == 0)
		return (struct kv_rank){-accessed, 0};
	if (strcmp(radix->strategy, "filo") == 0)
		return (struct kv_rank){-created, 0};
	if (strcmp(radix->strategy, "slru") == 0)
		return (struct kv_rank){hits >= 2, accessed};
	return (struct kv_rank){leaf->priority, accessed};
}

static void find_first(const struct oracle_radix *radix, struct oracle_radix_node *node, struct oracle_radix_node **first)
{
	for (size_t i = 0; i < node->children.count; i++)
		find_first(radix, node->children.items[i], first);
	if (node->parent != NULL && node->children.count == 0 && node->locks == 0 &&
	    (*first == NULL || kv_rank_less(rank_of(radix, node), rank_of(radix, *first))))
		*first = node;
}

uint64_t oracle_radix_evict(struct oracle_radix *radix, uint64_t tokens)
{
	uint64_t evicted = 0;

	radix->clock++;
	while (evicted < tokens) {
		struct oracle_radix_node *leaf = NULL;

		find_first(radix, &radix->root, &leaf);
		if (leaf == NULL)
			break;
		evicted += leaf->count;
		oracle_list_remove(&leaf->parent->children, leaf);
		free_below(leaf);
		free(leaf);
	}
	return evicted;
}

void oracle_radix_lock(struct oracle_radix_node *node)
{
	for (; node->parent != NULL; node = node->parent)
		node->locks++;
}

void oracle_radix_unlock(struct oracle_radix_node *node)
{
	for (; node->parent != NULL; node = node->parent)
		node->locks--;
}

static uint64_t count_below(const struct oracle_radix_node *node, bool locked)
{
	uint64_t count = (node->locks > 0) == locked ? node->count : 0;

	for (size_t i = 0; i < node->children.count; i++)
		count += count_below(node->children.items[i], locked);
	return count;
}

uint64_t oracle_radix_count(const struct oracle_radix *radix, bool locked)
{
	return count_below(&radix->root, locked);
}
