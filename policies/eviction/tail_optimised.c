/* Tail-Optimized LRU (arXiv 2510.15152): first goes what cannot make the next turn of its conversation late.
 *
 * The next turn's prompt is expected to be what the conversation has now plus `turn` tokens, and it is in time if no
 * more than `threshold` tokens of it must be computed. What lies beyond (length + turn - threshold) tokens is
 * therefore free to go, least recently released first; then the rest goes in the same order. The paper compares with
 * each conversation's own next turn; here the expected one is a parameter, because the future is not known. */
#include "config.h"

#include "policies/policies.h"

struct state {
	uint64_t threshold;
	uint64_t turn;
};

/* Blocks from here on may go first. */
static uint32_t first_free_block(const struct state *state, const struct kv_release *call)
{
	uint64_t next = (uint64_t)call->blocks * call->block_size + state->turn;
	uint64_t needed = next > state->threshold ? next - state->threshold : 0;
	uint64_t block = (needed + call->block_size - 1) / call->block_size;

	return block < UINT32_MAX ? (uint32_t)block : UINT32_MAX;
}

static unsigned cut(const void *state, const struct kv_release *call, uint32_t at[KV_EVICTION_CUTS])
{
	at[0] = first_free_block(state, call);
	return 1;
}

static struct kv_rank release(void *state, void *entry, const struct kv_release *call)
{
	(void)entry;
	return (struct kv_rank){call->depth < first_free_block(state, call), (int64_t)call->call};
}

static const struct kv_param params[] = {
	{"threshold", KV_PARAM_UINT, offsetof(struct state, threshold), 0, 1e9, "2048", "tokens",
	 "uncached tokens of a prompt that are still in time"},
	{"turn", KV_PARAM_UINT, offsetof(struct state, turn), 0, 1e9, "256", "tokens",
	 "tokens that the next turn is expected to add"},
	{0}
};

const struct kv_policy kv_eviction_tail_optimised = {
	.kind = KV_POLICY_EVICTION,
	.name = "tail-optimised",
	.summary = "what the next turn can do without and still be in time first, then least recently released",
	.source = "Tail-Optimized LRU, arXiv 2510.15152",
	.state_size = sizeof(struct state),
	.params = params,
	.hooks.eviction = {.release = release, .cut = cut},
};
