/* The exhaustive check (--check): what the fast path keeps in sums, counted again one by one. */
#include "config.h"

#include "sim/cache/cache_count.h"
#include "sim/engine/engine.h"
#include "sim/engine/store.h"
#include "sim/engine/swap.h"

#include <inttypes.h>

void kv_engine_check(struct kv_engine *engine)
{
	struct kv_cache *cache = &engine->cache;
	struct kv_cache_count count = {0};
	uint64_t blank = 0;
	uint64_t charged = 0;
	uint32_t running = 0;

	engine->store->count(engine, &count);
	for (uint32_t i = 0; i < engine->running_length; i++) {
		uint32_t id = engine->running[i];
		const struct kv_live *live = &engine->live[id];

		if (id == KV_NONE)
			continue;
		blank += engine->store->unregistered(engine, id);
		charged += cache->charge[id].blocks;
		if (live->steady && !engine->store->whole)
			charged += (engine->growth_steps[live->steady_phase] - live->growth_steps) * cache->groups;
		KV_ASSERT(live->place == i, "place of request %" PRIu64, live->index);
		running++;
	}
	KV_ASSERT(running == engine->running_count, "%u requests run, counted %u", engine->running_count, running);
	KV_ASSERT(cache->pinned == count.held + blank, "%" PRIu64 " pinned blocks, counted %" PRIu64 " + %" PRIu64,
	          cache->pinned, count.held, blank);
	KV_ASSERT(cache->cached == count.cached && cache->blank_ordered == count.blank_ordered,
	          "%" PRIu64 " cached blocks, counted %" PRIu64, cache->cached, count.cached);
	kv_swap_check(engine);
	KV_ASSERT(charged == cache->pinned, "%" PRIu64 " blocks charged, %" PRIu64 " pinned", charged, cache->pinned);
}
