/* By priority value (smaller is more important), then arrival; preempted requests by the same rule. It orders the
 * waiting queue only: nothing is preempted to admit. */
#include "config.h"

#include "policies/policies.h"

static struct kv_rank rank(const void *state, const struct kv_request_view *request)
{
	(void)state;
	return (struct kv_rank){request->priority, request->queued};
}

const struct kv_policy kv_scheduling_priority = {
	.kind = KV_POLICY_SCHEDULING,
	.name = "priority",
	.summary = "smallest priority value first, then arrival",
	.source = "vLLM V1, --scheduling-policy priority",
	.flags = KV_POLICY_BY_PRIORITY,
	.hooks.scheduling = {.rank = rank, .requeue_front = false},
};
