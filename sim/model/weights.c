#include "config.h"

#include "sim/model/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/base/names.h"
#include "sim/base/units.h"

enum { NAME_LENGTH = 160, EXPERT_INNER_PAD = 128, EXPERT_HIDDEN_PAD = 256 };

static const char *const part_names[KV_WEIGHT_PARTS] = {
	[KV_WEIGHTS_EMBEDDING] = "embedding", [KV_WEIGHTS_ATTENTION] = "attention", [KV_WEIGHTS_RECURRENT] = "recurrent",
	[KV_WEIGHTS_FFN] = "feed-forward", [KV_WEIGHTS_EXPERTS] = "experts", [KV_WEIGHTS_ROUTER] = "router",
	[KV_WEIGHTS_NORM] = "norms", [KV_WEIGHTS_HEAD] = "output head",
	[KV_WEIGHTS_VISION] = "vision",
};

/* A matrix that maps `in` values to `out`; in = 1 for vectors. The rank_ numbers are what one rank holds of it. */
struct tensor {
	const char *name;     /* below the layer; NULL = never quantised */
	uint64_t out, in;
	uint64_t rank_out, rank_in;
};

struct tally {
	const struct kv_model *model;
	const struct kv_weight_options *options;
	struct kv_weights *weights;
	uint32_t layer;
	uint64_t tp;
};

const char *kv_weight_part_name(enum kv_weight_part part)
{
	return part_names[part];
}

/* NULL = it stays in the model's dtype. */
static const struct kv_weight_format *format_of(const struct tally *t, const struct tensor *tensor)
{
	const struct kv_quantization *q = &t->model->quantization;
	char name[NAME_LENGTH];

	if (!tensor->name || q->format.dtype == t->model->dtype)
		return NULL;
	snprintf(name, sizeof name, "model.layers.%u.%s", t->layer, tensor->name);
	if (kv_name_patterns_match(&q->skip, name))
		return NULL;
	for (size_t i = 0; i < q->parts; i++)
		if (kv_name_patterns_match(&q->part[i].targets, name))
			return &q->part[i].format;
	return q->parts ? NULL : &q->format;
}

/* --- adding up ------------------------------------------------------------------------------------------------------ */

/* Scales: one for each group of inputs and block of outputs; one for the tensor where neither is given. */
static uint64_t scale_bytes(const struct kv_weight_format *q, uint64_t out, uint64_t in)
{
	uint64_t groups = q->group_size ? kv_ceil_div(in, q->group_size) : 1;
	uint64_t rows = q->block_rows ? kv_ceil_div(out, q->block_rows) : 1;

	return kv_ceil_div(groups * rows * (q->scale_bits + q->zero_bits), 8);
}

static void add(struct tally *t, enum kv_weight_part part, struct tensor tensor, uint64_t copies, uint64_t rank_copies)
{
	static const struct kv_weight_format mxfp4 = {.dtype = KV_DTYPE_MXFP4, .group_size = 32, .block_rows = 1,
	                                              .scale_bits = 8};
	bool as_expert = t->model->quantization.mxfp4_experts && part == KV_WEIGHTS_EXPERTS;
	const struct kv_weight_format *q = format_of(t, &tensor);
	uint64_t elements = tensor.rank_out * tensor.rank_in;
	uint64_t scales = 0, bits = kv_dtype_bits(t->model->dtype);

	if (q) {
		q = as_expert ? &mxfp4 : q;
		bits = kv_dtype_bits(q->dtype);
		scales = scale_bytes(q, tensor.rank_out, tensor.rank_in) * rank_copies;
	}
	t->weights->parameters += tensor.out * tensor.in * copies;
	t->weights->scale_bytes += scales;
	t->weights->part_bytes[part] += kv_ceil_div(elements * bits, 8) * rank_copies + scales;
}

static void add_whole(struct tally *t, enum kv_weight_part part, const char *name, uint64_t out, uint64_t in)
{
	add(t, part, (struct tensor){name, out, in, out, in}, 1, 1);
}

static void add_by_output(struct tally *t, enum kv_weight_part part, const char *name, uint64_t out, uint64_t in)
{
	add(t, part, (struct tensor){name, out, in, kv_ceil_div(out, t->tp), in}, 1, 1);
}

static void add_by_input(struct tally *t, enum kv_weight_part part, const char *name, uint64_t out, uint64_t in)
{
	add(t, part, (struct tensor){name, out, in, out, kv_ceil_div(in, t->tp)}, 1, 1);
}

static void add_norm(struct tally *t, uint64_t width)
{
	add_whole(t, KV_WEIGHTS_NORM, NULL, width, t->model->traits.norm_bias ? 2 : 1);
}

/* --- layers --------------------------------------------------------------------------------------------------------- */

/* Key and value heads are never split below one a rank. */
static void add_kv_projection(struct tally *t, const char *name, uint64_t heads, uint64_t width)
{
	uint64_t rank_heads = kv_max(1, heads / t->tp);
	uint64_t in = t->model->hidden;

	add(t, KV_WEIGHTS_ATTENTION, (struct tensor){name, heads * width, in, rank_heads * width, in}, 1, 1);
	if (t->model->traits.qkv_bias)
		add(t, KV_WEIGHTS_ATTENTION, (struct tensor){NULL, heads * width, 1, rank_heads * width, 1}, 1, 1);
}

static void add_qk_norm(struct tally *t, const struct kv_layer *layer)
{
	bool full = t->model->traits.qk_norm == KV_QK_NORM_FULL;

	if (t->model->traits.qk_norm == KV_QK_NORM_NONE)
		return;
	add_whole(t, KV_WEIGHTS_ATTENTION, NULL, (uint64_t)layer->head_dim * (full ? layer->q_heads : 1), 1);
	if (layer->shares_kv_with < 0)
		add_whole(t, KV_WEIGHTS_ATTENTION, NULL, (uint64_t)layer->head_dim * (full ? layer->kv_heads : 1), 1);
}

static void add_sinks(struct tally *t, const struct kv_layer *layer)
{
	if (t->model->traits.attention_sinks)
		add_by_output(t, KV_WEIGHTS_ATTENTION, NULL, layer->q_heads, 1);
}

/* Queries from the hidden state, or through a low-rank projection with a norm. */
static void add_queries(struct tally *t, uint64_t width)
{
	const struct kv_model *m = t->model;

	if (!m->q_lora_rank) {
		add_by_output(t, KV_WEIGHTS_ATTENTION, "self_attn.q_proj", width, m->hidden);
		return;
	}
	add_whole(t, KV_WEIGHTS_ATTENTION, "self_attn.q_a_proj", m->q_lora_rank, m->hidden);
	add_whole(t, KV_WEIGHTS_ATTENTION, NULL, m->q_lora_rank, 1);
	add_by_output(t, KV_WEIGHTS_ATTENTION, "self_attn.q_b_proj", width, m->q_lora_rank);
}

static void add_attention(struct tally *t, const struct kv_layer *layer)
{
	const struct kv_weight_traits *traits = &t->model->traits;
	uint64_t hidden = t->model->hidden;
	uint64_t q = (uint64_t)layer->q_heads * layer->head_dim * (traits->attention_gate ? 2 : 1);

	add_queries(t, q);
	if (traits->head_gate)
		add_by_output(t, KV_WEIGHTS_ATTENTION, "self_attn.g_proj", layer->q_heads, hidden);
	if (traits->qkv_bias)
		add_by_output(t, KV_WEIGHTS_ATTENTION, NULL, q, 1);
	if (layer->shares_kv_with < 0 || traits->idle_projections) {
		add_kv_projection(t, "self_attn.k_proj", layer->kv_heads, layer->head_dim);
		if (!traits->keys_are_values || layer->mixer != KV_MIXER_FULL)
			add_kv_projection(t, "self_attn.v_proj", layer->kv_heads, layer->v_head_dim);
	}
	add_by_input(t, KV_WEIGHTS_ATTENTION, "self_attn.o_proj", hidden, (uint64_t)layer->q_heads * layer->v_head_dim);
	if (traits->o_bias)
		add_whole(t, KV_WEIGHTS_ATTENTION, NULL, hidden, 1);
	add_qk_norm(t, layer);
	add_sinks(t, layer);
}

static void add_indexer(struct tally *t)
{
	const struct kv_model *m = t->model;

	if (!m->index_heads)
		return;
	add_whole(t, KV_WEIGHTS_ATTENTION, "self_attn.indexer.wq_b", (uint64_t)m->index_heads * m->index_head_dim,
	          m->q_lora_rank);
	add_whole(t, KV_WEIGHTS_ATTENTION, "self_attn.indexer.wk", m->index_head_dim, m->hidden);
	add_whole(t, KV_WEIGHTS_ATTENTION, NULL, m->index_head_dim, 2);
	add_whole(t, KV_WEIGHTS_ATTENTION, NULL, m->index_heads, m->hidden);
}

static void add_mla(struct tally *t)
{
	const struct kv_model *m = t->model;
	uint64_t heads = m->q_heads, q = heads * (m->qk_nope_dim + m->qk_rope_dim);

	add_queries(t, q);
	add_whole(t, KV_WEIGHTS_ATTENTION, "self_attn.kv_a_proj_with_mqa", m->kv_lora_rank + m->qk_rope_dim, m->hidden);
	add_whole(t, KV_WEIGHTS_ATTENTION, NULL, m->kv_lora_rank, 1);
	add_by_output(t, KV_WEIGHTS_ATTENTION, "self_attn.kv_b_proj", heads * (m->qk_nope_dim + m->v_head_dim),
	              m->kv_lora_rank);
	add_by_input(t, KV_WEIGHTS_ATTENTION, "self_attn.o_proj", m->hidden, heads * m->v_head_dim);
	add_indexer(t);
}

/* Rows of `width` from two projections (content and score) that overlap where the ratio is 4; the engine keeps them in
 * the model's dtype. */
static void add_compressor(struct tally *t, uint64_t width, uint32_t ratio)
{
	uint64_t rows = (ratio == 4 ? 2 : 1) * width;

	add_whole(t, KV_WEIGHTS_ATTENTION, NULL, 2 * rows, t->model->hidden);
	add_whole(t, KV_WEIGHTS_ATTENTION, NULL, rows, ratio);
	add_whole(t, KV_WEIGHTS_ATTENTION, NULL, width, 1);
}

/* Each sublayer mixes the residual streams by (2 + n) x n weights of all streams. */
static void add_hyper_connections(struct tally *t)
{
	uint64_t n = t->model->residual_streams;

	for (int sublayer = 0; sublayer < 2; sublayer++)
		add_whole(t, KV_WEIGHTS_NORM, NULL, (2 + n) * n, n * t->model->hidden);
}

/* DeepSeek-V4: one latent of head_dim is key and value; the output goes through o_groups projections of low rank. */
static void add_compressed(struct tally *t, const struct kv_layer *layer)
{
	const struct kv_model *m = t->model;
	uint64_t q = (uint64_t)layer->q_heads * layer->head_dim, low = (uint64_t)m->o_groups * m->o_lora_rank;

	add_queries(t, q);
	add_whole(t, KV_WEIGHTS_ATTENTION, "self_attn.kv_proj", layer->head_dim, m->hidden);
	add_whole(t, KV_WEIGHTS_ATTENTION, NULL, layer->head_dim, 1);
	add_by_output(t, KV_WEIGHTS_ATTENTION, "self_attn.o_a_proj", low, q / m->o_groups);
	add_by_input(t, KV_WEIGHTS_ATTENTION, "self_attn.o_b_proj", m->hidden, low);
	add_sinks(t, layer);
	add_hyper_connections(t);
	if (layer->compress_ratio)
		add_compressor(t, layer->head_dim, layer->compress_ratio);
	if (layer->compress_ratio == 4) {
		add_whole(t, KV_WEIGHTS_ATTENTION, "self_attn.indexer.wq_b", (uint64_t)m->index_heads * m->index_head_dim,
		          m->q_lora_rank);
		add_whole(t, KV_WEIGHTS_ATTENTION, NULL, m->index_heads, m->hidden);
		add_compressor(t, m->index_head_dim, layer->compress_ratio);
	}
}

static void add_delta_net(struct tally *t)
{
	const struct kv_recurrent *s = &t->model->recurrent;
	uint64_t hidden = t->model->hidden;
	uint64_t keys = (uint64_t)s->key_heads * s->key_dim, values = (uint64_t)s->value_heads * s->value_dim;

	add_by_output(t, KV_WEIGHTS_RECURRENT, "linear_attn.in_proj_qkvz", 2 * keys + 2 * values, hidden);
	add_by_output(t, KV_WEIGHTS_RECURRENT, "linear_attn.in_proj_ba", 2 * (uint64_t)s->value_heads, hidden);
	add_by_output(t, KV_WEIGHTS_RECURRENT, NULL, 2 * keys + values, s->conv_kernel);
	add_by_output(t, KV_WEIGHTS_RECURRENT, NULL, s->value_heads, 2);  /* dt_bias and A_log */
	add_whole(t, KV_WEIGHTS_RECURRENT, NULL, s->value_dim, 1);
	add_by_input(t, KV_WEIGHTS_RECURRENT, "linear_attn.out_proj", hidden, values);
}

static void add_kda(struct tally *t)
{
	const struct kv_recurrent *s = &t->model->recurrent;
	uint64_t hidden = t->model->hidden, width = (uint64_t)s->value_heads * s->value_dim;

	add_by_output(t, KV_WEIGHTS_RECURRENT, "self_attn.qkv_proj", 3 * width, hidden);
	add_by_output(t, KV_WEIGHTS_RECURRENT, NULL, 3 * width, s->conv_kernel);
	add_by_output(t, KV_WEIGHTS_RECURRENT, NULL, s->value_heads, 1);  /* A_log */
	add_by_output(t, KV_WEIGHTS_RECURRENT, NULL, width, 1);           /* dt_bias */
	add_by_output(t, KV_WEIGHTS_RECURRENT, "self_attn.b_proj", s->value_heads, hidden);
	for (int gate = 0; gate < 2; gate++) {  /* the forget and the output gate, each of low rank */
		add_whole(t, KV_WEIGHTS_RECURRENT, "self_attn.f_a_proj", s->value_dim, hidden);
		add_by_output(t, KV_WEIGHTS_RECURRENT, "self_attn.f_b_proj", width, s->value_dim);
	}
	add_whole(t, KV_WEIGHTS_RECURRENT, NULL, s->value_dim, 1);
	add_by_input(t, KV_WEIGHTS_RECURRENT, "self_attn.o_proj", hidden, width);
}

static void add_mamba1(struct tally *t)
{
	const struct kv_recurrent *s = &t->model->recurrent;
	uint64_t hidden = t->model->hidden, projected = (uint64_t)s->dt_rank + 2 * s->d_state;

	add_by_output(t, KV_WEIGHTS_RECURRENT, "mamba.in_proj", 2 * (uint64_t)s->inner, hidden);
	add_by_output(t, KV_WEIGHTS_RECURRENT, NULL, s->inner, s->conv_kernel + 1);
	add_by_input(t, KV_WEIGHTS_RECURRENT, "mamba.x_proj", projected, s->inner);
	add_by_output(t, KV_WEIGHTS_RECURRENT, "mamba.dt_proj", s->inner, s->dt_rank);
	add_by_output(t, KV_WEIGHTS_RECURRENT, NULL, s->inner, 1 + s->d_state + 1);  /* dt bias, A and D */
	add_by_input(t, KV_WEIGHTS_RECURRENT, "mamba.out_proj", hidden, s->inner);
	if (t->model->traits.mamba_norms)
		add_whole(t, KV_WEIGHTS_RECURRENT, NULL, projected, 1);
}

static void add_mamba2(struct tally *t)
{
	const struct kv_recurrent *s = &t->model->recurrent;
	uint64_t hidden = t->model->hidden, channels = s->inner + 2 * (uint64_t)s->key_heads * s->d_state;

	add_by_output(t, KV_WEIGHTS_RECURRENT, "mixer.in_proj", s->inner + channels + s->value_heads, hidden);
	add_by_output(t, KV_WEIGHTS_RECURRENT, NULL, channels, s->conv_kernel + 1);
	add_by_output(t, KV_WEIGHTS_RECURRENT, NULL, s->value_heads, 3);  /* dt_bias, A_log and D */
	add_by_output(t, KV_WEIGHTS_RECURRENT, NULL, s->inner, 1);
	add_by_input(t, KV_WEIGHTS_RECURRENT, "mixer.out_proj", hidden, s->inner);
}

static void add_short_conv(struct tally *t)
{
	const struct kv_recurrent *s = &t->model->recurrent;
	uint64_t hidden = t->model->hidden;

	add_by_output(t, KV_WEIGHTS_RECURRENT, "conv.in_proj", 3 * (uint64_t)s->inner, hidden);
	add_by_output(t, KV_WEIGHTS_RECURRENT, NULL, s->inner, s->conv_kernel);
	add_by_input(t, KV_WEIGHTS_RECURRENT, "conv.out_proj", hidden, s->inner);
}

static void add_lightning(struct tally *t)
{
	const struct kv_recurrent *s = &t->model->recurrent;
	uint64_t hidden = t->model->hidden, width = (uint64_t)s->value_heads * s->value_dim;

	add_by_output(t, KV_WEIGHTS_RECURRENT, "self_attn.qkv_proj", 3 * width, hidden);
	add_by_output(t, KV_WEIGHTS_RECURRENT, "self_attn.output_gate", width, hidden);
	add_by_output(t, KV_WEIGHTS_RECURRENT, NULL, width, 1);
	add_by_input(t, KV_WEIGHTS_RECURRENT, "self_attn.out_proj", hidden, width);
}

static void add_ffn(struct tally *t, const char *up, const char *down, uint64_t width)
{
	uint64_t hidden = t->model->hidden, inputs = t->model->ffn_matrices - 1;

	add_by_output(t, KV_WEIGHTS_FFN, up, inputs * width, hidden);
	add_by_input(t, KV_WEIGHTS_FFN, down, hidden, width);
	if (t->model->traits.ffn_bias) {
		add_by_output(t, KV_WEIGHTS_FFN, NULL, inputs * width, 1);
		add_whole(t, KV_WEIGHTS_FFN, NULL, hidden, 1);
	}
}

static uint64_t padded(uint64_t width, uint64_t multiple)
{
	return kv_ceil_div(width, multiple) * multiple;
}

static void add_experts(struct tally *t, const struct kv_layer *layer)
{
	const struct kv_model *m = t->model;
	uint64_t spread = t->options->expert_ranks, held = kv_ceil_div(m->experts, spread);
	uint64_t inputs = m->ffn_matrices - 1, width = layer->ffn_size, hidden = m->hidden;
	uint64_t slices = t->options->expert_slices ? t->options->expert_slices : t->tp;
	uint64_t rank_width = spread > 1 ? width : kv_ceil_div(width, slices), rank_hidden = hidden;
	uint64_t before = t->weights->parameters;

	if (t->options->pad_experts && m->quantization.format.dtype == KV_DTYPE_MXFP4) {
		rank_width = padded(rank_width, EXPERT_INNER_PAD);
		rank_hidden = padded(hidden, EXPERT_HIDDEN_PAD);
	}
	add(t, KV_WEIGHTS_EXPERTS, (struct tensor){"mlp.experts.0.up_proj", inputs * width, hidden, inputs * rank_width,
	                                           rank_hidden}, m->experts, held);
	add(t, KV_WEIGHTS_EXPERTS, (struct tensor){"mlp.experts.0.down_proj", hidden, width, rank_hidden, rank_width},
	    m->experts, held);
	if (m->traits.expert_bias) {
		add(t, KV_WEIGHTS_EXPERTS, (struct tensor){NULL, inputs * width, 1, inputs * rank_width, 1}, m->experts, held);
		add(t, KV_WEIGHTS_EXPERTS, (struct tensor){NULL, hidden, 1, rank_hidden, 1}, m->experts, held);
	}
	t->weights->active_parameters -= (t->weights->parameters - before) / m->experts * (m->experts - m->experts_used);
}

static void add_moe(struct tally *t, const struct kv_layer *layer)
{
	const struct kv_model *m = t->model;

	add_whole(t, KV_WEIGHTS_ROUTER, NULL, m->experts, m->hidden);
	if (m->traits.router_bias)
		add_whole(t, KV_WEIGHTS_ROUTER, NULL, m->experts, 1);
	add_experts(t, layer);
	if (m->shared_experts_size) {
		add_ffn(t, "mlp.shared_experts.up_proj", "mlp.shared_experts.down_proj", m->shared_experts_size);
		if (m->traits.shared_expert_gate)
			add_whole(t, KV_WEIGHTS_ROUTER, NULL, m->hidden, 1);
	}
}

static void add_mixer(struct tally *t, const struct kv_layer *layer)
{
	switch (layer->mixer) {
	case KV_MIXER_MLA: add_mla(t); break;
	case KV_MIXER_COMPRESSED: add_compressed(t, layer); break;
	case KV_MIXER_DELTA_NET: add_delta_net(t); break;
	case KV_MIXER_KDA: add_kda(t); break;
	case KV_MIXER_MAMBA1: add_mamba1(t); break;
	case KV_MIXER_MAMBA2: add_mamba2(t); break;
	case KV_MIXER_SHORT_CONV: add_short_conv(t); break;
	case KV_MIXER_LIGHTNING: add_lightning(t); break;
	case KV_MIXER_NONE: break;
	default: add_attention(t, layer); break;
	}
	if (layer->with_state)
		add_mamba2(t);
}

/* A layer's own embedding of the token, gated by the hidden state; Gemma 3n adds its residuals. */
static void add_layer_inputs(struct tally *t)
{
	const struct kv_layer_inputs *in = &t->model->layer_inputs;
	uint64_t hidden = t->model->hidden, n = in->altup_streams;

	if (in->width) {
		add_whole(t, KV_WEIGHTS_FFN, "per_layer_input_gate", in->width, hidden);
		add_whole(t, KV_WEIGHTS_FFN, "per_layer_projection", hidden, in->width);
		add_norm(t, hidden);
	}
	if (in->laurel_rank) {
		add_whole(t, KV_WEIGHTS_FFN, "laurel.linear_left", in->laurel_rank, hidden);
		add_whole(t, KV_WEIGHTS_FFN, "laurel.linear_right", hidden, in->laurel_rank);
		add_norm(t, hidden);
	}
	if (n) {
		add_whole(t, KV_WEIGHTS_NORM, NULL, n, hidden + n + n * n);  /* router, corrections, predictions */
		add_whole(t, KV_WEIGHTS_NORM, NULL, hidden, 2);
	}
}

static void add_layer(struct tally *t, uint32_t i)
{
	const struct kv_layer *layer = &t->model->layer[i];

	t->layer = i;
	add_mixer(t, layer);
	if (layer->ffn == KV_FFN_MOE)
		add_moe(t, layer);
	else if (layer->ffn == KV_FFN_DENSE)
		add_ffn(t, "mlp.up_proj", "mlp.down_proj", layer->ffn_size);
	if (layer->linear_maps)
		add_by_output(t, KV_WEIGHTS_FFN, "linear", t->model->hidden, layer->linear_maps * (uint64_t)t->model->hidden);
	add_layer_inputs(t);
	for (uint32_t k = 0; k < t->model->traits.norms; k++)
		add_norm(t, t->model->hidden);
}

/* A prediction layer joins two hidden states, each with a norm, before its ordinary layer. */
static void add_mtp_layer(struct tally *t, uint32_t i)
{
	add_layer(t, i);
	add_whole(t, KV_WEIGHTS_FFN, NULL, t->model->hidden, 2 * (uint64_t)t->model->hidden);
	for (int k = 0; k < 3; k++)
		add_norm(t, t->model->hidden);
}

static void add_layer_embedding(struct tally *t)
{
	const struct kv_model *m = t->model;
	uint64_t width = (uint64_t)m->layers * m->layer_inputs.width, streams = m->layer_inputs.altup_streams;

	if (width) {
		add_by_output(t, KV_WEIGHTS_EMBEDDING, NULL, m->layer_inputs.vocab, width);
		add_by_output(t, KV_WEIGHTS_EMBEDDING, NULL, width, m->hidden);
		add_norm(t, m->layer_inputs.width);
	}
	if (streams)  /* into the streams and out of them */
		add_whole(t, KV_WEIGHTS_EMBEDDING, NULL, 2 * (streams - 1) * m->hidden, m->hidden);
}

static void add_embedding(struct tally *t)
{
	const struct kv_model *m = t->model;

	add_by_output(t, KV_WEIGHTS_EMBEDDING, NULL, m->vocab, m->hidden);
	if (m->traits.learned_positions)
		add_whole(t, KV_WEIGHTS_EMBEDDING, NULL, (uint64_t)m->max_position + m->traits.extra_positions,
		          m->hidden);
	if (m->traits.embedding_norm)
		add_norm(t, m->hidden);
	add_layer_embedding(t);
}

static void add_head(struct tally *t, bool holds_embedding)
{
	const struct kv_model *m = t->model;

	add_norm(t, m->hidden);
	if (!m->tied_embeddings || !holds_embedding)
		add_by_output(t, KV_WEIGHTS_HEAD, NULL, m->vocab, m->hidden);
	if (m->traits.head_bias)
		add_by_output(t, KV_WEIGHTS_HEAD, NULL, m->vocab, 1);
}

static void add_vision(struct tally *t)
{
	const struct kv_vision *v = &t->model->vision;

	add_by_output(t, KV_WEIGHTS_VISION, NULL, v->split, 1);
	add_whole(t, KV_WEIGHTS_VISION, NULL, v->whole, 1);
	t->weights->active_parameters -= v->split + v->whole;
}

void kv_weights_count(const struct kv_model *model, const struct kv_weight_options *options, struct kv_weights *weights)
{
	struct tally t = {.model = model, .options = options, .weights = weights, .tp = options->tensor_parallel};
	uint32_t first = options->first_layer;
	uint32_t end = options->layer_count ? first + options->layer_count : model->layers;

	*weights = (struct kv_weights){0};
	if (first == 0) {
		add_embedding(&t);
		add_vision(&t);
	}
	for (uint32_t i = first; i < end; i++)
		add_layer(&t, i);
	if (end == model->layers) {
		for (uint32_t i = 0; options->mtp && i < model->mtp_layers; i++)
			add_mtp_layer(&t, model->layers + i);
		add_head(&t, first == 0);
	}
	weights->active_parameters += weights->parameters;
	for (int part = 0; part < KV_WEIGHT_PARTS; part++)
		weights->bytes += weights->part_bytes[part];
}

/* --- by name -------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	struct kv_weight_format format;
} named[] = {
	{"awq", {.dtype = KV_DTYPE_INT4, .group_size = 128, .block_rows = 1, .scale_bits = 16, .zero_bits = 4}},
	{"bitsandbytes", {.dtype = KV_DTYPE_INT4, .group_size = 64, .block_rows = 1, .scale_bits = 32}},
	{"fp8", {.dtype = KV_DTYPE_FP8, .scale_bits = 32}},
	{"fp8_block", {.dtype = KV_DTYPE_FP8, .group_size = 128, .block_rows = 128, .scale_bits = 32}},
	{"gptq", {.dtype = KV_DTYPE_INT4, .group_size = 128, .block_rows = 1, .scale_bits = 16}},
	{"int8", {.dtype = KV_DTYPE_INT8, .block_rows = 1, .scale_bits = 32}},
	{"mxfp4", {.dtype = KV_DTYPE_MXFP4, .group_size = 32, .block_rows = 1, .scale_bits = 8}},
	{"none", {.dtype = KV_DTYPES}},
	{"nvfp4", {.dtype = KV_DTYPE_NVFP4, .group_size = 16, .block_rows = 1, .scale_bits = 8}},
};

enum { NAMED = sizeof named / sizeof *named };

int kv_model_quantize(struct kv_model *model, const char *name, struct kv_error *err)
{
	const char *names[NAMED];

	for (int i = 0; i < NAMED; i++) {
		names[i] = named[i].name;
		if (strcmp(named[i].name, name) != 0)
			continue;
		kv_quantization_fini(&model->quantization);
		model->quantization = (struct kv_quantization){.format = named[i].format};
		if (named[i].format.dtype == KV_DTYPES)
			model->quantization.format.dtype = model->dtype;
		else
			model->quantization.method = kv_strdup(name);
		return 0;
	}
	return kv_fail_unknown(err, KV_EXIT_USAGE, "quantization", name, names, NAMED);
}
