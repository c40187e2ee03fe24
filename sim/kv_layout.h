/* KV groups: layers that share a block table. All groups of a model draw blocks of one size from one pool. */
#ifndef KV_SIM_KV_LAYOUT_H
#define KV_SIM_KV_LAYOUT_H

#include <stdint.h>

enum kv_group_kind {
	KV_GROUP_FULL,            /* full attention, multi-head to multi-query; MLA latents behave the same */
	KV_GROUP_MLA,
	KV_GROUP_SLIDING_WINDOW,
	KV_GROUP_CHUNKED_LOCAL,   /* sized, not yet simulated */
	KV_GROUP_STATE            /* recurrent state: sized, not yet simulated */
};

struct kv_group {
	enum kv_group_kind kind;
	uint32_t layers;      /* real layers; a padded group has fewer than the page's layer slots */
	uint32_t window;      /* tokens, sliding window (or chunk); 0 otherwise */
	uint32_t block_size;  /* tokens */
	uint64_t page_bytes;  /* bytes of one block of this group on one rank, all its layer slots */
};

#define KV_MAX_GROUPS 16

const char *kv_group_kind_name(enum kv_group_kind kind);

#endif
