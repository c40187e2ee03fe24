/* The second half of a step: the waiting queue from its head, until something stops it (vLLM, engine-semantics 1.6). */
#include "config.h"

#include "sim/engine/waiting_pass.h"

#include "sim/engine/live.h"
#include "sim/engine/reorder.h"
#include "sim/engine/running_list.h"
#include "sim/engine/running_pass.h"
#include "sim/engine/store.h"
#include "sim/engine/swap.h"

static void count_lookup(struct kv_engine *engine, struct kv_live *live, uint32_t hit_tokens, bool first)
{
	struct kv_state *state = &engine->state;

	if (!engine->caching)
		return;
	if (first) {
		state->queried_tokens += live->prompt;
		state->hit_tokens += hit_tokens;
	} else {
		state->readmission_queried_tokens += live->prompt + live->generated;
		state->readmission_hit_tokens += hit_tokens;
	}
}

static void tell_misses(struct kv_engine *engine, struct kv_live *live, const struct kv_fit *fit)
{
	struct kv_path path = kv_live_path(live);
	struct kv_miss miss = {
		.request = live->index, .request_id = live->id[0] == '\0' ? NULL : live->id,
		.prompt_tokens = live->prompt,
		.hit_tokens = fit->hit_tokens
	};

	kv_misses_explain(&engine->misses, &engine->cache, engine->config, &path, &fit->hit, &miss);
	live->miss_reason = kv_miss_main_reason(&miss);
	engine->sink->miss(engine->sink->self, &miss);
}

static void note_queue_end(struct kv_engine *engine, struct kv_live *live)
{
	kv_engine_settle_waiting(engine);
	for (int i = 0; i < KV_WAIT_RESOURCES; i++)
		live->queue_for[i] = engine->reason_time[i] - live->queue_for[i];
}

static void note_time_away(const struct kv_engine *engine, struct kv_live *live)
{
	kv_time away = engine->step_start - live->preempted_at;

	live->preempted += away;
	if (live->first_token == KV_TIME_NONE)
		live->preempted_before_first += away;
	if (live->swapped_tokens > 0)
		live->swapped += away;
	live->preempted_at = KV_TIME_NONE;
}

enum admission { FIRST, RESUME, SWAP_IN };

static enum admission admission_of(const struct kv_live *live)
{
	if (live->preempted_at == KV_TIME_NONE)
		return FIRST;
	return live->swapped_tokens > 0 ? SWAP_IN : RESUME;
}

static void note_admitted(struct kv_engine *engine, struct kv_live *live, uint32_t hit_tokens, enum admission admission)
{
	if (admission != SWAP_IN)
		count_lookup(engine, live, hit_tokens, admission == FIRST);
	if (admission == FIRST) {
		note_queue_end(engine, live);
		live->admitted = engine->step_start;
		live->hit_tokens = hit_tokens;
		return;
	}
	note_time_away(engine, live);
	live->resuming |= admission == RESUME;
}

static void admit(struct kv_engine *engine, uint32_t id, const struct kv_fit *fit)
{
	static const char *const details[] = {[FIRST] = "first", [RESUME] = "resume", [SWAP_IN] = "swap_in"};
	struct kv_live *live = &engine->live[id];
	enum admission admission = admission_of(live);

	kv_heap_pop(&engine->waiting);
	engine->waiting_tokens -= live->prompt + live->generated;
	if (engine->caching && engine->sink->miss != NULL && admission == FIRST)
		tell_misses(engine, live, fit);
	engine->store->take(engine, id, fit);
	note_admitted(engine, live, fit->hit_tokens, admission);
	kv_running_append(engine, id);
	live->admission_step = engine->steps_begun;
	engine->fresh++;
	kv_engine_note_scheduled(engine, id, fit->tokens);
	kv_engine_event(engine, KV_EVENT_ADMIT, id, engine->step_start, fit->computed, engine->store->held(engine, id),
	                details[admission]);
	if (admission == SWAP_IN)
		kv_swap_in(engine, id, (uint64_t)fit->hit.blocks * engine->config->groups);
	kv_live_note(engine, id, KV_ADMITTED);
}

void kv_engine_settle_waiting(struct kv_engine *engine)
{
	engine->reason_time[engine->waiting_reason] += engine->cache.now - engine->reason_since;
	engine->reason_since = engine->cache.now;
}

/* Everybody waits for slots or tokens; for blocks the head does, and the rest behind it. */
void kv_engine_set_waiting(struct kv_engine *engine, enum kv_waiting_reason reason)
{
	uint64_t *waiting = engine->state.waiting;
	uint64_t count = kv_engine_waiting(engine);

	kv_engine_settle_waiting(engine);
	engine->waiting_reason = reason;
	waiting[KV_WAIT_BLOCKS] = waiting[KV_WAIT_SEQUENCE_SLOTS] = 0;
	waiting[KV_WAIT_TOKEN_BUDGET] = waiting[KV_WAIT_HEAD_OF_LINE] = 0;
	if (count == 0)
		return;
	if (reason == KV_WAIT_BLOCKS)
		waiting[KV_WAIT_HEAD_OF_LINE] = count - 1;
	waiting[reason] = reason == KV_WAIT_BLOCKS ? 1 : count;
}

uint32_t kv_engine_head(struct kv_engine *engine)
{
	uint32_t id;

	while (id = kv_heap_peek(&engine->waiting)->payload, engine->live[id].shell) {
		kv_heap_pop(&engine->waiting);
		engine->waiting_shells--;
		kv_live_free_shell(engine, id);
	}
	return id;
}

/* --- the queue ---------------------------------------------------------------------------------------------------- */

/* Beside others in a step of prompts, however little of it is computed now (SGLang's max_prefill_tokens). */
static bool is_too_long_to_join(const struct kv_engine *engine, uint32_t uncomputed)
{
	return !engine->decoding && engine->scheduled_count > 0 && uncomputed >= engine->prefill_left;
}

/* Admits from the head of the queue until something stops it; says what. *evictable = evictable blocks among the hits
 * of a head that does not fit. */
static enum kv_waiting_reason admit_waiting(struct kv_engine *engine, uint64_t *evictable)
{
	enum kv_reorder order = engine->config->policy[KV_POLICY_SCHEDULING].policy->hooks.scheduling.reorder;

	*evictable = 0;
	while (kv_engine_waiting(engine) > 0) {
		uint32_t id, uncomputed;
		struct kv_live *live;
		struct kv_fit fit;

		if (engine->running_count >= engine->config->max_num_seqs)
			return KV_WAIT_SEQUENCE_SLOTS;
		if (engine->budget == 0)
			return KV_WAIT_TOKEN_BUDGET;
		if (order != KV_REORDER_NEVER && (engine->fresh == 0 || order == KV_REORDER_ADMISSION))
			kv_engine_reorder(engine);
		id = kv_engine_head(engine);
		live = &engine->live[id];
		kv_store_consider(engine, id, &fit);
		uncomputed = live->prompt + live->generated - fit.computed;
		fit.tokens = kv_engine_tokens_wanted(engine, uncomputed);
		if (!engine->config->enable_chunked_prefill && fit.tokens > engine->budget)
			return KV_WAIT_TOKEN_BUDGET;
		fit.tokens = (uint32_t)kv_min(fit.tokens, engine->budget);
		if (!kv_store_fits(engine, id, &fit)) {
			*evictable = fit.hit.evictable;
			return KV_WAIT_BLOCKS;
		}
		if (is_too_long_to_join(engine, uncomputed))
			return KV_WAIT_TOKEN_BUDGET;
		admit(engine, id, &fit);
	}
	return KV_WAIT_BLOCKS;
}

/* A head that lacks blocks or a slot goes on lacking it while running requests only grow, unless that evicts what it
 * would have hit: then its need, or why it waits, may change. */
static bool head_is_blocked(const struct kv_engine *engine)
{
	return engine->head_blocked && (!engine->head_may_lose || engine->head_evicted == engine->cache.evicted);
}

void kv_engine_try_waiting(struct kv_engine *engine)
{
	uint64_t evictable;
	enum kv_waiting_reason reason;

	if (engine->full) {
		kv_engine_set_waiting(engine, engine->full_reason);
		return;
	}
	if (head_is_blocked(engine))
		return;
	reason = admit_waiting(engine, &evictable);
	kv_engine_set_waiting(engine, reason);
	engine->full = !engine->decoding && reason != KV_WAIT_TOKEN_BUDGET && engine->running_count > 0 &&
	               kv_engine_waiting(engine) > 0;
	engine->full_reason = reason;
	engine->head_blocked = reason != KV_WAIT_TOKEN_BUDGET && !engine->verdicts_change;
	engine->head_may_lose = evictable > 0;
	engine->head_evicted = engine->cache.evicted;
}
