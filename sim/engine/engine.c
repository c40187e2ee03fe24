/* One step: running requests in list order, then the waiting queue, then what was computed (engine-semantics 1.6, 1.7). */
#include "config.h"

#include "sim/engine/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

void kv_engine_init(struct kv_engine *engine, const struct kv_engine_config *config, struct kv_sink *sink)
{
	memset(engine, 0, sizeof *engine);
	engine->config = config;
	engine->sink = sink;
	engine->caching = config->policy[KV_POLICY_PREFIX].policy->hooks.prefix.enabled;
	engine->contiguous = config->policy[KV_POLICY_ALLOCATION].policy->hooks.allocation.contiguous;
	engine->window = UINT32_MAX;
	for (uint32_t g = config->groups; g-- > 0;)
		if (config->group[g].kind == KV_GROUP_SLIDING_WINDOW) {
			engine->windowed = !engine->contiguous;
			engine->window = config->group[g].window;
		}
	kv_cache_init(&engine->cache, config);
	if (sink->miss != NULL)
		engine->cache.content.gone = &engine->misses.gone;
	if (engine->contiguous)
		engine->buddy = kv_buddy_create(config->usable_blocks);
	engine->free_live = engine->livelocked = KV_NONE;
	engine->phase_count = kv_calloc(config->block_size, sizeof *engine->phase_count);
	engine->growth_steps = kv_calloc(config->block_size, sizeof *engine->growth_steps);
	engine->growth_time = kv_calloc(config->block_size, sizeof *engine->growth_time);
	kv_wheel_init(&engine->wheel);
	kv_engine_update_levels(engine);
}

void kv_engine_fini(struct kv_engine *engine)
{
	for (uint32_t i = 0; i < engine->lives; i++) {
		free(engine->live[i].id);
		free(engine->live[i].tenant);
		free(engine->live[i].piece);
	}
	kv_cache_fini(&engine->cache);
	kv_misses_fini(&engine->misses);
	free(engine->cache.charge);
	free(engine->cache.table);
	kv_buddy_free(engine->buddy);
	free(engine->live);
	free(engine->running);
	free(engine->phase);
	kv_heap_fini(&engine->waiting);
	free(engine->eager);
	free(engine->phase_count);
	free(engine->growth_steps);
	free(engine->growth_time);
	kv_wheel_fini(&engine->wheel);
	free(engine->scheduled);
	free(engine->ended);
}

void kv_engine_update_levels(struct kv_engine *engine)
{
	struct kv_state *state = &engine->state;
	const struct kv_cache *cache = &engine->cache;

	state->pinned_blocks = cache->pinned;
	state->cached_blocks = cache->cached;
	state->free_blocks = cache->blank + cache->blank_ordered;
	state->filled_slots = cache->filled_slots;
	state->evicted_blocks = cache->evicted;
	state->running = engine->running_count;
}

void kv_engine_tell(struct kv_engine *engine, enum kv_event_kind kind, uint32_t id, kv_time time, uint64_t tokens,
                    uint64_t blocks, const char *detail)
{
	const struct kv_live *live = &engine->live[id];
	struct kv_event event = {
		.time = time, .step = engine->steps_begun, .kind = kind, .request = live->index,
		.request_id = live->id[0] == '\0' ? NULL : live->id, .tokens = tokens, .blocks = blocks, .detail = detail
	};

	engine->sink->event(engine->sink->self, &event);
}

/* --- preemption --------------------------------------------------------------------------------------------------------- */

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

/* A request that has the engine to itself and still lacks blocks goes round in circles if nothing was generated since the
 * last time that happened. */
static void watch_livelock(struct kv_engine *engine, uint32_t id)
{
	uint64_t index = engine->live[id].index;

	if (engine->lone_preemption_tokens == engine->tokens_emitted + 1 && engine->lone_preemption_index == index)
		engine->livelocked = id;
	engine->lone_preemption_tokens = engine->tokens_emitted + 1;
	engine->lone_preemption_index = index;
}

/* Takes everything from the running request at `at`; `ticked`: it is steady and had its turn in this step. */
static void preempt(struct kv_engine *engine, uint32_t at, bool ticked)
{
	uint32_t id = engine->running[at];
	struct kv_live *live = &engine->live[id];

	if (live->steady)
		kv_steady_leave(engine, at, ticked);
	engine->budget += ticked + live->scheduled;
	live->scheduled += ticked;
	kv_engine_event(engine, KV_EVENT_PREEMPT, id, engine->step_start, live->computed, kv_live_held(engine, id), "");
	kv_live_release(engine, id);
	kv_running_remove(engine, at);
	live->computed = live->scheduled = 0;
	live->preemptions++;
	live->preempted_at = engine->step_start;
	engine->state.preemptions++;
	engine->preempted_in_step = true;
	kv_live_requeue(engine, id);
}

/* --- running requests --------------------------------------------------------------------------------------------------- */

static uint32_t tokens_wanted(const struct kv_engine *engine, uint32_t uncomputed)
{
	uint32_t threshold = engine->config->long_prefill_token_threshold;

	return threshold != 0 && uncomputed > threshold ? threshold : uncomputed;
}

static void note_scheduled(struct kv_engine *engine, uint32_t id, uint32_t tokens)
{
	struct kv_live *live = &engine->live[id];

	live->scheduled = tokens;
	engine->budget -= tokens;
	engine->scheduled = kv_grow(engine->scheduled, &engine->scheduled_capacity, engine->scheduled_count + 1,
	                            sizeof *engine->scheduled);
	engine->scheduled[engine->scheduled_count++] = id;
}

/* Blocks for the next token of a steady request whose last block is full: charged when it leaves. */
static bool grow_steady(struct kv_engine *engine, uint32_t id)
{
	struct kv_cache *cache = &engine->cache;
	uint64_t evicted = 0;

	if (cache->groups > kv_cache_free_blocks(cache))
		return false;
	evicted = kv_order_consume(cache, cache->groups);
	cache->pinned += cache->groups;
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
	uint32_t tokens = steady ? 1 : tokens_wanted(engine, live->prompt + live->generated - live->computed);

	tokens = (uint32_t)kv_min(tokens, engine->budget);
	while (!(steady ? grow_steady(engine, id) : kv_live_grow(engine, id, tokens))) {
		uint32_t victim = choose_victim(engine);
		bool alone = engine->running_count == 1;

		preempt(engine, victim, victim < at && engine->live[engine->running[victim]].steady);
		if (victim == at) {
			if (alone)
				watch_livelock(engine, id);
			return false;
		}
	}
	if (steady)
		engine->budget--;
	else
		note_scheduled(engine, id, tokens);
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
		kv_order_consume(&engine->cache, growth);
		engine->cache.pinned += growth;
		engine->table_blocks += growth;
	}
	return begin;
}

static void run_running(struct kv_engine *engine)
{
	uint32_t at = run_steady(engine);

	for (; at < engine->running_length && engine->budget > 0; at++) {
		uint32_t phase = engine->phase[at];

		if (phase == KV_PHASE_GAP)
			continue;
		if (phase != KV_PHASE_SPECIAL && (phase != engine->clock_phase || engine->contiguous))
			engine->budget--;
		else if (!schedule_running(engine, at))
			break;
	}
	leave_behind(engine, at);
}

/* Requests whose output somebody refers to since the last step. */
static void take_out_eager(struct kv_engine *engine)
{
	for (uint32_t i = 0; i < engine->eager_count; i++) {
		uint32_t id = engine->eager[i];

		if (engine->live[id].steady)
			kv_steady_leave(engine, engine->live[id].place, false);
	}
	engine->eager_count = 0;
}

/* --- waiting requests --------------------------------------------------------------------------------------------------- */

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
		.request = live->index, .request_id = live->id[0] == '\0' ? NULL : live->id, .prompt_tokens = live->prompt,
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

static void note_admitted(struct kv_engine *engine, struct kv_live *live, uint32_t hit_tokens)
{
	bool first = live->preempted_at == KV_TIME_NONE;

	count_lookup(engine, live, hit_tokens, first);
	if (first) {
		note_queue_end(engine, live);
		live->admitted = engine->step_start;
		live->hit_tokens = hit_tokens;
		return;
	}
	live->preempted += engine->step_start - live->preempted_at;
	if (live->first_token == KV_TIME_NONE)
		live->preempted_before_first += engine->step_start - live->preempted_at;
	live->preempted_at = KV_TIME_NONE;
	live->resuming = true;
}

static void admit(struct kv_engine *engine, uint32_t id, const struct kv_fit *fit)
{
	struct kv_live *live = &engine->live[id];
	const char *detail = live->preempted_at == KV_TIME_NONE ? "first" : "resume";

	kv_heap_pop(&engine->waiting);
	if (engine->caching && engine->sink->miss != NULL && live->preempted_at == KV_TIME_NONE)
		tell_misses(engine, live, fit);
	kv_live_take(engine, id, fit);
	note_admitted(engine, live, fit->hit_tokens);
	kv_running_append(engine, id);
	note_scheduled(engine, id, fit->tokens);
	kv_engine_event(engine, KV_EVENT_ADMIT, id, engine->step_start, fit->hit_tokens, kv_live_held(engine, id), detail);
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
	uint64_t count = engine->waiting.count;

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

/* Admits from the head of the queue until something stops it; says what. *evictable = evictable blocks among the hits of a
 * head that does not fit. */
static enum kv_waiting_reason admit_waiting(struct kv_engine *engine, uint64_t *evictable)
{
	*evictable = 0;
	while (engine->waiting.count > 0) {
		uint32_t id = kv_heap_peek(&engine->waiting)->payload;
		struct kv_live *live = &engine->live[id];
		struct kv_fit fit;

		if (engine->running_count >= engine->config->max_num_seqs)
			return KV_WAIT_SEQUENCE_SLOTS;
		if (engine->budget == 0)
			return KV_WAIT_TOKEN_BUDGET;
		kv_live_lookup(engine, id, &fit);
		fit.tokens = tokens_wanted(engine, live->prompt + live->generated - fit.hit_tokens);
		if (!engine->config->enable_chunked_prefill && fit.tokens > engine->budget)
			return KV_WAIT_TOKEN_BUDGET;
		fit.tokens = (uint32_t)kv_min(fit.tokens, engine->budget);
		if (!kv_live_fits(engine, id, &fit)) {
			*evictable = fit.hit.evictable;
			return KV_WAIT_BLOCKS;
		}
		admit(engine, id, &fit);
	}
	return KV_WAIT_BLOCKS;
}

/* A head that lacks blocks or a slot goes on lacking it while running requests only grow, unless that evicts what it would
 * have hit: then its need, or why it waits, may change. */
static bool head_is_blocked(const struct kv_engine *engine)
{
	return engine->head_blocked && (!engine->head_may_lose || engine->head_evicted == engine->cache.evicted);
}

static void try_waiting(struct kv_engine *engine)
{
	uint64_t evictable;
	enum kv_waiting_reason reason;

	if (head_is_blocked(engine))
		return;
	reason = admit_waiting(engine, &evictable);
	kv_engine_set_waiting(engine, reason);
	engine->head_blocked = reason != KV_WAIT_TOKEN_BUDGET;
	engine->head_may_lose = evictable > 0;
	engine->head_evicted = engine->cache.evicted;
}

/* --- the step ----------------------------------------------------------------------------------------------------------- */

static void add_work(struct kv_engine *engine, const struct kv_live *live)
{
	struct kv_step_work *work = &engine->work;
	uint64_t n = live->scheduled;
	uint64_t c = live->computed;
	bool decode = live->generated > 0 && !live->resuming && live->prompt + live->generated - c == 1;

	engine->step_tokens += n;
	if (decode) {
		work->decode_seqs++;
		work->decode_context += c + 1;
		work->window_decode_context += kv_min(c + 1, engine->window);
		return;
	}
	engine->step_prefill_tokens += n;
	work->prefill_seqs++;
	work->prefill_tokens += n;
	work->prefill_past += c;
	work->prefill_pairs2 += n * (2 * c + n);
	work->window_prefill_past += kv_min(c, engine->window);
	work->window_prefill_pairs2 += kv_window_pairs2(c, n, engine->window);
}

static void sum_work(struct kv_engine *engine)
{
	uint64_t steady = engine->steady_count;
	uint64_t context = (uint64_t)((int64_t)(steady * (engine->clock + 1)) + engine->steady_offset);

	engine->work = (struct kv_step_work){
		.decode_seqs = steady, .decode_context = context, .window_decode_context = context
	};
	engine->step_tokens = steady;
	engine->step_prefill_tokens = 0;
	for (uint32_t i = 0; i < engine->scheduled_count; i++)
		if (engine->live[engine->scheduled[i]].scheduled > 0)
			add_work(engine, &engine->live[engine->scheduled[i]]);
}

static void tell_schedule(struct kv_engine *engine)
{
	if (engine->sink->event == NULL)
		return;
	for (uint32_t at = 0; at < engine->running_length; at++) {
		uint32_t id = engine->running[at];
		bool steady = engine->phase[at] < KV_PHASE_GAP;
		uint64_t grown = engine->phase[at] == engine->clock_phase && !engine->contiguous ? engine->cache.groups : 0;
		uint32_t tokens;

		if (id == KV_NONE)
			continue;
		tokens = steady ? 1 : engine->live[id].scheduled;
		if (tokens > 0)
			kv_engine_event(engine, KV_EVENT_SCHEDULE, id, engine->step_start, tokens,
			                kv_live_held(engine, id) + grown, "");
	}
}

static void begin_step(struct kv_engine *engine, kv_time now)
{
	engine->step_start = engine->cache.now = now;
	engine->budget = engine->config->max_num_batched_tokens;
	engine->preempted_in_step = false;
	engine->scheduled_count = engine->ended_count = 0;
	kv_running_compact(engine);
	take_out_eager(engine);
}

bool kv_engine_schedule(struct kv_engine *engine, kv_time now, kv_time *duration)
{
	begin_step(engine, now);
	if (engine->steady_count < engine->running_count || engine->running_count == 0)
		engine->head_blocked = false;
	run_running(engine);
	if (engine->preempted_in_step)
		kv_engine_set_waiting(engine, KV_WAIT_BLOCKS);
	else
		try_waiting(engine);
	sum_work(engine);
	kv_engine_update_levels(engine);
	if (engine->step_tokens == 0 && !engine->preempted_in_step)
		return false;
	tell_schedule(engine);
	if (engine->steady_count > 0) {
		engine->cache.filled_slots += engine->steady_count * (uint64_t)(engine->contiguous ? 1 : engine->cache.groups);
		kv_steady_tick(engine);
	}
	kv_engine_update_levels(engine);
	*duration = kv_latency_step(engine->config->latency, &engine->work);
	return true;
}

/* --- delivery ----------------------------------------------------------------------------------------------------------- */

static void add_ended(struct kv_engine *engine, uint32_t id)
{
	engine->ended = kv_grow(engine->ended, &engine->ended_capacity, engine->ended_count + 1, sizeof *engine->ended);
	engine->ended[engine->ended_count++] = id;
}

/* What a special request computed; true if it emitted a token. */
static bool settle_special(struct kv_engine *engine, uint32_t id, kv_time now)
{
	struct kv_live *live = &engine->live[id];
	uint32_t end = live->computed + live->scheduled;

	live->recomputed_tokens += kv_sub_floor(kv_min(end, live->high_water), live->computed);
	if (live->generated == 0) {
		live->computed_tokens += live->scheduled;
		live->prefill_own += (kv_time)((kv_integral)(now - engine->step_start) * live->scheduled / engine->step_tokens);
	}
	live->computed = end;
	live->scheduled = 0;
	live->high_water = (uint32_t)kv_max(live->high_water, end);
	if (end < live->prompt + live->generated)
		return false;
	live->resuming = false;
	if (live->target == 0) {
		add_ended(engine, id);
		return false;
	}
	if (live->generated++ == 0) {
		live->first_token = now;
		add_ended(engine, id);
	} else {
		if (engine->sink->token_gap != NULL)
			engine->sink->token_gap(engine->sink->self, now - live->last_token, 1);
		if (live->generated == live->target)
			add_ended(engine, id);
	}
	live->last_token = now;
	return true;
}

static bool can_be_steady(const struct kv_engine *engine, const struct kv_live *live)
{
	return !engine->windowed && !live->eager && !live->resuming && live->generated > 0 && live->generated < live->target
	       && live->computed + 1 == live->prompt + live->generated;
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
		held = kv_live_held(engine, id);
	kv_engine_event(engine, KV_EVENT_FINISH, id, now, live->generated, held, live->length_limited ? "length" : "stop");
	kv_live_release(engine, id);
	kv_running_remove(engine, at);
	engine->state.finishes++;
	engine->head_blocked = false;
	kv_live_record(engine, id, KV_FINISHED, live->length_limited ? KV_REASON_LENGTH : KV_REASON_STOP, now);
	engine->fate(engine->fate_context, id);
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
		.number = engine->steps_begun, .start = engine->step_start, .end = now, .scheduled_tokens = engine->step_tokens,
		.prefill_tokens = engine->step_prefill_tokens, .output_tokens = output_tokens,
		.pinned_blocks = engine->state.pinned_blocks, .cached_blocks = engine->state.cached_blocks,
		.evicted_blocks = engine->state.evicted_blocks, .running = engine->state.running
	};

	if (engine->sink->step != NULL)
		engine->sink->step(engine->sink->self, &step);
}

static void settle_requests(struct kv_engine *engine, kv_time now)
{
	for (uint32_t i = 0; i < engine->ended_count; i++) {
		uint32_t id = engine->ended[i];
		struct kv_live *live = &engine->live[id];
		bool finished = live->steady || live->generated == live->target;

		if (!live->steady && live->first_token == now && live->generated == 1)
			kv_engine_event(engine, KV_EVENT_FIRST_TOKEN, id, now, 0, 0, "");
		if (finished)
			finish(engine, id, now);
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
	uint64_t emitted = engine->steady_count;

	engine->cache.now = now;
	if (emitted > 0 && engine->sink->token_gap != NULL)
		engine->sink->token_gap(engine->sink->self, now - engine->last_delivery, emitted);
	for (uint32_t i = 0; i < engine->scheduled_count; i++)
		if (engine->live[engine->scheduled[i]].scheduled > 0)
			emitted += settle_special(engine, engine->scheduled[i], now);
	engine->tokens_emitted += emitted;
	engine->state.steps += engine->step_tokens > 0;
	engine->state.prefill_tokens += engine->step_prefill_tokens;
	engine->state.decode_tokens += engine->step_tokens - engine->step_prefill_tokens;
	tell_step(engine, now, emitted);
	sort_ended(engine);
	settle_requests(engine, now);
	enter_steady(engine);
	engine->last_delivery = now;
	engine->steps_begun++;
	kv_engine_update_levels(engine);
}
