/* ARC (Megiddo and Modha, FAST 2003): two LRU lists, of blocks used once (T1) and of blocks used again (T2), with
 * ghost lists of what left each (B1, B2). A ghost that comes back moves the target size p of T1: up by max(1, |B2| /
 * |B1|) a block for B1, down by max(1, |B1| / |B2|) for B2, with the sizes at the beginning of the release call.
 *
 * Where we differ, because blocks are pinned while they are used: lists count evictable blocks; a block enters a
 * list when it is released; T1 gives way while it is larger than p, without the case |T1| = p of a block that comes
 * back from B2; both ghost lists together hold at most as many blocks as the pool, the oldest of both goes first. */
#include "config.h"

#include "policies/policies.h"

enum { ONCE, AGAIN };

struct state {
	uint64_t target;
};

struct entry {
	bool again;
};

static void hit(void *state, void *entry_state)
{
	struct entry *entry = entry_state;

	(void)state;
	entry->again = true;
}

/* max(1, a / b) for each of `weight` blocks. */
static uint64_t change(uint64_t a, uint64_t b, uint32_t weight)
{
	return (a > b ? a / b : 1) * weight;
}

static void adapt(struct state *state, const struct kv_release *call)
{
	uint64_t once = call->ghosts[ONCE];
	uint64_t again = call->ghosts[AGAIN];

	if (call->ghost == 1 + ONCE) {
		uint64_t up = change(again, once, call->weight);

		state->target = up < call->pool - state->target ? state->target + up : call->pool;
	} else {
		uint64_t down = change(once, again, call->weight);

		state->target = down < state->target ? state->target - down : 0;
	}
}

static struct kv_rank release(void *state, void *entry_state, const struct kv_release *call)
{
	struct entry *entry = entry_state;

	if (call->ghost != 0) {
		adapt(state, call);
		entry->again = true;
	}
	return (struct kv_rank){(int64_t)call->call, 0};
}

static unsigned queue_of(const void *entry_state)
{
	const struct entry *entry = entry_state;

	return entry->again ? AGAIN : ONCE;
}

static unsigned pick(const void *state_, const uint64_t blocks[], uint64_t pool, uint64_t *most)
{
	const struct state *state = state_;

	(void)pool;
	*most = UINT64_MAX;
	if (blocks[AGAIN] == 0)
		return ONCE;
	if (blocks[ONCE] <= state->target)
		return AGAIN;
	*most = blocks[ONCE] - state->target;
	return ONCE;
}

static uint64_t ghost_blocks(const void *state, uint64_t pool)
{
	(void)state;
	return pool;
}

const struct kv_policy kv_eviction_arc = {
	.kind = KV_POLICY_EVICTION,
	.name = "arc",
	.summary = "two LRU lists, used once and used again, whose balance follows what comes back",
	.source = "Megiddo and Modha, ARC: A Self-Tuning, Low Overhead Replacement Cache, FAST 2003",
	.state_size = sizeof(struct state),
	.entry_size = sizeof(struct entry),
	.hooks.eviction = {
		.hit = hit, .release = release, .release_order = true, .queues = 2, .queue = queue_of, .pick = pick,
		.ghost_queues = 1u << ONCE | 1u << AGAIN, .ghost_blocks = ghost_blocks
	},
};
