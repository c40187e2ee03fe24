/* By the number of admissions that hit the block, then last release. */
#include "config.h"

#include "policies/eviction/history.h"

static struct kv_rank release(void *state, void *entry_state, const struct kv_release *call)
{
	const struct kv_hit_count *entry = entry_state;

	(void)state;
	return (struct kv_rank){(int64_t)entry->hits, (int64_t)call->call};
}

static struct kv_rank leaf(const void *state, const struct kv_leaf_view *view)
{
	(void)state;
	return (struct kv_rank){(int64_t)view->hits, (int64_t)view->accessed};
}

const struct kv_policy kv_eviction_lfu = {
	.kind = KV_POLICY_EVICTION,
	.name = "lfu",
	.summary = "fewest admissions that hit it first, then least recently released",
	.source = "least frequently used; textbook baseline",
	.entry_size = sizeof(struct kv_hit_count),
	.hooks.eviction = {.hit = kv_count_hit, .release = release, .leaf = leaf},
};
