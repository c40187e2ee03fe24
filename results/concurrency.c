#include "config.h"

#include "results/concurrency.h"

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

struct kv_concurrency kv_concurrency_of(const struct kv_summary *summary, const struct kv_run_info *info)
{
	const struct kv_level_sums *levels = &summary->levels;
	double groups = info->kv_groups > 0 ? info->kv_groups : 1, block = info->block_size;
	double running = kv_level_mean(levels, KV_LEVEL_RUNNING);
	double pool = (double)info->usable_blocks * block / groups;
	struct kv_concurrency c = {
		.mean_running = running,
		.mean_length = ratio((double)(summary->input_tokens + summary->output_tokens),
		                     (double)summary->status[KV_FINISHED]),
		.pinned_share = ratio(kv_level_mean(levels, KV_LEVEL_PINNED), (double)info->usable_blocks),
		.length_by_time = ratio((double)summary->length_ns, (double)summary->running_ns),
		.held = ratio((double)summary->doubled_held_ns, 2 * (double)summary->running_ns),
		.pinned = ratio(kv_level_mean(levels, KV_LEVEL_PINNED) * block / groups, running),
		.filled = ratio(kv_level_mean(levels, KV_LEVEL_FILLED) / groups, running),
		.reserved = ratio(kv_level_mean(levels, KV_LEVEL_RESERVED) / groups, running),
		.waste = ratio(kv_level_mean(levels, KV_LEVEL_WASTE) / groups, running)
	};

	c.by_limit = ratio((double)info->num_gpu_blocks, (double)info->request_blocks);
	c.by_mean_length = ratio(pool, c.mean_length);
	c.unequal_lengths = ratio(c.mean_length, c.length_by_time);
	c.growth = ratio(c.length_by_time, c.held);
	c.sharing = ratio(c.held, c.filled);
	c.allocation = ratio(c.filled, c.pinned);
	return c;
}
