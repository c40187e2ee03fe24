#include "config.h"

#include "sim/model/model_config.h"

#include <stdlib.h>
#include <string.h>

static void read_shared(struct kv_model_reader *r)
{
	struct kv_model *m = r->model;
	uint32_t shared = kv_model_same_count(r, "n_shared_experts|num_shared_experts|num_shared_expert|moe_num_shared_experts", 0,
	                                      KV_MAX_SHARED, 0);

	m->shared_experts_size = kv_field_count(&r->f, "shared_expert_intermediate_size|moe_shared_expert_intermediate_size|"
	                                        "shared_intermediate_size|share_expert_dim", 0, KV_MAX_WIDTH,
	                                        shared * m->expert_size);
	if (!strcmp(r->family->model_type, "llama4_text"))
		m->shared_experts_size = m->expert_size;
	if (!strcmp(r->family->model_type, "gemma4_text") || r->family->layers == KV_LAYERS_DOUBLED)
		m->shared_experts_size = m->ffn_size;
}

void kv_model_read_experts(struct kv_model_reader *r)
{
	struct kv_model *m = r->model;

	m->experts = kv_model_same_count(r, KV_FIELDS_EXPERTS, 0, KV_MAX_EXPERTS, 0);
	if (m->experts <= 1 || !kv_field_bool(&r->f, "enable_moe_block", true)) {
		m->experts = 0;
		return;
	}
	m->experts_used = kv_model_same_count(r, "num_experts_per_tok|num_experts_per_token|top_k_experts|moe_topk|moe_k|moe_top_k", 1,
	                                      m->experts, KV_FIELD_REQUIRED);
	m->expert_size = kv_model_same_count(r, "moe_intermediate_size|expert_ffn_hidden_size|intermediate_size|ffn_hidden_size", 1, KV_MAX_WIDTH,
	                                     KV_FIELD_REQUIRED);
	read_shared(r);
}

static bool listed(const json_t *list, uint32_t i)
{
	size_t at;
	const json_t *value;

	json_array_foreach(list, at, value)
		if (json_is_integer(value) && json_integer_value(value) == i)
			return true;
	return false;
}

/* Numbers with commas between them (Step-3). */
static bool enumerated(const char *text, uint32_t i)
{
	for (char *end; *text; text = *end ? end + 1 : end) {
		if (strtoul(text, &end, 10) == i && end > text)
			return true;
		if (end == text)
			return false;
	}
	return false;
}

/* Where it is said layer by layer; -1 = nowhere. */
static int listed_kind(struct kv_model_reader *r, uint32_t i)
{
	const json_t *layers = kv_field(&r->f, "moe_layers"), *flags = kv_field(&r->f, "moe_layer_freq");
	const json_t *kinds = kv_field(&r->f, "mlp_layer_types");
	const char *numbers = json_string_value(kv_field(&r->f, "moe_layers_enum"));

	if (r->family->layers == KV_LAYERS_DOUBLED)
		return i % 2 == 0;
	if (json_array_size(layers))
		return listed(layers, i);
	if (json_array_size(flags))
		return json_integer_value(json_array_get(flags, i)) != 0;
	if (json_array_size(kinds))
		return json_is_string(json_array_get(kinds, i)) && strcmp(json_string_value(json_array_get(kinds, i)), "dense") != 0;
	return numbers ? enumerated(numbers, i) : -1;
}

/* The fields of DeepSeek and LFM2, Qwen, Jamba, Llama 4 and ERNIE in turn; each is neutral where missing. */
bool kv_model_holds_experts(struct kv_model_reader *r, uint32_t i)
{
	int kind = listed_kind(r, i);
	uint32_t step, period;

	if (kind >= 0)
		return kind;
	step = kv_field_count(&r->f, "decoder_sparse_step|interleave_moe_layer_step|moe_layer_freq|moe_layer_interval", 1,
	                      KV_MAX_LAYERS, 1);
	period = kv_field_count(&r->f, "expert_layer_period", 1, KV_MAX_LAYERS, 1);
	if (i < kv_field_count(&r->f, "first_k_dense_replace|num_dense_layers|moe_layer_start_index", 0, KV_MAX_LAYERS, 0)
	    || i > kv_field_count(&r->f, "moe_layer_end_index", 0, KV_MAX_LAYERS, KV_MAX_LAYERS)
	    || listed(kv_field(&r->f, "mlp_only_layers"), i))
		return false;
	if (i % period != kv_field_count(&r->f, "expert_layer_offset", 0, KV_MAX_LAYERS, 0) % period)
		return false;
	return kv_field(&r->f, "moe_layer_freq") ? i % step == 0 : (i + 1) % step == 0;
}
