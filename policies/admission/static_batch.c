/* A batch is filled once, while nothing else runs, and runs to its end before the next one starts: nobody joins on the
 * way. Room to the full allowed length is set aside, so nothing is preempted. */
#include "config.h"

#include <stddef.h>

#include "policies/policies.h"

struct static_batch {
	uint64_t size;
};

static enum kv_verdict admit(const void *state, const struct kv_admission_view *view)
{
	const struct static_batch *batch = state;

	if (view->running > view->fresh || (batch->size > 0 && view->running >= batch->size))
		return KV_WAIT;
	return view->need_full + view->running_growth + view->watermark <= view->free_blocks ? KV_ADMIT : KV_WAIT;
}

static const struct kv_param params[] = {
	{ "size", KV_PARAM_UINT, offsetof(struct static_batch, size), 0, 1e6, "0", "requests",
	  "most requests in a batch; 0 = as many as fit and max_num_seqs allows" },
	{ 0 }
};

const struct kv_policy kv_admission_static_batch = {
	.kind = KV_POLICY_ADMISSION,
	.name = "static-batch",
	.summary = "fills a batch while nothing runs; nobody joins before all of it has finished",
	.source = "TensorRT-LLM capacity scheduler, static_batch",
	.flags = KV_POLICY_TAKES_ALLOWED,
	.state_size = sizeof(struct static_batch),
	.params = params,
	.hooks.admission = {.admit = admit},
};
