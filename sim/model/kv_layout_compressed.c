#include "config.h"

#include "sim/model/kv_layout_compressed.h"

#include "sim/base/units.h"
#include "sim/model/model.h"

enum {
	ROW_BYTES = 584, ROW_SCALES = 8, INDEX_SCALES = 4,
	MAIN_BLOCK = 256, WINDOW_BLOCK = 64, DEFAULT_BLOCK = 16,  /* tokens */
	PAGE_ALIGNMENT = 576
};

/* Partial sums of a ratio: tokens in a block and in its window, and float32 values a token for each of width values
 * (content and score; rows of ratio 4 overlap and need both neighbours). */
static const struct partial {
	uint32_t block, window, values;
} partial_4 = {4, 8, 4}, partial_128 = {8, 128, 2};

/* Layers of a pipeline stage by their rows. */
struct census {
	uint32_t all, by_4, by_128;
	uint32_t window, width, index_width;
};

static struct census count_layers(const struct kv_model *model, const struct kv_layout_options *o)
{
	uint32_t end = o->layer_count ? o->first_layer + o->layer_count : model->layers;
	struct census c = {.width = model->head_dim, .index_width = model->index_head_dim};

	if (o->mtp && end == model->layers)
		end += model->mtp_layers;
	for (uint32_t i = o->first_layer; i < end; i++) {
		c.all++;
		c.by_4 += model->layer[i].compress_ratio == 4;
		c.by_128 += model->layer[i].compress_ratio == 128;
		c.window = model->layer[i].window;
	}
	return c;
}

static uint64_t page(uint64_t rows, uint64_t row_bytes)
{
	return kv_ceil_div(rows * row_bytes, PAGE_ALIGNMENT) * PAGE_ALIGNMENT;
}

static uint64_t partial_bytes(const struct partial *p, uint32_t width)
{
	return (uint64_t)p->values * width * sizeof(float);
}

/* Layers in a group of windows: the number from `least` on that leaves the fewest slots empty over all kinds, the largest of
 * several. */
static uint32_t window_group_size(const struct census *c)
{
	const uint32_t counts[] = {kv_max(c->by_4, c->by_128), c->all, c->by_4, c->by_128};
	uint32_t best = counts[0];
	uint64_t fewest = UINT64_MAX;

	for (uint32_t size = counts[0]; size <= c->all; size++) {
		uint64_t empty = 0;

		for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
			empty += (size - counts[i] % size) % size;
		if (empty <= fewest) {
			fewest = empty;
			best = size;
		}
	}
	return best;
}

static uint64_t index_page(const struct census *c)
{
	return page(MAIN_BLOCK / 4, c->index_width + INDEX_SCALES);
}

static uint64_t dense_page(const struct census *c)
{
	uint64_t rows = c->by_4 * (page(MAIN_BLOCK / 4, ROW_BYTES) + index_page(c)) + c->by_128 * page(MAIN_BLOCK / 128, ROW_BYTES);
	uint64_t windows = window_group_size(c) * page(WINDOW_BLOCK, ROW_BYTES);
	uint64_t sums_4 = c->by_4 * (page(partial_4.block, partial_bytes(&partial_4, c->width))
	                             + page(partial_4.block, partial_bytes(&partial_4, c->index_width)));
	uint64_t sums_128 = c->by_128 * page(partial_128.block, partial_bytes(&partial_128, c->width));

	return kv_max(kv_max(rows, windows), kv_max(sums_4, sums_128));
}

/* Before, pages of windows and sums were padded to the next size of the rows' pages. */
static uint64_t padded_page(const struct census *c, enum kv_packing packing)
{
	uint64_t large = kv_max(window_group_size(c), kv_max(c->by_4, c->by_128));

	if (packing == KV_PACKING_TUPLES)
		return large * (page(MAIN_BLOCK / 4, ROW_BYTES) + index_page(c) + page(MAIN_BLOCK / 128, ROW_BYTES));
	return large * page(MAIN_BLOCK / 4, ROW_BYTES) + c->by_4 * index_page(c) + c->by_128 * page(MAIN_BLOCK / 128, ROW_BYTES);
}

static void add_group(struct kv_layout *layout, enum kv_group_kind kind, uint32_t layers, uint32_t block,
                      uint32_t window)
{
	if (layers)
		layout->group[layout->groups++] = (struct kv_group){.kind = kind, .layers = layers, .block_size = block,
		                                                    .window = window, .page_bytes = layout->page_bytes};
}

static void add_groups(struct kv_layout *layout, const struct census *c)
{
	uint32_t windows = (uint32_t)kv_ceil_div(c->all, window_group_size(c));

	add_group(layout, KV_GROUP_MLA, c->by_4 + c->by_128, MAIN_BLOCK, 0);
	for (uint32_t k = 0; k < windows; k++)
		add_group(layout, KV_GROUP_SLIDING_WINDOW, c->all / windows + (k < c->all % windows), WINDOW_BLOCK, c->window);
	add_group(layout, KV_GROUP_SLIDING_WINDOW, c->by_4, partial_4.block, partial_4.window);
	add_group(layout, KV_GROUP_SLIDING_WINDOW, c->by_128, partial_128.block, partial_128.window);
}

static void sum_bytes(struct kv_layout *layout, const struct census *c)
{
	uint64_t rows = MAIN_BLOCK / 4 * c->by_4 + MAIN_BLOCK / 128 * c->by_128;

	layout->growing_bytes = kv_ceil_div(rows * ROW_BYTES + MAIN_BLOCK / 4 * c->by_4 * (c->index_width + INDEX_SCALES),
	                                    MAIN_BLOCK);
	layout->windowed_bytes = (uint64_t)c->all * ROW_BYTES
	                         + c->by_4 * partial_bytes(&partial_4, c->width + c->index_width)
	                         + c->by_128 * partial_bytes(&partial_128, c->width);
	layout->metadata_bytes = kv_ceil_div(rows * ROW_SCALES + MAIN_BLOCK / 4 * c->by_4 * INDEX_SCALES, MAIN_BLOCK)
	                         + (uint64_t)c->all * ROW_SCALES;
}

static int check(const struct kv_model *model, const struct kv_layout_options *o, const struct census *c,
                 struct kv_error *err)
{
	if (o->whole_context)
		return kv_fail(err, KV_EXIT_USAGE, "%s has compressed layers: how they are laid out is known for vLLM with its hybrid KV "
		               "cache manager only", model->name);
	if (o->draft)
		return kv_fail(err, KV_EXIT_USAGE, "%s has compressed layers: how a drafter of another model is laid out beside them is not "
		               "known", model->name);
	if (kv_wide_layers_any(&o->wide))
		return kv_fail(err, KV_EXIT_USAGE, "%s has compressed layers, which have no wide form beside a narrow one", model->name);
	if (!kv_cache_format_is_fp8(o->cache))
		return kv_fail(err, KV_EXIT_USAGE, "%s has compressed layers, whose rows are known in fp8 (584 bytes): give "
		               "--kv-cache-dtype fp8, not %s", model->name, o->cache->name);
	if (o->block_size != MAIN_BLOCK && o->block_size != DEFAULT_BLOCK)
		return kv_fail(err, KV_EXIT_USAGE, "%s has compressed layers, which come in blocks of %d tokens, not %u", model->name,
		               MAIN_BLOCK, o->block_size);
	if (model->head_dim != 512 || model->qk_rope_dim != 64 || model->index_head_dim != 128)
		return kv_fail(err, KV_EXIT_USAGE, "rows of 584 bytes are laid out for heads of 512 with 64 rotated and indexer heads of 128, "
		               "and %s has %u, %u and %u", model->name, model->head_dim, model->qk_rope_dim, model->index_head_dim);
	if (c->by_4 + c->by_128 == 0)
		return kv_fail(err, KV_EXIT_USAGE, "a pipeline stage of %s has no compressed layer: vLLM does not lay out such a stage",
		               model->name);
	return 0;
}

int kv_layout_plan_compressed(const struct kv_model *model, const struct kv_layout_options *o, struct kv_layout *layout,
                              struct kv_error *err)
{
	struct census c = count_layers(model, o);

	if (check(model, o, &c, err) != 0)
		return -1;
	layout->page_bytes = o->packing == KV_PACKING_DENSE ? dense_page(&c) : padded_page(&c, o->packing);
	add_groups(layout, &c);
	layout->layer_slots = c.by_4 + c.by_128;
	sum_bytes(layout, &c);
	return 0;
}
