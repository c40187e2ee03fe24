/* One contiguous piece a request, exactly its prompt and true output: the Orca (Oracle) baseline, a bound that no
 * engine can reach without knowing the output. */
#include "config.h"

#include "policies/policies.h"

static uint32_t reserve_tokens(const void *state, const struct kv_request_view *request, uint32_t max_model_len)
{
	(void)state;
	(void)max_model_len;
	return request->oracle_total_tokens;
}

const struct kv_policy kv_allocation_contiguous_exact = {
	.kind = KV_POLICY_ALLOCATION,
	.name = "contiguous-exact",
	.summary = "reserves exactly the prompt and the output (oracle)",
	.source = "Orca baselines of Kwon et al., PagedAttention, SOSP 2023, section 6.1",
	.flags = KV_POLICY_ORACLE,
	.hooks.allocation = {.contiguous = true, .reserve_tokens = reserve_tokens},
};
