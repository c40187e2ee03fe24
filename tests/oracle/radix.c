#include "config.h"

#include "tests/oracle/radix.h"

void oracle_radix_init(struct oracle_radix *radix, uint64_t page_size, const struct kv_policy_use *eviction)
{
	*radix = (struct oracle_radix){.page_size = page_size, .eviction = eviction};
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

struct oracle_token *oracle_radix_spell_out(const struct kv_segment *segment, uint32_t segments, uint64_t *count)
{
	struct oracle_token *tokens = NULL;
	size_t capacity = 0;

	*count = 0;
	for (uint32_t s = 0; s < segments; s++)
		for (uint32_t i = 0; i < segment[s].length; i++) {
			tokens = kv_grow(tokens, &capacity, *count + 1, sizeof *tokens);
			tokens[(*count)++] = (struct oracle_token){segment[s].stream, segment[s].kind, i};
		}
	return tokens;
}

static uint64_t whole_pages(const struct oracle_radix *radix, const struct oracle_radix_text *text)
{
	return text->count - text->count % radix->page_size;
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

	while (common < count && common < node->count &&
	       memcmp(&node->tokens[common], &tokens[common], sizeof *tokens) == 0)
		common++;
	return common - common % radix->page_size;
}

static bool is_below(const struct oracle_radix_node *child, const struct oracle_radix_node *node,
                     const struct oracle_key *key)
{
	if (node->parent != NULL || child->key == NULL || key == NULL)
		return true;
	return oracle_equal_keys(child->key, key);
}

/* The child of a node that shares the next page of the text, `at` tokens into it; *common = by whole pages. */
static struct oracle_radix_node *find_child(const struct oracle_radix *radix, const struct oracle_radix_node *node,
                                            const struct oracle_radix_text *text, uint64_t at, uint64_t *common)
{
	for (size_t i = 0; i < node->children.count; i++) {
		struct oracle_radix_node *child = node->children.items[i];

		*common = common_pages(radix, child, text->tokens + at, whole_pages(radix, text) - at);
		if (*common > 0 && is_below(child, node, text->key))
			return child;
	}
	return NULL;
}

static struct oracle_radix_node *split(struct oracle_radix *radix, struct oracle_radix_node *lower, uint64_t at)
{
	struct oracle_radix_node *upper = kv_calloc(1, sizeof *upper);
	struct oracle_token *all = lower->tokens;

	radix->clock++;
	upper->key = lower->key;
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

uint64_t oracle_radix_peek(const struct oracle_radix *radix, const struct oracle_radix_text *text, uint64_t *unlocked)
{
	const struct oracle_radix_node *node = &radix->root;
	uint64_t found = 0, common;

	*unlocked = 0;
	while ((node = find_child(radix, node, text, found, &common)) != NULL) {
		*unlocked += node->locks == 0 ? common : 0;
		found += common;
		if (common < node->count)
			break;
	}
	return found;
}

uint64_t oracle_radix_match(struct oracle_radix *radix, const struct oracle_radix_text *text,
                            struct oracle_radix_node **node)
{
	uint64_t found = 0, common, now = ++radix->clock;
	struct oracle_radix_node *child;

	*node = &radix->root;
	while ((child = find_child(radix, *node, text, found, &common)) != NULL) {
		child->accessed = now;
		*node = common < child->count ? split(radix, child, common) : child;
		found += common;
	}
	return found;
}

uint64_t oracle_radix_insert(struct oracle_radix *radix, const struct oracle_radix_text *text, int64_t priority,
                             bool counts, struct oracle_radix_node **node)
{
	uint64_t found = 0, common, now = ++radix->clock;
	struct oracle_radix_node *child;

	*node = &radix->root;
	while ((child = find_child(radix, *node, text, found, &common)) != NULL) {
		child->accessed = now;
		*node = common < child->count ? split(radix, child, common) : child;
		(*node)->hits += counts;
		if ((*node)->priority < priority)
			(*node)->priority = priority;
		found += common;
	}
	if (found < whole_pages(radix, text)) {
		struct oracle_radix_node *leaf = kv_calloc(1, sizeof *leaf);

		radix->clock++;
		*leaf = (struct oracle_radix_node){
			.key = text->key,
			.parent = *node,
			.tokens = copy_tokens(text->tokens + found, whole_pages(radix, text) - found),
			.count = whole_pages(radix, text) - found,
			.hits = counts,
			.priority = priority,
			.created = radix->clock,
			.accessed = radix->clock,
		};
		oracle_list_append(&(*node)->children, leaf);
		*node = leaf;
	}
	return found;
}

/* --- eviction ----------------------------------------------------------------------------------------------------- */

static struct kv_rank rank_of(const struct oracle_radix *radix, const struct oracle_radix_node *leaf)
{
	const struct kv_policy_use *use = radix->eviction;
	struct kv_leaf_view view = {
		.created = leaf->created, .accessed = leaf->accessed, .hits = leaf->hits, .priority = leaf->priority,
	};

	return use->policy->hooks.eviction.leaf(use->state, &view);
}

static void find_first(const struct oracle_radix *radix, struct oracle_radix_node *node,
                       struct oracle_radix_node **first)
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
