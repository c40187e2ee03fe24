/* Most recently released first: the right order for scans that come round again and do not fit. */
#include "config.h"

#include "policies/policies.h"

static struct kv_rank release(void *state, void *entry, const struct kv_release *call)
{
	(void)state;
	(void)entry;
	return (struct kv_rank){-(int64_t)call->call, 0};
}

static struct kv_rank leaf(const void *state, const struct kv_leaf_view *view)
{
	(void)state;
	return (struct kv_rank){-(int64_t)view->accessed, 0};
}

const struct kv_policy kv_eviction_mru = {
	.kind = KV_POLICY_EVICTION,
	.name = "mru",
	.summary = "most recently released first",
	.source = "SGLang --radix-eviction-policy mru, by blocks",
	.hooks.eviction = {.release = release, .leaf = leaf},
};
