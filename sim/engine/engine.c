/* One step: running requests in list order, then the waiting queue, then what that computes. */
#include "config.h"

#include "sim/engine/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/cache/eviction_order.h"
#include "sim/engine/live.h"
#include "sim/engine/prefill_first.h"
#include "sim/engine/running_list.h"
#include "sim/engine/running_pass.h"
#include "sim/engine/steady.h"
#include "sim/engine/store.h"
#include "sim/engine/waiting_pass.h"

void kv_engine_init(struct kv_engine *engine, const struct kv_engine_config *config, struct kv_sink *sink)
{
	memset(engine, 0, sizeof *engine);
	engine->config = config;
	engine->sink = sink;
	engine->caching = config->policy[KV_POLICY_PREFIX].policy->hooks.prefix.form != KV_PREFIX_NONE;
	engine->store = kv_store_for(config);
	engine->token_slots = engine->store->one_slot ? 1 : config->groups;
	engine->swaps = kv_policy_swaps(&config->policy[KV_POLICY_PREEMPTION]);
	engine->verdicts_change = config->policy[KV_POLICY_ADMISSION].policy->hooks.admission.reserve != NULL ||
	                          config->policy[KV_POLICY_SCHEDULING].policy->hooks.scheduling.reorder !=
	                                  KV_REORDER_NEVER;
	engine->window = UINT32_MAX;
	for (uint32_t g = config->groups; g-- > 0;)
		if (config->group[g].kind == KV_GROUP_SLIDING_WINDOW) {
			engine->windowed = !engine->store->one_slot;
			engine->window = config->group[g].window;
		}
	KV_ASSERT(!engine->swaps || (engine->store->swaps && !engine->windowed),
	          "preemption swaps what does not come back from host memory");
	kv_cache_init(&engine->cache, config);
	if (sink->miss != NULL)
		engine->cache.content.remembers = true;
	if (engine->store->init != NULL)
		engine->store->init(engine);
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
	if (engine->store->fini != NULL)
		engine->store->fini(engine);
	kv_cache_fini(&engine->cache);
	kv_misses_fini(&engine->misses);
	free(engine->cache.charge);
	free(engine->cache.table);
	free(engine->live);
	free(engine->running);
	free(engine->phase);
	kv_heap_fini(&engine->waiting);
	free(engine->claim);
	free(engine->eager);
	free(engine->cohort);
	free(engine->phase_count);
	free(engine->growth_steps);
	free(engine->growth_time);
	kv_wheel_fini(&engine->wheel);
	free(engine->scheduled);
	free(engine->ended);
}

void kv_engine_begin_run(struct kv_engine *engine, struct kv_sink *sink, kv_time now)
{
	KV_ASSERT(engine->running_count + kv_engine_waiting(engine) == 0, "%" PRIu64 " requests before time zero",
	          engine->running_count + kv_engine_waiting(engine));
	engine->sink = sink;
	engine->zero = now;
	engine->state = (struct kv_state){0};
	engine->steps_begun = 0;
	engine->busy = 0;
	engine->cache.evicted = 0;
	kv_engine_update_levels(engine);
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
		.time = kv_engine_told_time(engine, time), .step = engine->steps_begun, .kind = kind,
		.request = live->index,
		.request_id = live->id[0] == '\0' ? NULL : live->id, .tokens = tokens, .blocks = blocks,
		.detail = detail
	};

	engine->sink->event(engine->sink->self, &event);
}

/* --- the step ----------------------------------------------------------------------------------------------------- */

static void add_work(struct kv_engine *engine, const struct kv_live *live)
{
	struct kv_step_work *work = &engine->work;
	uint64_t n = live->scheduled;
	uint64_t c = live->computed;

	engine->step_tokens += n;
	if (kv_live_decodes(live)) {
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
	uint64_t steady = engine->decoding ? engine->steady_count : 0;
	uint64_t context = (uint64_t)((int64_t)(steady * (engine->clock + 1)) + engine->steady_offset);

	engine->work = (struct kv_step_work){0};
	if (steady > 0)
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
		bool grows = engine->phase[at] == engine->clock_phase && !engine->store->whole;
		uint64_t grown = grows ? engine->cache.groups : 0;
		uint32_t tokens;

		if (id == KV_NONE)
			continue;
		tokens = steady ? engine->decoding : engine->live[id].scheduled;
		if (tokens > 0)
			kv_engine_event(engine, KV_EVENT_SCHEDULE, id, engine->step_start, tokens,
			                engine->store->held(engine, id) + grown, "");
	}
}

void kv_engine_tell_running(struct kv_engine *engine)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_ADMISSION];
	const struct kv_admission_hooks *hooks = &use->policy->hooks.admission;
	struct kv_running_view view = {.running = engine->running_count, .preempted = engine->preempted_in_step};

	if (hooks->step == NULL || engine->running_count == 0)
		return;
	for (uint32_t at = 0; view.preempted && at < engine->running_length; at++) {
		struct kv_request_view request;

		if (engine->running[at] == KV_NONE)
			continue;
		kv_live_view(engine, &engine->live[engine->running[at]], KV_POLICY_ADMISSION, &request);
		view.generated += request.known_tokens - request.prompt_tokens;
		view.allowed += request.max_total_tokens - request.prompt_tokens;
	}
	hooks->step(use->state, &view);
}

static void begin_step(struct kv_engine *engine, kv_time now)
{
	engine->step_start = engine->cache.now = now;
	engine->preempted_in_step = false;
	engine->fresh = 0;
	engine->copied_blocks = 0;
	engine->scheduled_count = engine->ended_count = 0;
	kv_running_compact(engine);
	kv_engine_take_out_eager(engine);
}

/* Cached content that is past its time by the eviction policy's clock. A blocked head may have lost what it would
 * hit. */
static void expire(struct kv_engine *engine)
{
	uint64_t blocks = kv_order_expire(&engine->cache);
	struct kv_event event = {
		.time = kv_engine_told_time(engine, engine->step_start), .step = engine->steps_begun,
		.kind = KV_EVENT_EXPIRE,
		.request = KV_NO_REQUEST, .request_id = "", .blocks = blocks, .detail = ""
	};

	if (blocks == 0)
		return;
	engine->head_blocked = false;
	if (engine->sink->event != NULL)
		engine->sink->event(engine->sink->self, &event);
}

/* vLLM's step (engine-semantics 1.6). */
static void schedule_mixed(struct kv_engine *engine)
{
	engine->decoding = true;
	engine->budget = engine->token_limit = engine->config->max_num_batched_tokens;
	kv_engine_run_running(engine);
	kv_engine_tell_running(engine);
	if (engine->preempted_in_step)
		kv_engine_set_waiting(engine, KV_WAIT_BLOCKS);
	else
		kv_engine_try_waiting(engine);
}

bool kv_engine_schedule(struct kv_engine *engine, kv_time now, kv_time *duration)
{
	begin_step(engine, now);
	if (engine->running_count + kv_engine_waiting(engine) > 0)
		expire(engine);
	if (engine->steady_count < engine->running_count || engine->running_count == 0)
		engine->head_blocked = false;
	if (engine->config->step_order == KV_STEPS_PREFILL_FIRST)
		kv_engine_schedule_prefill_first(engine);
	else
		schedule_mixed(engine);
	sum_work(engine);
	kv_engine_update_levels(engine);
	if (engine->step_tokens == 0 && !engine->preempted_in_step && engine->ended_count == 0)
		return false;
	tell_schedule(engine);
	if (engine->steady_count > 0 && engine->decoding) {
		engine->cache.filled_slots += (uint64_t)engine->steady_count * engine->token_slots;
		kv_steady_tick(engine);
	}
	kv_engine_update_levels(engine);
	*duration = kv_latency_step(engine->config->latency, &engine->work) +
	            kv_swap_time(&engine->config->swap, engine->copied_blocks);
	return true;
}
