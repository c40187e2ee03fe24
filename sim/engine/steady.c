/* The decode clock: requests that compute one token in every step without being looked at.
 *
 * A steady request entered at clock D with c tokens has c + (clock - D) now. It needs a block in each group whenever
 * that is a multiple of the block size, that is at one phase of the clock; what those blocks cost over time follows
 * from the number and the times of the ticks at that phase. Its blocks are registered when it leaves: until then nobody
 * can look for them, because requests whose output others refer to do not become steady. */
#include "config.h"

#include "sim/engine/steady.h"

#include "sim/base/memory.h"
#include "sim/cache/block_table.h"
#include "sim/engine/store.h"

/* The next tick at which it has to be looked at: when it takes its last block (if some of that stays empty), or its
 * last token. */
static void set_alarm(struct kv_engine *engine, uint32_t id)
{
	struct kv_live *live = &engine->live[id];
	uint32_t last = live->final - 1;

	live->alarm_set = true;
	if (!live->waste_counted)
		last = kv_store_last_block_begin(engine, live);
	kv_wheel_add(&engine->wheel, id, live->entered + last - live->computed);
}

/* --- when they had their last token ------------------------------------------------------------------------------- */

static void join_cohort(struct kv_engine *engine, const struct kv_live *live)
{
	if (engine->cohorts == 0 || engine->cohort[engine->cohorts - 1].last_token != live->last_token) {
		engine->cohorts++;
		engine->cohort = kv_grow(engine->cohort, &engine->cohort_capacity, engine->cohorts,
		                         sizeof *engine->cohort);
		engine->cohort[engine->cohorts - 1] = (struct kv_cohort){.last_token = live->last_token};
	}
	engine->cohort[engine->cohorts - 1].count++;
}

static void leave_cohort(struct kv_engine *engine, const struct kv_live *live)
{
	uint32_t i = engine->cohorts;

	while (engine->cohort[i - 1].last_token != live->last_token)
		i--;
	engine->cohort[i - 1].count--;
}

void kv_steady_deliver(struct kv_engine *engine, kv_time now)
{
	const struct kv_sink *sink = engine->sink;
	uint64_t others = engine->steady_count;

	for (uint32_t i = 0; i < engine->cohorts; i++) {
		others -= engine->cohort[i].count;
		if (sink->token_gap != NULL && engine->cohort[i].count > 0)
			sink->token_gap(sink->self, now - engine->cohort[i].last_token, engine->cohort[i].count);
	}
	engine->cohorts = 0;
	if (sink->token_gap != NULL && others > 0)
		sink->token_gap(sink->self, now - engine->last_delivery, others);
}

/* --- coming and going --------------------------------------------------------------------------------------------- */

void kv_steady_enter(struct kv_engine *engine, uint32_t at)
{
	uint32_t block = engine->config->block_size;
	uint32_t id = engine->running[at];
	struct kv_live *live = &engine->live[id];
	uint32_t phase = (engine->clock_phase + block - live->computed % block) % block;

	live->steady = true;
	live->steady_phase = phase;
	live->entered = engine->clock;
	live->growth_steps = engine->growth_steps[phase];
	live->growth_time = engine->growth_time[phase];
	engine->phase[at] = phase;
	engine->phase_count[phase]++;
	engine->steady_count++;
	engine->steady_offset += (int64_t)live->computed - (int64_t)engine->clock;
	if (live->last_token != engine->last_delivery)
		join_cohort(engine, live);
	set_alarm(engine, id);
}

/* Blocks taken while steady: charged from the tick that took each of them; `extra` were taken just now. */
static void settle_growth(struct kv_engine *engine, uint32_t id, uint64_t extra)
{
	struct kv_live *live = &engine->live[id];
	struct kv_cache *cache = &engine->cache;
	uint32_t phase = live->steady_phase;
	uint64_t n = engine->growth_steps[phase] - live->growth_steps;
	kv_integral taken_at = engine->growth_time[phase] - live->growth_time;

	if (engine->store->whole)
		return;
	kv_charge_change(cache, id, (int64_t)((n + extra) * cache->groups));
	cache->charge[id].sum += cache->groups * ((kv_integral)n * (uint64_t)cache->now - taken_at);
	for (uint32_t g = 0; g < cache->groups; g++)
		kv_table_of(cache, id, g)->blocks += (uint32_t)(n + extra);
}

void kv_steady_leave(struct kv_engine *engine, uint32_t at, bool ticked)
{
	uint32_t id = engine->running[at];
	struct kv_live *live = &engine->live[id];
	uint32_t ticks = (uint32_t)(engine->clock - live->entered);
	bool took = ticked && live->steady_phase == engine->clock_phase;

	if (live->alarm_set)
		kv_wheel_remove(&engine->wheel, id);
	engine->phase_count[live->steady_phase]--;
	engine->steady_count--;
	engine->steady_offset -= (int64_t)live->computed - (int64_t)live->entered;
	settle_growth(engine, id, took);
	live->computed += ticks;
	live->generated += ticks;
	if (ticks > 0)
		live->last_token = engine->last_delivery;
	else if (live->last_token != engine->last_delivery)
		leave_cohort(engine, live);
	live->high_water = (uint32_t)kv_max(live->high_water, live->computed);
	live->steady = false;
	engine->phase[at] = KV_PHASE_SPECIAL;
	engine->cache.filled_slots += ticked ? engine->token_slots : 0;
	if (engine->store->generated != NULL)
		engine->store->generated(engine, id, live->computed + ticked);
}

uint64_t kv_steady_growth(const struct kv_engine *engine)
{
	return engine->store->whole ? 0 : (uint64_t)engine->phase_count[engine->clock_phase] * engine->cache.groups;
}

void kv_steady_tick(struct kv_engine *engine)
{
	uint32_t id;

	while ((id = kv_wheel_take(&engine->wheel, engine->clock)) != KV_NONE) {
		struct kv_live *live = &engine->live[id];

		if (!live->waste_counted) {
			kv_store_count_waste(engine, live);
			set_alarm(engine, id);
			continue;
		}
		live->alarm_set = false;
		engine->ended = kv_grow(engine->ended, &engine->ended_capacity, engine->ended_count + 1,
		                        sizeof *engine->ended);
		engine->ended[engine->ended_count++] = id;
	}
	engine->growth_steps[engine->clock_phase]++;
	engine->growth_time[engine->clock_phase] += (kv_integral)(uint64_t)engine->cache.now;
	engine->clock++;
	if (++engine->clock_phase == engine->config->block_size)
		engine->clock_phase = 0;
}
