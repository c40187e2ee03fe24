/* Running requests in list order, and who is sent away when blocks run out (vLLM, engine-semantics 1.6 and 1.7; SGLang,
 * 2.5). */
#include "config.h"

#include "sim/engine/running_pass.h"

#include "sim/base/memory.h"
#include "sim/engine/live.h"
#include "sim/engine/running_list.h"
#include "sim/engine/steady.h"
#include "sim/engine/store.h"
#include "sim/engine/swap.h"

/* --- preemption --------------------------------------------------------------------------------------------------- */

/* Largest rank loses, then the larger index; without ranks the latest admitted. */
static uint32_t choose_victim(struct kv_engine *engine)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_PREEMPTION];
	const struct kv_preemption_hooks *hooks = &use->policy->hooks.preemption;
	uint32_t victim = engine->running_length - 1;
	struct kv_rank worst = {0, 0};

	if (hooks->victim_rank == NULL)
		return victim;
	for (uint32_t at = engine->running_length; at-- > 0;) {
		const struct kv_live *live;
		struct kv_request_view view;
		struct kv_rank rank;

		if (engine->phase[at] == KV_PHASE_GAP)
			continue;
		live = &engine->live[engine->running[at]];
		kv_live_view(engine, live, KV_POLICY_PREEMPTION, &view);
		rank = hooks->victim_rank(use->state, &view);
		if (at == engine->running_length - 1 || kv_rank_less(worst, rank)
		    || (!kv_rank_less(rank, worst) && live->index > engine->live[engine->running[victim]].index)) {
			victim = at;
			worst = rank;
		}
	}
	return victim;
}

/* A request that has the engine to itself and still lacks blocks goes round in circles if nobody got a token since that
 * last happened to it. */
static void watch_livelock(struct kv_engine *engine, uint32_t id)
{
	if (engine->live[id].lone_preemption_tokens == engine->tokens_emitted + 1)
		engine->livelocked = id;
	engine->live[id].lone_preemption_tokens = engine->tokens_emitted + 1;
}

/* Takes everything from the running request at `at`; `ticked`: it is steady and had its turn in this step. */
static void preempt(struct kv_engine *engine, uint32_t at, bool ticked)
{
	uint32_t id = engine->running[at];
	struct kv_live *live = &engine->live[id];
	bool host_full;

	if (live->steady)
		kv_steady_leave(engine, at, ticked);
	engine->budget += ticked + kv_engine_charge(engine, live->scheduled);
	live->scheduled += ticked;
	host_full = engine->swaps && !kv_swap_has_room(engine, live);
	kv_engine_event(engine, KV_EVENT_PREEMPT, id, engine->step_start, live->computed,
	                engine->store->held(engine, id), host_full ? "host_full" : "");
	kv_live_note(engine, id, KV_PREEMPTED);
	engine->state.swap.host_full += host_full;
	if (engine->swaps && !host_full)
		kv_swap_out(engine, id);
	engine->store->release(engine, id, false);
	kv_running_remove(engine, at);
	live->computed = live->scheduled = 0;
	live->generated_before = live->generated;
	live->preemptions++;
	live->preempted_at = engine->step_start;
	engine->state.preemptions++;
	engine->preempted_in_step = true;
	kv_live_requeue(engine, id);
}

/* --- running requests --------------------------------------------------------------------------------------------- */

uint32_t kv_engine_tokens_wanted(const struct kv_engine *engine, uint32_t uncomputed)
{
	uint32_t threshold = engine->config->long_prefill_token_threshold;

	return threshold != 0 && uncomputed > threshold ? threshold : uncomputed;
}

uint64_t kv_engine_charge(const struct kv_engine *engine, uint64_t tokens)
{
	uint64_t block = engine->config->block_size;

	return engine->decoding ? tokens : kv_ceil_div(tokens, block) * block;
}

void kv_engine_note_scheduled(struct kv_engine *engine, uint32_t id, uint32_t tokens)
{
	struct kv_live *live = &engine->live[id];

	live->scheduled = tokens;
	engine->budget -= kv_engine_charge(engine, tokens);
	engine->prefill_left = kv_sub_floor(engine->prefill_left, kv_engine_charge(engine, tokens));
	engine->scheduled = kv_grow(engine->scheduled, &engine->scheduled_capacity, engine->scheduled_count + 1,
	                            sizeof *engine->scheduled);
	engine->scheduled[engine->scheduled_count++] = id;
}

/* Blocks for the next token of a steady request whose last block is full: charged when it leaves. */
static bool grow_steady(struct kv_engine *engine, uint32_t id)
{
	struct kv_cache *cache = &engine->cache;
	uint64_t evicted;

	if (cache->groups > kv_cache_free_blocks(cache))
		return false;
	evicted = engine->store->consume(engine, cache->groups);
	engine->table_blocks += cache->groups;
	if (evicted != 0)
		kv_engine_event(engine, KV_EVENT_EVICT, id, engine->step_start, 0, evicted, "");
	return true;
}

/* Gives the request at `at` its tokens. False: it preempted itself. */
static bool schedule_running(struct kv_engine *engine, uint32_t at)
{
	uint32_t id = engine->running[at];
	struct kv_live *live = &engine->live[id];
	bool steady = live->steady;
	uint32_t tokens = steady ? 1 : kv_engine_tokens_wanted(engine, live->prompt + live->generated - live->computed);

	tokens = (uint32_t)kv_min(tokens, engine->budget);
	while (!(steady ? grow_steady(engine, id) : engine->store->grow(engine, id, tokens))) {
		uint32_t victim = choose_victim(engine);
		bool alone = engine->running_count == 1;

		preempt(engine, victim,
		        engine->decoding && victim < at && engine->live[engine->running[victim]].steady);
		if (victim == at) {
			if (alone)
				watch_livelock(engine, id);
			return false;
		}
	}
	if (steady)
		engine->budget--;
	else
		kv_engine_note_scheduled(engine, id, tokens);
	return true;
}

/* Steady requests from `at` on get no token in this step. */
static void leave_behind(struct kv_engine *engine, uint32_t at)
{
	for (; at < engine->running_length; at++)
		if (engine->phase[at] < KV_PHASE_GAP)
			kv_steady_leave(engine, at, false);
}

/* Where the special requests begin if all of them stand behind the steady ones, else 0. */
static uint32_t special_tail(const struct kv_engine *engine)
{
	uint32_t special = engine->running_count - engine->steady_count;
	uint32_t at = engine->running_length;

	for (; special > 0; at--) {
		if (engine->phase[at - 1] < KV_PHASE_GAP)
			return 0;
		special -= engine->phase[at - 1] == KV_PHASE_SPECIAL;
	}
	return at;
}

/* Gives all steady requests their token at once if there are tokens and blocks for all and no special one stands before
 * them. Their blocks are taken here. Returns the place from which on requests have to be looked at one by one. */
static uint32_t run_steady(struct kv_engine *engine)
{
	uint64_t growth = kv_steady_growth(engine);
	uint32_t begin = special_tail(engine);

	if (begin == 0 || engine->sink->event != NULL || engine->steady_count > engine->budget
	    || growth > kv_cache_free_blocks(&engine->cache))
		return 0;
	engine->budget -= engine->steady_count;
	if (growth > 0) {
		engine->store->consume(engine, growth);
		engine->table_blocks += growth;
	}
	return begin;
}

void kv_engine_run_running(struct kv_engine *engine)
{
	uint32_t at = run_steady(engine);

	for (; at < engine->running_length && engine->budget > 0; at++) {
		uint32_t phase = engine->phase[at];

		if (phase == KV_PHASE_GAP)
			continue;
		if (phase != KV_PHASE_SPECIAL && (phase != engine->clock_phase || engine->store->whole))
			engine->budget--;
		else if (!schedule_running(engine, at))
			break;
	}
	leave_behind(engine, at);
}

/* --- steps of one kind -------------------------------------------------------------------------------------------- */

void kv_engine_run_prefills(struct kv_engine *engine)
{
	for (uint32_t at = special_tail(engine); at < engine->running_length && engine->budget > 0; at++)
		if (engine->phase[at] == KV_PHASE_SPECIAL && kv_live_prefills(&engine->live[engine->running[at]]))
			schedule_running(engine, at);
}

/* Blocks that one more token of every running request takes. */
static uint64_t decode_need(struct kv_engine *engine)
{
	uint64_t need = kv_steady_growth(engine);

	for (uint32_t at = special_tail(engine); engine->store->next != NULL && at < engine->running_length; at++)
		if (engine->phase[at] == KV_PHASE_SPECIAL)
			need += engine->store->next(engine, engine->running[at]);
	return need;
}

void kv_engine_retract(struct kv_engine *engine)
{
	while (decode_need(engine) > kv_cache_free_blocks(&engine->cache)) {
		uint32_t last = engine->running_length - 1;

		if (engine->running_count > 1) {
			preempt(engine, choose_victim(engine), false);
			continue;
		}
		if (engine->live[engine->running[last]].steady)
			kv_steady_leave(engine, last, false);
		kv_engine_give_up(engine, engine->running[last], KV_REASON_CAN_NEVER_FIT);
		return;
	}
}

/* Requests whose output somebody refers to since the last step. */
void kv_engine_take_out_eager(struct kv_engine *engine)
{
	for (uint32_t i = 0; i < engine->eager_count; i++) {
		uint32_t id = engine->eager[i];

		if (engine->live[id].steady)
			kv_steady_leave(engine, engine->live[id].place, false);
	}
	engine->eager_count = 0;
}
