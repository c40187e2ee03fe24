/* Content is dropped when nobody used it for a while, also where there is room; before that the least recently
 * released goes.
 *
 * The clock is looked at when the engine schedules: what is past its time then can no longer be hit and its blocks
 * are blank. */
#include "config.h"

#include "policies/policies.h"

struct state {
	kv_time ttl;
};

static struct kv_rank release(void *state_, void *entry, const struct kv_release *call)
{
	const struct state *state = state_;

	(void)entry;
	return (struct kv_rank){call->now > KV_TIME_MAX - state->ttl ? KV_TIME_MAX : call->now + state->ttl, 0};
}

static enum kv_due due(void *state, void *entry, kv_time now, struct kv_rank *rank)
{
	(void)state;
	(void)entry;
	return rank->primary <= now ? KV_DUE_DROP : KV_DUE_NOT;
}

static const struct kv_param params[] = {
	{"ttl", KV_PARAM_TIME, offsetof(struct state, ttl), 1, (double)KV_TIME_MAX, "300s", "",
	 "time to live after the last release"},
	{0}
};

const struct kv_policy kv_eviction_ttl = {
	.kind = KV_POLICY_EVICTION,
	.name = "ttl",
	.summary = "least recently released first, and nothing longer than its time to live",
	.source = "time to live of hosted prompt caches (5 minutes after the last use)",
	.state_size = sizeof(struct state),
	.params = params,
	.hooks.eviction = {.release = release, .due = due},
};
