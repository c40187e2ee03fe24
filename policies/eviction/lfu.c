/* By the number of admissions that hit the block, then last release. */
#include "config.h"

#include "policies/policies.h"

struct entry {
	int64_t hits;
};

static void hit(void *state, void *entry_state)
{
	struct entry *entry = entry_state;

	(void)state;
	entry->hits++;
}

static struct kv_rank release(void *state, void *entry_state, const struct kv_release *call)
{
	const struct entry *entry = entry_state;

	(void)state;
	return (struct kv_rank){entry->hits, (int64_t)call->call};
}

const struct kv_policy kv_eviction_lfu = {
	.kind = KV_POLICY_EVICTION,
	.name = "lfu",
	.summary = "fewest admissions that hit it first, then least recently released",
	.source = "least frequently used; textbook baseline",
	.entry_size = sizeof(struct entry),
	.hooks.eviction = {.hit = hit, .release = release},
};
