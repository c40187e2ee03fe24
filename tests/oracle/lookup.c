#include "config.h"

#include "tests/oracle/internal.h"

#include "tests/oracle/tree.h"

static bool share_a_type(const struct oracle_engine *engine, uint32_t a, uint32_t b)
{
	if (oracle_is_windowed(engine, a) != oracle_is_windowed(engine, b))
		return false;
	return !oracle_is_windowed(engine, a) || engine->config->group[a].window == engine->config->group[b].window;
}

/* Groups of one type hit only where all of them hold the block. */
static bool type_holds(const struct oracle_engine *engine, uint32_t type, const struct oracle_content *content)
{
	for (uint32_t g = 0; g < engine->config->groups; g++)
		if (share_a_type(engine, type, g) && oracle_content_block(content, g) == NULL)
			return false;
	return true;
}

static uint64_t longest_run_from_start(const struct oracle_engine *engine, uint32_t type,
                                       struct oracle_content **contents, uint64_t limit)
{
	uint64_t blocks = 0;

	while (blocks < limit && type_holds(engine, type, contents[blocks]))
		blocks++;
	return blocks;
}

static uint64_t longest_window_hit(const struct oracle_engine *engine, uint32_t type, struct oracle_content **contents,
                                   uint64_t limit)
{
	uint64_t run = 0;

	for (uint64_t i = limit; i-- > 0;) {
		run = type_holds(engine, type, contents[i]) ? run + 1 : 0;
		if (run > 0 && run >= oracle_window_blocks(engine, type))
			return i + run;
	}
	return run;
}

static uint64_t longest_hit(const struct oracle_engine *engine, uint32_t type, struct oracle_content **contents,
                            uint64_t limit)
{
	return oracle_is_windowed(engine, type) ? longest_window_hit(engine, type, contents, limit) :
	                                          longest_run_from_start(engine, type, contents, limit);
}

static uint64_t hit_of_full_groups(const struct oracle_engine *engine, struct oracle_content **contents, uint64_t limit)
{
	for (uint32_t g = 0; g < engine->config->groups; g++)
		if (!oracle_is_windowed(engine, g))
			return longest_run_from_start(engine, g, contents, limit);
	return 0;
}

/* The length that every type accepts: shortened until nobody objects. */
static uint64_t hit_of_all_groups(const struct oracle_engine *engine, struct oracle_content **contents, uint64_t limit)
{
	uint64_t blocks, before;

	blocks = limit;
	do {
		before = blocks;
		for (uint32_t g = 0; g < engine->config->groups; g++)
			blocks = longest_hit(engine, g, contents, blocks);
	} while (blocks < before);
	return blocks;
}

void oracle_look_up(const struct oracle_engine *engine, const struct oracle_request *request,
                    struct oracle_lookup *lookup)
{
	/* The last known token is always computed; a request that is swapped out asks only for what it has. */
	uint64_t tokens = request->swapped_tokens > 0 ? request->swapped_tokens : oracle_known_tokens(request) - 1;
	uint64_t limit = tokens / engine->config->block_size;
	struct oracle_content **contents;

	*lookup = (struct oracle_lookup){0};
	if (oracle_has_tree(engine)) {
		struct oracle_tree_hit hit = oracle_tree_peek(engine, request);

		lookup->hit_tokens = hit.tokens;
		lookup->hit_blocks = hit.pages;
		lookup->evictable = hit.evictable;
		return;
	}
	contents = kv_calloc(limit, sizeof(struct oracle_content *));
	if (oracle_caches(engine)) {
		oracle_cache_find(&engine->cache, &request->key, request->tokens, contents, limit);
		lookup->full_blocks = hit_of_full_groups(engine, contents, limit);
		lookup->hit_blocks = hit_of_all_groups(engine, contents, limit);
	}
	lookup->hit_tokens = lookup->hit_blocks * engine->config->block_size;
	for (uint32_t g = 0; g < engine->config->groups; g++) {
		uint64_t skipped = oracle_skipped_blocks(engine, g, lookup->hit_blocks * engine->config->block_size);

		lookup->slots[g] = kv_calloc(lookup->hit_blocks, sizeof(struct oracle_block *));
		for (uint64_t i = skipped; i < lookup->hit_blocks; i++)
			lookup->slots[g][i] = oracle_content_block(contents[i], g);
	}
	free(contents);
}

void oracle_lookup_fini(struct oracle_lookup *lookup)
{
	for (int g = 0; g < KV_MAX_GROUPS; g++)
		free(lookup->slots[g]);
}
