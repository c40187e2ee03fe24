#include "config.h"

#include "sim/cache/cache.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

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
	cache->order_first = cache->order_last = KV_NONE;
	cache->usable = cache->blank = config->usable_blocks;
	kv_cache_cover_nodes(cache);
}

void kv_cache_fini(struct kv_cache *cache)
{
	kv_content_fini(&cache->content);
	free(cache->extent);
	free(cache->hold);
	free(cache->chain);
	free(cache->heap);
}
