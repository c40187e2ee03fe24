/* The loop: at one instant first the end of a step, then arrivals, sends and enqueues (by index), then the start of a
 * step. */
#include "config.h"

#include "sim/engine/simulation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/engine/engine.h"
#include "sim/engine/live.h"
#include "sim/engine/steady.h"
#include "sim/engine/store.h"

enum { SEND, ENQUEUE, GIVE_UP };

struct simulation {
	struct kv_engine engine;
	struct kv_source *source;
	struct kv_sink *sink;
	const struct kv_run_options *options;
	kv_time now;
	kv_time limit;               /* the run is cut there */
	kv_time step_end;            /* KV_TIME_MAX = no step in flight */
	bool may_schedule;           /* something happened since the last attempt */
	struct kv_request next;      /* the pending arrival */
	bool has_next;
	bool arriving;               /* it is arriving right now */
	struct kv_heap events;       /* sends and enqueues: (time, kind, index) */
	uint32_t *held;              /* clients that wait for others to finish: a ring */
	size_t held_capacity;
	size_t held_first, held_count;
	uint32_t stopped_by;         /* request that the run cannot get past, KV_NONE = none */
};

/* --- clients ------------------------------------------------------------------------------------------------------ */

static void push_event(struct simulation *sim, kv_time time, int64_t kind, uint32_t id)
{
	/* Within an instant by index; what one request does, in the order of the kinds. */
	kv_heap_push(&sim->events,
	             (struct kv_heap_entry){time, (int64_t)sim->engine.live[id].index, (uint64_t)kind, id});
}

/* True if the request was dropped before what referred to it came to pass. */
static bool free_shell(struct simulation *sim, uint32_t id)
{
	if (!sim->engine.live[id].shell)
		return false;
	kv_live_free_shell(&sim->engine, id);
	return true;
}

static void release_held(struct simulation *sim)
{
	uint32_t id;

	do {
		if (sim->held_count == 0)
			return;
		id = sim->held[sim->held_first];
		sim->held_first = (sim->held_first + 1) % sim->held_capacity;
		sim->held_count--;
	} while (free_shell(sim, id));
	sim->engine.state.waiting[KV_WAIT_CLIENT]--;
	sim->engine.state.in_flight++;
	push_event(sim, sim->now, SEND, id);
}

static void hold(struct simulation *sim, uint32_t id)
{
	if (sim->held_count == sim->held_capacity) {
		size_t old = sim->held_capacity;

		sim->held = kv_grow(sim->held, &sim->held_capacity, old + 1, sizeof *sim->held);
		/* The ring's second half moves behind the new room. */
		for (size_t i = 0; i < sim->held_first; i++)
			sim->held[(old + i) % sim->held_capacity] = sim->held[i];
	}
	sim->held[(sim->held_first + sim->held_count++) % sim->held_capacity] = id;
	sim->engine.state.waiting[KV_WAIT_CLIENT]++;
}

static void tell_source(struct simulation *sim, uint64_t index, enum kv_request_end end)
{
	struct kv_source *source = sim->source;
	kv_time zero = sim->engine.zero;

	if (source->ended == NULL)
		return;
	sim->next.arrival -= zero;
	if (source->ended(source, index, end, sim->now - zero, sim->arriving ? NULL : &sim->next, sim->has_next))
		sim->has_next = true;
	sim->next.arrival += zero;
}

static void leave(struct simulation *sim, uint32_t id, enum kv_request_end end)
{
	uint64_t index = sim->engine.live[id].index;

	kv_live_end(&sim->engine, id);
	sim->engine.state.in_flight--;
	release_held(sim);
	tell_source(sim, index, end);
}

static void met_fate(void *context, uint32_t id, bool finished)
{
	leave(context, id, finished ? KV_END_FINISHED : KV_END_DROPPED);
}

/* A request whose first token has not come by its deadline. In the queue, on the way to it or held back by its client
 * it goes at once; in a step in flight, at its end. */
static void give_up(struct simulation *sim, uint32_t id)
{
	struct kv_live *live = &sim->engine.live[id];
	bool sent = live->sent != KV_TIME_NONE;
	uint64_t index = live->index;

	if (live->place != KV_NONE && sim->step_end != KV_TIME_MAX) {
		kv_engine_give_up(&sim->engine, id, KV_REASON_DEADLINE);
		return;
	}
	if (live->queued != KV_TIME_NONE)
		sim->may_schedule = true;
	else
		live->shell = true;
	kv_live_drop(&sim->engine, id, KV_REASON_DEADLINE, sim->now);
	if (sent) {
		leave(sim, id, KV_END_DROPPED);
		return;
	}
	sim->engine.state.waiting[KV_WAIT_CLIENT]--;
	kv_live_end(&sim->engine, id);
	tell_source(sim, index, KV_END_DROPPED);
}

static void refuse(struct simulation *sim, uint32_t id, enum kv_reason reason)
{
	kv_engine_event(&sim->engine, KV_EVENT_REFUSE, id, sim->now, sim->engine.live[id].prompt, 0,
	                kv_reason_name(reason));
	sim->engine.state.refusals++;
	kv_live_record(&sim->engine, id, KV_REFUSED, reason, sim->now);
	leave(sim, id,
	      reason == KV_REASON_TOO_LONG || reason == KV_REASON_CAN_NEVER_FIT ? KV_END_REFUSED : KV_END_TURNED_AWAY);
}

static void enqueue(struct simulation *sim, uint32_t id)
{
	if (!kv_live_may_enter(&sim->engine, id, sim->now)) {
		refuse(sim, id, sim->engine.config->policy[KV_POLICY_ADMISSION].policy->hooks.admission.refusal);
		return;
	}
	kv_live_enqueue(&sim->engine, id, sim->now);
	sim->may_schedule = true;
}

static void send(struct simulation *sim, uint32_t id)
{
	const struct kv_engine_config *config = sim->engine.config;
	struct kv_live *live = &sim->engine.live[id];
	kv_time delay = live->retrieval + config->frontend;

	live->sent = sim->now;
	if (live->prompt >= config->max_model_len)
		refuse(sim, id, KV_REASON_TOO_LONG);
	else if (config->refuse_impossible && kv_store_is_impossible(&sim->engine, live))
		refuse(sim, id, KV_REASON_CAN_NEVER_FIT);
	else if (delay > 0)
		push_event(sim, sim->now + delay, ENQUEUE, id);
	else
		enqueue(sim, id);
}

static int read_next(struct simulation *sim, struct kv_error *err)
{
	int got = sim->source->next(sim->source, &sim->next, err);

	sim->has_next = got > 0;
	sim->next.arrival += sim->engine.zero;
	return got < 0 ? -1 : 0;
}

static int arrive(struct simulation *sim, struct kv_error *err)
{
	uint32_t id = kv_live_create(&sim->engine, &sim->next);
	uint32_t cap = sim->engine.config->max_concurrency;

	sim->arriving = true;
	sim->engine.state.arrivals++;
	kv_engine_event(&sim->engine, KV_EVENT_ARRIVE, id, sim->now, sim->engine.live[id].prompt, 0, "");
	if (sim->engine.live[id].deadline != KV_TIME_MAX)
		push_event(sim, sim->engine.live[id].deadline, GIVE_UP, id);
	if (cap != 0 && sim->engine.state.in_flight >= cap) {
		hold(sim, id);
	} else {
		sim->engine.state.in_flight++;
		send(sim, id);
	}
	sim->arriving = false;
	return read_next(sim, err);
}

/* --- time --------------------------------------------------------------------------------------------------------- */

static void advance(struct simulation *sim, kv_time time)
{
	if (time > sim->now && sim->sink->advance != NULL)
		sim->sink->advance(sim->sink->self, &sim->engine.state, kv_engine_told_time(&sim->engine, time));
	sim->now = sim->engine.cache.now = time;
}

/* An event that nothing follows from any more: of a request that was dropped, or a deadline that was met. */
static bool is_stale(const struct simulation *sim, const struct kv_heap_entry *event)
{
	const struct kv_live *live = &sim->engine.live[event->payload];

	if (event->sequence != GIVE_UP)
		return live->shell;
	return !live->in_use || live->index != (uint64_t)event->secondary || live->first_token != KV_TIME_NONE ||
	       live->given_up;
}

static void discard_stale(struct simulation *sim)
{
	while (sim->events.count > 0 && is_stale(sim, kv_heap_peek(&sim->events))) {
		struct kv_heap_entry event = *kv_heap_peek(&sim->events);

		kv_heap_pop(&sim->events);
		if (event.sequence != GIVE_UP)
			kv_live_free_shell(&sim->engine, event.payload);
	}
}

static bool arrival_is_first(const struct simulation *sim)
{
	const struct kv_heap_entry *event;

	if (!sim->has_next || sim->events.count == 0)
		return sim->has_next;
	event = kv_heap_peek(&sim->events);
	if (event->primary != sim->next.arrival)
		return sim->next.arrival < event->primary;
	return (int64_t)sim->next.index < event->secondary;
}

static kv_time next_time(struct simulation *sim)
{
	discard_stale(sim);
	if (arrival_is_first(sim))
		return sim->next.arrival;
	return sim->events.count > 0 ? kv_heap_peek(&sim->events)->primary : KV_TIME_MAX;
}

static int do_event(struct simulation *sim, struct kv_error *err)
{
	struct kv_heap_entry event;

	if (arrival_is_first(sim))
		return arrive(sim, err);
	event = *kv_heap_peek(&sim->events);
	kv_heap_pop(&sim->events);
	if (event.sequence == SEND)
		send(sim, event.payload);
	else if (event.sequence == ENQUEUE)
		enqueue(sim, event.payload);
	else
		give_up(sim, event.payload);
	return 0;
}

static void deliver(struct simulation *sim)
{
	advance(sim, sim->step_end);
	sim->step_end = KV_TIME_MAX;
	kv_engine_deliver(&sim->engine, sim->now);
	sim->may_schedule = true;
	if (sim->options->check)
		kv_engine_check(&sim->engine);
}

static void check_levels(const struct kv_engine *engine)
{
	const struct kv_state *state = &engine->state;

	KV_ASSERT(state->pinned_blocks + state->cached_blocks + state->free_blocks == engine->config->usable_blocks,
	          "pinned %" PRIu64 " + cached %" PRIu64 " + free %" PRIu64 " blocks in a pool of %" PRIu64
	          " at %" PRId64 " ns",
	          state->pinned_blocks, state->cached_blocks, state->free_blocks, engine->config->usable_blocks,
	          engine->step_start);
	KV_ASSERT(engine->step_tokens <= engine->token_limit,
	          "%" PRIu64 " tokens in a step at %" PRId64 " ns", engine->step_tokens, engine->step_start);
	KV_ASSERT(state->filled_slots + state->waste_slots <= state->pinned_blocks * engine->config->block_size,
	          "%" PRIu64 " filled and %" PRIu64 " wasted slots in %" PRIu64 " blocks at %" PRId64 " ns",
	          state->filled_slots, state->waste_slots, state->pinned_blocks, engine->step_start);
}

static void check_host(const struct kv_engine *engine)
{
	const struct kv_swap_state *swap = &engine->state.swap;

	KV_ASSERT(swap->blocks <= engine->config->swap.blocks &&
	                  swap->blocks_out == swap->blocks_in + swap->blocks_found + swap->blocks_lost + swap->blocks,
	          "%" PRIu64 " blocks copied out, %" PRIu64 " back, %" PRIu64 " found, %" PRIu64 " lost, %" PRIu64
	          " of %" PRIu64 " in host memory at %" PRId64 " ns",
	          swap->blocks_out, swap->blocks_in, swap->blocks_found, swap->blocks_lost, swap->blocks,
	          engine->config->swap.blocks, engine->step_start);
}

static void schedule(struct simulation *sim)
{
	kv_time duration;

	sim->may_schedule = false;
	if (!kv_engine_schedule(&sim->engine, sim->now, &duration))
		return;
	check_levels(&sim->engine);
	check_host(&sim->engine);
	if (sim->options->check)
		kv_engine_check(&sim->engine);
	sim->step_end = sim->now + duration;
	sim->stopped_by = sim->engine.livelocked;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

struct unfinished {
	uint64_t index;
	uint32_t id;
};

static int compare_unfinished(const void *a, const void *b)
{
	const struct unfinished *x = a;
	const struct unfinished *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

static uint64_t record_unfinished(struct simulation *sim, enum kv_reason reason)
{
	struct kv_engine *engine = &sim->engine;
	struct unfinished *list = kv_calloc(engine->lives, sizeof *list);
	uint64_t count = 0;

	for (uint32_t id = 0; id < engine->lives; id++)
		if (engine->live[id].in_use)
			list[count++] = (struct unfinished){engine->live[id].index, id};
	qsort(list, count, sizeof *list, compare_unfinished);
	for (uint64_t i = 0; i < count; i++) {
		uint32_t id = list[i].id;

		if (engine->live[id].steady) {
			kv_steady_leave(engine, engine->live[id].place, false);
			/* The clock counts a token when its step begins: one in flight has not come. */
			engine->live[id].generated -= sim->step_end != KV_TIME_MAX && engine->decoding;
		}
		kv_live_record(engine, id, KV_UNFINISHED, reason, sim->now);
	}
	free(list);
	return count;
}

static void declare_stop(struct simulation *sim, struct kv_run_outcome *outcome)
{
	const struct kv_live *live = &sim->engine.live[sim->stopped_by];
	char detail[40];

	outcome->stalled = true;
	outcome->livelocked = sim->engine.livelocked != KV_NONE;
	outcome->stalled_request = live->index;
	outcome->stalled_needs_blocks = kv_store_blocks_alone(&sim->engine, live);
	snprintf(detail, sizeof detail, "usable=%" PRIu64, sim->engine.config->usable_blocks);
	kv_engine_event(&sim->engine, outcome->livelocked ? KV_EVENT_LIVELOCK : KV_EVENT_STALL, sim->stopped_by,
	                sim->now, live->prompt + live->generated, outcome->stalled_needs_blocks, detail);
}

static void conclude(struct simulation *sim, bool cut, struct kv_run_outcome *outcome)
{
	if (sim->stopped_by != KV_NONE)
		declare_stop(sim, outcome);
	outcome->unfinished = record_unfinished(sim, cut ? KV_REASON_CUT : KV_REASON_STALLED);
	KV_ASSERT(sim->stopped_by != KV_NONE || cut || outcome->unfinished == 0, "%" PRIu64 " requests were forgotten",
	          outcome->unfinished);
	outcome->end = kv_engine_told_time(&sim->engine, sim->now);
	outcome->final = sim->engine.state;
	KV_ASSERT(outcome->final.arrivals == outcome->final.finishes + outcome->final.refusals + outcome->final.drops
	          + outcome->unfinished, "%" PRIu64 " arrivals do not add up", outcome->final.arrivals);
}

static bool is_interrupted(const struct simulation *sim)
{
	return sim->options->interrupt != NULL && *sim->options->interrupt != 0;
}

/* Runs until nothing is left to do. Returns 1 if it was cut before that, -1 on error. */
static int loop(struct simulation *sim, struct kv_error *err)
{
	while (sim->stopped_by == KV_NONE) {
		kv_time next = next_time(sim);

		if (sim->step_end == KV_TIME_MAX && sim->may_schedule && next > sim->now) {
			if (is_interrupted(sim))
				return 1;
			schedule(sim);
			continue;
		}
		if (sim->step_end == KV_TIME_MAX && next == KV_TIME_MAX) {
			if (kv_engine_waiting(&sim->engine) > 0)
				sim->stopped_by = kv_engine_head(&sim->engine);
			return 0;
		}
		if ((next < sim->step_end ? next : sim->step_end) > sim->limit) {
			advance(sim, sim->limit);
			return 1;
		}
		if (sim->step_end <= next) {
			deliver(sim);
			continue;
		}
		advance(sim, next);
		if (do_event(sim, err) != 0)
			return -1;
	}
	return 0;
}

/* --- before time zero --------------------------------------------------------------------------------------------- */

static int run_source(struct simulation *sim, struct kv_source *source, struct kv_error *err)
{
	sim->source = source;
	return read_next(sim, err) != 0 ? -1 : loop(sim, err);
}

static int fail_warm_up(const struct simulation *sim, struct kv_error *err)
{
	const struct kv_live *live = &sim->engine.live[sim->stopped_by];
	uint64_t needed = kv_store_blocks_alone(&sim->engine, live), usable = sim->engine.config->usable_blocks;
	char made[32];
	const char *name = live->id[0] != '\0' ? live->id : made;

	snprintf(made, sizeof made, "r%" PRIu64, live->index);
	if (needed <= usable)
		return kv_fail(err, KV_EXIT_DATA, "the warm-up never ends: request '%s' is never let in, though its "
		               "%" PRIu64 " blocks fit the pool of %" PRIu64, name, needed, usable);
	return kv_fail(err, KV_EXIT_DATA, "the warm-up never ends: request '%s' cannot run; it needs %" PRIu64
	               " blocks alone, and the pool has %" PRIu64, name, needed, usable);
}

static void ignore_miss(void *self, const struct kv_miss *miss)
{
	(void)self;
	(void)miss;
}

/* Returns 0 at time zero, 1 if it was interrupted, -1 on error. */
static int warm_up(struct simulation *sim, struct kv_run_outcome *outcome, struct kv_error *err)
{
	static const enum kv_policy_kind not_of_the_cache[] = {
		KV_POLICY_ALLOCATION, KV_POLICY_ADMISSION, KV_POLICY_SCHEDULING, KV_POLICY_PREEMPTION
	};
	enum { SAVED = sizeof not_of_the_cache / sizeof not_of_the_cache[0] };
	const struct kv_policy_use *policy = sim->engine.config->policy;
	struct kv_sink *sink = sim->sink;
	struct kv_sink silent = {.miss = sink->miss != NULL ? ignore_miss : NULL};
	void *saved[SAVED];
	int result;

	for (size_t i = 0; i < SAVED; i++)
		saved[i] = kv_policy_state_save(&policy[not_of_the_cache[i]]);
	sim->sink = sim->engine.sink = &silent;
	result = run_source(sim, sim->options->warm, err);
	if (result == 0 && sim->stopped_by != KV_NONE)
		result = fail_warm_up(sim, err);
	for (size_t i = 0; i < SAVED; i++)
		kv_policy_state_restore(&policy[not_of_the_cache[i]], saved[i]);
	sim->sink = sim->engine.sink = sink;
	if (result != 0)
		return result;
	outcome->warm_requests = sim->engine.state.finishes;
	kv_engine_begin_run(&sim->engine, sink, sim->now);
	outcome->warm_blocks = sim->engine.state.cached_blocks;
	return 0;
}

static int run(struct simulation *sim, struct kv_source *source, struct kv_run_outcome *outcome, struct kv_error *err)
{
	int result = sim->options->warm != NULL ? warm_up(sim, outcome, err) : 0;
	kv_time duration = sim->options->duration;

	if (result > 0) {
		outcome->partial = true;
		outcome->final.free_blocks = sim->engine.config->usable_blocks;
		return 0;
	}
	if (result == 0 && duration != KV_TIME_NONE && duration < KV_TIME_MAX - sim->engine.zero)
		sim->limit = sim->engine.zero + duration;
	if (result == 0)
		result = run_source(sim, source, err);
	if (result < 0)
		return -1;
	outcome->partial = result > 0 && is_interrupted(sim);
	conclude(sim, result > 0, outcome);
	return 0;
}

int kv_simulate(const struct kv_engine_config *config, struct kv_source *source, struct kv_sink *sink,
                const struct kv_run_options *options, struct kv_run_outcome *outcome, struct kv_error *err)
{
	struct simulation *sim = kv_calloc(1, sizeof *sim);
	int result;

	*outcome = (struct kv_run_outcome){0};
	*sim = (struct simulation){
		.sink = sink, .options = options, .limit = KV_TIME_MAX, .step_end = KV_TIME_MAX, .stopped_by = KV_NONE
	};
	kv_engine_init(&sim->engine, config, sink);
	sim->engine.fate = met_fate;
	sim->engine.fate_context = sim;
	result = run(sim, source, outcome, err);
	kv_engine_fini(&sim->engine);
	kv_heap_fini(&sim->events);
	free(sim->held);
	free(sim);
	return result;
}
