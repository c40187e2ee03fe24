#include "config.h"

#include "sim/deploy/host_memory.h"

#include <inttypes.h>

#include "sim/base/quantity.h"

/* Share of the data-sheet rate of PCIe that large copies are said to reach. Blocks copied one by one, as vLLM V0 did,
 * reach less: the finding of the PagedAttention paper (7.3) that swapping small blocks does not pay. */
#define LINK_SHARE 0.8

static int fill_blocks(struct kv_deployment *d, const struct kv_scenario *s, struct kv_error *err)
{
	struct kv_swap_space *swap = &d->config.swap;
	char space[KV_QUANTITY_MAX], block[KV_QUANTITY_MAX];

	if (s->engine.swap_space == 0)
		return kv_fail(err, KV_EXIT_USAGE,
		               "preemption %s,mode=swap copies to host memory: give --swap-space BYTES, for each GPU "
		               "(vLLM gave 4GiB)",
		               d->config.policy[KV_POLICY_PREEMPTION].policy->name);
	swap->block_bytes = d->budget.layout.page_bytes;
	swap->blocks = s->engine.swap_space / swap->block_bytes;
	if (swap->blocks > 0)
		return 0;
	kv_fail(err, KV_EXIT_USAGE, "%s hold no block: one takes %s on each rank",
	        kv_format_bytes_short((int64_t)s->engine.swap_space, space),
	        kv_format_bytes_short((int64_t)swap->block_bytes, block));
	return kv_scenario_fail_in(s, "engine.swap_space", err);
}

static int fill_bandwidth(struct kv_deployment *d, const struct kv_scenario *s, struct kv_error *err)
{
	double link = d->hardware != NULL ? d->hardware->host_link_bandwidth : 0;

	if (s->engine.swap_bandwidth > 0) {
		d->config.swap.bandwidth = (uint64_t)s->engine.swap_bandwidth;
		return 0;
	}
	if (link == 0)
		return kv_fail(err, KV_EXIT_USAGE,
		               "how fast blocks get to host memory is not known%s%s: give --swap-bandwidth RATE",
		               d->hardware != NULL ? " of " : " without --hardware",
		               d->hardware != NULL ? d->hardware->name : "");
	d->config.swap.bandwidth = (uint64_t)(LINK_SHARE * link);
	kv_remark(&d->assumptions, "copies to host memory reach %g of the %g GB/s of %s's host link", LINK_SHARE,
	          link / 1e9, d->hardware->name);
	return 0;
}

int kv_host_memory_fill(struct kv_deployment *d, const struct kv_scenario *s, struct kv_error *err)
{
	if (kv_policy_swaps(&d->config.policy[KV_POLICY_PREEMPTION]))
		return fill_blocks(d, s, err) || fill_bandwidth(d, s, err) ? -1 : 0;
	if (s->engine.swap_space > 0 || s->engine.swap_bandwidth > 0)
		kv_remark(&d->warnings, "nothing is swapped to host memory: that takes --preemption %s,mode=swap",
		          d->config.policy[KV_POLICY_PREEMPTION].policy->name);
	return 0;
}
