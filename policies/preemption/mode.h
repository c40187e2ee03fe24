/* What becomes of the victim's blocks: a parameter that all preemption policies share.
 *
 * swap, as vLLM had it until 2025 (V0; PagedAttention, SOSP 2023, section 4.5): they are copied to host memory of
 * stated size over a stated link, in the step that preempts, and the request keeps what it has computed. While anybody
 * is swapped out nobody is admitted; those that are return in order of arrival as soon as their blocks fit. If host
 * memory has no room for all of a victim's blocks, that victim is recomputed (V0 gave up as a whole), and counted. */
#ifndef KV_POLICIES_PREEMPTION_MODE_H
#define KV_POLICIES_PREEMPTION_MODE_H

#include "policies/policies.h"

enum { KV_MODE_RECOMPUTE, KV_MODE_SWAP };

struct kv_preemption_mode {
	uint32_t mode;
};

static const struct kv_param kv_preemption_mode_params[] = {
	{"mode", KV_PARAM_CHOICE, offsetof(struct kv_preemption_mode, mode), 0, 0, "recompute", "recompute|swap",
	 "the victim's blocks are dropped and computed again, or copied to host memory (--swap-space) and back"},
	{0}
};

static inline bool kv_preemption_mode_swaps(const void *state)
{
	return ((const struct kv_preemption_mode *)state)->mode == KV_MODE_SWAP;
}

#endif
