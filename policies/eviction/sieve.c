/* SIEVE (Zhang et al., NSDI 2024): one FIFO, and a hand that moves from the oldest to the newest, spares what was hit
 * since it last came by, and evicts the first block that was not.
 *
 * A rank is (lap of the hand, place), so that what the hand has passed comes after all that it has not. A block's
 * place is its first release, which it keeps. Where we differ, because blocks are pinned while they are used: the hand
 * does not see pinned blocks; a block that is released again behind the hand waits for the next lap. */
#include "config.h"

#include "policies/policies.h"

struct state {
	struct kv_rank hand;
};

struct entry {
	int64_t place;  /* 0 = never released */
	bool visited;
};

static void hit(void *state, void *entry_state)
{
	struct entry *entry = entry_state;

	(void)state;
	entry->visited = true;
}

static struct kv_rank release(void *state_, void *entry_state, const struct kv_release *call)
{
	const struct state *state = state_;
	struct entry *entry = entry_state;

	if (entry->place == 0)
		entry->place = (int64_t)call->call;
	return (struct kv_rank){state->hand.primary + (entry->place < state->hand.secondary), entry->place};
}

static bool reach(void *state_, void *entry_state, uint64_t calls, struct kv_rank *rank)
{
	struct state *state = state_;
	struct entry *entry = entry_state;

	(void)calls;
	state->hand = *rank;
	if (!entry->visited)
		return true;
	entry->visited = false;
	rank->primary++;
	return false;
}

const struct kv_policy kv_eviction_sieve = {
	.kind = KV_POLICY_EVICTION,
	.name = "sieve",
	.summary = "a hand over first-released order that spares what was hit since it last came by",
	.source = "Zhang et al., SIEVE is Simpler than LRU, NSDI 2024",
	.state_size = sizeof(struct state),
	.entry_size = sizeof(struct entry),
	.hooks.eviction = {.hit = hit, .release = release, .reach = reach},
};
