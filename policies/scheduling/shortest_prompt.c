/* Shortest prompt first, then arrival; a preempted request goes back to the front, so that its progress is not
 * starved. */
#include "config.h"

#include "policies/policies.h"

static struct kv_rank rank(const void *state, const struct kv_request_view *request)
{
	(void)state;
	return (struct kv_rank){request->prompt_tokens, request->queued};
}

const struct kv_policy kv_scheduling_shortest_prompt = {
	.kind = KV_POLICY_SCHEDULING,
	.name = "shortest-prompt",
	.summary = "shortest prompt first, then arrival; preempted requests first",
	.source = "shortest job first on the only length that is known at arrival",
	.hooks.scheduling = {.rank = rank, .requeue_front = true},
};
