/* Everything that fits this step starts: room for a request's known tokens is all that is asked
 * (getNeededBlocksOneStep: the whole prompt with its first chunk, nothing with the others), and whoever started last
 * gives way (preemption latest) once those that run have grown into it. */
#include "config.h"

#include "policies/policies.h"

static enum kv_verdict admit(const void *state, const struct kv_admission_view *view)
{
	(void)state;
	return view->need_whole <= view->free_blocks ? KV_ADMIT : KV_WAIT;
}

const struct kv_policy kv_admission_max_utilization = {
	.kind = KV_POLICY_ADMISSION,
	.name = "max-utilization",
	.summary = "starts when its known tokens fit now, whatever the others still need",
	.source = "TensorRT-LLM capacity scheduler, max_utilization",
	.hooks.admission = {.admit = admit},
};
