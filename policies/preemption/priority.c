/* The running request with the largest (priority value, arrival) loses (vLLM under the priority policy). */
#include "config.h"

#include "policies/preemption/mode.h"

static struct kv_rank victim_rank(const void *state, const struct kv_request_view *request)
{
	(void)state;
	return (struct kv_rank){request->priority, request->queued};
}

const struct kv_policy kv_preemption_priority = {
	.kind = KV_POLICY_PREEMPTION,
	.name = "priority",
	.summary = "the least important, then latest arrived request loses",
	.source = "vLLM V1, priority",
	.flags = KV_POLICY_BY_PRIORITY,
	.state_size = sizeof(struct kv_preemption_mode),
	.params = kv_preemption_mode_params,
	.hooks.preemption = {.victim_rank = victim_rank, .swaps = kv_preemption_mode_swaps},
};
