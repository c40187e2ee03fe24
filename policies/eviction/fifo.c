/* By first release: a hit does not save a block. */
#include "config.h"

#include "policies/eviction/history.h"

static struct kv_rank release(void *state, void *entry, const struct kv_release *call)
{
	(void)state;
	return (struct kv_rank){kv_note_first_release(entry, call), 0};
}

static struct kv_rank leaf(const void *state, const struct kv_leaf_view *view)
{
	(void)state;
	return (struct kv_rank){(int64_t)view->created, 0};
}

const struct kv_policy kv_eviction_fifo = {
	.kind = KV_POLICY_EVICTION,
	.name = "fifo",
	.summary = "first released first, whatever was hit since",
	.source = "first in, first out; textbook baseline",
	.entry_size = sizeof(struct kv_first_release),
	.hooks.eviction = {.release = release, .leaf = leaf},
};
