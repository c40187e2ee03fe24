#include "config.h"

#include "tests/oracle/partial.h"

void oracle_partial_init(struct oracle_partial *pool, const struct kv_engine_config *config)
{
	const struct kv_policy_use *use = &config->policy[KV_POLICY_PREFIX];

	*pool = (struct oracle_partial){.count = config->usable_blocks, .block_size = config->block_size};
	pool->policy = use->policy->hooks.prefix.partial_reuse(use->state);
	pool->parts = kv_calloc(pool->count, sizeof *pool->parts);
	for (uint64_t i = 0; i < pool->count; i++) {
		pool->parts[i].priority = 35;
		pool->parts[i].freed = ++pool->frees;
	}
}

void oracle_partial_fini(struct oracle_partial *pool)
{
	for (uint64_t i = 0; i < pool->count; i++) {
		free(pool->parts[i].tokens);
		oracle_list_fini(&pool->parts[i].holders);
	}
	free(pool->parts);
}

uint64_t oracle_partial_free(const struct oracle_partial *pool)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < pool->count; i++)
		count += pool->parts[i].holders.count == 0;
	return count;
}

uint64_t oracle_partial_cached(const struct oracle_partial *pool)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < pool->count; i++)
		count += pool->parts[i].holders.count == 0 && pool->parts[i].stored;
	return count;
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */

static bool has_children(const struct oracle_partial *pool, const struct oracle_part *part)
{
	for (uint64_t i = 0; i < pool->count; i++)
		if (pool->parts[i].stored && pool->parts[i].parent == part)
			return true;
	return false;
}

static bool is_child(const struct oracle_part *part, const struct oracle_part *parent, const struct oracle_key *key)
{
	return part->stored && part->parent == parent && oracle_equal_keys(part->key, key);
}

static uint64_t common_tokens(const struct oracle_part *part, const struct oracle_token *tokens, uint64_t count)
{
	uint64_t i = 0;

	while (i < part->count && i < count && part->tokens[i].stream == tokens[i].stream &&
	       part->tokens[i].kind == tokens[i].kind && part->tokens[i].position == tokens[i].position)
		i++;
	return i;
}

static bool can_be_taken_over(const struct oracle_partial *pool, const struct oracle_part *part)
{
	return part->holders.count == 0 && !has_children(pool, part);
}

static struct oracle_part *best_child(const struct oracle_partial *pool, const struct oracle_key *key,
                                      const struct oracle_part *parent, const struct oracle_token *tokens,
                                      uint64_t count, uint64_t *common)
{
	struct oracle_part *best = NULL;

	*common = 0;
	for (uint64_t i = 0; i < pool->count; i++) {
		struct oracle_part *part = &pool->parts[i];
		uint64_t shared;

		if (!is_child(part, parent, key))
			continue;
		shared = common_tokens(part, tokens, count);
		if (shared < pool->block_size && !pool->policy.copies && !can_be_taken_over(pool, part))
			continue;
		if (shared > *common) {
			best = part;
			*common = shared;
		}
	}
	return best;
}

static struct oracle_part *equal_child(const struct oracle_partial *pool, const struct oracle_key *key,
                                       const struct oracle_part *parent, const struct oracle_token *tokens,
                                       uint64_t count)
{
	for (uint64_t i = 0; i < pool->count; i++) {
		struct oracle_part *part = &pool->parts[i];

		if (is_child(part, parent, key) && part->count == count && common_tokens(part, tokens, count) == count)
			return part;
	}
	return NULL;
}

/* Out of the tree, with all that follows. */
static void evict(struct oracle_partial *pool, struct oracle_part *part)
{
	for (uint64_t i = 0; i < pool->count; i++)
		if (pool->parts[i].stored && pool->parts[i].parent == part)
			evict(pool, &pool->parts[i]);
	pool->evicted += part->holders.count == 0;
	part->stored = false;
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

static struct oracle_part *first_free(const struct oracle_partial *pool, bool leaves)
{
	struct oracle_part *first = NULL;

	for (uint64_t i = 0; i < pool->count; i++) {
		struct oracle_part *part = &pool->parts[i];

		if (part->holders.count > 0 || (leaves && has_children(pool, part)))
			continue;
		if (first == NULL || part->priority < first->priority ||
		    (part->priority == first->priority && part->freed < first->freed))
			first = part;
	}
	return first;
}

void oracle_partial_hold(struct oracle_part *part, void *holder, struct oracle_list *table)
{
	oracle_list_append(&part->holders, holder);
	oracle_list_append(table, part);
}

void oracle_partial_take(struct oracle_partial *pool, struct oracle_part *matched, void *holder,
                         struct oracle_list *table)
{
	struct oracle_part *part = matched;

	if (matched != NULL && can_be_taken_over(pool, matched)) {
		part->stored = false;
	} else {
		part = first_free(pool, true);
		if (part == NULL)
			part = first_free(pool, false);
		KV_ASSERT(part != NULL, "the oracle took a block from a full pool");
		if (part->stored)
			evict(pool, part);
	}
	oracle_partial_hold(part, holder, table);
}

uint64_t oracle_partial_match(const struct oracle_partial *pool, const struct oracle_key *key,
                              const struct oracle_token *tokens, uint64_t count, struct oracle_list *whole,
                              struct oracle_part **part)
{
	struct oracle_part *parent = NULL;
	uint64_t found = 0;

	*part = NULL;
	for (;;) {
		uint64_t common;
		struct oracle_part *child = best_child(pool, key, parent, tokens + found, count - found, &common);

		found += common;
		if (child == NULL)
			return found;
		if (common < pool->block_size) {
			*part = child;
			return found;
		}
		oracle_list_append(whole, child);
		parent = child;
	}
}

void oracle_partial_store(struct oracle_partial *pool, const struct oracle_key *key, const struct oracle_token *tokens,
                          uint64_t count, const struct oracle_list *table)
{
	struct oracle_part *parent = NULL;
	bool known = true;

	for (uint64_t at = 0; at < count; at += pool->block_size) {
		uint64_t part = kv_min(pool->block_size, count - at);
		struct oracle_part *child = known ? equal_child(pool, key, parent, tokens + at, part) : NULL;

		known = child != NULL;
		if (!known) {
			child = table->items[at / pool->block_size];
			free(child->tokens);
			child->key = key;
			child->tokens = kv_calloc(part, sizeof *child->tokens);
			memcpy(child->tokens, tokens + at, part * sizeof *child->tokens);
			child->count = part;
			child->parent = parent;
			child->stored = true;
		}
		parent = child;
	}
}

void oracle_partial_release(struct oracle_partial *pool, void *holder, struct oracle_list *table, uint64_t prompt)
{
	for (size_t i = table->count; i-- > 0;) {
		struct oracle_part *part = table->items[i];

		oracle_list_remove(&part->holders, holder);
		part->priority = i * pool->block_size < prompt ? pool->policy.context_priority :
		                                                 pool->policy.decode_priority;
		if (part->holders.count == 0)
			part->freed = ++pool->frees;
	}
	oracle_list_fini(table);
}
