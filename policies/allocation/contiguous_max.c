/* One contiguous piece of max_model_len tokens a request: the Orca (Max) baseline. */
#include "config.h"

#include "policies/policies.h"

static uint32_t reserve_tokens(const void *state, const struct kv_request_view *request, uint32_t max_model_len)
{
	(void)state;
	(void)request;
	return max_model_len;
}

const struct kv_policy kv_allocation_contiguous_max = {
	.kind = KV_POLICY_ALLOCATION,
	.name = "contiguous-max",
	.summary = "reserves max_model_len tokens for every request",
	.source = "Orca baselines of Kwon et al., PagedAttention, SOSP 2023, section 6.1",
	.hooks.allocation = {.contiguous = true, .reserve_tokens = reserve_tokens},
};
