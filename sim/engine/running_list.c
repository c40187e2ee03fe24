/* Running requests in order of admission. Requests leave from anywhere in the list; closing the gaps only now and then
 * makes that cheap and lets each request know its place. */
#include "config.h"

#include "sim/engine/running_list.h"

#include "sim/base/memory.h"

void kv_running_append(struct kv_engine *engine, uint32_t id)
{
	uint32_t at = engine->running_length++;

	engine->running = kv_grow(engine->running, &engine->running_capacity, engine->running_length,
	                          sizeof *engine->running);
	engine->phase = kv_grow(engine->phase, &engine->phase_capacity, engine->running_length, sizeof *engine->phase);
	engine->running[at] = id;
	engine->phase[at] = KV_PHASE_SPECIAL;
	engine->live[id].place = at;
	engine->running_count++;
}

void kv_running_remove(struct kv_engine *engine, uint32_t at)
{
	engine->live[engine->running[at]].place = KV_NONE;
	engine->running[at] = KV_NONE;
	engine->phase[at] = KV_PHASE_GAP;
	engine->running_count--;
	engine->full = false;
	while (engine->running_length > 0 && engine->running[engine->running_length - 1] == KV_NONE)
		engine->running_length--;
}

void kv_running_compact(struct kv_engine *engine)
{
	uint32_t to = 0;

	if (engine->running_length <= 2 * engine->running_count + 16)
		return;
	for (uint32_t at = 0; at < engine->running_length; at++) {
		if (engine->running[at] == KV_NONE)
			continue;
		engine->running[to] = engine->running[at];
		engine->phase[to] = engine->phase[at];
		engine->live[engine->running[to]].place = to;
		to++;
	}
	engine->running_length = to;
}
