/* Belady's MIN (IBM Systems Journal 1966): furthest next use first, the deeper block on ties; with leave to refuse a
 * newcomer that would be the first to go. A block is never used later than what follows it, so this never takes a block
 * from under another, and no policy has more hits in a sequential replay. */
#include "config.h"

#include "policies/policies.h"

static struct kv_rank release(void *state, void *entry, const struct kv_release *call)
{
	(void)state;
	(void)entry;
	return (struct kv_rank){call->next_use == 0 ? INT64_MIN : -(int64_t)call->next_use, -(int64_t)call->depth};
}

const struct kv_policy kv_eviction_belady = {
	.kind = KV_POLICY_EVICTION,
	.name = "belady",
	.summary = "furthest next use first: the offline bound, for kvsim trace cache alone",
	.source = "Belady, A study of replacement algorithms for a virtual-storage computer, 1966",
	.flags = KV_POLICY_ORACLE,
	.hooks.eviction = {.release = release, .refuses = true},
};
