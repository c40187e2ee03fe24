/* First come, first served; a preempted request goes back to the front. */
#include "config.h"

#include "policies/policies.h"

static struct kv_rank rank(const void *state, const struct kv_request_view *request)
{
	(void)state;
	return (struct kv_rank){request->queued, 0};
}

const struct kv_policy kv_scheduling_fcfs = {
	.kind = KV_POLICY_SCHEDULING,
	.name = "fcfs",
	.summary = "first come, first served; preempted requests first",
	.source = "vLLM V1, --scheduling-policy fcfs",
	.hooks.scheduling = {.rank = rank, .requeue_front = true},
};
