/* The latest admitted request loses (vLLM under fcfs). */
#include "config.h"

#include "policies/preemption/mode.h"

const struct kv_policy kv_preemption_latest = {
	.kind = KV_POLICY_PREEMPTION,
	.name = "latest",
	.summary = "the latest admitted request loses",
	.source = "vLLM V1, fcfs",
	.state_size = sizeof(struct kv_preemption_mode),
	.params = kv_preemption_mode_params,
	.hooks.preemption = {.victim_rank = NULL, .swaps = kv_preemption_mode_swaps},
};
