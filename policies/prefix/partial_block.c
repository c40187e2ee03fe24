/* TensorRT-LLM's block reuse: a tree of blocks that may be matched in part, down to the last token but one of a prompt.
 * Whole blocks of a prompt are stored when it has been computed, all but the last token of a sequence when it gives up
 * its blocks, its last block partly filled. Among leaves that nobody uses the lowest retention priority goes first,
 * then the oldest. A block has the priority of the range that its first token lies in.
 *
 * Not modelled: durations of priorities, and host memory below. */
#include "config.h"

#include "policies/policies.h"

struct partial_block {
	uint64_t context, decode;
	bool copy;
};

static struct kv_partial_reuse partial_reuse(const void *state)
{
	const struct partial_block *p = state;

	return (struct kv_partial_reuse){
		.context_priority = (uint8_t)p->context, .decode_priority = (uint8_t)p->decode, .copies = p->copy
	};
}

static const struct kv_param params[] = {
	{ "context", KV_PARAM_UINT, offsetof(struct partial_block, context), 0, 100, "35", "",
	  "retention priority of blocks that begin in the prompt, 100 = keep longest" },
	{ "decode", KV_PARAM_UINT, offsetof(struct partial_block, decode), 0, 100, "35", "",
	  "retention priority of blocks that begin in what was generated" },
	{ "copy", KV_PARAM_BOOL, offsetof(struct partial_block, copy), 0, 1, "true", "",
	  "a block that is matched in part and in use is copied (TensorRT-LLM: copy_on_partial_reuse)" },
	{ 0 }
};

const struct kv_policy kv_prefix_partial_block = {
	.kind = KV_POLICY_PREFIX,
	.name = "partial-block",
	.summary = "a tree of blocks that may be matched in part, evicted by leaves",
	.source = "TensorRT-LLM 1.x, KVCacheManager",
	.state_size = sizeof(struct partial_block),
	.params = params,
	.hooks.prefix = {.form = KV_PREFIX_PARTIAL, .partial_reuse = partial_reuse},
};
