/* Prefill time saved per byte and second, aged as in GreedyDual-Size-Frequency (Cherkasova, HP Labs 1998): value = age
 * of the cache + uses x time to compute a block again. Uses per time is what the aging makes of the count of uses: the
 * cache's age is the value of the last block that was evicted, so a block must be used often enough to keep up with
 * it.
 *
 * Blocks of a pool have the same bytes. The time to compute one again is its share of the sequence that gave it up,
 * linear in its length plus the attention to what stands before: long sequences cost more a block. All blocks of a
 * release call cost the same, so that the tail of a sequence goes first. */
#include "config.h"

#include "policies/eviction/history.h"

/* Of a block in a very short sequence. */
#define UNIT_COST 1024

struct state {
	uint64_t double_at;
	int64_t age;
};

static struct kv_rank release(void *state_, void *entry_state, const struct kv_release *call)
{
	const struct state *state = state_;
	const struct kv_hit_count *entry = entry_state;
	uint64_t tokens = (uint64_t)call->blocks * call->block_size;
	/* A token at depth d costs 1 + d / double_at; on average over the sequence d is half its length. */
	uint64_t cost = UNIT_COST + UNIT_COST * tokens / (2 * state->double_at);

	return (struct kv_rank){state->age + (int64_t)((entry->hits + 1) * cost), (int64_t)call->call};
}

static bool reach(void *state_, void *entry, uint64_t calls, struct kv_rank *rank)
{
	struct state *state = state_;

	(void)entry;
	(void)calls;
	state->age = rank->primary;
	return true;
}

static const struct kv_param params[] = {
	{"double_at", KV_PARAM_UINT, offsetof(struct state, double_at), 1, 1e9, "32768", "tokens",
	 "context at which a token costs twice what the first one does"},
	{0}
};

const struct kv_policy kv_eviction_cost_aware = {
	.kind = KV_POLICY_EVICTION,
	.name = "cost-aware",
	.summary = "least prefill time saved per byte and second first",
	.source = "GreedyDual-Size-Frequency (Cherkasova 1998) with prefill time as cost; compare Marconi",
	.state_size = sizeof(struct state),
	.entry_size = sizeof(struct kv_hit_count),
	.params = params,
	.hooks.eviction = {.hit = kv_count_hit, .release = release, .reach = reach},
};
