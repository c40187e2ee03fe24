/* Room to the full allowed length is set aside for every running request, so nothing is ever preempted. */
#include "config.h"

#include "policies/policies.h"

static enum kv_verdict admit(const void *state, const struct kv_admission_view *view)
{
	(void)state;
	return view->need_full + view->running_growth + view->watermark <= view->free_blocks ? KV_ADMIT : KV_WAIT;
}

const struct kv_policy kv_admission_no_evict = {
	.kind = KV_POLICY_ADMISSION,
	.name = "no-evict",
	.summary = "starts when it and all running requests fit to their full allowed length: max_tokens, or "
	           "--default-max-tokens",
	.source = "TensorRT-LLM capacity scheduler, guaranteed_no_evict",
	.flags = KV_POLICY_TAKES_ALLOWED,
	.hooks.admission = {.admit = admit},
};
