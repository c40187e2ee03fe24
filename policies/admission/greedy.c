/* No gate: a request starts as soon as its first chunk fits (vLLM before 2026-03-24, or the gate switched off). */
#include "config.h"

#include "policies/policies.h"

static enum kv_verdict admit(const void *state, const struct kv_admission_view *view)
{
	(void)state;
	(void)view;
	return KV_ADMIT;
}

const struct kv_policy kv_admission_greedy = {
	.kind = KV_POLICY_ADMISSION,
	.name = "greedy",
	.summary = "starts when the tokens of its first step fit",
	.source = "vLLM V1 with scheduler_reserve_full_isl off",
	.hooks.admission = {.admit = admit},
};
