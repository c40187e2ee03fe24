/* Full blocks are found by a hash over the block and everything before it; at least one token is always computed. */
#include "config.h"

#include "policies/policies.h"

const struct kv_policy kv_prefix_block_hash = {
	.kind = KV_POLICY_PREFIX,
	.name = "block-hash",
	.summary = "whole blocks of equal prefix and key are reused",
	.source = "vLLM V1, --enable-prefix-caching",
	.hooks.prefix = {.form = KV_PREFIX_CHAIN},
};
