#include "config.h"

#include "tests/oracle/tree.h"

static enum kv_prefix_form form_of(const struct oracle_engine *engine)
{
	return engine->config->policy[KV_POLICY_PREFIX].policy->hooks.prefix.form;
}

static bool is_partial(const struct oracle_engine *engine)
{
	return form_of(engine) == KV_PREFIX_PARTIAL;
}

bool oracle_has_tree(const struct oracle_engine *engine)
{
	return form_of(engine) == KV_PREFIX_RADIX || is_partial(engine);
}

void oracle_tree_init(struct oracle_engine *engine)
{
	if (is_partial(engine))
		oracle_partial_init(&engine->partial, engine->config);
	else
		oracle_radix_init(&engine->radix, engine->config->block_size,
		                  &engine->config->policy[KV_POLICY_EVICTION]);
}

void oracle_tree_fini(struct oracle_engine *engine)
{
	oracle_radix_fini(&engine->radix);
	oracle_partial_fini(&engine->partial);
	for (size_t i = 0; i < engine->keys.count; i++) {
		struct oracle_key *key = engine->keys.items[i];

		free(key->adapter);
		free(key->salt);
		free(key);
	}
	oracle_list_fini(&engine->keys);
}

/* --- counting ----------------------------------------------------------------------------------------------------- */

static uint64_t own_pages(const struct oracle_engine *engine, const struct oracle_request *request)
{
	return request->pages - request->shared / engine->config->block_size;
}

uint64_t oracle_tree_free(const struct oracle_engine *engine)
{
	uint64_t kept = oracle_radix_count(&engine->radix, true) / engine->config->block_size;

	if (is_partial(engine))
		return oracle_partial_free(&engine->partial);
	for (size_t i = 0; i < engine->running.count; i++)
		kept += own_pages(engine, engine->running.items[i]);
	return engine->config->usable_blocks - kept;
}

uint64_t oracle_tree_cached(const struct oracle_engine *engine)
{
	if (is_partial(engine))
		return oracle_partial_cached(&engine->partial);
	return oracle_radix_count(&engine->radix, false) / engine->config->block_size;
}

/* Tokens of a request in its block at a place. */
static uint64_t filled_in(const struct oracle_engine *engine, const struct oracle_request *request, size_t place)
{
	uint64_t size = engine->config->block_size;

	return kv_min(size, kv_sub_floor(request->computed + request->scheduled, place * size));
}

/* A block that several hold is full. */
static uint64_t filled_parts(const struct oracle_engine *engine)
{
	uint64_t filled = 0;

	for (size_t i = 0; i < engine->running.count; i++) {
		const struct oracle_request *request = engine->running.items[i];

		for (size_t place = 0; place < request->parts.count; place++) {
			const struct oracle_part *part = request->parts.items[place];

			filled += part->holders.items[0] == request ? filled_in(engine, request, place) : 0;
		}
	}
	return filled;
}

uint64_t oracle_tree_filled(const struct oracle_engine *engine)
{
	uint64_t filled = oracle_radix_count(&engine->radix, true);

	if (is_partial(engine))
		return filled_parts(engine);
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

/* Each block to whoever has held it longest. */
static void charge_parts(struct oracle_engine *engine, kv_time duration)
{
	for (uint64_t i = 0; i < engine->partial.count; i++) {
		const struct oracle_list *holders = &engine->partial.parts[i].holders;

		if (holders->count > 0)
			((struct oracle_request *)holders->items[0])->record.block_ns += (kv_integral)duration;
	}
}

void oracle_tree_charge(struct oracle_engine *engine, kv_time duration)
{
	if (is_partial(engine)) {
		charge_parts(engine, duration);
		return;
	}
	charge_below(engine, &engine->radix.root, duration);
	for (size_t i = 0; i < engine->running.count; i++) {
		struct oracle_request *request = engine->running.items[i];

		request->record.block_ns += (kv_integral)duration * own_pages(engine, request);
	}
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */

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

static struct oracle_tree_hit peek_parts(const struct oracle_engine *engine, const struct oracle_radix_text *text)
{
	struct oracle_list whole = {0};
	struct oracle_part *part;
	struct oracle_tree_hit hit = {0};

	hit.tokens = oracle_partial_match(&engine->partial, text->key, text->tokens, text->count, &whole, &part);
	hit.pages = whole.count;
	for (size_t i = 0; i < whole.count; i++)
		hit.evictable += ((const struct oracle_part *)whole.items[i])->holders.count == 0;
	oracle_list_fini(&whole);
	return hit;
}

struct oracle_tree_hit oracle_tree_peek(const struct oracle_engine *engine, const struct oracle_request *request)
{
	struct oracle_radix_text text = offered_text(request);
	struct oracle_tree_hit hit;

	if (is_partial(engine))
		return peek_parts(engine, &text);
	hit.tokens = oracle_radix_peek(&engine->radix, &text, &hit.evictable);
	hit.pages = hit.tokens / engine->config->block_size;
	hit.evictable /= engine->config->block_size;
	return hit;
}

void oracle_tree_consider(struct oracle_engine *engine, struct oracle_request *request)
{
	struct oracle_radix_text text = offered_text(request);
	struct oracle_radix_node *end;

	if (!is_partial(engine))
		oracle_radix_match(&engine->radix, &text, &end);
}

static void keep_path(struct oracle_request *request, struct oracle_radix_node *end)
{
	oracle_radix_lock(end);
	if (request->end != NULL)
		oracle_radix_unlock(request->end);
	request->end = end;
}

/* The block that matches in part is taken with the first of its own. */
static void keep_parts(struct oracle_engine *engine, struct oracle_request *request,
                       const struct oracle_radix_text *text)
{
	struct oracle_list whole = {0};

	oracle_partial_match(&engine->partial, text->key, text->tokens, text->count, &whole, &request->matched);
	for (size_t i = 0; i < whole.count; i++)
		oracle_partial_hold(whole.items[i], request, &request->parts);
	request->pages = whole.count;
	oracle_list_fini(&whole);
}

void oracle_tree_keep(struct oracle_engine *engine, struct oracle_request *request, uint64_t pages)
{
	struct oracle_radix_text text = offered_text(request);
	struct oracle_radix_node *end;

	if (is_partial(engine)) {
		keep_parts(engine, request, &text);
		return;
	}
	request->shared = oracle_radix_match(&engine->radix, &text, &end);
	request->pages = pages;
	keep_path(request, end);
}

static uint64_t take_parts(struct oracle_engine *engine, struct oracle_request *request, uint64_t count)
{
	uint64_t evicted = engine->partial.evicted;

	while (request->parts.count < count) {
		oracle_partial_take(&engine->partial, request->matched, request, &request->parts);
		request->matched = NULL;
	}
	request->pages = request->parts.count;
	return engine->partial.evicted - evicted;
}

uint64_t oracle_tree_take(struct oracle_engine *engine, struct oracle_request *request, uint64_t pages)
{
	uint64_t wanted = kv_sub_floor(pages, request->pages);
	uint64_t blank = oracle_tree_free(engine) - oracle_tree_cached(engine);
	uint64_t evicted = 0;

	if (is_partial(engine))
		return take_parts(engine, request, pages);
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

static void store_parts(struct oracle_engine *engine, const struct oracle_request *request, uint64_t tokens)
{
	oracle_partial_store(&engine->partial, lasting_key(engine, &request->key), request->tokens, tokens,
	                     &request->parts);
}

/* Of a prompt whole blocks are stored, but for the last token. */
void oracle_tree_delivered(struct oracle_engine *engine, struct oracle_request *request, bool last)
{
	uint64_t whole = (request->computed - 1) / engine->config->block_size * engine->config->block_size;

	if (!is_partial(engine))
		keep_path(request, insert(engine, request, last));
	else if (last)
		store_parts(engine, request, whole);
}

static void release_parts(struct oracle_engine *engine, struct oracle_request *request)
{
	if (request->parts.count == 0)
		return;
	store_parts(engine, request, kv_min(request->computed, request->prompt_tokens + request->generated - 1));
	oracle_partial_release(&engine->partial, request, &request->parts,
	                       request->prompt_tokens + request->generated_before);
	request->pages = 0;
}

void oracle_tree_release(struct oracle_engine *engine, struct oracle_request *request, bool ended)
{
	if (is_partial(engine))
		release_parts(engine, request);
	if (request->end == NULL)
		return;
	if (ended)
		insert(engine, request, true);
	oracle_radix_unlock(request->end);
	request->end = NULL;
	request->pages = request->shared = 0;
}
