#include "config.h"

#include "sim/sizing/window_pools.h"

#include <math.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/model/model.h"

#define SWA_FULL_TOKENS_RATIO 0.8

static uint64_t reach(const struct kv_window_pool *pool, uint64_t tokens)
{
	return pool->window ? kv_min(pool->window, tokens) : tokens;
}

void kv_window_pools_share(struct kv_window_pools *pools, uint64_t longest)
{
	double sum = 0;

	for (uint32_t i = 0; i < pools->count; i++)
		sum += (double)pools->pool[i].layers * (double)reach(&pools->pool[i], longest);
	for (uint32_t i = 0; i < pools->count; i++)
		pools->pool[i].share = (double)pools->pool[i].layers * (double)reach(&pools->pool[i], longest) / sum;
}

uint64_t kv_window_pool_part(const struct kv_window_pool *pool, uint64_t blocks)
{
	return (uint64_t)llround(pool->share * (double)blocks);
}

/* Groups of one window are one pool. */
static void add_group(struct kv_window_pools *pools, const struct kv_layout *layout, const struct kv_group *group)
{
	uint64_t layer_bytes = group->page_bytes / layout->layer_slots / group->block_size;
	uint32_t i = 0;

	while (i < pools->count && pools->pool[i].window != group->window)
		i++;
	if (i == pools->count)
		pools->pool[pools->count++] = (struct kv_window_pool){.window = group->window};
	pools->pool[i].layers += group->layers;
	pools->pool[i].token_bytes += layer_bytes * group->layers;
}

static int collect(const struct kv_model *model, const struct kv_layout_options *options, struct kv_window_pools *pools,
                   struct kv_error *err)
{
	struct kv_layout layout;

	*pools = (struct kv_window_pools){.block_size = options->block_size};
	if (kv_layout_plan(model, options, &layout, err) != 0)
		return -1;
	for (uint32_t i = 0; i < layout.groups; i++)
		add_group(pools, &layout, &layout.group[i]);
	if (pools->count == 1)
		pools->count = 0;
	return 0;
}

int kv_window_pools_plan(const struct kv_model *model, const struct kv_layout_options *options, uint64_t longest,
                         int64_t kv_bytes, struct kv_window_pools *pools, struct kv_error *err)
{
	if (collect(model, options, pools, err) != 0)
		return -1;
	kv_window_pools_share(pools, longest);
	for (uint32_t i = 0; i < pools->count && kv_bytes > 0; i++) {
		struct kv_window_pool *pool = &pools->pool[i];

		pool->blocks = kv_window_pool_part(pool, (uint64_t)kv_bytes / (pool->token_bytes * pools->block_size));
	}
	return 0;
}

/* SGLang's is_hybrid_swa_model. */
static bool has_own_pool(const struct kv_model *model)
{
	static const char *const families[] = {"gemma4", "gpt_oss", "llama4", "mimo_v2", "step3p5"};

	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (!strncmp(model->family, families[i], strlen(families[i])))
			return true;
	return false;
}

int kv_window_pools_by_ratio(const struct kv_model *model, const struct kv_layout_options *options, int64_t kv_bytes,
                             struct kv_window_pools *pools, struct kv_error *err)
{
	struct kv_window_pool *full, *windowed;
	double tokens;

	*pools = (struct kv_window_pools){0};
	if (!has_own_pool(model) || options->whole_context)
		return 0;
	if (collect(model, options, pools, err) != 0)
		return -1;
	if (pools->count != 2 || pools->pool[0].window) {
		pools->count = 0;
		return 0;
	}
	full = &pools->pool[0];
	windowed = &pools->pool[1];
	tokens = fmax(0, floor((double)kv_bytes / ((double)full->token_bytes + SWA_FULL_TOKENS_RATIO * (double)windowed->token_bytes)));
	full->blocks = (uint64_t)tokens / pools->block_size;
	windowed->blocks = (uint64_t)(SWA_FULL_TOKENS_RATIO * tokens) / pools->block_size;
	full->share = (double)full->token_bytes / ((double)full->token_bytes + SWA_FULL_TOKENS_RATIO * (double)windowed->token_bytes);
	windowed->share = 1 - full->share;
	return 0;
}

uint64_t kv_window_pool_request_blocks(const struct kv_window_pools *pools, uint32_t pool, uint64_t tokens)
{
	return kv_ceil_div(reach(&pools->pool[pool], tokens), pools->block_size);
}

uint64_t kv_window_pools_request_blocks(const struct kv_window_pools *pools, uint64_t tokens)
{
	uint64_t blocks = 0;

	for (uint32_t i = 0; i < pools->count; i++)
		blocks += kv_window_pool_request_blocks(pools, i, tokens);
	return blocks;
}

uint64_t kv_window_pools_request_bytes(const struct kv_window_pools *pools, uint64_t tokens)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < pools->count; i++)
		bytes += kv_window_pool_request_blocks(pools, i, tokens) * pools->block_size * pools->pool[i].token_bytes;
	return bytes;
}

uint64_t kv_window_pools_blocks(const struct kv_window_pools *pools)
{
	uint64_t blocks = 0;

	for (uint32_t i = 0; i < pools->count; i++)
		blocks += pools->pool[i].blocks;
	return blocks;
}

double kv_window_pools_requests(const struct kv_window_pools *pools, uint64_t tokens)
{
	double fewest = INFINITY;

	for (uint32_t i = 0; i < pools->count; i++)
		fewest = fmin(fewest, (double)pools->pool[i].blocks / (double)kv_window_pool_request_blocks(pools, i, tokens));
	return fewest;
}
