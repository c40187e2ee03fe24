#include "config.h"

#include "sim/model/kv_layout.h"

#include <string.h>

#include "sim/base/names.h"
#include "sim/base/units.h"
#include "sim/model/kv_layout_compressed.h"
#include "sim/model/model.h"

static const char *const kind_names[] = {
	[KV_GROUP_FULL] = "full", [KV_GROUP_MLA] = "mla", [KV_GROUP_SLIDING_WINDOW] = "sliding_window",
	[KV_GROUP_CHUNKED_LOCAL] = "chunked_local", [KV_GROUP_STATE] = "state",
};

#define VLLM_CACHE "vLLM kv_cache_interface.py, 2026-08"

/* KIVI (group 32) and the quantised caches of transformers (64): asymmetric, scale and zero point of 2 bytes each. */
#define INT4_GROUPWISE(group) .bits = 4, .scale_group = group, .scale_bits = 16, .zero_bits = 16, .lossy = true, \
	.source = "4-bit groups with a scale and a zero point of 16 bits, as KIVI and transformers keep them"

static const struct kv_cache_format formats[] = {
	{.name = "auto", .source = "the model's dtype"},
	{.name = "float32", .bits = 32, .source = VLLM_CACHE},
	{.name = "bfloat16", .bits = 16, .source = VLLM_CACHE},
	{.name = "float16", .bits = 16, .source = VLLM_CACHE},
	{.name = "fp8", .bits = 8, .lossy = true, .source = VLLM_CACHE},
	{.name = "fp8_e4m3", .bits = 8, .lossy = true, .source = VLLM_CACHE},
	{.name = "fp8_e5m2", .bits = 8, .lossy = true, .source = VLLM_CACHE},
	{.name = "fp8_per_token_head", .bits = 8, .token_head_bytes = 4, .lossy = true, .source = VLLM_CACHE},
	{.name = "int8_per_token_head", .bits = 8, .token_head_bytes = 4, .lossy = true, .source = VLLM_CACHE},
	{.name = "int4_per_token_head", .bits = 4, .token_head_bytes = 4, .lossy = true,
	 .source = VLLM_CACHE ": scale and zero point share 4 bytes; LMDeploy's quant_policy 4 takes as much"},
	{.name = "int4_g32", INT4_GROUPWISE(32)},
	{.name = "int4_g64", INT4_GROUPWISE(64)},
	{.name = "int4_g128", INT4_GROUPWISE(128)},
	{.name = "nvfp4", .bits = 4, .scale_group = 16, .scale_bits = 8, .lossy = true,
	 .source = "NVFP4: 4 bits and an fp8 scale for 16 elements"},
	{.name = "fp8_ds_mla", .bits = 8, .sparse_mla = true, .lossy = true,
	 .source = "DeepSeek-V3.2 sparse layout: 512 latent fp8 + 16 scales + 128 rope bf16; V4: kv_layout_compressed.c"},
	{.name = "q8_0", .bits = 8, .scale_group = 32, .scale_bits = 16, .lossy = true, .source = "llama.cpp ggml types"},
	{.name = "q5_0", .bits = 5, .scale_group = 32, .scale_bits = 16, .lossy = true, .source = "llama.cpp ggml types"},
	{.name = "q4_0", .bits = 4, .scale_group = 32, .scale_bits = 16, .lossy = true, .source = "llama.cpp ggml types"},
};

enum { KV_BLOCK_MAX = 1 << 30 };  /* tokens */

enum { SPARSE_ROW_BYTES = 656, SPARSE_ROW_SCALES = 16 };  /* of a token and layer, DeepSeek-V3.2 */

static const struct kv_cache_format *const model_format = &formats[0];

enum { FORMATS = sizeof formats / sizeof *formats };

/* Layers with equal caches. */
struct layer_type {
	enum kv_group_kind kind;
	uint32_t window;
	uint64_t token_bytes;     /* of one layer; 0 for state */
	uint64_t metadata_bytes;
	uint64_t state_bytes;     /* of one layer */
	uint32_t count;
	uint32_t block_size;
};

struct layer_types {
	uint32_t count;
	struct layer_type type[KV_MAX_GROUPS];
};

const char *kv_group_kind_name(enum kv_group_kind kind)
{
	return kind_names[kind];
}

const struct kv_cache_format *kv_cache_format_find(const char *name, struct kv_error *err)
{
	static const struct {
		const char *name, *meant;
	} aliases[] = {{"bf16", "bfloat16"}, {"fp16", "float16"}, {"f16", "float16"}, {"half", "float16"}, {"f32", "float32"}};
	const char *names[FORMATS], *wanted = name;

	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (!strcmp(name, aliases[i].name))
			wanted = aliases[i].meant;
	for (int i = 0; i < FORMATS; i++) {
		names[i] = formats[i].name;
		if (!strcmp(formats[i].name, wanted))
			return &formats[i];
	}
	kv_fail_unknown(err, KV_EXIT_USAGE, "KV cache dtype", name, names, FORMATS);
	return NULL;
}

bool kv_cache_format_is_fp8(const struct kv_cache_format *cache)
{
	return cache->bits == 8 && !cache->scale_group && !cache->token_head_bytes;
}

static uint64_t element_bits(const struct kv_cache_format *cache, const struct kv_model *model)
{
	return cache->bits ? cache->bits : kv_dtype_bits(model->dtype);
}

static uint64_t group_metadata(const struct kv_cache_format *cache, uint64_t elements)
{
	uint64_t group_bits = cache->scale_bits + cache->zero_bits;

	return cache->scale_group ? kv_ceil_div(elements, cache->scale_group) * group_bits / 8 : 0;
}

static uint64_t row_metadata(const struct kv_cache_format *cache, uint64_t elements)
{
	return group_metadata(cache, elements) + cache->token_head_bytes;
}

uint64_t kv_cache_row_bytes(const struct kv_cache_format *cache, const struct kv_model *model, uint64_t elements)
{
	return kv_ceil_div(elements * element_bits(cache, model), 8) + group_metadata(cache, elements);
}

/* KV heads are split over the ranks and never fall below one a rank. */
static void size_attention(const struct kv_model *model, const struct kv_layer *layer, const struct kv_cache_format *cache,
                           uint32_t tensor_parallel, struct layer_type *type)
{
	uint64_t heads = kv_max(1, layer->kv_heads / tensor_parallel);
	uint64_t bits = element_bits(cache, model);

	type->metadata_bytes = heads * (row_metadata(cache, layer->head_dim) + row_metadata(cache, layer->v_head_dim));
	type->token_bytes = heads * (kv_ceil_div(layer->head_dim * bits, 8) + kv_ceil_div(layer->v_head_dim * bits, 8))
	                    + type->metadata_bytes;
}

/* Indexer keys of sparse attention: fp8 elements and one 4-byte scale. */
static uint64_t index_bytes(const struct kv_model *model)
{
	return model->index_heads ? model->index_head_dim + 4 : 0;
}

/* vLLM takes fp8 for fp8_ds_mla where the model has an indexer. */
static bool is_sparse_format(const struct kv_model *model, const struct kv_cache_format *cache)
{
	return cache->sparse_mla || (model->index_heads && kv_cache_format_is_fp8(cache));
}

/* One latent a token, whole on every rank; vLLM counts per-token-head scales for keys and values all the same. */
static int size_mla(const struct kv_model *model, const struct kv_cache_format *cache, struct layer_type *type,
                    struct kv_error *err)
{
	uint64_t elements = model->kv_lora_rank + model->qk_rope_dim;

	type->metadata_bytes = row_metadata(cache, elements) + cache->token_head_bytes;
	type->token_bytes = kv_ceil_div(elements * element_bits(cache, model), 8) + type->metadata_bytes;
	if (is_sparse_format(model, cache)) {
		if (model->kv_lora_rank != 512 || model->qk_rope_dim != 64)
			return kv_fail(err, KV_EXIT_USAGE, "KV cache dtype %s is laid out for latents of 512 + 64, not %u + %u",
			               cache->name, model->kv_lora_rank, model->qk_rope_dim);
		type->token_bytes = SPARSE_ROW_BYTES;
		type->metadata_bytes = SPARSE_ROW_SCALES;
	}
	type->token_bytes += index_bytes(model);
	return 0;
}

/* Shapes of vLLM's mamba_utils.py. */
static uint64_t channels_of(const struct kv_recurrent *s, enum kv_mixer mixer, uint32_t tp)
{
	switch (mixer) {
	case KV_MIXER_MAMBA1:
	case KV_MIXER_SHORT_CONV:
		return s->inner;
	case KV_MIXER_LIGHTNING:
		return 0;
	case KV_MIXER_MAMBA2:
		return s->inner + 2 * kv_ceil_div(s->key_heads, tp) * tp * s->d_state;
	default:
		return 2 * (uint64_t)s->key_heads * s->key_dim + (uint64_t)s->value_heads * s->value_dim;
	}
}

static uint64_t elements_of(const struct kv_recurrent *s, enum kv_mixer mixer)
{
	switch (mixer) {
	case KV_MIXER_MAMBA1:
		return (uint64_t)s->inner * s->d_state;
	case KV_MIXER_SHORT_CONV:
		return 0;
	case KV_MIXER_MAMBA2:
		return (uint64_t)s->value_heads * s->value_dim * s->d_state;
	default:
		return (uint64_t)s->value_heads * s->value_dim * s->key_dim;
	}
}

struct kv_state_elements kv_model_state(const struct kv_model *model, uint32_t tp)
{
	const struct kv_recurrent *s = &model->recurrent;
	struct kv_state_elements sum = {0};

	for (uint32_t i = 0; i < model->layers; i++) {
		const struct kv_layer *layer = &model->layer[i];
		enum kv_mixer mixer = layer->with_state ? KV_MIXER_MAMBA2 : layer->mixer;

		if (!kv_layer_is_recurrent(layer))
			continue;
		sum.convolution += channels_of(s, mixer, tp) * (s->conv_kernel - 1);
		sum.state += elements_of(s, mixer);
	}
	return sum;
}

/* Convolutions keep kernel - 1 positions, and some one more a draft token. */
static void size_state(const struct kv_model *model, enum kv_mixer mixer, const struct kv_layout_options *o,
                       struct layer_type *type)
{
	const struct kv_recurrent *s = &model->recurrent;
	uint64_t drafts = mixer == KV_MIXER_MAMBA1 || mixer == KV_MIXER_SHORT_CONV ? 0 : o->speculative_tokens;

	type->state_bytes = (channels_of(s, mixer, o->tensor_parallel) * (s->conv_kernel - 1 + drafts)
	                     * kv_dtype_bits(s->conv_dtype) + elements_of(s, mixer) * kv_dtype_bits(s->state_dtype))
	                    / 8 / o->tensor_parallel;
}

static enum kv_group_kind kind_of(enum kv_mixer mixer, bool whole_context)
{
	switch (mixer) {
	case KV_MIXER_FULL: return KV_GROUP_FULL;
	case KV_MIXER_MLA: return KV_GROUP_MLA;
	case KV_MIXER_SLIDING: return whole_context ? KV_GROUP_FULL : KV_GROUP_SLIDING_WINDOW;
	case KV_MIXER_CHUNKED: return whole_context ? KV_GROUP_FULL : KV_GROUP_CHUNKED_LOCAL;
	default: return KV_GROUP_STATE;
	}
}

static int size_layer(const struct kv_model *model, uint32_t index, const struct kv_layout_options *o,
                      struct layer_type *type, struct kv_error *err)
{
	const struct kv_layer *layer = &model->layer[index];
	const struct kv_cache_format *cache = kv_wide_layers_hold(&o->wide, index) ? model_format : o->cache;

	*type = (struct layer_type){.kind = kind_of(layer->mixer, o->whole_context), .count = 1,
	                            .block_size = o->block_size};
	if (type->kind == KV_GROUP_SLIDING_WINDOW || type->kind == KV_GROUP_CHUNKED_LOCAL)
		type->window = layer->window;
	if (type->kind == KV_GROUP_STATE) {
		size_state(model, layer->mixer, o, type);
		return 0;
	}
	if (type->kind == KV_GROUP_MLA)
		return size_mla(model, cache, type, err);
	if (cache->sparse_mla)
		return kv_fail(err, KV_EXIT_USAGE, "KV cache dtype %s goes with MLA models only, and %s is none", cache->name,
		               model->name);
	size_attention(model, layer, cache, o->tensor_parallel, type);
	return 0;
}

static bool same_type(const struct layer_type *a, const struct layer_type *b)
{
	return a->kind == b->kind && a->window == b->window && a->token_bytes == b->token_bytes;
}

static int add_type(struct layer_types *types, const struct layer_type *type, const struct kv_model *model,
                    struct kv_error *err)
{
	for (uint32_t i = 0; i < types->count; i++)
		if (same_type(&types->type[i], type)) {
			types->type[i].count++;
			return 0;
		}
	if (types->count == KV_MAX_GROUPS)
		return kv_fail(err, KV_EXIT_DATA, "%s has more than %d kinds of layers", model->name, KV_MAX_GROUPS);
	types->type[types->count++] = *type;
	return 0;
}

static int collect_range(const struct kv_model *model, const struct kv_layout_options *o, uint32_t first, uint32_t end,
                         struct layer_types *types, struct kv_error *err)
{
	for (uint32_t i = first; i < end; i++) {
		const struct kv_layer *layer = &model->layer[i];
		struct layer_type type;

		if (layer->mixer == KV_MIXER_NONE || layer->shares_kv_with >= 0 || (o->states_apart && !layer->kv_heads))
			continue;
		if (size_layer(model, i, o, &type, err) != 0 || add_type(types, &type, model, err) != 0)
			return -1;
		if (!layer->with_state || o->states_apart)
			continue;
		type = (struct layer_type){.kind = KV_GROUP_STATE, .count = 1, .block_size = o->block_size};
		size_state(model, KV_MIXER_MAMBA2, o, &type);
		if (add_type(types, &type, model, err) != 0)
			return -1;
	}
	return 0;
}

static uint64_t token_bytes(const struct layer_types *types)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < types->count; i++)
		bytes += types->type[i].token_bytes * types->type[i].count;
	return bytes;
}

/* A drafter's layers stand behind the model's last ones; equal ones join a kind. */
static int collect_draft(const struct kv_layout_options *o, struct layer_types *types, struct kv_layout *layout,
                         struct kv_error *err)
{
	uint64_t before = token_bytes(types);
	struct kv_layout_options own = *o;

	own.wide = (struct kv_wide_layers){0};
	if (collect_range(o->draft, &own, 0, o->draft->layers, types, err) != 0)
		return -1;
	layout->draft_bytes = token_bytes(types) - before;
	return 0;
}

static int collect_types(const struct kv_model *model, const struct kv_layout_options *o, struct layer_types *types,
                         struct kv_layout *layout, struct kv_error *err)
{
	uint32_t end = o->layer_count ? o->first_layer + o->layer_count : model->layers;
	bool last = end == model->layers;

	if (o->mtp && last)
		end += model->mtp_layers;
	if (collect_range(model, o, o->first_layer, end, types, err) != 0)
		return -1;
	return o->draft && last ? collect_draft(o, types, layout, err) : 0;
}

static bool keeps_all(enum kv_group_kind kind)
{
	return kind == KV_GROUP_FULL || kind == KV_GROUP_MLA;
}

static void put_full_first(struct layer_types *types)
{
	for (uint32_t i = 1; i < types->count; i++)
		for (uint32_t j = i; j > 0 && keeps_all(types->type[j].kind) && !keeps_all(types->type[j - 1].kind); j--) {
			struct layer_type swap = types->type[j];

			types->type[j] = types->type[j - 1];
			types->type[j - 1] = swap;
		}
}

/* Beside recurrent state the attention block grows until its page covers one state, which is padded to it. */
static int unify_with_state(struct layer_types *types, const struct kv_model *model, const struct kv_layout_options *o,
                            uint64_t *page, struct kv_error *err)
{
	struct layer_type *attention = NULL, *state = NULL;
	uint64_t alignment;

	for (uint32_t i = 0; i < types->count; i++) {
		struct layer_type **slot = types->type[i].kind == KV_GROUP_STATE ? &state : &attention;

		if (*slot)
			return kv_fail(err, KV_EXIT_DATA, "%s has recurrent layers beside several kinds of attention: how an engine "
			               "lays that out is not known", model->name);
		*slot = &types->type[i];
	}
	if (!attention)
		return kv_fail(err, KV_EXIT_DATA, "%s has recurrent layers only: there is no KV cache to size", model->name);
	alignment = o->state_alignment ? o->state_alignment
	            : kv_max(o->block_size, attention->kind == KV_GROUP_MLA ? 128 : 16);
	alignment *= kv_max(1, kv_ceil_div(state->state_bytes, alignment * attention->token_bytes));
	if (alignment > KV_BLOCK_MAX)
		return kv_fail(err, KV_EXIT_DATA, "%s keeps %llu bytes of state a layer beside %llu bytes of KV cache a token: no block "
		               "covers that", model->name, (unsigned long long)state->state_bytes,
		               (unsigned long long)attention->token_bytes);
	attention->block_size = (uint32_t)alignment;
	state->block_size = attention->block_size;
	*page = attention->block_size * attention->token_bytes;
	return 0;
}

static int unify_pages(struct layer_types *types, const struct kv_model *model, const struct kv_layout_options *o,
                       uint64_t *page, struct kv_error *err)
{
	uint64_t largest = 0;

	for (uint32_t i = 0; i < types->count; i++) {
		if (types->type[i].kind == KV_GROUP_STATE)
			return unify_with_state(types, model, o, page, err);
		largest = kv_max(largest, types->type[i].token_bytes);
	}
	for (uint32_t i = 0; i < types->count; i++) {
		if (largest % types->type[i].token_bytes || largest / types->type[i].token_bytes * o->block_size > KV_BLOCK_MAX)
			return kv_fail(err, KV_EXIT_DATA, "%s has layers of %llu and of %llu bytes a token, and no block sizes make "
			               "their pages equal", model->name, (unsigned long long)largest,
			               (unsigned long long)types->type[i].token_bytes);
		types->type[i].block_size *= (uint32_t)(largest / types->type[i].token_bytes);
	}
	*page = largest * o->block_size;
	return 0;
}

static uint32_t group_size(const struct layer_types *types)
{
	uint32_t smallest = UINT32_MAX, largest = 0;

	for (uint32_t i = 0; i < types->count; i++) {
		smallest = types->type[i].count < smallest ? types->type[i].count : smallest;
		largest = types->type[i].count > largest ? types->type[i].count : largest;
	}
	return 2 * (uint64_t)largest < 3 * (uint64_t)smallest ? largest : smallest;
}

static int spread(const struct layer_types *types, const struct kv_model *model, uint64_t page,
                  struct kv_layout *layout, struct kv_error *err)
{
	uint32_t size = group_size(types);

	layout->layer_slots = size;
	layout->page_bytes = page * size;
	for (uint32_t i = 0; i < types->count; i++) {
		const struct layer_type *type = &types->type[i];
		uint32_t groups = (uint32_t)kv_ceil_div(type->count, size);

		if (layout->groups + groups > KV_MAX_GROUPS)
			return kv_fail(err, KV_EXIT_DATA, "%s needs more than %d KV groups", model->name, KV_MAX_GROUPS);
		for (uint32_t k = 0; k < groups; k++)
			layout->group[layout->groups++] = (struct kv_group){
				.kind = type->kind, .window = type->window, .block_size = type->block_size,
				.layers = type->count / groups + (k < type->count % groups), .page_bytes = layout->page_bytes,
			};
		layout->padding_layers += groups * size - type->count;
	}
	return 0;
}

/* Types that keep every token share one block table, whatever their widths. */
static bool all_keep(const struct layer_types *types)
{
	for (uint32_t i = 0; i < types->count; i++)
		if (!keeps_all(types->type[i].kind))
			return false;
	return true;
}

static void put_in_one_group(const struct layer_types *types, uint32_t block_size, struct kv_layout *layout)
{
	struct kv_group *group = &layout->group[0];

	*group = (struct kv_group){.kind = types->type[0].kind, .block_size = block_size};
	for (uint32_t i = 0; i < types->count; i++)
		group->layers += types->type[i].count;
	group->page_bytes = layout->growing_bytes * block_size;
	layout->groups = 1;
	layout->layer_slots = group->layers;
	layout->page_bytes = group->page_bytes;
}

static void sum_bytes(const struct layer_types *types, struct kv_layout *layout)
{
	for (uint32_t i = 0; i < types->count; i++) {
		const struct layer_type *type = &types->type[i];

		if (type->kind == KV_GROUP_STATE)
			layout->state_bytes += type->state_bytes * type->count;
		else if (keeps_all(type->kind))
			layout->growing_bytes += type->token_bytes * type->count;
		else
			layout->windowed_bytes += type->token_bytes * type->count;
		layout->metadata_bytes += type->metadata_bytes * type->count;
	}
}

int kv_layout_plan(const struct kv_model *model, const struct kv_layout_options *options, struct kv_layout *layout,
                   struct kv_error *err)
{
	struct layer_types types = {0};
	uint64_t page = 0;

	*layout = (struct kv_layout){.speculative_tokens = options->speculative_tokens,
	                             .state_caching = options->state_caching};
	if (kv_model_check_tp(model, options->tensor_parallel, err) != 0)
		return -1;
	if (model->layer[0].mixer == KV_MIXER_COMPRESSED)
		return kv_layout_plan_compressed(model, options, layout, err);
	if (collect_types(model, options, &types, layout, err) != 0)
		return -1;
	if (types.count == 0)
		return kv_fail(err, KV_EXIT_DATA, "%s has no layer with a KV cache of its own", model->name);
	put_full_first(&types);
	sum_bytes(&types, layout);
	if (all_keep(&types)) {
		put_in_one_group(&types, options->block_size, layout);
		return 0;
	}
	if (unify_pages(&types, model, options, &page, err) != 0)
		return -1;
	return spread(&types, model, page, layout, err);
}

uint64_t kv_group_request_blocks(const struct kv_layout *layout, const struct kv_group *group, uint64_t tokens,
                                 uint64_t in_flight)
{
	uint64_t whole = kv_ceil_div(tokens, group->block_size);

	switch (group->kind) {
	case KV_GROUP_SLIDING_WINDOW:
		return kv_ceil_div(kv_min(group->window - 1 + in_flight, tokens), group->block_size) + 1;
	case KV_GROUP_CHUNKED_LOCAL:
		return kv_ceil_div(kv_min(group->window + in_flight, tokens), group->block_size);
	case KV_GROUP_STATE:
		if (layout->state_caching == KV_STATE_ALL)
			return whole + layout->speculative_tokens;
		return (layout->state_caching == KV_STATE_ALIGN ? 2 : 1) + layout->speculative_tokens;
	default:
		return whole;
	}
}

uint64_t kv_layout_request_blocks(const struct kv_layout *layout, uint64_t tokens, uint64_t in_flight)
{
	uint64_t blocks = 0;

	for (uint32_t i = 0; i < layout->groups; i++)
		blocks += kv_group_request_blocks(layout, &layout->group[i], tokens, in_flight);
	return blocks;
}
