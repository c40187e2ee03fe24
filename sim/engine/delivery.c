/* The end of a step: tokens are delivered, finished requests give up their blocks in running order. */
#include "config.h"

#include "sim/engine/engine.h"

#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/engine/live.h"
#include "sim/engine/running_list.h"
#include "sim/engine/steady.h"
#include "sim/engine/store.h"

static void add_ended(struct kv_engine *engine, uint32_t id)
{
	engine->ended = kv_grow(engine->ended, &engine->ended_capacity, engine->ended_count + 1, sizeof *engine->ended);
	engine->ended[engine->ended_count++] = id;
}

static void settle_computed(struct kv_engine *engine, struct kv_live *live, kv_time now)
{
	uint32_t end = live->computed + live->scheduled;
	uint32_t again = (uint32_t)kv_sub_floor(kv_min(end, live->high_water), live->computed);

	live->part = end < live->prompt + live->generated ? KV_PART_CHUNK : KV_PART_LAST;
	if (kv_live_decodes(live))
		live->part = KV_PART_NONE;
	live->recomputed_tokens += again;
	if (live->generated == 0) {
		live->computed_tokens += live->scheduled - again;
		live->prefill_own += (kv_time)((kv_integral)(now - engine->step_start) * live->scheduled /
		                               engine->step_tokens);
	}
	live->computed = end;
	live->scheduled = 0;
	live->high_water = (uint32_t)kv_max(live->high_water, end);
}

/* The token of a request that has caught up; false if it wants none. */
static bool emit_token(struct kv_engine *engine, struct kv_live *live, kv_time now)
{
	live->resuming = false;
	if (live->target == 0)
		return false;
	if (live->generated++ == 0)
		live->first_token = now;
	else if (engine->sink->token_gap != NULL)
		engine->sink->token_gap(engine->sink->self, now - live->last_token, 1);
	live->last_token = now;
	return true;
}

static bool is_complete(const struct kv_live *live)
{
	return live->steady || (live->generated == live->target && live->computed >= live->prompt);
}

/* What a special request computed; true if it emitted a token. */
static bool settle_special(struct kv_engine *engine, uint32_t id, kv_time now)
{
	struct kv_live *live = &engine->live[id];
	bool emitted = false;

	settle_computed(engine, live, now);
	if (live->given_up)
		return false;
	if (live->computed == live->prompt + live->generated)
		emitted = emit_token(engine, live, now);
	if (is_complete(live) || (emitted && live->generated == 1)
	    || (engine->store->delivered != NULL && live->part != KV_PART_NONE))
		add_ended(engine, id);
	return emitted;
}

static bool can_be_steady(const struct kv_engine *engine, const struct kv_live *live)
{
	return !engine->windowed && !engine->store->looks_at_each && !live->eager && !live->resuming &&
	       live->generated > 0 && live->generated < live->target &&
	       live->computed + 1 == live->prompt + live->generated;
}

static void finish(struct kv_engine *engine, uint32_t id, kv_time now)
{
	struct kv_live *live = &engine->live[id];
	uint32_t at = live->place;
	uint64_t held = 0;

	if (live->steady)
		kv_steady_leave(engine, at, false);
	live->last_token = now;
	if (engine->sink->event != NULL)
		held = engine->store->held(engine, id);
	kv_engine_event(engine, KV_EVENT_FINISH, id, now, live->generated, held,
	                live->length_limited ? "length" : "stop");
	kv_live_note(engine, id, KV_COMPLETED);
	engine->store->release(engine, id, true);
	kv_running_remove(engine, at);
	engine->state.finishes++;
	engine->head_blocked = false;
	kv_live_record(engine, id, KV_FINISHED, live->length_limited ? KV_REASON_LENGTH : KV_REASON_STOP, now);
	engine->fate(engine->fate_context, id, true);
}

void kv_engine_give_up(struct kv_engine *engine, uint32_t id, enum kv_reason reason)
{
	engine->live[id].given_up = true;
	engine->live[id].give_up_reason = reason;
	add_ended(engine, id);
}

/* Running order. qsort has no context argument, so entries carry their place. */
struct ended_entry {
	uint32_t place;
	uint32_t id;
};

static int compare_ended(const void *a, const void *b)
{
	const struct ended_entry *x = a;
	const struct ended_entry *y = b;

	return (x->place > y->place) - (x->place < y->place);
}

static void sort_ended(struct kv_engine *engine)
{
	struct ended_entry entry[64];
	struct ended_entry *all = entry;
	uint32_t in_order = 1;

	while (in_order < engine->ended_count && engine->live[engine->ended[in_order - 1]].place
	                                         < engine->live[engine->ended[in_order]].place)
		in_order++;
	if (in_order >= engine->ended_count)
		return;
	if (engine->ended_count > 64)
		all = kv_calloc(engine->ended_count, sizeof *all);
	for (uint32_t i = 0; i < engine->ended_count; i++)
		all[i] = (struct ended_entry){engine->live[engine->ended[i]].place, engine->ended[i]};
	qsort(all, engine->ended_count, sizeof *all, compare_ended);
	for (uint32_t i = 0; i < engine->ended_count; i++)
		engine->ended[i] = all[i].id;
	if (all != entry)
		free(all);
}

static void tell_step(struct kv_engine *engine, kv_time now, uint64_t output_tokens)
{
	struct kv_step step = {
		.number = engine->steps_begun, .start = kv_engine_told_time(engine, engine->step_start),
		.end = kv_engine_told_time(engine, now), .scheduled_tokens = engine->step_tokens,
		.prefill_tokens = engine->step_prefill_tokens, .output_tokens = output_tokens,
		.pinned_blocks = engine->state.pinned_blocks, .cached_blocks = engine->state.cached_blocks,
		.evicted_blocks = engine->state.evicted_blocks, .running = engine->state.running
	};

	if (engine->sink->step != NULL)
		engine->sink->step(engine->sink->self, &step);
}

/* What the step computed of a prompt may be shared now. */
static void share_part(struct kv_engine *engine, uint32_t id)
{
	if (engine->store->delivered == NULL || engine->live[id].part == KV_PART_NONE)
		return;
	engine->store->delivered(engine, id, engine->live[id].part == KV_PART_LAST);
	engine->head_blocked = false;
}

static void settle_requests(struct kv_engine *engine, kv_time now)
{
	for (uint32_t i = 0; i < engine->ended_count; i++) {
		uint32_t id = engine->ended[i];
		struct kv_live *live = &engine->live[id];

		if (live->given_up) {
			kv_live_drop(engine, id, live->give_up_reason, now);
			engine->fate(engine->fate_context, id, false);
			continue;
		}
		if (!live->steady && live->first_token == now && live->generated == 1)
			kv_engine_event(engine, KV_EVENT_FIRST_TOKEN, id, now, 0, 0, "");
		if (is_complete(live))
			finish(engine, id, now);
		else
			share_part(engine, id);
	}
}

/* Special requests that decode from now on. */
static void enter_steady(struct kv_engine *engine)
{
	for (uint32_t i = 0; i < engine->scheduled_count; i++) {
		const struct kv_live *live = &engine->live[engine->scheduled[i]];

		if (live->place != KV_NONE && !live->steady && can_be_steady(engine, live))
			kv_steady_enter(engine, live->place);
	}
}

void kv_engine_deliver(struct kv_engine *engine, kv_time now)
{
	uint64_t emitted = engine->decoding ? engine->steady_count : 0;

	engine->cache.now = now;
	if (engine->decoding)
		kv_steady_deliver(engine, now);
	for (uint32_t i = 0; i < engine->scheduled_count; i++)
		if (engine->live[engine->scheduled[i]].scheduled > 0)
			emitted += settle_special(engine, engine->scheduled[i], now);
	engine->tokens_emitted += emitted;
	engine->busy += now - engine->step_start;
	engine->state.swap.ns += (uint64_t)kv_swap_time(&engine->config->swap, engine->copied_blocks);
	engine->state.steps += engine->step_tokens > 0;
	engine->state.prefill_tokens += engine->step_prefill_tokens;
	engine->state.decode_tokens += engine->step_tokens - engine->step_prefill_tokens;
	tell_step(engine, now, emitted);
	sort_ended(engine);
	settle_requests(engine, now);
	if (engine->decoding)
		engine->last_delivery = now;
	enter_steady(engine);
	engine->steps_begun++;
	kv_engine_update_levels(engine);
}
