/* What several eviction policies remember of a block: how often it was hit, or when it was first released. */
#ifndef KV_POLICIES_EVICTION_HISTORY_H
#define KV_POLICIES_EVICTION_HISTORY_H

#include <stdint.h>

#include "policies/policies.h"

struct kv_hit_count {
	uint64_t hits;
};

/* A hit hook for entries of struct kv_hit_count. */
static inline void kv_count_hit(void *state, void *entry)
{
	struct kv_hit_count *count = entry;

	(void)state;
	count->hits++;
}

struct kv_first_release {
	uint64_t call;  /* 0 = never released */
};

/* The call of its first release, which may be this one. */
static inline int64_t kv_note_first_release(struct kv_first_release *first, const struct kv_release *call)
{
	if (first->call == 0)
		first->call = call->call;
	return (int64_t)first->call;
}

#endif
