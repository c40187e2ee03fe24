/* Earliest deadline first, preempted requests by the same rule; what has no deadline comes last, by arrival. */
#include "config.h"

#include "policies/policies.h"

static struct kv_rank rank(const void *state, const struct kv_request_view *request)
{
	(void)state;
	return (struct kv_rank){request->deadline, request->queued};
}

const struct kv_policy kv_scheduling_earliest_deadline = {
	.kind = KV_POLICY_SCHEDULING,
	.name = "earliest-deadline",
	.summary = "earliest deadline first, then arrival; without one last",
	.source = "earliest deadline first: Liu and Layland, JACM 1973",
	.flags = KV_POLICY_BY_DEADLINE,
	.hooks.scheduling = {.rank = rank, .requeue_front = false},
};
