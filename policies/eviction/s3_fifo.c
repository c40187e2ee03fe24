/* S3-FIFO (Yang et al., SOSP 2023): a small FIFO for newcomers, a main FIFO, and a ghost list of what left the small
 * one.
 *
 * What is evicted comes from the small queue while that holds more than its share of the pool. Content that the
 * ghost list remembers enters the main queue at once. At the end of the main queue a block with hits loses one and
 * goes round again.
 *
 * Where we differ, because blocks are pinned while they are used: a block enters the small queue at its first
 * release; one that was hit often enough moves to the main queue when it is released again, not when it reaches the
 * end of the small one; the queues' sizes count evictable blocks. Blocks that go round between the same two release
 * calls keep the order of the calls that released them. */
#include "config.h"

#include "policies/policies.h"

enum { SMALL, MAIN };

/* Places are release calls times this, so that there is room for going round between two of them. */
#define PLACES_A_CALL 8
#define HITS_MAX 3

struct state {
	double small;
	double ghosts;
	uint64_t promote;
};

struct entry {
	int64_t place;  /* in its queue; 0 = in none yet */
	uint8_t hits;
	uint8_t queue;
};

static void hit(void *state, void *entry_state)
{
	struct entry *entry = entry_state;

	(void)state;
	if (entry->hits < HITS_MAX)
		entry->hits++;
}

static void enter(struct entry *entry, unsigned queue, const struct kv_release *call)
{
	entry->queue = (uint8_t)queue;
	entry->place = (int64_t)call->call * PLACES_A_CALL;
	entry->hits = 0;
}

static struct kv_rank release(void *state_, void *entry_state, const struct kv_release *call)
{
	const struct state *state = state_;
	struct entry *entry = entry_state;

	if (entry->queue == SMALL && (call->ghost != 0 || entry->hits >= state->promote))
		enter(entry, MAIN, call);
	else if (entry->place == 0)
		enter(entry, SMALL, call);
	return (struct kv_rank){entry->place, 0};
}

static unsigned queue_of(const void *entry_state)
{
	const struct entry *entry = entry_state;

	return entry->queue;
}

static unsigned pick(const void *state_, const uint64_t blocks[], uint64_t pool, uint64_t *most)
{
	const struct state *state = state_;
	uint64_t share = (uint64_t)(state->small * (double)pool);

	*most = UINT64_MAX;
	if (blocks[MAIN] == 0)
		return SMALL;
	if (blocks[SMALL] <= share)
		return MAIN;
	*most = blocks[SMALL] - share;
	return SMALL;
}

static bool reach(void *state, void *entry_state, uint64_t calls, struct kv_rank *rank)
{
	struct entry *entry = entry_state;
	int64_t now = (int64_t)calls * PLACES_A_CALL + 1;

	(void)state;
	if (entry->queue == SMALL || entry->hits == 0)
		return true;
	entry->hits--;
	entry->place = now > entry->place ? now : entry->place + 1;
	rank->primary = entry->place;
	return false;
}

static uint64_t ghost_blocks(const void *state_, uint64_t pool)
{
	const struct state *state = state_;

	return (uint64_t)(state->ghosts * (double)pool);
}

static const struct kv_param params[] = {
	{"small", KV_PARAM_DOUBLE, offsetof(struct state, small), 0, 1, "0.1", "of the pool",
	 "share of the small queue"},
	{"ghosts", KV_PARAM_DOUBLE, offsetof(struct state, ghosts), 0, 16, "0.9", "of the pool",
	 "blocks that the ghost list remembers"},
	{"promote", KV_PARAM_UINT, offsetof(struct state, promote), 1, HITS_MAX, "2", "hits",
	 "hits in the small queue that lead to the main one"},
	{0}
};

const struct kv_policy kv_eviction_s3_fifo = {
	.kind = KV_POLICY_EVICTION,
	.name = "s3-fifo",
	.summary = "a small FIFO for newcomers, a main FIFO that goes round, a ghost list",
	.source = "Yang et al., FIFO Queues are All You Need for Cache Eviction, SOSP 2023; LMCache",
	.state_size = sizeof(struct state),
	.entry_size = sizeof(struct entry),
	.params = params,
	.hooks.eviction = {
		.hit = hit, .release = release, .queues = 2, .queue = queue_of, .pick = pick, .reach = reach,
		.ghost_queues = 1u << SMALL, .ghost_blocks = ghost_blocks
	},
};
