#include "config.h"

#include "sim/engine/store_tables.h"

#include "sim/base/memory.h"
#include "sim/cache/block_table.h"

/* engine-semantics 1.5 and 1.9. */
static uint64_t need_after_hit(const struct kv_engine *engine, uint64_t tokens, const struct kv_hit *hit, bool capped)
{
	uint64_t need = hit->evictable;

	for (uint32_t g = 0; g < engine->config->groups; g++) {
		uint64_t blocks = kv_tables_blocks_for(engine, tokens);

		if (capped)
			blocks = kv_min(blocks, engine->config->admission_cap[g]);
		need += kv_sub_floor(blocks, hit->blocks);
	}
	return need;
}

uint64_t kv_tables_need(const struct kv_engine *engine, const struct kv_live *live, uint64_t tokens,
                        const struct kv_hit *hit)
{
	(void)live;
	return need_after_hit(engine, tokens, hit, true);
}

bool kv_tables_have_room(struct kv_engine *engine, uint32_t id, const struct kv_fit *fit, uint64_t watermark)
{
	(void)id;
	return need_after_hit(engine, fit->computed + fit->tokens, &fit->hit, false) + watermark
	       <= kv_cache_free_blocks(&engine->cache);
}

/* The end of the last block, in each group. */
uint64_t kv_tables_waste(const struct kv_engine *engine, const struct kv_live *live)
{
	uint64_t end = kv_store_last_block_begin(engine, live) + engine->config->block_size;

	return engine->cache.groups * (end - live->final);
}

uint64_t kv_tables_held(struct kv_engine *engine, uint32_t id)
{
	const struct kv_live *live = &engine->live[id];
	uint64_t held = 0;

	for (uint32_t g = 0; g < engine->config->groups; g++) {
		const struct kv_table *table = kv_table_of(&engine->cache, id, g);

		held += table->blocks - table->trimmed;
	}
	if (live->steady)
		held += (engine->growth_steps[live->steady_phase] - live->growth_steps) * engine->cache.groups;
	return held;
}

uint64_t kv_tables_missing(struct kv_engine *engine, uint32_t id, uint32_t tokens)
{
	uint64_t missing = 0;

	for (uint32_t g = 0; g < engine->config->groups; g++)
		missing += kv_sub_floor(kv_tables_blocks_for(engine, tokens),
		                        kv_table_of(&engine->cache, id, g)->blocks);
	return missing;
}

uint64_t kv_tables_next(struct kv_engine *engine, uint32_t id)
{
	return kv_tables_missing(engine, id, engine->live[id].computed + 1);
}

void kv_tables_tell_evicted(struct kv_engine *engine, uint32_t id, uint64_t blocks)
{
	if (blocks != 0)
		kv_engine_event(engine, KV_EVENT_EVICT, id, engine->step_start, 0, blocks, "");
}

void kv_tables_extend(struct kv_engine *engine, uint32_t id, uint32_t tokens, uint32_t added)
{
	struct kv_live *live = &engine->live[id];
	uint32_t blocks = (uint32_t)kv_tables_blocks_for(engine, tokens);

	for (uint32_t g = 0; g < engine->config->groups; g++) {
		struct kv_table *table = kv_table_of(&engine->cache, id, g);

		if (!kv_tables_windowed(engine, g))
			engine->table_blocks += blocks - table->blocks;
		table->blocks = blocks;
	}
	engine->cache.filled_slots += (uint64_t)added * engine->cache.groups;
	if (!live->waste_counted && tokens > kv_store_last_block_begin(engine, live))
		kv_store_count_waste(engine, live);
}

void kv_tables_commit(struct kv_engine *engine, uint32_t id, int sign)
{
	uint64_t blocks = kv_tables_blocks_for(engine, engine->live[id].max_total);

	for (uint32_t g = 0; g < engine->config->groups; g++) {
		if (kv_tables_windowed(engine, g))
			continue;
		engine->committed_blocks += sign > 0 ? blocks : -blocks;
		engine->table_blocks -= sign > 0 ? 0 : kv_table_of(&engine->cache, id, g)->blocks;
	}
}

struct kv_token_key kv_tables_key(const struct kv_engine *engine, const struct kv_live *live, uint32_t tokens,
                                  struct kv_segments *memory)
{
	const struct kv_content *content = &engine->cache.content;
	struct kv_token_key key = {.space = content->node[content->node[live->piece[0].node].parent].hash};

	memory->segment = kv_grow(memory->segment, &memory->capacity, live->pieces, sizeof *memory->segment);
	for (uint32_t at = 0; at < tokens; key.segments++) {
		const struct kv_piece *piece = &live->piece[key.segments];
		const struct kv_node *node = &content->node[piece->node];

		memory->segment[key.segments] = (struct kv_segment){
			.stream = node->kind == KV_STREAM_PRIVATE ? node->hash : node->stream, .kind = node->kind,
			.length = (uint32_t)kv_min(piece->end, tokens) - at
		};
		at = piece->end;
	}
	key.segment = memory->segment;
	return key;
}

void kv_tables_note_stored(struct kv_engine *engine, const struct kv_live *live, uint32_t from, uint32_t to)
{
	for (uint32_t p = 0; engine->cache.content.remembers && p < live->pieces && from < to; p++) {
		struct kv_node *node = &engine->cache.content.node[live->piece[p].node];
		uint32_t end = (uint32_t)kv_min(live->piece[p].end, to);

		if (end <= from)
			continue;
		node->stored = (uint32_t)kv_max(node->stored, end / engine->config->block_size);
		from = end;
	}
}
