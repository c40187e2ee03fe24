/* vLLM's whole-prompt gate: the blocks of all known tokens must fit into what is free now, even if only a chunk will be
 * scheduled. It looks at the current free count only, so running requests may still outgrow the pool. */
#include "config.h"

#include "policies/policies.h"

static enum kv_verdict admit(const void *state, const struct kv_admission_view *view)
{
	(void)state;
	return view->need_whole + view->watermark <= view->free_blocks ? KV_ADMIT : KV_WAIT;
}

const struct kv_policy kv_admission_prompt_fits = {
	.kind = KV_POLICY_ADMISSION,
	.name = "prompt-fits",
	.summary = "starts when all known tokens fit the free blocks now",
	.source = "vLLM V1 since 2026-03-24, scheduler_reserve_full_isl",
	.hooks.admission = {.admit = admit},
};
