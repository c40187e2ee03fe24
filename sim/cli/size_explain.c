#include "config.h"

#include "sim/cli/size.h"

#include <inttypes.h>
#include <string.h>

#include "sim/base/quantity.h"
#include "sim/base/units.h"

static const struct kv_layer *first_attention(const struct kv_model *m)
{
	for (uint32_t i = 0; i < m->layers; i++)
		if (m->layer[i].q_heads)
			return &m->layer[i];
	return &m->layer[0];
}

static uint32_t count_mixer(const struct kv_model *m, enum kv_mixer mixer)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < m->layers; i++)
		count += m->layer[i].mixer == mixer && m->layer[i].shares_kv_with < 0;
	return count;
}

static double element_bytes(const struct kv_size_report *r)
{
	uint32_t bits = r->question.budget.layout.cache->bits;

	return (bits ? bits : kv_dtype_bits(r->deployment.model->dtype)) / 8.0;
}

static uint32_t count_ratio(const struct kv_model *m, uint32_t ratio)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < m->layers; i++)
		count += m->layer[i].compress_ratio == ratio;
	return count;
}

/* DeepSeek-V4: what every further token adds once a row is complete. */
static void print_rows(struct kv_output *out, const struct kv_size_report *r, uint64_t positions, uint64_t sequences)
{
	const struct kv_model *m = r->deployment.model;
	uint32_t by_4 = count_ratio(m, 4), by_128 = count_ratio(m, 128);
	double product = (by_4 * (584 + 132) / 4.0 + by_128 * 584 / 128.0) * (double)positions * (double)sequences;
	char bytes[KV_QUANTITY_MAX];

	kv_output_printf(out,
	                 "  (%u layers x (584 row + 132 indexer) bytes / 4 + %u layers x 584 bytes / 128) x %" PRIu64
	                 " positions x %" PRIu64 " sequences\n    = %.0f bytes (%s) on a rank\n",
	                 by_4, by_128, positions, sequences, product, kv_format_bytes_short((int64_t)product, bytes));
}

/* Are the rows of a fixed layout with scales and wide rope inside? */
static bool has_fixed_rows(const struct kv_size_report *r)
{
	const struct kv_cache_format *cache = r->question.budget.layout.cache;

	return r->deployment.model->index_heads && (cache->sparse_mla || kv_cache_format_is_fp8(cache));
}

/* DeepSeek-V3.2: a latent and an indexer's key a token and layer. */
static void print_indexed_latents(struct kv_output *out, const struct kv_size_report *r, uint64_t positions,
                                  uint64_t sequences)
{
	const struct kv_model *m = r->deployment.model;
	uint32_t layers = count_mixer(m, KV_MIXER_MLA), indexer = m->index_head_dim + 4;
	double row = has_fixed_rows(r) ? 656 : (m->kv_lora_rank + m->qk_rope_dim) * element_bytes(r);
	double product = layers * (row + indexer) * (double)positions * (double)sequences;
	char bytes[KV_QUANTITY_MAX];

	if (has_fixed_rows(r))
		kv_output_printf(out, "  %u layers x (656 row", layers);
	else
		kv_output_printf(out, "  %u layers x ((%u latent + %u rope) x %g", layers, m->kv_lora_rank, m->qk_rope_dim,
		                 element_bytes(r));
	kv_output_printf(out, " + %u indexer) bytes x %" PRIu64 " positions x %" PRIu64
	                 " sequences\n    = %.0f bytes (%s) on a rank\n", indexer, positions, sequences, product,
	                 kv_format_bytes_short((int64_t)product, bytes));
}

static void print_product(struct kv_output *out, const struct kv_size_report *r, uint64_t positions, uint64_t sequences)
{
	const struct kv_model *m = r->deployment.model;
	const struct kv_layer *l = first_attention(m);
	uint64_t heads = kv_max(1, l->kv_heads / r->question.budget.layout.tensor_parallel);
	char bytes[KV_QUANTITY_MAX];
	double product;

	if (l->mixer == KV_MIXER_COMPRESSED) {
		print_rows(out, r, positions, sequences);
		return;
	}
	if (m->kv_lora_rank && m->index_heads) {
		print_indexed_latents(out, r, positions, sequences);
		return;
	}
	if (m->kv_lora_rank) {
		uint32_t layers = count_mixer(m, KV_MIXER_MLA);

		product = (double)layers * (m->kv_lora_rank + m->qk_rope_dim) * (double)positions * (double)sequences
		          * element_bytes(r);
		kv_output_printf(out,
		                 "  %u layers x (%u latent + %u rope) x %" PRIu64 " positions x %" PRIu64
		                 " sequences x %g bytes",
		                 layers, m->kv_lora_rank, m->qk_rope_dim, positions, sequences, element_bytes(r));
	} else {
		uint32_t layers = count_mixer(m, KV_MIXER_FULL) + count_mixer(m, KV_MIXER_SLIDING)
		                  + count_mixer(m, KV_MIXER_CHUNKED);

		product = 2.0 * layers * (double)heads * l->head_dim * (double)positions * (double)sequences *
		          element_bytes(r);
		kv_output_printf(out,
		                 "  2 (K and V) x %u layers x %" PRIu64 " KV heads x %u dimensions x %" PRIu64
		                 " positions x %" PRIu64 " sequences x %g bytes",
		                 layers, heads, l->head_dim, positions, sequences, element_bytes(r));
	}
	kv_output_printf(out, "\n    = %.0f bytes (%s) on a rank\n", product,
	                 kv_format_bytes_short((int64_t)product, bytes));
}

static void print_windows(struct kv_output *out, const struct kv_size_report *r)
{
	const struct kv_model *m = r->deployment.model;
	uint32_t windowed = count_mixer(m, KV_MIXER_SLIDING) + count_mixer(m, KV_MIXER_CHUNKED)
	                    + count_mixer(m, KV_MIXER_COMPRESSED);
	uint32_t window = 0;

	for (uint32_t i = 0; i < m->layers; i++)
		window = m->layer[i].window ? m->layer[i].window : window;
	if (windowed)
		kv_output_printf(
			out,
			"- %u layers look back %u tokens only%s: beyond them they stop growing, and a request holds window + "
			"tokens in flight (%" PRIu64 ") in them.\n",
			windowed, window, m->layer[0].mixer == KV_MIXER_COMPRESSED ? " (and on rows)" : "",
			kv_size_in_flight(&r->question));
}

static void print_states(struct kv_output *out, const struct kv_size_report *r)
{
	const struct kv_layout *l = &r->answer.budget.layout;

	if (l->state_bytes)
		kv_output_printf(out,
		                 "- Recurrent layers keep %" PRIu64
		                 " bytes a sequence whatever its length, and blocks grow to %u "
		                 "tokens to match: a request costs a constant and a slope.\n",
		                 l->state_bytes, l->group[0].block_size);
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
	kv_output_text(out, "Where it stops applying here\n");
	print_windows(out, r);
	print_states(out, r);
	print_heads(out, r);
	print_rounding(out, r);
}
