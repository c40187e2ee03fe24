/* Whose prompt has most in the cache now goes first: what is shared is used before it is evicted. Long queues are
 * served in order of arrival, since looking everybody up would cost more than it gains. Requests with little in the
 * cache can be overtaken for ever; the longest wait in the queue is in every summary.
 *
 * Who has little in the cache and shares its beginning with one that came before it is put back behind all others, so
 * that the first can compute it for both. */
#include "config.h"

#include <stdbool.h>
#include <stddef.h>

#include "policies/policies.h"

struct longest_prefix {
	uint64_t limit, put_back;
	bool by_hits;
};

static bool begin(void *state, uint64_t waiting)
{
	struct longest_prefix *policy = state;

	policy->by_hits = waiting <= policy->limit;
	return policy->by_hits;
}

/* Looked at in this way only where the cache has little of it. */
static bool is_cold(const struct longest_prefix *policy, const struct kv_request_view *request)
{
	return policy->put_back > 0 && request->cached_tokens <= policy->put_back;
}

static bool is_put_back(const struct longest_prefix *policy, const struct kv_request_view *request)
{
	return is_cold(policy, request) && request->shared_tokens >= policy->put_back;
}

static bool claims(const void *state, const struct kv_request_view *request)
{
	return is_cold(state, request) && !is_put_back(state, request);
}

static struct kv_rank rank(const void *state, const struct kv_request_view *request)
{
	const struct longest_prefix *policy = state;

	if (!policy->by_hits)
		return (struct kv_rank){request->queued, 0};
	if (is_put_back(policy, request))
		return (struct kv_rank){INT64_MAX, request->queued};
	return (struct kv_rank){-(int64_t)request->cached_tokens, request->queued};
}

static const struct kv_param params[] = {
	{ "limit", KV_PARAM_UINT, offsetof(struct longest_prefix, limit), 0, 1e9, "128", "requests",
	  "above so many waiting ones the order is first come, first served" },
	{ "put_back", KV_PARAM_UINT, offsetof(struct longest_prefix, put_back), 0, 1e9, "32", "tokens",
	  "who has at most so many cached and shares at least so many with an earlier one waits behind all; "
	  "0 = nobody" },
	{ 0 }
};

const struct kv_policy kv_scheduling_longest_prefix_match = {
	.kind = KV_POLICY_SCHEDULING,
	.name = "longest-prefix-match",
	.summary = "most cached prompt tokens first, looked up in every step; then arrival",
	.source = "SGLang of 2026-07, --schedule-policy lpm",
	.state_size = sizeof(struct longest_prefix),
	.params = params,
	.hooks.scheduling = {.rank = rank, .reorder = KV_REORDER_STEP, .begin = begin, .claims = claims},
};
