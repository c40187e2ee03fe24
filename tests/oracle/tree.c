#include "config.h"

#include "tests/oracle/tree.h"

bool oracle_has_tree(const struct oracle_engine *engine)
{
	return engine->config->policy[KV_POLICY_PREFIX].policy->hooks.prefix.form == KV_PREFIX_RADIX;
}

void oracle_tree_init(struct oracle_engine *engine)
{
	oracle_radix_init(&engine->radix, engine->config->block_size, &engine->config->policy[KV_POLICY_EVICTION]);
}

void oracle_tree_fini(struct oracle_engine *engine)
{
	oracle_radix_fini(&engine->radix);
	for (size_t i = 0; i < engine->keys.count; i++) {
		struct oracle_key *key = engine->keys.items[i];

		free(key->adapter);
		free(key->salt);
		free(key);
	}
	oracle_list_fini(&engine->keys);
}

/* --- counting --------------------------------------------------------------------------------------------------------- */

static uint64_t own_pages(const struct oracle_engine *engine, const struct oracle_request *request)
{
	return request->pages - request->shared / engine->config->block_size;
}

uint64_t oracle_tree_free(const struct oracle_engine *engine)
{
	uint64_t kept = oracle_radix_count(&engine->radix, true) / engine->config->block_size;

	for (size_t i = 0; i < engine->running.count; i++)
		kept += own_pages(engine, engine->running.items[i]);
	return engine->config->usable_blocks - kept;
}

uint64_t oracle_tree_cached(const struct oracle_engine *engine)
{
	return oracle_radix_count(&engine->radix, false) / engine->config->block_size;
}

uint64_t oracle_tree_filled(const struct oracle_engine *engine)
{
	uint64_t filled = oracle_radix_count(&engine->radix, true);

	for (size_t i = 0; i < engine->running.count; i++) {
		const struct oracle_request *request = engine->running.items[i];

		filled += request->computed + request->scheduled - request->shared;
	}
	return filled;
}

static bool keeps(const struct oracle_request *request, const struct oracle_radix_node *node)
{
	const struct oracle_radix_node *at = request->end;

	while (at != NULL && at != node)
		at = at->parent;
	return at == node;
}

/* The node's pages to its earliest holder in the running list, and so below. */
static void charge_below(struct oracle_engine *engine, const struct oracle_radix_node *node, kv_time duration)
{
	for (size_t i = 0; node->parent != NULL && node->locks > 0 && i < engine->running.count; i++) {
		struct oracle_request *request = engine->running.items[i];

		if (!keeps(request, node))
			continue;
		request->record.block_ns += (kv_integral)duration * (node->count / engine->config->block_size);
		break;
	}
	for (size_t i = 0; i < node->children.count; i++)
		charge_below(engine, node->children.items[i], duration);
}

void oracle_tree_charge(struct oracle_engine *engine, kv_time duration)
{
	charge_below(engine, &engine->radix.root, duration);
	for (size_t i = 0; i < engine->running.count; i++) {
		struct oracle_request *request = engine->running.items[i];

		request->record.block_ns += (kv_integral)duration * own_pages(engine, request);
	}
}

/* --- the tree --------------------------------------------------------------------------------------------------------- */

/* A copy that stays as long as the tree. */
static const struct oracle_key *lasting_key(struct oracle_engine *engine, const struct oracle_key *key)
{
	struct oracle_key *copy;

	for (size_t i = 0; i < engine->keys.count; i++)
		if (oracle_equal_keys(engine->keys.items[i], key))
			return engine->keys.items[i];
	copy = kv_calloc(1, sizeof *copy);
	*copy = *key;
	copy->adapter = kv_strdup(key->adapter);
	copy->salt = kv_strdup(key->salt);
	oracle_list_append(&engine->keys, copy);
	return copy;
}

/* The last known token is always computed; a request that is swapped out asks only for what it has. */
static struct oracle_radix_text offered_text(const struct oracle_request *request)
{
	uint64_t tokens = request->prompt_tokens + request->generated - 1;

	if (request->swapped_tokens > 0)
		tokens = request->swapped_tokens;
	return (struct oracle_radix_text){&request->key, request->tokens, tokens};
}

uint64_t oracle_tree_peek(const struct oracle_engine *engine, const struct oracle_request *request, uint64_t *evictable)
{
	struct oracle_radix_text text = offered_text(request);
	uint64_t found = oracle_radix_peek(&engine->radix, &text, evictable);

	*evictable /= engine->config->block_size;
	return found / engine->config->block_size;
}

void oracle_tree_consider(struct oracle_engine *engine, struct oracle_request *request)
{
	struct oracle_radix_text text = offered_text(request);
	struct oracle_radix_node *end;

	oracle_radix_match(&engine->radix, &text, &end);
}

static void keep_path(struct oracle_request *request, struct oracle_radix_node *end)
{
	oracle_radix_lock(end);
	if (request->end != NULL)
		oracle_radix_unlock(request->end);
	request->end = end;
}

void oracle_tree_keep(struct oracle_engine *engine, struct oracle_request *request, uint64_t pages)
{
	struct oracle_radix_text text = offered_text(request);
	struct oracle_radix_node *end;

	request->shared = oracle_radix_match(&engine->radix, &text, &end);
	request->pages = pages;
	keep_path(request, end);
}

uint64_t oracle_tree_take(struct oracle_engine *engine, struct oracle_request *request, uint64_t pages)
{
	uint64_t wanted = kv_sub_floor(pages, request->pages);
	uint64_t blank = oracle_tree_free(engine) - oracle_tree_cached(engine);
	uint64_t evicted = 0;

	if (wanted > blank)
		evicted = oracle_radix_evict(&engine->radix, (wanted - blank) * engine->config->block_size);
	request->pages += wanted;
	return evicted / engine->config->block_size;
}

static struct oracle_radix_node *insert(struct oracle_engine *engine, struct oracle_request *request, bool counts)
{
	uint64_t whole = request->computed - request->computed % engine->config->block_size;
	struct oracle_radix_text text = {lasting_key(engine, &request->key), request->tokens, whole};
	struct oracle_radix_node *end;

	oracle_radix_insert(&engine->radix, &text, -request->priority, counts, &end);
	request->shared = whole;
	return end;
}

void oracle_tree_delivered(struct oracle_engine *engine, struct oracle_request *request, bool last)
{
	keep_path(request, insert(engine, request, last));
}

void oracle_tree_release(struct oracle_engine *engine, struct oracle_request *request, bool ended)
{
	if (request->end == NULL)
		return;
	if (ended)
		insert(engine, request, true);
	oracle_radix_unlock(request->end);
	request->end = NULL;
	request->pages = request->shared = 0;
}
