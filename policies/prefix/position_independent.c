/* What reuse could be at most if computed content could be used again wherever it stands: a piece of a prompt counts as
 * found if the same text is in the pool, whatever came before it. Each named part of a prompt is cut into pieces from
 * its own beginning. An upper bound where the pool holds all pieces: attention makes what is computed of a piece depend
 * on all before it, so that an engine has to compute part of each piece again (CacheBlend) and gets less than this; no
 * run can have it. */
#include "config.h"

#include "policies/policies.h"

struct position_independent {
	uint64_t piece;
};

static uint32_t block_tokens(const void *state)
{
	return (uint32_t)((const struct position_independent *)state)->piece;
}

static const struct kv_param params[] = {
	{ "piece", KV_PARAM_UINT, offsetof(struct position_independent, piece), 0, 1 << 20, "0", "tokens",
	  "most of a piece, which takes a block; 0 = --block-size, else the trace's block ids, or 16" },
	{ 0 }
};

const struct kv_policy kv_prefix_position_independent = {
	.kind = KV_POLICY_PREFIX,
	.name = "position-independent",
	.summary = "for kvsim trace cache alone: equal pieces are reused wherever they stand, a bound if the pool holds all",
	.source = "RAGPulse's reuse of chunks; Yao et al., CacheBlend, EuroSys 2025",
	.state_size = sizeof(struct position_independent),
	.params = params,
	.hooks.prefix = {.form = KV_PREFIX_ANYWHERE, .block_tokens = block_tokens},
};
