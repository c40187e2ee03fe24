#include "config.h"

#include "sim/latency/latency_setup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/model/weights.h"

/* --- the model ---------------------------------------------------------------------------------------------------- */

static double bytes_of(double params, enum kv_dtype dtype)
{
	return params * kv_dtype_bits(dtype) / 8.0;
}

static double attention_params(const struct kv_model *model, const struct kv_layer *l)
{
	double queries = (double)model->hidden * l->q_heads * l->head_dim;
	double keys_values = (double)model->hidden * l->kv_heads * (l->head_dim + l->v_head_dim);
	double output = (double)l->q_heads * l->v_head_dim * model->hidden;

	return queries + (l->shares_kv_with < 0 ? keys_values : 0.0) + output;
}

static double latent_params(const struct kv_model *m, const struct kv_layer *l)
{
	double heads = l->q_heads;
	double queries = m->q_lora_rank
	                         ? (double)m->q_lora_rank * (m->hidden + heads * l->head_dim)
	                         : (double)m->hidden * heads * l->head_dim;
	double down = (double)m->hidden * (m->kv_lora_rank + m->qk_rope_dim);
	double up = (double)m->kv_lora_rank * heads * (m->qk_nope_dim + l->v_head_dim);

	return queries + down + up + heads * l->v_head_dim * m->hidden;
}

static double recurrent_params(const struct kv_model *m, enum kv_mixer mixer)
{
	const struct kv_recurrent *r = &m->recurrent;
	double keys = (double)r->key_heads * r->key_dim, values = (double)r->value_heads * r->value_dim;

	switch (mixer) {
	case KV_MIXER_MAMBA1:
		return 3.0 * m->hidden * r->inner + (double)r->inner * (2.0 * r->dt_rank + 2.0 * r->d_state);
	case KV_MIXER_MAMBA2:
		return m->hidden * (3.0 * values + 2.0 * keys + r->value_heads);
	case KV_MIXER_SHORT_CONV:
		return 4.0 * m->hidden * r->inner;
	case KV_MIXER_LIGHTNING:
		return m->hidden * 5.0 * values;
	case KV_MIXER_DELTA_NET:
	case KV_MIXER_KDA:
		return m->hidden * (2.0 * keys + 3.0 * values + 2.0 * r->value_heads);
	default:
		return 0.0;
	}
}

static double mixer_params(const struct kv_model *model, const struct kv_layer *layer)
{
	switch (layer->mixer) {
	case KV_MIXER_FULL:
	case KV_MIXER_SLIDING:
	case KV_MIXER_CHUNKED:
		return attention_params(model, layer) +
		       (layer->with_state ? recurrent_params(model, KV_MIXER_MAMBA2) : 0.0);
	case KV_MIXER_MLA:
		return latent_params(model, layer);
	default:
		return recurrent_params(model, layer->mixer);
	}
}

/* An MLA cache is whole on every rank; KV heads are split, and copied where there are more ranks than heads. */
static double kv_bytes_per_token(const struct kv_model *m, const struct kv_layer *l, const struct kv_latency_layout *at)
{
	double heads = (double)l->kv_heads / at->tensor_parallel;

	if (l->mixer == KV_MIXER_MLA)
		return bytes_of(m->kv_lora_rank + m->qk_rope_dim, at->kv_dtype);
	return bytes_of((heads < 1.0 ? 1.0 : heads) * (l->head_dim + l->v_head_dim), at->kv_dtype);
}

static void add_mixer(struct kv_latency_model *out, const struct kv_model *m, const struct kv_layer *l,
                      const struct kv_latency_layout *at)
{
	double pair_flops = 2.0 * l->q_heads * (l->head_dim + l->v_head_dim);

	switch (l->mixer) {
	case KV_MIXER_MLA:
		/* Decode works on the latents themselves, for all heads: enough flops to matter. */
		out->decode_pair_flops += 2.0 * l->q_heads * (2.0 * m->kv_lora_rank + m->qk_rope_dim);
		/* fall through */
	case KV_MIXER_FULL:
		out->full_pair_flops += pair_flops;
		out->full_kv_bytes += kv_bytes_per_token(m, l, at);
		break;
	case KV_MIXER_SLIDING:
	case KV_MIXER_CHUNKED:
		out->window_pair_flops += pair_flops;
		out->window_kv_bytes += kv_bytes_per_token(m, l, at);
		break;
	default:
		break;
	}
}

static void add_ffn(struct kv_latency_model *out, const struct kv_model *m, const struct kv_layer *l)
{
	double wide = (double)m->ffn_matrices * m->hidden;

	if (l->ffn == KV_FFN_DENSE)
		out->linear_params += wide * l->ffn_size;
	if (l->ffn != KV_FFN_MOE)
		return;
	out->linear_params += wide * m->shared_experts_size + (double)m->hidden * m->experts;
	out->expert_params += wide * l->ffn_size;
}

/* What each part takes in memory, scales included: quantisation may leave some of them alone. */
static void count_bytes(const struct kv_model *model, struct kv_latency_model *out)
{
	struct kv_weight_options whole = {.tensor_parallel = 1, .expert_ranks = 1};
	struct kv_weights weights;

	kv_weights_count(model, &whole, &weights);
	out->linear_bytes = (double)weights.part_bytes[KV_WEIGHTS_ATTENTION] +
	                    (double)weights.part_bytes[KV_WEIGHTS_RECURRENT] +
	                    (double)weights.part_bytes[KV_WEIGHTS_FFN] + (double)weights.part_bytes[KV_WEIGHTS_ROUTER];
	if (model->experts > 0)
		out->expert_bytes = (double)weights.part_bytes[KV_WEIGHTS_EXPERTS] / model->experts;
	out->head_bytes = (double)weights.part_bytes[model->tied_embeddings ? KV_WEIGHTS_EMBEDDING : KV_WEIGHTS_HEAD];
}

void kv_latency_model_from(const struct kv_model *model, const struct kv_latency_layout *layout,
                           struct kv_latency_model *out)
{
	*out = (struct kv_latency_model){
		.layers = model->layers,
		.hidden = model->hidden,
		.experts = model->experts,
		.experts_used = model->experts_used,
		.head_params = (double)model->vocab * model->hidden,
	};
	for (uint32_t i = 0; i < model->layers; i++) {
		struct kv_latency_layout here = *layout;

		if (kv_wide_layers_hold(&layout->wide, i))
			here.kv_dtype = model->dtype;
		out->linear_params += mixer_params(model, &model->layer[i]);
		add_mixer(out, model, &model->layer[i], &here);
		add_ffn(out, model, &model->layer[i]);
	}
	count_bytes(model, out);
}

/* --- the card ----------------------------------------------------------------------------------------------------- */

/* The unit that matrix products with such weights run on, where the card has it. */
static enum kv_flops unit_for(enum kv_dtype weights)
{
	switch (weights) {
	case KV_DTYPE_FP8:
		return KV_FLOPS_FP8;
	case KV_DTYPE_INT8:
		return KV_FLOPS_INT8;
	case KV_DTYPE_NVFP4:
	case KV_DTYPE_MXFP4:
		return KV_FLOPS_FP4;
	default:
		return KV_FLOPS_BF16;  /* 4-bit integers are expanded before the product */
	}
}

int kv_latency_check_card(const struct kv_hardware *hw, bool linked, struct kv_error *err)
{
	const struct {
		const char *key;
		bool missing;
	} rates[] = {
		{"flops.bf16", hw->flops[KV_FLOPS_BF16] == 0.0},
		{"memory_bandwidth", hw->memory_bandwidth == 0.0},
		{"link_bandwidth", linked && hw->link_bandwidth == 0.0},
	};
	char missing[128] = "";

	for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
		size_t used = strlen(missing);

		if (rates[i].missing)
			snprintf(missing + used, sizeof missing - used, "%s%s", used ? ", " : "", rates[i].key);
	}
	if (*missing == '\0')
		return 0;
	return kv_fail(err, KV_EXIT_USAGE,
	               "hardware %s: not known: %s%s, by which step times go; give --hardware FILE that states them "
	               "(kvsim-size(1), HARDWARE FILES), or --latency fixed:DURATION",
	               hw->name, missing, kv_hardware_device_memory(hw) ? "" : ", memory");
}

static int fill_rates(const struct kv_hardware *hw, enum kv_flops unit, bool linked, struct kv_latency_rates *out,
                      struct kv_error *err)
{
	if (kv_latency_check_card(hw, linked, err))
		return -1;
	*out = (struct kv_latency_rates){
		.compute_flops = hw->flops[unit],
		.attention_flops = hw->flops[KV_FLOPS_BF16],
		.memory_bandwidth = hw->memory_bandwidth,
		.link_bandwidth = hw->link_bandwidth,
	};
	return 0;
}

static double first_given(double preferred, double otherwise)
{
	return isnan(preferred) ? otherwise : preferred;
}

static void override_efficiency(struct kv_efficiency *e, const struct kv_efficiency *engine)
{
	e->ec = first_given(engine->ec, e->ec);
	e->eb = first_given(engine->eb, e->eb);
	e->ea = first_given(engine->ea, e->ea);
	e->ea_half = first_given(engine->ea_half, e->ea_half);
	e->ek = first_given(engine->ek, e->ek);
	e->km = first_given(engine->km, e->km);
	e->en = first_given(engine->en, e->en);
	e->ec_fp8 = first_given(engine->ec_fp8, e->ec_fp8);
	e->eb_fp8 = first_given(engine->eb_fp8, e->eb_fp8);
}

static struct kv_latency_constants constants(const struct kv_efficiency *e, const struct kv_overheads *o,
                                             bool narrow_products, bool narrow_weights)
{
	return (struct kv_latency_constants){
		.ec = narrow_products ? e->ec_fp8 : e->ec,
		.eb = narrow_weights ? e->eb_fp8 : e->eb,
		.ea = e->ea,
		.ea_half = e->ea_half,
		.ek = e->ek,
		.km = e->km,
		.en = e->en,
		.c0 = first_given(o->c0, 0.0),
		.cl = first_given(narrow_products ? first_given(o->cl_fp8, o->cl) : o->cl, 0.0),
		.clp = first_given(o->clp, 0.0),
		.c1 = first_given(o->c1, 0.0),
		.c1p = first_given(o->c1p, 0.0),
		.cs = first_given(o->cs, 0.0),
		.el = first_given(o->el, 1.0),
		.large_message = first_given(o->large_message, 0.0),
		.overlap = first_given(o->overlap, 0.0) > 0.0,
	};
}

void kv_latency_setup_constants(const struct kv_model *model, const struct kv_hardware *hardware,
                                const struct kv_overheads *engine, const struct kv_efficiency *engine_efficiency,
                                struct kv_latency_setup *out)
{
	struct kv_efficiency efficiency = hardware->efficiency;

	if (engine_efficiency && !hardware->has_overheads)
		override_efficiency(&efficiency, engine_efficiency);
	out->constants = constants(&efficiency, hardware->has_overheads ? &hardware->overheads : engine,
	                           out->rates.compute_flops > out->rates.attention_flops,
	                           kv_dtype_bits(model->quantization.format.dtype) <= 8);
}

int kv_latency_setup_fill(const struct kv_model *model, const struct kv_hardware *hardware,
                          const struct kv_overheads *engine, const struct kv_efficiency *engine_efficiency,
                          const struct kv_latency_layout *layout, struct kv_latency_setup *out, struct kv_error *err)
{
	enum kv_flops unit = unit_for(model->quantization.format.dtype);
	bool linked = layout->tensor_parallel > 1 || layout->pipeline_parallel > 1;

	if (hardware->flops[unit] == 0.0)
		unit = KV_FLOPS_BF16;
	if (fill_rates(hardware, unit, linked, &out->rates, err))
		return -1;
	kv_latency_setup_constants(model, hardware, engine, engine_efficiency, out);
	out->tensor_parallel = layout->tensor_parallel;
	out->pipeline_parallel = layout->pipeline_parallel;
	kv_latency_model_from(model, layout, &out->model);
	return 0;
}
