/* Ranks that change while requests wait: by what runs, by what is cached, by what others in the queue will compute. */
#include "config.h"

#include "sim/engine/reorder.h"

#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/engine/live.h"
#include "sim/engine/store.h"

static void show_running(struct kv_engine *engine, const struct kv_policy_use *use)
{
	for (uint32_t at = 0; at < engine->running_length; at++) {
		struct kv_request_view view;

		if (engine->running[at] == KV_NONE)
			continue;
		kv_live_view(engine, &engine->live[engine->running[at]], KV_POLICY_SCHEDULING, &view);
		use->policy->hooks.scheduling.running(use->state, &view);
	}
}

/* --- content that waiting requests are going to compute ----------------------------------------------------------- */

static uint32_t known_tokens(const struct kv_live *live)
{
	return live->prompt + live->generated;
}

/* Tokens that the request shares with one whose content is claimed. A piece behind another is claimed only by those
 * that have all of that. */
static uint32_t shared_tokens(const struct kv_engine *engine, const struct kv_live *live)
{
	uint32_t shared = 0;

	for (uint32_t p = 0; p < live->pieces && live->piece[p].node < engine->claim_capacity; p++) {
		const struct kv_claim *claim = &engine->claim[live->piece[p].node];

		if (claim->round != engine->claim_round)
			break;
		shared = (uint32_t)kv_min(live->piece[p].end, claim->end);
	}
	return (uint32_t)kv_min(shared, known_tokens(live));
}

static void claim(struct kv_engine *engine, const struct kv_live *live)
{
	uint32_t at = 0;

	for (uint32_t p = 0; p < live->pieces && at < known_tokens(live); p++) {
		uint32_t node = live->piece[p].node;
		uint32_t end = (uint32_t)kv_min(live->piece[p].end, known_tokens(live));
		size_t old = engine->claim_capacity;
		struct kv_claim *claim;

		engine->claim = kv_grow(engine->claim, &engine->claim_capacity, (size_t)node + 1,
		                        sizeof *engine->claim);
		for (size_t i = old; i < engine->claim_capacity; i++)
			engine->claim[i] = (struct kv_claim){0};
		claim = &engine->claim[node];
		if (claim->round != engine->claim_round || claim->end < end)
			*claim = (struct kv_claim){engine->claim_round, end};
		at = live->piece[p].end;
	}
}

/* --- ranks -------------------------------------------------------------------------------------------------------- */

static struct kv_rank rank_again(struct kv_engine *engine, uint32_t id, bool by_hits)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_SCHEDULING];
	const struct kv_scheduling_hooks *hooks = &use->policy->hooks.scheduling;
	const struct kv_live *live = &engine->live[id];
	struct kv_request_view view;
	struct kv_fit fit;

	kv_live_view(engine, live, KV_POLICY_SCHEDULING, &view);
	if (by_hits) {
		engine->store->lookup(engine, id, &fit);
		view.cached_tokens = fit.hit_tokens;
		if (hooks->claims != NULL) {
			view.shared_tokens = shared_tokens(engine, live);
			if (hooks->claims(use->state, &view))
				claim(engine, live);
		}
	}
	return hooks->rank(use->state, &view);
}

/* Sorted so that those who came first are looked at first: by queued, then index. */
static int compare_arrivals(const void *a, const void *b)
{
	const struct kv_heap_entry *x = a, *y = b;

	if (x->primary != y->primary)
		return x->primary < y->primary ? -1 : 1;
	return (x->secondary > y->secondary) - (x->secondary < y->secondary);
}

static bool keeps_rank(const struct kv_engine *engine, const struct kv_heap_entry *entry)
{
	return entry->primary <= KV_RANK_RETURNED || engine->live[entry->payload].shell;
}

/* The heap is no heap until it is rebuilt, so its entries may stand in any order meanwhile. */
static void sort_by_arrival(struct kv_engine *engine)
{
	for (size_t i = 0; i < engine->waiting.count; i++) {
		struct kv_heap_entry *entry = &engine->waiting.entry[i];
		const struct kv_live *live = &engine->live[entry->payload];

		if (keeps_rank(engine, entry))
			continue;
		entry->primary = live->queued;
		entry->secondary = (int64_t)live->index;
	}
	qsort(engine->waiting.entry, engine->waiting.count, sizeof *engine->waiting.entry, compare_arrivals);
}

void kv_engine_reorder(struct kv_engine *engine)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_SCHEDULING];
	const struct kv_scheduling_hooks *hooks = &use->policy->hooks.scheduling;
	bool by_hits = hooks->begin != NULL && hooks->begin(use->state, kv_engine_waiting(engine)) && engine->caching;

	if (hooks->running != NULL)
		show_running(engine, use);
	if (by_hits && hooks->claims != NULL) {
		engine->claim_round++;
		sort_by_arrival(engine);
	}
	for (size_t i = 0; i < engine->waiting.count; i++) {
		struct kv_heap_entry *entry = &engine->waiting.entry[i];
		struct kv_rank rank;

		if (keeps_rank(engine, entry))
			continue;
		rank = rank_again(engine, entry->payload, by_hits);
		entry->primary = rank.primary;
		entry->secondary = rank.secondary;
	}
	kv_heap_rebuild(&engine->waiting);
}
