/* No reuse: nothing is registered and nothing is looked up. */
#include "config.h"

#include "policies/policies.h"

const struct kv_policy kv_prefix_none = {
	.kind = KV_POLICY_PREFIX,
	.name = "none",
	.summary = "no reuse between requests",
	.source = "vLLM V1, --no-enable-prefix-caching",
	.hooks.prefix = {.form = KV_PREFIX_NONE},
};
