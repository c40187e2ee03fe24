/* KV groups: layers that share a block table. All groups of a model draw blocks of one size from one pool.
 *
 * The grouping is vLLM's (kv_cache_utils.py, 2026-08): layers of one kind are spread over groups of g layers, g = the
 * smallest kind's count, or the largest if that is below 1.5 times the smallest; short groups are padded. Kinds with
 * smaller pages get larger blocks. All bytes are those of one tensor-parallel rank.
 */
#ifndef KV_SIM_KV_LAYOUT_H
#define KV_SIM_KV_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/model/wide_layers.h"

struct kv_model;

enum kv_group_kind {
	KV_GROUP_FULL,            /* full attention, multi-head to multi-query */
	KV_GROUP_MLA,             /* behaves as full */
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

/* How one cached element is stored. */
struct kv_cache_format {
	const char *name;           /* as --kv-cache-dtype spells it */
	uint32_t bits;              /* of an element; 0 = as wide as the model's dtype */
	uint32_t scale_group;       /* elements that share a scale; 0 = none inside the cache */
	uint32_t scale_bits;
	uint32_t token_head_bytes;  /* scales of one token and head, once for keys and once for values */
	uint32_t zero_bits;         /* of a zero point beside each of these scales; 0 = none */
	bool sparse_mla;            /* the fixed rows of DeepSeek's sparse attention: 656 bytes (V3.2), 584 (V4) */
	bool lossy;
	const char *source;
};

/* "auto" is the model's dtype. NULL with err filled for an unknown name. */
const struct kv_cache_format *kv_cache_format_find(const char *name, struct kv_error *err);

/* fp8 with the scales outside the cache, fp8_ds_mla included. */
bool kv_cache_format_is_fp8(const struct kv_cache_format *cache);

/* One row of so many cached elements of a model, scales in groups included. */
uint64_t kv_cache_row_bytes(const struct kv_cache_format *cache, const struct kv_model *model, uint64_t elements);

/* How many states a request keeps in a group of recurrent layers. */
enum kv_state_caching { KV_STATE_SINGLE, KV_STATE_ALIGN, KV_STATE_ALL };

/* How vLLM shares block ids among groups of compressed layers: packed densely (since 2026-07), each page size with the largest
 * number of its pages in any group (since 2026-06), or as many of every size as of the most frequent one (before). */
enum kv_packing { KV_PACKING_DENSE, KV_PACKING_BY_SIZE, KV_PACKING_TUPLES };

struct kv_layout_options {
	uint32_t block_size;              /* tokens */
	uint32_t tensor_parallel;
	const struct kv_cache_format *cache;
	struct kv_wide_layers wide;       /* layers whose cache is not in that format but in the model's dtype */
	bool whole_context;               /* no groups: windowed layers hold their whole context like full ones */
	bool states_apart;                /* recurrent states are kept elsewhere: attention alone is laid out */
	bool mtp;                         /* cache the multi-token prediction layers too */
	const struct kv_model *draft;     /* a drafter of another model, whose layers share the pool; NULL = none */
	uint32_t speculative_tokens;      /* widens the convolution state, adds states to a request */
	enum kv_state_caching state_caching;
	uint32_t state_alignment;         /* attention blocks beside state are multiples of this; 0 = block_size, at least 16
	                                   * (128 with MLA) */
	enum kv_packing packing;          /* of compressed layers */
	uint32_t first_layer, layer_count;/* the pipeline stage; count 0 = all layers */
};

struct kv_layout {
	uint32_t groups;
	struct kv_group group[KV_MAX_GROUPS];  /* full and MLA first */
	uint32_t layer_slots;      /* g */
	uint64_t page_bytes;       /* of one block id, equal in all groups */
	uint64_t growing_bytes;    /* per token: layers that keep every token */
	uint64_t windowed_bytes;   /* per token inside the window: sliding and chunked layers */
	uint64_t state_bytes;      /* per sequence: one state of every recurrent layer, without padding */
	uint64_t draft_bytes;      /* the drafter's layers, as part of growing and windowed bytes per token */
	uint64_t metadata_bytes;   /* scales, as part of growing and windowed bytes per token */
	uint32_t padding_layers;   /* layer slots without a layer */
	uint32_t speculative_tokens;
	enum kv_state_caching state_caching;
};

/* Fails with KV_EXIT_USAGE where sizes cannot be unified or a format does not go with the model. */
int kv_layout_plan(const struct kv_model *model, const struct kv_layout_options *options, struct kv_layout *layout,
                   struct kv_error *err);

/* Elements of one sequence in all recurrent layers and ranks: positions that convolutions keep, and states proper. */
struct kv_state_elements {
	uint64_t convolution, state;
};

struct kv_state_elements kv_model_state(const struct kv_model *model, uint32_t tp);

/* Most blocks that a request of `tokens` tokens holds in a group; in_flight = tokens scheduled and not yet computed
 * (max_num_batched_tokens, twice that with asynchronous scheduling). */
uint64_t kv_group_request_blocks(const struct kv_layout *layout, const struct kv_group *group, uint64_t tokens,
                                 uint64_t in_flight);
/* The same over all groups. */
uint64_t kv_layout_request_blocks(const struct kv_layout *layout, uint64_t tokens, uint64_t in_flight);

#endif
