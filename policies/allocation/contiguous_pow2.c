/* One contiguous piece a request: its prompt and its true output rounded up to a power of two (25 -> 32): the Orca
 * (Pow2) baseline, which over-reserves the output by at most 2x and has to know it. */
#include "config.h"

#include "policies/policies.h"

static uint32_t reserve_tokens(const void *state, const struct kv_request_view *request, uint32_t max_model_len)
{
	uint64_t output = request->oracle_total_tokens - request->prompt_tokens;
	uint64_t rounded = output == 0 ? 0 : 1;

	(void)state;
	while (rounded < output)
		rounded *= 2;
	return (uint32_t)kv_min(request->prompt_tokens + rounded, max_model_len);
}

const struct kv_policy kv_allocation_contiguous_pow2 = {
	.kind = KV_POLICY_ALLOCATION,
	.name = "contiguous-pow2",
	.summary = "reserves the prompt and the output rounded up to a power of two (oracle)",
	.source = "Orca baselines of Kwon et al., PagedAttention, SOSP 2023, section 6.1",
	.flags = KV_POLICY_ORACLE,
	.hooks.allocation = {.contiguous = true, .reserve_tokens = reserve_tokens},
};
