#include "config.h"

#include "sim/model/model_config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Names of the counts that give a layer other heads than the model's; NULL = it has the model's. */
struct other_heads {
	const char *q_heads, *kv_heads, *head_dim, *v_head_dim;
};

static void read_other_heads(struct kv_fields *f, const struct other_heads *names, struct kv_layer *layer)
{
	uint32_t before = layer->head_dim;

	layer->q_heads = kv_field_count(f, names->q_heads, 1, KV_MAX_HEADS, layer->q_heads);
	layer->kv_heads = kv_field_count(f, names->kv_heads, 1, KV_MAX_HEADS, layer->kv_heads);
	layer->head_dim = kv_field_count(f, names->head_dim, 1, KV_MAX_WIDTH, layer->head_dim);
	layer->v_head_dim = kv_field_count(f, names->v_head_dim, 1, KV_MAX_WIDTH,
	                                   layer->v_head_dim == before ? layer->head_dim : layer->v_head_dim);
}

static void read_object(struct kv_model_reader *r, json_t *object, const struct other_heads *names, struct kv_layer *layer)
{
	struct kv_fields f = {.label = r->f.label, .object = object, .err = r->f.err, .failed = r->f.failed};

	read_other_heads(&f, names, layer);
	r->f.failed = f.failed;
}

/* Gemma 4: full layers have heads of their own width, and maybe fewer of them for keys. */
static void shape_global(struct kv_model_reader *r, struct kv_layer *layer)
{
	struct kv_model *m = r->model;

	layer->head_dim = kv_field_count(&r->f, "global_head_dim", 1, KV_MAX_WIDTH, m->head_dim);
	layer->v_head_dim = layer->head_dim;
	if (kv_field_bool(&r->f, "attention_k_eq_v", false))
		layer->kv_heads = kv_field_count(&r->f, "num_global_key_value_heads", 1, m->q_heads, m->kv_heads);
}

/* Exceptions that transformers saves by number of layer, "05": {"head_dim": 512}. */
static void shape_exception(struct kv_model_reader *r, uint32_t i)
{
	static const struct other_heads names = {"num_attention_heads", "num_key_value_heads", "head_dim", "v_head_dim"};
	json_t *all = kv_field(&r->f, "per_layer_config"), *one = NULL;
	char key[16];

	for (int digits = 1; digits <= 4 && !one; digits++) {
		snprintf(key, sizeof key, "%0*u", digits, i);
		one = json_object_get(all, key);
	}
	if (json_is_object(one))
		read_object(r, one, &names, &r->model->layer[i]);
}

/* What a layer's heads are beside the model's, by the classes that have such fields. */
static void shape_heads(struct kv_model_reader *r, uint32_t i)
{
	static const struct other_heads step = {"num_attention_heads", "num_attention_groups", "head_dim", "v_head_dim"};
	static const struct other_heads swa = {"swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim", "swa_v_head_dim"};
	struct kv_layer *layer = &r->model->layer[i];
	json_t *heads = kv_field(&r->f, "num_attention_heads_per_layer"), *other = kv_field(&r->f, "attention_other_setting");

	if (layer->mixer == KV_MIXER_FULL && !strcmp(r->family->model_type, "gemma4_text"))
		shape_global(r, layer);
	if (layer->mixer == KV_MIXER_SLIDING && r->family->layers == KV_LAYERS_WINDOW_FLAGS)
		read_other_heads(&r->f, &swa, layer);
	if (layer->mixer == KV_MIXER_SLIDING && json_is_object(other))
		read_object(r, other, &step, layer);
	if (heads && kv_field_list(&r->f, "num_attention_heads_per_layer", r->model->layers))
		layer->q_heads = (uint32_t)json_integer_value(json_array_get(heads, i));
	shape_exception(r, i);
	if (!r->f.failed && (layer->q_heads == 0 || layer->q_heads % layer->kv_heads))
		kv_field_fail(&r->f, "num_key_value_heads", "is %u at layer %u: it must divide the query heads, which are %u",
		              layer->kv_heads, i, layer->q_heads);
}

static bool is_attention(enum kv_mixer mixer)
{
	return mixer == KV_MIXER_FULL || mixer == KV_MIXER_SLIDING || mixer == KV_MIXER_CHUNKED
	       || mixer == KV_MIXER_COMPRESSED;
}

static void shape_attention(struct kv_model_reader *r, uint32_t i)
{
	struct kv_model *m = r->model;
	struct kv_layer *layer = &m->layer[i];

	layer->q_heads = m->q_heads;
	layer->kv_heads = m->kv_heads;
	layer->head_dim = m->head_dim;
	layer->v_head_dim = m->v_head_dim;
	layer->with_state = r->family->layers == KV_LAYERS_SIDE_BY_SIDE;
	if (layer->mixer == KV_MIXER_FULL && m->kv_lora_rank)
		layer->mixer = KV_MIXER_MLA;
	else if (m->kv_lora_rank)
		kv_field_fail(&r->f, "kv_lora_rank", "goes with full attention only, but a layer is %s",
		              kv_mixer_name(layer->mixer));
	else
		shape_heads(r, i);
}

/* Nemotron-H: a layer is a mixer or a feed-forward part, by its letter or its type. */
static enum kv_ffn lone_ffn(struct kv_model_reader *r, uint32_t i)
{
	json_t *types = kv_field(&r->f, KV_FIELDS_LAYER_TYPES);
	const char *pattern = kv_field_text(&r->f, "hybrid_override_pattern", NULL);
	const char *type = json_string_value(json_array_get(types, i));

	if (r->model->layer[i].mixer != KV_MIXER_NONE)
		return KV_FFN_NONE;
	if (!r->model->experts)
		return KV_FFN_DENSE;
	return (types ? type && !strcmp(type, "moe") : pattern && pattern[i] == 'E') ? KV_FFN_MOE : KV_FFN_DENSE;
}

static void shape_ffn(struct kv_model_reader *r, uint32_t i)
{
	struct kv_model *m = r->model;
	struct kv_layer *layer = &m->layer[i];

	if (r->family->layers == KV_LAYERS_HYBRID_PATTERN)
		layer->ffn = lone_ffn(r, i);
	else
		layer->ffn = m->experts && kv_model_holds_experts(r, i) ? KV_FFN_MOE : KV_FFN_DENSE;
	layer->ffn_size = layer->ffn == KV_FFN_MOE ? m->expert_size : layer->ffn == KV_FFN_DENSE ? m->ffn_size : 0;
	if (layer->ffn == KV_FFN_DENSE && !layer->ffn_size)
		kv_field_fail(&r->f, "intermediate_size", "is 0, but layer %u has a dense feed-forward part", i);
}

/* --- Llama-Nemotron -------------------------------------------------------------------------------------------------- */

enum { BLOCK_FFN_MULTIPLE = 256 };

static bool is_on(const json_t *part, const char *key)
{
	return json_is_true(json_object_get(part, key));
}

static void shape_block_attention(struct kv_model_reader *r, uint32_t i, const json_t *attention)
{
	struct kv_layer *layer = &r->model->layer[i];
	json_int_t group = json_integer_value(json_object_get(attention, "n_heads_in_group"));
	bool none = is_on(attention, "no_op"), linear = is_on(attention, "replace_with_linear");

	if (none || linear) {
		layer->mixer = KV_MIXER_NONE;
		layer->linear_maps += linear;
		return;
	}
	if (group < 1 || group > r->model->q_heads || r->model->q_heads % group) {
		kv_field_fail(&r->f, "block_configs", "has no n_heads_in_group at layer %u that divides the %u query heads", i,
		              r->model->q_heads);
		return;
	}
	layer->q_heads = r->model->q_heads;
	layer->kv_heads = r->model->q_heads / (uint32_t)group;
	layer->head_dim = layer->v_head_dim = r->model->head_dim;
}

static void shape_block_ffn(struct kv_model_reader *r, uint32_t i, const json_t *ffn)
{
	struct kv_layer *layer = &r->model->layer[i];
	double factor = json_number_value(json_object_get(ffn, "ffn_mult"));
	double width = floor(2 * factor * r->model->hidden / 3);

	if (is_on(ffn, "no_op") || is_on(ffn, "replace_with_linear")) {
		layer->linear_maps += is_on(ffn, "replace_with_linear");
		return;
	}
	if (!(width >= 1 && width <= KV_MAX_WIDTH)) {
		kv_field_fail(&r->f, "block_configs", "has no ffn_mult at layer %u", i);
		return;
	}
	layer->ffn = KV_FFN_DENSE;
	layer->ffn_size = (uint32_t)ceil(width / BLOCK_FFN_MULTIPLE) * BLOCK_FFN_MULTIPLE;
}

static void shape_block(struct kv_model_reader *r, uint32_t i)
{
	const json_t *block = json_array_get(kv_field_list(&r->f, "block_configs", r->model->layers), i);

	if (!json_is_object(block)) {
		kv_field_fail(&r->f, "block_configs", "must be a list of objects, one a layer");
		return;
	}
	shape_block_attention(r, i, json_object_get(block, "attention"));
	shape_block_ffn(r, i, json_object_get(block, "ffn"));
}

void kv_model_shape_layer(struct kv_model_reader *r, uint32_t i)
{
	if (r->family->layers == KV_LAYERS_BLOCKS) {
		shape_block(r, i);
		return;
	}
	if (is_attention(r->model->layer[i].mixer))
		shape_attention(r, i);
	shape_ffn(r, i);
}
