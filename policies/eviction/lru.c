/* Least recently freed, the tail of a sequence before its beginning: vLLM's free queue. */
#include "config.h"

#include "policies/policies.h"

static struct kv_rank release(void *state, void *entry, const struct kv_release *call)
{
	(void)state;
	(void)entry;
	return (struct kv_rank){(int64_t)call->call, 0};
}

static struct kv_rank leaf(const void *state, const struct kv_leaf_view *view)
{
	(void)state;
	return (struct kv_rank){(int64_t)view->accessed, 0};
}

const struct kv_policy kv_eviction_lru = {
	.kind = KV_POLICY_EVICTION,
	.name = "lru",
	.summary = "least recently released first, tail before beginning",
	.source = "vLLM V1 free block queue",
	.hooks.eviction = {.release = release, .release_order = true, .leaf = leaf},
};
