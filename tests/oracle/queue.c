#include "config.h"

#include "tests/oracle/internal.h"

void oracle_insert_by_rank(struct oracle_engine *engine, struct oracle_request *request, uint32_t cached_tokens,
                           uint32_t shared_tokens)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_SCHEDULING];
	struct kv_request_view view = oracle_view_of(request, use->policy);
	size_t at = engine->returned;

	view.cached_tokens = cached_tokens;
	view.shared_tokens = shared_tokens;
	request->rank = use->policy->hooks.scheduling.rank(use->state, &view);
	for (; at < engine->waiting.count; at++) {
		const struct oracle_request *other = engine->waiting.items[at];

		if (kv_rank_less(request->rank, other->rank))
			break;
		if (!kv_rank_less(other->rank, request->rank) && request->index < other->index)
			break;
	}
	oracle_list_insert(&engine->waiting, at, request);
}

void oracle_engine_enqueue(struct oracle_engine *engine, struct oracle_request *request)
{
	request->record.queued = engine->now;
	/* With nobody before it, it waits for the step in flight, whose tokens are given out. */
	if (engine->waiting.count == 0)
		engine->reason = KV_WAIT_TOKEN_BUDGET;
	oracle_insert_by_rank(engine, request, 0, 0);
	oracle_note(engine, request, KV_QUEUED);
}

static uint32_t would_hit(struct oracle_engine *engine, const struct oracle_request *request)
{
	struct oracle_lookup lookup;

	oracle_look_up(engine, request, &lookup);
	oracle_lookup_fini(&lookup);
	return (uint32_t)lookup.hit_tokens;
}

static bool came_later(const struct oracle_request *other, const struct oracle_request *request)
{
	return other->record.queued > request->record.queued ||
	       (other->record.queued == request->record.queued && other->index > request->index);
}

static void insert_by_arrival(struct oracle_list *list, struct oracle_request *request)
{
	size_t at = 0;

	for (; at < list->count; at++) {
		if (came_later(list->items[at], request))
			break;
	}
	oracle_list_insert(list, at, request);
}

void oracle_insert_swapped(struct oracle_engine *engine, struct oracle_request *request)
{
	size_t at = 0;

	for (; at < engine->waiting.count; at++) {
		const struct oracle_request *other = engine->waiting.items[at];

		if (other->swapped_tokens == 0 || came_later(other, request))
			break;
	}
	oracle_list_insert(&engine->waiting, at, request);
	engine->returned++;
}

static uint64_t equal_tokens(const struct oracle_request *a, const struct oracle_request *b)
{
	uint64_t most = kv_min(oracle_known_tokens(a), oracle_known_tokens(b));
	uint64_t equal = 0;

	while (oracle_equal_keys(&a->key, &b->key) && equal < most &&
	       memcmp(&a->tokens[equal], &b->tokens[equal], sizeof *a->tokens) == 0)
		equal++;
	return equal;
}

static uint32_t shared_with_any(const struct oracle_list *others, const struct oracle_request *request)
{
	uint64_t shared = 0;

	for (size_t i = 0; i < others->count; i++)
		shared = kv_max(shared, equal_tokens(others->items[i], request));
	return (uint32_t)shared;
}

void oracle_reorder(struct oracle_engine *engine)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_SCHEDULING];
	const struct kv_scheduling_hooks *hooks = &use->policy->hooks.scheduling;
	bool by_hits = hooks->begin != NULL && hooks->begin(use->state, engine->waiting.count) && oracle_caches(engine);
	struct oracle_list unranked = {0}, claimants = {0};

	for (size_t i = 0; i < engine->running.count && hooks->running != NULL; i++) {
		struct kv_request_view view = oracle_view_of(engine->running.items[i], use->policy);

		hooks->running(use->state, &view);
	}
	while (engine->waiting.count > engine->returned) {
		insert_by_arrival(&unranked, engine->waiting.items[engine->returned]);
		oracle_list_remove_at(&engine->waiting, engine->returned);
	}
	for (size_t i = 0; i < unranked.count; i++) {
		struct oracle_request *request = unranked.items[i];
		struct kv_request_view view = oracle_view_of(request, use->policy);

		if (by_hits)
			view.cached_tokens = would_hit(engine, request);
		if (by_hits && hooks->claims != NULL) {
			view.shared_tokens = shared_with_any(&claimants, request);
			if (hooks->claims(use->state, &view))
				oracle_list_append(&claimants, request);
		}
		oracle_insert_by_rank(engine, request, view.cached_tokens, view.shared_tokens);
	}
	oracle_list_fini(&unranked);
	oracle_list_fini(&claimants);
}
