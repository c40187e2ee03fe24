/* SGLang's radix cache: a tree of token sequences. What a prompt shares with it is found to the page, also in the
 * middle of what one request stored; the whole pages of a prompt are stored as its parts are computed, those of what
 * was generated when the request ends. What nobody uses is evicted by whole leaves, in the order of the eviction
 * policy. */
#include "config.h"

#include "policies/policies.h"

struct radix {
	uint64_t page;
};

static uint32_t block_tokens(const void *state)
{
	return (uint32_t)((const struct radix *)state)->page;
}

static const struct kv_param params[] = {
	{ "page", KV_PARAM_UINT, offsetof(struct radix, page), 0, 1 << 20, "0", "tokens",
	  "size of a page, which is the block; 0 = engine.block_size (SGLang: --page-size, default 1)" },
	{ 0 }
};

const struct kv_policy kv_prefix_radix = {
	.kind = KV_POLICY_PREFIX,
	.name = "radix",
	.summary = "a tree of token sequences by pages, evicted by whole leaves",
	.source = "SGLang of 2026-07, RadixCache",
	.state_size = sizeof(struct radix),
	.params = params,
	.hooks.prefix = {.form = KV_PREFIX_RADIX, .block_tokens = block_tokens},
};
