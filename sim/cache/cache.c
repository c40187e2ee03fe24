#include "config.h"

#include "sim/cache/cache.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/cache/extent.h"

static void init_order(struct kv_cache *cache, uint64_t pool)
{
	const struct kv_eviction_hooks *hooks = &cache->eviction->hooks.eviction;

	cache->queues = hooks->queues > 0 ? hooks->queues : 1;
	for (unsigned q = 0; q < cache->queues; q++)
		cache->order[q].first = cache->order[q].last = KV_NONE;
	cache->remembers = hooks->ghost_queues != 0;
	if (cache->remembers)
		kv_ghosts_init(&cache->ghosts, hooks->ghost_blocks(cache->eviction_state, pool));
	cache->release = (struct kv_release){.pool = pool, .block_size = cache->block_size};
}

void kv_cache_init(struct kv_cache *cache, const struct kv_engine_config *config)
{
	memset(cache, 0, sizeof *cache);
	kv_content_init(&cache->content);
	cache->block_size = config->block_size;
	cache->groups = config->groups;
	cache->eviction = config->policy[KV_POLICY_EVICTION].policy;
	cache->eviction_state = config->policy[KV_POLICY_EVICTION].state;
	cache->blank_first = config->blank_blocks_first;
	cache->free_extent = cache->free_hold = KV_NONE;
	init_order(cache, config->usable_blocks);
	cache->usable = cache->blank = config->usable_blocks;
	kv_cache_cover_nodes(cache);
}

void kv_cache_fini(struct kv_cache *cache)
{
	kv_content_fini(&cache->content);
	free(cache->extent);
	free(cache->hold);
	free(cache->chain);
	for (unsigned q = 0; q < cache->queues; q++)
		free(cache->order[q].heap);
	if (cache->remembers)
		kv_ghosts_fini(&cache->ghosts);
}
