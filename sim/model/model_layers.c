#include "config.h"

#include "sim/model/model_config.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/memory.h"

static uint32_t attention_window(struct kv_model_reader *r)
{
	return kv_field_count(&r->f, "sliding_window|sliding_window_size", 1, KV_MAX_POSITION, 0);
}

static void set_sliding(struct kv_model_reader *r, uint32_t i)
{
	struct kv_layer *layer = &r->model->layer[i];

	layer->window = attention_window(r);
	if (layer->window)
		layer->mixer = KV_MIXER_SLIDING;
	else
		kv_field_fail(&r->f, "sliding_window", "is missing, but layer %u is a sliding one: add it (tokens)", i);
}

static void set_chunked(struct kv_model_reader *r, uint32_t i)
{
	r->model->layer[i].mixer = KV_MIXER_CHUNKED;
	r->model->layer[i].window = kv_field_count(&r->f, "attention_chunk_size", 1, KV_MAX_POSITION, KV_FIELD_REQUIRED);
}

static void set_recurrent(struct kv_model_reader *r, uint32_t i, const char *type)
{
	r->model->layer[i].mixer = r->family->recurrent;
	if (r->family->recurrent == KV_MIXER_NONE)
		kv_field_fail(&r->f, "layer_types", "has \"%s\" at layer %u, and the state of such a layer is not known for "
		              "model_type \"%s\"", type, i, r->model->family);
}

static void set_by_type(struct kv_model_reader *r, uint32_t i, const char *type)
{
	if (!strcmp(type, "full_attention") || !strcmp(type, "attention") || !strcmp(type, "indexed_attention"))
		return;
	if (!strcmp(type, "sliding_attention"))
		set_sliding(r, i);
	else if (!strcmp(type, "chunked_attention"))
		set_chunked(r, i);
	else if (!strcmp(type, "linear_attention") || !strcmp(type, "mamba") || !strcmp(type, "conv"))
		set_recurrent(r, i, type);
	else if (!strcmp(type, "mlp") || !strcmp(type, "moe"))
		r->model->layer[i].mixer = KV_MIXER_NONE;
	else
		kv_field_fail(&r->f, "layer_types", "has \"%.40s\" at layer %u: known are full_attention, attention, "
		              "indexed_attention, sliding_attention, chunked_attention, linear_attention, mamba, conv, mlp and moe", type,
		              i);
}

static void by_layer_types(struct kv_model_reader *r)
{
	json_t *types = kv_field_list(&r->f, KV_FIELDS_LAYER_TYPES, r->model->layers);

	for (uint32_t i = 0; i < r->model->layers && !r->f.failed; i++) {
		const char *type = json_string_value(json_array_get(types, i));

		if (type)
			set_by_type(r, i, type);
		else
			kv_field_fail(&r->f, "layer_types", "has an element that is no string at layer %u", i);
	}
}

static void by_chunk_pattern(struct kv_model_reader *r)
{
	json_t *list = json_array_size(kv_field(&r->f, "no_rope_layers"))
	               ? kv_field_list(&r->f, "no_rope_layers", r->model->layers) : NULL;
	uint32_t interval = kv_field_count(&r->f, "nope_layer_interval|no_rope_layer_interval", 1, KV_MAX_LAYERS, 4);

	if (!kv_field(&r->f, "attention_chunk_size"))
		return;
	for (uint32_t i = 0; i < r->model->layers && !r->f.failed; i++)
		if (list ? json_integer_value(json_array_get(list, i)) != 0 : (i + 1) % interval != 0)
			set_chunked(r, i);
}

static void by_jamba_period(struct kv_model_reader *r)
{
	uint32_t period = kv_field_count(&r->f, "attn_layer_period", 1, KV_MAX_LAYERS, KV_FIELD_REQUIRED);
	uint32_t offset = kv_field_count(&r->f, "attn_layer_offset", 0, KV_MAX_LAYERS, KV_FIELD_REQUIRED);

	for (uint32_t i = 0; i < r->model->layers; i++)
		if (i % period != offset)
			r->model->layer[i].mixer = KV_MIXER_MAMBA1;
}

static void by_hybrid_pattern(struct kv_model_reader *r)
{
	const char *pattern = kv_field_text(&r->f, "hybrid_override_pattern", "");

	if (!r->f.failed && strlen(pattern) != r->model->layers)
		kv_field_fail(&r->f, "hybrid_override_pattern", "has %zu letters: it must have %u, one a layer", strlen(pattern),
		              r->model->layers);
	for (uint32_t i = 0; i < r->model->layers && !r->f.failed; i++) {
		if (!strchr("M*-E", pattern[i]))
			kv_field_fail(&r->f, "hybrid_override_pattern", "has '%c' at layer %u: known are M, *, - and E", pattern[i], i);
		if (pattern[i] != '*')
			r->model->layer[i].mixer = pattern[i] == 'M' ? KV_MIXER_MAMBA2 : KV_MIXER_NONE;
	}
}

/* Layers beside the listed ones are recurrent. */
static void by_index_list(struct kv_model_reader *r)
{
	json_t *full = kv_field_list(&r->f, "attn_layer_indices|full_attn_idxs", 0);
	size_t at;
	json_t *value;

	if (!full)
		kv_field_fail(&r->f, "attn_layer_indices", "is missing, and so is layer_types: add one of them");
	for (uint32_t i = 0; i < r->model->layers; i++)
		r->model->layer[i].mixer = r->family->recurrent;
	json_array_foreach(full, at, value) {
		if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) >= r->model->layers)
			kv_field_fail(&r->f, "attn_layer_indices", "must hold numbers of layers, from 0 to %u", r->model->layers - 1);
		else
			r->model->layer[json_integer_value(value)].mixer = KV_MIXER_FULL;
	}
}

/* The flag of layer i in a list of one a layer. */
static bool flagged(struct kv_model_reader *r, const char *name, uint32_t i)
{
	return json_integer_value(json_array_get(kv_field_list(&r->f, name, r->model->layers), i)) != 0;
}

static void by_flag_list(struct kv_model_reader *r)
{
	if (!kv_field(&r->f, "attn_type_list"))
		kv_field_fail(&r->f, "attn_type_list", "is missing, and so is layer_types: add one of them");
	for (uint32_t i = 0; i < r->model->layers && !r->f.failed; i++)
		if (!flagged(r, "attn_type_list", i))
			r->model->layer[i].mixer = r->family->recurrent;
}

static void by_window_flags(struct kv_model_reader *r)
{
	if (!kv_field(&r->f, "hybrid_layer_pattern"))
		kv_field_fail(&r->f, "hybrid_layer_pattern", "is missing, and so is layer_types: add one of them");
	for (uint32_t i = 0; i < r->model->layers && !r->f.failed; i++)
		if (flagged(r, "hybrid_layer_pattern", i))
			set_sliding(r, i);
}

static void by_full_layer_list(struct kv_model_reader *r)
{
	json_t *settings = kv_field(&r->f, "linear_attn_config");
	json_t *full = json_object_get(settings, "full_attn_layers");
	size_t at;
	json_t *value;

	if (!json_is_array(full)) {
		kv_field_fail(&r->f, "linear_attn_config", "lacks the list full_attn_layers");
		return;
	}
	for (uint32_t i = 0; i < r->model->layers; i++)
		r->model->layer[i].mixer = KV_MIXER_KDA;
	json_array_foreach(full, at, value) {
		json_int_t number = json_integer_value(value);

		if (number < 1 || number > r->model->layers) {
			kv_field_fail(&r->f, "linear_attn_config", "has %lld in full_attn_layers: layers count from 1 to %u",
			              (long long)number, r->model->layers);
			return;
		}
		r->model->layer[number - 1].mixer = KV_MIXER_FULL;
	}
}

/* Tokens in a compressed row of layer i, prediction layers behind the others; 0 where the list ends before. */
static json_int_t listed_ratio(struct kv_model_reader *r, uint32_t i)
{
	return json_integer_value(json_array_get(kv_field(&r->f, "compress_ratios"), i));
}

static json_int_t ratio_of_type(struct kv_model_reader *r, uint32_t i)
{
	json_t *types = kv_field_list(&r->f, "layer_types", r->model->layers);
	const char *type = json_string_value(json_array_get(types, i));
	const json_t *rates = kv_field(&r->f, "compress_rates");

	if (type && !strcmp(type, "sliding_attention"))
		return 0;
	if (type && json_is_integer(json_object_get(rates, type)))
		return json_integer_value(json_object_get(rates, type));
	kv_field_fail(&r->f, "layer_types", "has \"%.40s\" at layer %u, for which compress_rates holds no number", type ? type : "",
	              i);
	return 0;
}

/* Only these two have kernels and cache layouts. */
static void set_compressed(struct kv_model_reader *r, uint32_t i, json_int_t ratio)
{
	struct kv_layer *layer = &r->model->layer[i];

	layer->mixer = KV_MIXER_COMPRESSED;
	layer->window = attention_window(r);
	layer->compress_ratio = (uint32_t)ratio;
	if (!layer->window)
		kv_field_fail(&r->f, "sliding_window", "is missing: every layer of model_type \"%s\" keeps a window (tokens)",
		              r->model->family);
	if (ratio != 0 && ratio != 4 && ratio != 128)
		kv_field_fail(&r->f, "compress_ratios", "is %lld at layer %u: known are 0, 4 and 128", (long long)ratio, i);
}

static void by_compress_ratios(struct kv_model_reader *r)
{
	size_t given = json_array_size(kv_field(&r->f, "compress_ratios")), layers = r->model->layers;

	if (kv_field(&r->f, "compress_ratios") && (given < layers || given > layers + r->model->mtp_layers))
		kv_field_fail(&r->f, "compress_ratios", "has %zu elements: it must have %zu, one a layer, and may have %u more for "
		              "prediction layers", given, layers, r->model->mtp_layers);
	for (uint32_t i = 0; i < layers && !r->f.failed; i++)
		set_compressed(r, i, given ? listed_ratio(r, i) : ratio_of_type(r, i));
}

static bool slides_by_rule(struct kv_model_reader *r, uint32_t i)
{
	switch (r->family->layers) {
	case KV_LAYERS_ALL_SLIDING:
		return attention_window(r) != 0;
	case KV_LAYERS_EVEN_SLIDING:
		return i % 2 == 0;
	case KV_LAYERS_PATTERN:
		return (i + 1) % kv_field_count(&r->f, "sliding_window_pattern|_sliding_window_pattern", 1, KV_MAX_LAYERS,
		                                 r->family->period) != 0;
	case KV_LAYERS_LATE_SLIDING:
		return kv_field_bool(&r->f, "use_sliding_window", false)
		       && i >= kv_field_count(&r->f, "max_window_layers", 0, KV_MAX_LAYERS, KV_FIELD_REQUIRED);
	default:
		return false;
	}
}

static void by_family(struct kv_model_reader *r)
{
	uint32_t interval;

	switch (r->family->layers) {
	case KV_LAYERS_CHUNKED: by_chunk_pattern(r); return;
	case KV_LAYERS_JAMBA: by_jamba_period(r); return;
	case KV_LAYERS_HYBRID_PATTERN: by_hybrid_pattern(r); return;
	case KV_LAYERS_KIMI_LINEAR: by_full_layer_list(r); return;
	case KV_LAYERS_INDEX_LIST: by_index_list(r); return;
	case KV_LAYERS_FLAG_LIST: by_flag_list(r); return;
	case KV_LAYERS_WINDOW_FLAGS: by_window_flags(r); return;
	case KV_LAYERS_COMPRESSED: by_compress_ratios(r); return;
	case KV_LAYERS_LINEAR_INTERVAL:
		interval = kv_field_count(&r->f, "full_attention_interval", 1, KV_MAX_LAYERS, 4);
		for (uint32_t i = 0; i < r->model->layers; i++)
			if ((i + 1) % interval)
				r->model->layer[i].mixer = r->family->recurrent;
		return;
	default:
		for (uint32_t i = 0; i < r->model->layers && !r->f.failed; i++)
			if (slides_by_rule(r, i))
				set_sliding(r, i);
	}
}

/* A window as long as the context limits nothing. */
static void drop_idle_windows(struct kv_model *m)
{
	uint32_t dropped = 0;

	for (uint32_t i = 0; i < m->layers; i++)
		if (m->layer[i].mixer == KV_MIXER_SLIDING && m->max_position && m->layer[i].window >= m->max_position) {
			dropped = m->layer[i].window;
			m->layer[i].mixer = KV_MIXER_FULL;
			m->layer[i].window = 0;
		}
	if (dropped)
		kv_remark(&m->notes, "sliding_window %u covers the whole context of %u: taken for full attention", dropped,
		          m->max_position);
}

/* The last layers may reuse the keys and values of the last layer of their kind that has its own (Gemma 3n and 4). */
static void share_keys(struct kv_model_reader *r)
{
	struct kv_model *m = r->model;
	uint32_t shared = kv_field_count(&r->f, "num_kv_shared_layers", 0, m->layers - 1, 0);
	uint32_t own = m->layers - shared;
	bool wide = kv_field_bool(&r->f, "use_double_wide_mlp", false);

	for (uint32_t i = own; i < m->layers; i++) {
		m->layer[i].ffn_size *= wide ? 2 : 1;
		for (uint32_t j = own; j-- > 0 && m->layer[i].shares_kv_with < 0;)
			if (m->layer[j].mixer == m->layer[i].mixer)
				m->layer[i].shares_kv_with = (int32_t)j;
	}
}

/* Cross-layer attention: of every cla_share_factor layers the first one's keys and values serve all (Hunyuan). */
static void share_keys_in_turn(struct kv_model_reader *r)
{
	uint32_t factor = kv_field_bool(&r->f, "use_cla", false) ? kv_field_count(&r->f, "cla_share_factor", 1, KV_MAX_LAYERS, 2) : 1;

	for (uint32_t i = 0; i < r->model->layers; i++)
		if (i % factor)
			r->model->layer[i].shares_kv_with = (int32_t)(i - i % factor);
}

static bool predicts(const struct kv_layer *layer)
{
	return layer->mixer == KV_MIXER_MLA || layer->mixer == KV_MIXER_FULL || layer->mixer == KV_MIXER_COMPRESSED;
}

static void add_mtp_layers(struct kv_model_reader *r)
{
	struct kv_model *m = r->model;
	uint32_t like = m->layers;

	while (like > 0 && !predicts(&m->layer[like - 1]))
		like--;
	if (like == 0)
		m->mtp_layers = 0;
	for (uint32_t i = 0; i < m->mtp_layers; i++) {
		m->layer[m->layers + i] = m->layer[like - 1];
		if (m->layer[like - 1].mixer == KV_MIXER_COMPRESSED)
			set_compressed(r, m->layers + i, listed_ratio(r, m->layers + i));
	}
}

void kv_model_read_layers(struct kv_model_reader *r)
{
	struct kv_model *m = r->model;

	m->layer = kv_calloc((size_t)m->layers + m->mtp_layers, sizeof *m->layer);
	for (uint32_t i = 0; i < m->layers; i++)
		m->layer[i].shares_kv_with = -1;
	if (kv_field(&r->f, KV_FIELDS_LAYER_TYPES) && r->family->layers != KV_LAYERS_COMPRESSED)
		by_layer_types(r);
	else
		by_family(r);
	drop_idle_windows(m);
	for (uint32_t i = 0; i < m->layers && !r->f.failed; i++)
		kv_model_shape_layer(r, i);
	for (uint32_t i = m->layers; i-- > 0;)  /* the model's heads are those of its first attention layer */
		m->kv_heads = m->layer[i].kv_heads ? m->layer[i].kv_heads : m->kv_heads;
	share_keys(r);
	share_keys_in_turn(r);
	add_mtp_layers(r);
}
