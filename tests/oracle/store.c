#include "config.h"

#include "tests/oracle/internal.h"

#include "tests/oracle/tree.h"

uint64_t oracle_live_blocks(const struct oracle_table *table)
{
	uint64_t count = 0;

	for (size_t i = 0; i < table->slots.count; i++)
		count += table->slots.items[i] != NULL;
	return count;
}

uint64_t oracle_held_blocks(const struct oracle_engine *engine, const struct oracle_request *request)
{
	uint64_t count = request->chunk_blocks + request->pages;

	for (uint32_t g = 0; g < engine->config->groups; g++)
		count += oracle_live_blocks(&request->table[g]);
	return count;
}

uint64_t oracle_free_blocks(const struct oracle_engine *engine)
{
	uint64_t free = 0;

	if (oracle_has_tree(engine))
		return oracle_tree_free(engine);
	if (!oracle_is_contiguous(engine))
		return oracle_cache_free(&engine->cache);
	for (uint64_t i = 0; i < engine->buddy.blocks; i++)
		free += engine->buddy.free_size[i];
	return free;
}

uint64_t oracle_reserved_chunk(const struct oracle_engine *engine, const struct oracle_request *request)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_ALLOCATION];
	struct kv_request_view view = oracle_view_of(request, use->policy);
	uint64_t tokens = use->policy->hooks.allocation.reserve_tokens(use->state, &view,
	                                                               engine->config->max_model_len);

	return oracle_buddy_chunk(kv_ceil_div(tokens, engine->config->block_size));
}

uint64_t oracle_evictable_hits(const struct oracle_lookup *lookup, uint32_t group)
{
	uint64_t count = lookup->evictable;

	for (uint64_t i = 0; i < lookup->hit_blocks && lookup->slots[group] != NULL; i++)
		count += lookup->slots[group][i] != NULL && lookup->slots[group][i]->holders.count == 0;
	return count;
}

uint64_t oracle_admission_need(const struct oracle_engine *engine, const struct oracle_lookup *lookup, uint32_t group,
                               uint64_t required)
{
	uint64_t skipped = oracle_skipped_blocks(engine, group, lookup->hit_blocks * engine->config->block_size);

	return kv_sub_floor(required, kv_max(skipped, lookup->hit_blocks)) + oracle_evictable_hits(lookup, group);
}

/* Gives up the blocks [first, end) of a request's table. */
static void release_slots(struct oracle_engine *engine, struct oracle_request *request, uint32_t g, uint64_t first,
                          uint64_t end)
{
	struct oracle_list *slots = &request->table[g].slots;
	struct kv_release call = {
		.now = engine->now,
		.prompt_tokens = request->prompt_tokens,
		.blocks = (uint32_t)slots->count,
	};

	oracle_cache_release(&engine->cache, request, (struct oracle_block **)&slots->items[first], end - first, &call);
}

void oracle_trim(struct oracle_engine *engine, struct oracle_request *request)
{
	for (uint32_t g = 0; g < engine->config->groups; g++) {
		struct oracle_list *slots = &request->table[g].slots;
		uint64_t end = kv_min(oracle_skipped_blocks(engine, g, request->computed), slots->count);
		uint64_t first = end;

		while (first > 0 && slots->items[first - 1] != NULL)
			first--;
		if (first == end)
			continue;
		release_slots(engine, request, g, first, end);
		memset(&slots->items[first], 0, (end - first) * sizeof *slots->items);
	}
}

/* Sparse retention: windowed groups keep only the runs that end at a boundary. */
static bool stays_findable(const struct oracle_engine *engine, const struct oracle_table *table, uint32_t group,
                           uint64_t block)
{
	if (!oracle_is_windowed(engine, group) || engine->config->retention_interval == KV_RETAIN_ALL)
		return true;
	for (int i = 0; i < 2; i++)
		if (block < table->boundary[i] && block + oracle_window_blocks(engine, group) >= table->boundary[i])
			return true;
	return false;
}

static void register_full_blocks(struct oracle_engine *engine, struct oracle_request *request, uint64_t tokens)
{
	uint64_t full = tokens / engine->config->block_size;

	if (!oracle_caches(engine) || oracle_has_tree(engine))
		return;
	for (uint32_t g = 0; g < engine->config->groups; g++) {
		struct oracle_table *table = &request->table[g];

		for (; table->considered < full; table->considered++) {
			struct oracle_block *block = table->slots.items[table->considered];

			if (block != NULL && stays_findable(engine, table, g, table->considered))
				oracle_cache_register(&engine->cache, &request->key, request->tokens, block);
		}
	}
}

static void take_hits(struct oracle_engine *engine, struct oracle_request *request, const struct oracle_lookup *lookup)
{
	if (oracle_has_tree(engine)) {
		oracle_tree_keep(engine, request, lookup->hit_blocks);
		return;
	}
	for (uint32_t g = 0; g < engine->config->groups; g++) {
		struct oracle_table *table = &request->table[g];

		table->considered = lookup->hit_blocks;
		table->boundary[0] = (request->prompt_tokens - 1) / engine->config->block_size;
		table->boundary[1] = lookup->full_blocks > lookup->hit_blocks ? lookup->full_blocks : 0;
		for (uint64_t i = 0; i < lookup->hit_blocks; i++) {
			struct oracle_block *block = lookup->slots[g][i];

			oracle_list_append(&table->slots, block);
			if (block == NULL)
				continue;
			oracle_cache_touch(block, request);
			oracle_cache_hit(&engine->cache, block);
		}
	}
}

static void append_blocks(struct oracle_engine *engine, struct oracle_request *request, uint64_t tokens)
{
	uint64_t required = kv_ceil_div(tokens, engine->config->block_size);
	uint64_t evicted = engine->cache.evicted;

	if (oracle_has_tree(engine))
		engine->cache.evicted += oracle_tree_take(engine, request, required);
	for (uint32_t g = 0; g < engine->config->groups && !oracle_has_tree(engine); g++) {
		struct oracle_list *slots = &request->table[g].slots;

		for (uint32_t place = (uint32_t)slots->count; place < required; place++)
			oracle_list_append(slots, oracle_cache_take(&engine->cache, request, g, place));
	}
	evicted = engine->cache.evicted - evicted;
	if (evicted > 0)
		oracle_emit(engine, KV_EVENT_EVICT, request, 0, evicted, "");
}

uint64_t oracle_missing_blocks(const struct oracle_engine *engine, const struct oracle_request *request,
                               uint64_t total)
{
	uint64_t missing = 0;

	for (uint32_t g = 0; g < engine->config->groups; g++)
		missing += kv_sub_floor(kv_ceil_div(total, engine->config->block_size),
		                        request->table[g].slots.count + request->pages);
	return missing;
}

bool oracle_grow(struct oracle_engine *engine, struct oracle_request *request, uint64_t tokens)
{
	uint64_t total = request->computed + tokens;
	uint64_t need;

	if (oracle_is_contiguous(engine))
		return true;
	oracle_trim(engine, request);
	need = oracle_missing_blocks(engine, request, total);
	if (need > 0 && need > oracle_free_blocks(engine))
		return false;
	append_blocks(engine, request, total);
	register_full_blocks(engine, request, kv_min(total, oracle_known_tokens(request)));
	return true;
}

bool oracle_has_room(const struct oracle_engine *engine, const struct oracle_request *request,
                     const struct oracle_lookup *lookup, uint64_t total, uint64_t watermark)
{
	uint64_t need = 0;

	if (oracle_is_contiguous(engine)) {
		need = oracle_reserved_chunk(engine, request);
		return need + watermark <= oracle_free_blocks(engine) && oracle_buddy_has(&engine->buddy, need);
	}
	for (uint32_t g = 0; g < engine->config->groups; g++)
		need += oracle_admission_need(engine, lookup, g, kv_ceil_div(total, engine->config->block_size));
	return need + watermark <= oracle_free_blocks(engine);
}

void oracle_take_room(struct oracle_engine *engine, struct oracle_request *request, const struct oracle_lookup *lookup,
                      uint64_t total)
{
	if (oracle_is_contiguous(engine)) {
		request->chunk_blocks = oracle_reserved_chunk(engine, request);
		oracle_buddy_take(&engine->buddy, request->chunk_blocks, &request->chunk_address);
		return;
	}
	take_hits(engine, request, lookup);
	append_blocks(engine, request, total);
	register_full_blocks(engine, request, kv_min(total, oracle_known_tokens(request)));
}

void oracle_free_request(struct oracle_engine *engine, struct oracle_request *request, bool ended)
{
	oracle_tree_release(engine, request, ended);
	if (request->chunk_blocks > 0)
		oracle_buddy_give(&engine->buddy, request->chunk_address, request->chunk_blocks);
	request->chunk_blocks = 0;
	for (uint32_t g = 0; g < engine->config->groups; g++) {
		struct oracle_list *slots = &request->table[g].slots;
		size_t first = slots->count;

		/* Slots that fell out of the window are the leading ones. */
		while (first > 0 && slots->items[first - 1] != NULL)
			first--;
		if (first < slots->count)
			release_slots(engine, request, g, first, slots->count);
		oracle_list_fini(slots);
	}
}
