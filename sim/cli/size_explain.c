#include "config.h"

#include "sim/cli/size.h"

#include <inttypes.h>
#include <string.h>

#include "sim/base/quantity.h"
#include "sim/base/units.h"

/* Layers that the rank of the budget holds, prediction layers included where they are cached. */
struct rank_layers {
	const struct kv_model *model;
	uint32_t first, end;
};

static struct rank_layers layers_of(const struct kv_size_report *r)
{
	const struct kv_budget_question *b = &r->question.budget;
	struct rank_layers layers = { .model = r->deployment.model };
	uint32_t count;

	kv_pipeline_stage(layers.model->layers, b->pipeline_parallel, r->answer.budget.stage, &layers.first, &count);
	layers.end = layers.first + count;
	if (b->layout.mtp && layers.end == layers.model->layers)
		layers.end += layers.model->mtp_layers;
	return layers;
}

static uint32_t count_mixer(const struct rank_layers *at, enum kv_mixer mixer)
{
	uint32_t count = 0;

	for (uint32_t i = at->first; i < at->end; i++)
		count += at->model->layer[i].mixer == mixer && at->model->layer[i].shares_kv_with < 0;
	return count;
}

static double element_bytes(const struct kv_size_report *r, bool wide)
{
	uint32_t bits = wide ? 0 : r->question.budget.layout.cache->bits;

	return (bits ? bits : kv_dtype_bits(r->deployment.model->dtype)) / 8.0;
}

static uint32_t count_ratio(const struct rank_layers *at, uint32_t ratio)
{
	uint32_t count = 0;

	for (uint32_t i = at->first; i < at->end; i++)
		count += at->model->layer[i].compress_ratio == ratio;
	return count;
}

/* How many positions of how many sequences. */
struct extent {
	uint64_t positions, sequences;
};

static void print_extent(struct kv_output *out, const struct extent *e)
{
	kv_output_printf(out, " x %" PRIu64 " positions x %" PRIu64 " sequences", e->positions, e->sequences);
}

static void print_result(struct kv_output *out, double product)
{
	char bytes[KV_QUANTITY_MAX];

	kv_output_printf(out, "\n    = %.0f bytes (%s) on a rank\n", product, kv_format_bytes_short((int64_t)product, bytes));
}

/* DeepSeek-V4: what every further token adds once a row is complete. */
static void print_rows(struct kv_output *out, const struct rank_layers *at, const struct extent *e)
{
	uint32_t by_4 = count_ratio(at, 4), by_128 = count_ratio(at, 128);

	kv_output_printf(out, "  (%u layers x (584 row + 132 indexer) bytes / 4 + %u layers x 584 bytes / 128)", by_4, by_128);
	print_extent(out, e);
	print_result(out, (by_4 * (584 + 132) / 4.0 + by_128 * 584 / 128.0) * (double)e->positions * (double)e->sequences);
}

/* Are the rows of a fixed layout with scales and wide rope inside? */
static bool has_fixed_rows(const struct kv_size_report *r)
{
	const struct kv_cache_format *cache = r->question.budget.layout.cache;

	return r->deployment.model->index_heads && (cache->sparse_mla || kv_cache_format_is_fp8(cache));
}

/* A latent a token and layer, with an indexer's key beside it in DeepSeek-V3.2; its bytes a token. */
static double print_latents(struct kv_output *out, const struct kv_size_report *r, const struct rank_layers *at,
                            const struct extent *e)
{
	const struct kv_model *m = at->model;
	uint32_t layers = count_mixer(at, KV_MIXER_MLA), indexer = m->index_heads ? m->index_head_dim + 4 : 0;
	double latent = (m->kv_lora_rank + m->qk_rope_dim) * element_bytes(r, false);

	if (has_fixed_rows(r)) {
		kv_output_printf(out, "  %u layers x (656 row + %u indexer) bytes", layers, indexer);
		print_extent(out, e);
		return layers * (656.0 + indexer);
	}
	if (indexer) {
		kv_output_printf(out, "  %u layers x ((%u latent + %u rope) x %g + %u indexer) bytes", layers, m->kv_lora_rank,
		                 m->qk_rope_dim, element_bytes(r, false), indexer);
		print_extent(out, e);
		return layers * (latent + indexer);
	}
	kv_output_printf(out, "  %u layers x (%u latent + %u rope)", layers, m->kv_lora_rank, m->qk_rope_dim);
	print_extent(out, e);
	kv_output_printf(out, " x %g bytes", element_bytes(r, false));
	return layers * latent;
}

/* Layers whose keys and values have one shape. */
struct heads {
	uint32_t layers, key_dim, value_dim;
	uint64_t heads;
	bool wide;
};

static bool reads_heads(const struct kv_size_report *r, const struct rank_layers *at, uint32_t i, struct heads *out)
{
	const struct kv_layer *l = &at->model->layer[i];

	*out = (struct heads){ 1, l->head_dim, l->v_head_dim, kv_max(1, l->kv_heads / r->question.budget.layout.tensor_parallel),
	                       kv_wide_layers_hold(&r->question.budget.layout.wide, i) };
	return l->kv_heads && l->shares_kv_with < 0;
}

static size_t collect_heads(const struct kv_size_report *r, const struct rank_layers *at, struct heads *kinds)
{
	struct heads one;
	size_t count = 0, k;

	for (uint32_t i = at->first; i < at->end; i++) {
		if (!reads_heads(r, at, i, &one))
			continue;
		for (k = 0; k < count; k++)
			if (kinds[k].heads == one.heads && kinds[k].key_dim == one.key_dim && kinds[k].value_dim == one.value_dim &&
			    kinds[k].wide == one.wide)
				break;
		if (k < count)
			kinds[k].layers++;
		else if (count < KV_MAX_GROUPS)
			kinds[count++] = one;
	}
	return count;
}

/* Their bytes a token. */
static double print_heads_term(struct kv_output *out, const struct kv_size_report *r, const struct heads *h,
                               const struct extent *e)
{
	double bytes = element_bytes(r, h->wide);

	if (h->key_dim == h->value_dim)
		kv_output_printf(out, "2 (K and V) x %u layers x %" PRIu64 " KV heads x %u dimensions", h->layers, h->heads, h->key_dim);
	else
		kv_output_printf(out, "%u layers x %" PRIu64 " KV heads x (%u K + %u V) dimensions", h->layers, h->heads, h->key_dim,
		                 h->value_dim);
	print_extent(out, e);
	kv_output_printf(out, " x %g bytes", bytes);
	return (double)h->layers * (double)h->heads * (h->key_dim + h->value_dim) * bytes;
}

static double print_attention(struct kv_output *out, const struct kv_size_report *r, const struct rank_layers *at,
                              const struct extent *e)
{
	struct heads kinds[KV_MAX_GROUPS];
	size_t count = collect_heads(r, at, kinds);
	double bytes = 0;

	for (size_t k = 0; k < count; k++) {
		kv_output_text(out, k ? "\n  + " : "  ");
		bytes += print_heads_term(out, r, &kinds[k], e);
	}
	return bytes;
}

/* What a token takes beside its keys and values. */
static void print_extra(struct kv_output *out, const char *what, double bytes, const struct extent *e)
{
	if (bytes < 1)
		return;
	kv_output_printf(out, "\n  + %.0f bytes of %s", bytes, what);
	print_extent(out, e);
}

static void print_product(struct kv_output *out, const struct kv_size_report *r, uint64_t positions, uint64_t sequences)
{
	const struct kv_layout *l = &r->answer.budget.layout;
	struct rank_layers at = layers_of(r);
	struct extent e = { positions, sequences };
	double elements, token = (double)(l->growing_bytes + l->windowed_bytes);

	if (at.model->layer[0].mixer == KV_MIXER_COMPRESSED) {
		print_rows(out, &at, &e);
		return;
	}
	elements = at.model->kv_lora_rank ? print_latents(out, r, &at, &e) : print_attention(out, r, &at, &e);
	print_extra(out, "the drafter's layers", (double)l->draft_bytes, &e);
	print_extra(out, "scales", token - elements - (double)l->draft_bytes, &e);
	print_result(out, token * (double)positions * (double)sequences);
}

static void print_windows(struct kv_output *out, const struct kv_size_report *r)
{
	const struct kv_model *m = r->deployment.model;
	struct rank_layers at = layers_of(r);
	uint32_t windowed = count_mixer(&at, KV_MIXER_SLIDING) + count_mixer(&at, KV_MIXER_CHUNKED)
	                    + count_mixer(&at, KV_MIXER_COMPRESSED);
	uint32_t window = 0;

	for (uint32_t i = at.first; i < at.end; i++)
		window = m->layer[i].window ? m->layer[i].window : window;
	if (!windowed)
		return;
	kv_output_printf(out, "- %u layers look back %u tokens only%s", windowed, window,
	                 m->layer[0].mixer == KV_MIXER_COMPRESSED ? " (and on rows)" : "");
	if (r->answer.pools.count)
		kv_output_text(out, ": a request holds no more of them in their pool.\n");
	else if (r->answer.budget.layout.windowed_bytes)
		kv_output_printf(out, ": beyond them they stop growing, and a request holds window + tokens in flight (%" PRIu64
		                 ") in them.\n", kv_size_in_flight(&r->question));
	else
		kv_output_text(out, ", but hold whole contexts here.\n");
}

static bool is_llama(const struct kv_size_report *r)
{
	return r->question.budget.rule.engine == KV_SIZING_LLAMA_CPP;
}

static void print_states(struct kv_output *out, const struct kv_size_report *r)
{
	uint64_t state = kv_size_report_state(r);

	if (!state)
		return;
	kv_output_printf(out, "- Recurrent layers keep %" PRIu64 " bytes a sequence whatever its length", state);
	if (r->answer.budget.layout.group[r->answer.budget.layout.groups - 1].kind == KV_GROUP_STATE && !is_llama(r))
		kv_output_printf(out, ", and blocks grow to %u tokens to match", r->answer.budget.layout.group[0].block_size);
	kv_output_text(out, ": a request costs a constant and a slope.\n");
}

static void print_heads(struct kv_output *out, const struct kv_size_report *r)
{
	const struct kv_model *m = r->deployment.model;
	uint32_t tp = r->question.budget.layout.tensor_parallel;
	bool latent = m->kv_lora_rank || m->layer[0].mixer == KV_MIXER_COMPRESSED;

	if (latent)
		kv_output_text(
			out,
			"- The latent is one for all heads and whole on every rank: tensor parallelism does not shrink it.\n");
	else if (tp > m->kv_heads)
		kv_output_printf(
			out,
			"- %u ranks share %u KV heads: each rank still holds one, so ranks beyond %u add no room.\n",
			tp, m->kv_heads, m->kv_heads);
	if (!latent && m->head_dim * m->q_heads != m->hidden)
		kv_output_printf(out, "- The head dimension is the config's %u, not hidden / heads = %u.\n",
		                 m->head_dim, m->hidden / m->q_heads);
}

static void print_rounding(struct kv_output *out, const struct kv_size_report *r)
{
	const struct kv_layout *l = &r->answer.budget.layout;

	if (is_llama(r)) {
		kv_output_text(out, "- Cells are set aside for all slots at start-up, in multiples of 256, whether requests come or not.\n");
		return;
	}
	if (r->answer.pools.count)
		kv_output_printf(out, "- Each pool hands out blocks of %u tokens: the last one of a request is seldom full.\n",
		                 r->answer.pools.block_size);
	else
		kv_output_printf(out,
		                 "- Memory is handed out in blocks of %u tokens (%" PRIu64
		                 " bytes): the last one of a request is seldom "
		                 "full.\n",
		                 l->group[0].block_size, l->page_bytes);
	if (l->padding_layers)
		kv_output_printf(out, "- Layers come in groups of %u: %u slots stay empty and are paid for.\n",
		                 l->layer_slots, l->padding_layers);
	if (kv_wide_layers_any(&r->question.budget.layout.wide))
		kv_output_printf(
			out,
			"- The layers in --kv-cache-dtype-skip-layers keep the model's type: a token takes %" PRIu64
			" bytes.\n",
			l->growing_bytes + l->windowed_bytes);
	if (l->metadata_bytes)
		kv_output_printf(out, "- Scales and metadata %s %" PRIu64 " bytes a token.\n",
		                 has_fixed_rows(r) ? "are in the rows:" : "add", l->metadata_bytes);
	if (r->question.budget.rule.null_block)
		kv_output_text(
			out,
			"- One block is the null block: it counts in what the engine prints and is never given out.\n");
}

void kv_size_report_explain(struct kv_output *out, const struct kv_size_report *r)
{
	uint64_t sequences = r->arguments.sequences ? r->arguments.sequences : 1;

	kv_output_text(out, "\nThe formula\n");
	print_product(out, r, 1, 1);
	print_product(out, r, kv_size_report_length(r), sequences);
	kv_size_explain_blocks(out, r, sequences);
	kv_size_explain_budget(out, r);
	kv_output_text(out, "Where the formula stops applying here\n");
	print_windows(out, r);
	print_states(out, r);
	print_heads(out, r);
	print_rounding(out, r);
}
