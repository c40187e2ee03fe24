/* Two segments: blocks that were used once go before those that were used often enough, least recently released first
 * within each. SGLang's key (hit count >= 2, last access), where the first use counts as a hit. */
#include "config.h"

#include "policies/eviction/history.h"

struct state {
	uint64_t uses;
};

static struct kv_rank release(void *state_, void *entry_state, const struct kv_release *call)
{
	const struct state *state = state_;
	const struct kv_hit_count *entry = entry_state;

	return (struct kv_rank){entry->hits + 1 >= state->uses, (int64_t)call->call};
}

static struct kv_rank leaf(const void *state_, const struct kv_leaf_view *view)
{
	const struct state *state = state_;

	return (struct kv_rank){view->hits >= state->uses, (int64_t)view->accessed};
}

static const struct kv_param params[] = {
	{"uses", KV_PARAM_UINT, offsetof(struct state, uses), 2, 1e9, "2", "uses",
	 "uses that protect a block, the first included"},
	{0}
};

const struct kv_policy kv_eviction_slru = {
	.kind = KV_POLICY_EVICTION,
	.name = "slru",
	.summary = "blocks used once first, least recently released first within each segment",
	.source = "SGLang --radix-eviction-policy slru, by blocks",
	.state_size = sizeof(struct state),
	.entry_size = sizeof(struct kv_hit_count),
	.params = params,
	.hooks.eviction = {.hit = kv_count_hit, .release = release, .leaf = leaf},
};
