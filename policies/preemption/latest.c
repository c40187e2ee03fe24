/* The latest admitted request loses (vLLM under fcfs). */
#include "config.h"

#include "policies/policies.h"

const struct kv_policy kv_preemption_latest = {
	.kind = KV_POLICY_PREEMPTION,
	.name = "latest",
	.summary = "the latest admitted request loses; recompute",
	.source = "vLLM V1, fcfs",
	.hooks.preemption = {.victim_rank = NULL},
};
