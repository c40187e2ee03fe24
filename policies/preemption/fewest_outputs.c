/* Who has generated least loses, of these who has the longest prompt: SGLang's retraction order, which keeps what is
 * close to its end. Where prompts go first (step_order), such requests give a step of decodes what it lacks before it
 * begins, and the last one, if even that does not fit, is dropped as can_never_fit. */
#include "config.h"

#include "policies/preemption/mode.h"

static struct kv_rank victim_rank(const void *state, const struct kv_request_view *request)
{
	(void)state;
	return (struct kv_rank){-(int64_t)(request->known_tokens - request->prompt_tokens), request->prompt_tokens};
}

const struct kv_policy kv_preemption_fewest_outputs = {
	.kind = KV_POLICY_PREEMPTION,
	.name = "fewest-outputs",
	.summary = "fewest outputs, then the longest prompt loses",
	.source = "SGLang of 2026-07, retract_decode",
	.state_size = sizeof(struct kv_preemption_mode),
	.params = kv_preemption_mode_params,
	.hooks.preemption = {.victim_rank = victim_rank, .swaps = kv_preemption_mode_swaps},
};
