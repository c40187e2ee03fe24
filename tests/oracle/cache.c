#include "config.h"

#include "tests/oracle/cache.h"

struct oracle_root {
	struct oracle_key key;
	struct oracle_content content;
};

void oracle_cache_init(struct oracle_cache *cache, const struct kv_engine_config *config)
{
	*cache = (struct oracle_cache){.config = config};
	cache->blocks = kv_calloc(config->usable_blocks, sizeof *cache->blocks);
	for (uint64_t i = 0; i < config->usable_blocks; i++)
		cache->blocks[i].id = i;
}

static void free_content(struct oracle_content *content)
{
	for (size_t i = 0; i < content->children.count; i++) {
		free_content(content->children.items[i]);
		free(content->children.items[i]);
	}
	oracle_list_fini(&content->children);
	for (int g = 0; g < KV_MAX_GROUPS; g++)
		oracle_list_fini(&content->registered[g]);
	free(content->tokens);
}

void oracle_cache_fini(struct oracle_cache *cache)
{
	for (size_t i = 0; i < cache->roots.count; i++) {
		struct oracle_root *root = cache->roots.items[i];

		free_content(&root->content);
		free(root->key.adapter);
		free(root->key.salt);
		free(root);
	}
	oracle_list_fini(&cache->roots);
	for (uint64_t i = 0; i < cache->config->usable_blocks; i++)
		oracle_list_fini(&cache->blocks[i].holders);
	free(cache->blocks);
	for (size_t i = 0; i < cache->ghosts.count; i++)
		free(cache->ghosts.items[i]);
	oracle_list_fini(&cache->ghosts);
}

uint64_t oracle_cache_free(const struct oracle_cache *cache)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < cache->config->usable_blocks; i++)
		count += cache->blocks[i].holders.count == 0;
	return count;
}

uint64_t oracle_cache_cached(const struct oracle_cache *cache)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < cache->config->usable_blocks; i++)
		count += cache->blocks[i].holders.count == 0 && cache->blocks[i].content != NULL;
	return count;
}

/* --- contents ----------------------------------------------------------------------------------------------------- */

bool oracle_equal_keys(const struct oracle_key *a, const struct oracle_key *b)
{
	return strcmp(a->adapter, b->adapter) == 0 && a->salt_kind == b->salt_kind && strcmp(a->salt, b->salt) == 0 &&
	       a->request == b->request;
}

static struct oracle_content *find_root(const struct oracle_cache *cache, const struct oracle_key *key)
{
	for (size_t i = 0; i < cache->roots.count; i++) {
		struct oracle_root *root = cache->roots.items[i];

		if (oracle_equal_keys(&root->key, key))
			return &root->content;
	}
	return NULL;
}

static struct oracle_content *make_root(struct oracle_cache *cache, const struct oracle_key *key)
{
	struct oracle_root *root = kv_calloc(1, sizeof *root);

	root->key = *key;
	root->key.adapter = kv_strdup(key->adapter);
	root->key.salt = kv_strdup(key->salt);
	oracle_list_append(&cache->roots, root);
	return &root->content;
}

static bool equal_tokens(const struct oracle_token *a, const struct oracle_token *b, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (a[i].stream != b[i].stream || a[i].kind != b[i].kind || a[i].position != b[i].position)
			return false;
	return true;
}

static struct oracle_content *find_child(const struct oracle_content *parent, const struct oracle_token *tokens,
                                         uint32_t block_size)
{
	for (size_t i = 0; i < parent->children.count; i++) {
		struct oracle_content *child = parent->children.items[i];

		if (equal_tokens(child->tokens, tokens, block_size))
			return child;
	}
	return NULL;
}

static struct oracle_content *make_child(struct oracle_content *parent, const struct oracle_token *tokens,
                                         uint32_t block_size)
{
	struct oracle_content *child = kv_calloc(1, sizeof *child);

	child->parent = parent;
	child->tokens = kv_calloc(block_size, sizeof *tokens);
	memcpy(child->tokens, tokens, block_size * sizeof *tokens);
	oracle_list_append(&parent->children, child);
	return child;
}

static bool is_forgotten(const struct oracle_content *content, uint32_t groups)
{
	if (content->children.count > 0 || content->ghosts > 0)
		return false;
	for (uint32_t g = 0; g < groups; g++)
		if (content->registered[g].count > 0)
			return false;
	return true;
}

/* Frees what nothing names any more, from here up. */
static void prune(struct oracle_cache *cache, struct oracle_content *content)
{
	while (content->parent != NULL && is_forgotten(content, cache->config->groups)) {
		struct oracle_content *parent = content->parent;

		oracle_list_remove(&parent->children, content);
		free_content(content);
		free(content);
		content = parent;
	}
}

static void unregister(struct oracle_cache *cache, struct oracle_block *block)
{
	struct oracle_content *content = block->content;

	oracle_list_remove(&content->registered[block->group], block);
	block->content = NULL;
	prune(cache, content);
}

void oracle_cache_find(const struct oracle_cache *cache, const struct oracle_key *key,
                       const struct oracle_token *tokens, struct oracle_content **contents, uint64_t count)
{
	struct oracle_content *content = find_root(cache, key);
	uint64_t size = cache->config->block_size;

	for (uint64_t i = 0; i < count; i++) {
		if (content != NULL)
			content = find_child(content, tokens + i * size, size);
		contents[i] = content;
	}
}

struct oracle_block *oracle_content_block(const struct oracle_content *content, uint32_t group)
{
	return content != NULL && content->registered[group].count > 0 ? content->registered[group].items[0] : NULL;
}

static const struct kv_policy_use *eviction(const struct oracle_cache *cache)
{
	return &cache->config->policy[KV_POLICY_EVICTION];
}

void oracle_cache_register(struct oracle_cache *cache, const struct oracle_key *key, const struct oracle_token *tokens,
                           struct oracle_block *block)
{
	uint32_t size = cache->config->block_size;
	const struct kv_policy_use *use = eviction(cache);
	struct oracle_content *content = find_root(cache, key);

	if (content == NULL)
		content = make_root(cache, key);
	for (uint32_t i = 0; i <= block->depth; i++) {
		struct oracle_content *child = find_child(content, tokens + (size_t)i * size, size);

		content = child != NULL ? child : make_child(content, tokens + (size_t)i * size, size);
	}
	block->content = content;
	oracle_list_append(&content->registered[block->group], block);
	memset(block->entry, 0, sizeof block->entry);
	block->released = false;
	if (use->policy->hooks.eviction.insert != NULL)
		use->policy->hooks.eviction.insert(use->state, block->entry);
}

void oracle_cache_hit(struct oracle_cache *cache, struct oracle_block *block)
{
	const struct kv_policy_use *use = eviction(cache);

	if (use->policy->hooks.eviction.hit != NULL)
		use->policy->hooks.eviction.hit(use->state, block->entry);
}

/* --- ghosts ------------------------------------------------------------------------------------------------------- */

static void forget_ghost(struct oracle_cache *cache, size_t at)
{
	struct oracle_ghost *ghost = cache->ghosts.items[at];

	oracle_list_remove_at(&cache->ghosts, at);
	ghost->content->ghosts--;
	prune(cache, ghost->content);
	free(ghost);
}

/* 1 + the queue that the content was evicted from, which is then forgotten; 0 if it is not remembered. */
static uint32_t take_ghost(struct oracle_cache *cache, const struct oracle_content *content, uint32_t group)
{
	for (size_t i = 0; i < cache->ghosts.count; i++) {
		const struct oracle_ghost *ghost = cache->ghosts.items[i];

		if (ghost->content == content && ghost->group == group) {
			uint32_t queue = ghost->queue;

			forget_ghost(cache, i);
			return 1 + queue;
		}
	}
	return 0;
}

static void remember(struct oracle_cache *cache, const struct oracle_block *block)
{
	const struct kv_policy_use *use = eviction(cache);
	const struct kv_eviction_hooks *hooks = &use->policy->hooks.eviction;
	struct oracle_ghost *ghost;

	if (!(hooks->ghost_queues >> block->queue & 1))
		return;
	ghost = kv_calloc(1, sizeof *ghost);
	take_ghost(cache, block->content, block->group);
	*ghost = (struct oracle_ghost){block->content, block->group, block->queue};
	block->content->ghosts++;
	oracle_list_append(&cache->ghosts, ghost);
	if (cache->ghosts.count > hooks->ghost_blocks(use->state, cache->config->usable_blocks))
		forget_ghost(cache, 0);
}

static void count_ghosts(const struct oracle_cache *cache, uint64_t counts[KV_EVICTION_QUEUES])
{
	for (int q = 0; q < KV_EVICTION_QUEUES; q++)
		counts[q] = 0;
	for (size_t i = 0; i < cache->ghosts.count; i++)
		counts[((const struct oracle_ghost *)cache->ghosts.items[i])->queue]++;
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* Blank blocks that the order does not hold. */
static bool is_at_head(const struct oracle_block *block)
{
	return block->holders.count == 0 && block->release == 0;
}

static bool is_in_order(const struct oracle_block *block)
{
	return block->holders.count == 0 && block->release != 0;
}

static bool goes_before(const struct oracle_block *a, const struct oracle_block *b)
{
	if (kv_rank_less(a->rank, b->rank) || kv_rank_less(b->rank, a->rank))
		return kv_rank_less(a->rank, b->rank);
	return a->release != b->release ? a->release < b->release : a->depth > b->depth;
}

/* The first block of one queue of the order, or of the whole of it (queue < 0); NULL = none. */
static struct oracle_block *first_of(const struct oracle_cache *cache, int queue)
{
	struct oracle_block *first = NULL;

	for (uint64_t i = 0; i < cache->config->usable_blocks; i++) {
		struct oracle_block *block = &cache->blocks[i];

		if (is_in_order(block) && (queue < 0 || block->queue == (uint32_t)queue)
		    && (first == NULL || goes_before(block, first)))
			first = block;
	}
	return first;
}

static struct oracle_block *any_at_head(const struct oracle_cache *cache)
{
	for (uint64_t i = 0; i < cache->config->usable_blocks; i++)
		if (is_at_head(&cache->blocks[i]))
			return &cache->blocks[i];
	return NULL;
}

static int picked_queue(const struct oracle_cache *cache)
{
	const struct kv_policy_use *use = eviction(cache);
	uint64_t blocks[KV_EVICTION_QUEUES] = {0}, most;

	if (use->policy->hooks.eviction.pick == NULL)
		return -1;
	for (uint64_t i = 0; i < cache->config->usable_blocks; i++)
		if (is_in_order(&cache->blocks[i]))
			blocks[cache->blocks[i].queue]++;
	return (int)use->policy->hooks.eviction.pick(use->state, blocks, cache->config->usable_blocks, &most);
}

static void set_queue(const struct oracle_cache *cache, struct oracle_block *block)
{
	const struct kv_eviction_hooks *hooks = &eviction(cache)->policy->hooks.eviction;

	block->queue = hooks->queue != NULL ? hooks->queue(block->entry) : 0;
}

/* The policy may keep a block that is first, and rank it anew. */
static bool lets_go(const struct oracle_cache *cache, struct oracle_block *block)
{
	const struct kv_policy_use *use = eviction(cache);
	const struct kv_eviction_hooks *hooks = &use->policy->hooks.eviction;

	if (hooks->reach == NULL || hooks->reach(use->state, block->entry, cache->call.call, &block->rank))
		return true;
	set_queue(cache, block);
	return false;
}

/* Blank blocks at the head go first, in any order: nothing that can be seen depends on their ids. Then the order of the
 * eviction policy. */
static struct oracle_block *first_free(struct oracle_cache *cache)
{
	struct oracle_block *block = any_at_head(cache);

	while (block == NULL) {
		block = first_of(cache, picked_queue(cache));
		KV_ASSERT(block != NULL, "the oracle took a block from a full pool");
		if (!lets_go(cache, block))
			block = NULL;
	}
	return block;
}

struct oracle_block *oracle_cache_take(struct oracle_cache *cache, void *holder, uint32_t group, uint32_t depth)
{
	struct oracle_block *block = first_free(cache);

	if (block->content != NULL) {
		remember(cache, block);
		unregister(cache, block);
		cache->evicted++;
	}
	block->group = group;
	block->depth = depth;
	oracle_list_append(&block->holders, holder);
	return block;
}

void oracle_cache_touch(struct oracle_block *block, void *holder)
{
	oracle_list_append(&block->holders, holder);
}

uint64_t oracle_cache_expire(struct oracle_cache *cache, kv_time now)
{
	const struct kv_policy_use *use = eviction(cache);
	const struct kv_policy *policy = use->policy;
	uint64_t dropped = 0;

	for (unsigned q = 0; policy->hooks.eviction.due != NULL && q < kv_max(1, policy->hooks.eviction.queues); q++) {
		struct oracle_block *block;
		enum kv_due due = KV_DUE_MOVE;

		while (due != KV_DUE_NOT && (block = first_of(cache, (int)q)) != NULL) {
			due = policy->hooks.eviction.due(use->state, block->entry, now, &block->rank);
			set_queue(cache, block);
			if (due != KV_DUE_DROP)
				continue;
			if (block->content != NULL) {
				unregister(cache, block);
				dropped++;
			}
			block->release = 0;
		}
	}
	return dropped;
}

static void put_into_order(struct oracle_cache *cache, struct oracle_block *block)
{
	const struct kv_policy_use *use = eviction(cache);
	struct kv_release *call = &cache->call;

	block->release = 0;
	call->ghost = 0;
	if (block->content == NULL) {
		if (cache->config->blank_blocks_first)
			return;
		memset(block->entry, 0, sizeof block->entry);
	} else if (!block->released) {
		block->released = true;
		call->ghost = take_ghost(cache, block->content, block->group);
	}
	call->depth = block->depth;
	call->weight = 1;
	block->release = call->call;
	block->rank = use->policy->hooks.eviction.release(use->state, block->entry, call);
	set_queue(cache, block);
}

void oracle_cache_release(struct oracle_cache *cache, void *holder, struct oracle_block **blocks, uint64_t count,
                          const struct kv_release *call)
{
	uint64_t number = cache->call.call + 1;
	uint32_t cut[KV_EVICTION_CUTS];
	const struct kv_policy_use *use = eviction(cache);

	cache->call = *call;
	cache->call.call = number;
	cache->call.pool = cache->config->usable_blocks;
	cache->call.block_size = cache->config->block_size;
	count_ghosts(cache, cache->call.ghosts);
	if (use->policy->hooks.eviction.cut != NULL)
		use->policy->hooks.eviction.cut(use->state, &cache->call, cut);
	for (uint64_t i = count; i-- > 0;) {
		oracle_list_remove(&blocks[i]->holders, holder);
		if (blocks[i]->holders.count == 0)
			put_into_order(cache, blocks[i]);
	}
}
