/* Blocks on demand (PagedAttention, SOSP 2023; vLLM): a request takes one more block when its tokens reach the end of
 * the last one, so at most one block a request and group is partly empty. */
#include "config.h"

#include "policies/policies.h"

const struct kv_policy kv_allocation_paged = {
	.kind = KV_POLICY_ALLOCATION,
	.name = "paged",
	.summary = "blocks on demand, one at a time",
	.source = "Kwon et al., PagedAttention, SOSP 2023; vLLM V1",
	.hooks.allocation = {.contiguous = false},
};
