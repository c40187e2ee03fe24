/* Early rejection: a request that cannot be expected to get its first token before its client gives up is refused at
 * the door, so that nothing is computed for nobody. Expected: the queue's tokens and its own, at the pace at which
 * prompt tokens have been computed so far (time of all steps over their prompt tokens, decodes beside them included).
 * Until any were, all may enter. What it will hit in the cache is not known at the door. */
#include "config.h"

#include <stddef.h>

#include "policies/admission/gate.h"

struct deadline {
	double margin;
	uint32_t gate;
};

static enum kv_verdict arrive(void *state, const struct kv_arrival_view *view)
{
	const struct deadline *deadline = state;
	double tokens = (double)view->waiting_tokens + view->request.known_tokens;
	double left = (double)(view->request.deadline - view->now);

	if (view->request.deadline == KV_TIME_MAX)
		return KV_ADMIT;
	if (view->prefill_tokens == 0)
		return left > 0 ? KV_ADMIT : KV_REFUSE;
	return deadline->margin * tokens * (double)view->busy / (double)view->prefill_tokens > left ? KV_REFUSE :
	                                                                                              KV_ADMIT;
}

static enum kv_verdict admit(const void *state, const struct kv_admission_view *view)
{
	return kv_gate_admits(((const struct deadline *)state)->gate, view);
}

static const struct kv_param params[] = {
	{ "margin", KV_PARAM_DOUBLE, offsetof(struct deadline, margin), 0, 1000, "1", "",
	  "what the expected time is multiplied by: below 1 lets more in" },
	KV_GATE_PARAM(struct deadline),
	{ 0 }
};

const struct kv_policy kv_admission_deadline = {
	.kind = KV_POLICY_ADMISSION,
	.name = "deadline",
	.summary = "refuses at the door what is not expected to make its deadline",
	.source = "early rejection on predicted load: Qin et al., Mooncake, FAST 2025, section 7",
	.flags = KV_POLICY_BY_DEADLINE,
	.state_size = sizeof(struct deadline),
	.params = params,
	.hooks.admission = {.admit = admit, .arrive = arrive, .refusal = KV_REASON_DEADLINE},
};
