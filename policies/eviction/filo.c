/* By first release, the latest first: what came early stays. */
#include "config.h"

#include "policies/policies.h"

struct entry {
	uint64_t first_release;  /* 0 = never released */
};

static struct kv_rank release(void *state, void *entry_state, const struct kv_release *call)
{
	struct entry *entry = entry_state;

	(void)state;
	if (entry->first_release == 0)
		entry->first_release = call->call;
	return (struct kv_rank){-(int64_t)entry->first_release, 0};
}

const struct kv_policy kv_eviction_filo = {
	.kind = KV_POLICY_EVICTION,
	.name = "filo",
	.summary = "last first-released first, whatever was hit since",
	.source = "SGLang --radix-eviction-policy filo, by blocks",
	.entry_size = sizeof(struct entry),
	.hooks.eviction = {.release = release},
};
