/* A full queue turns requests away at the door, as a server does that would rather say no at once than answer late. */
#include "config.h"

#include <stddef.h>

#include "policies/admission/gate.h"

struct queue_limit {
	uint64_t requests, tokens;
	uint32_t gate;
};

static enum kv_verdict arrive(void *state, const struct kv_arrival_view *view)
{
	const struct queue_limit *limit = state;

	if (view->waiting >= limit->requests)
		return KV_REFUSE;
	return limit->tokens > 0 && view->waiting_tokens + view->request.known_tokens > limit->tokens ? KV_REFUSE :
	                                                                                                KV_ADMIT;
}

static enum kv_verdict admit(const void *state, const struct kv_admission_view *view)
{
	return kv_gate_admits(((const struct queue_limit *)state)->gate, view);
}

static const struct kv_param params[] = {
	{ "requests", KV_PARAM_UINT, offsetof(struct queue_limit, requests), 1, 1e9, "256", "requests",
	  "most that may wait" },
	{ "tokens", KV_PARAM_UINT, offsetof(struct queue_limit, tokens), 0, 1e15, "0", "tokens",
	  "most tokens that may wait, the new request's included; 0 = no limit" },
	KV_GATE_PARAM(struct queue_limit),
	{ 0 }
};

const struct kv_policy kv_admission_queue_limit = {
	.kind = KV_POLICY_ADMISSION,
	.name = "queue-limit",
	.summary = "refuses at the door while the queue is full",
	.source = "bounded queues of serving front ends (HTTP 429 or 503)",
	.state_size = sizeof(struct queue_limit),
	.params = params,
	.hooks.admission = {.admit = admit, .arrive = arrive, .refusal = KV_REASON_QUEUE_FULL},
};
