#include "config.h"

#include "sim/model/model_config.h"

#include <string.h>

/* A window could be any layer's; recurrent state could have any shape. */
static void refuse_kinds(struct kv_model_reader *r)
{
	static const char *const windows[] = {"sliding_window", "attention_chunk_size", "attention_window_size",
	                                      "hybrid_layer_pattern"};
	static const char *const states[] = {"linear_attn_config", "state_size", "ssm_state_size", "mamba_d_state",
	                                     "full_attention_interval", "hybrid_override_pattern", "layers_block_type",
	                                     "attn_type_list", "block_types", "lru_width", "conv_L_cache",
	                                     "attn_layer_indices"};

	if (!kv_field(&r->f, KV_FIELDS_QUERY_HEADS))  /* no attention at all, which is told where heads are read */
		return;
	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		if (kv_field(&r->f, states[i]))
			kv_field_fail(&r->f, states[i], "is set: some layers keep recurrent state, and its shape is not known for "
			              "model_type \"%s\", which therefore is not sized (null here has all layers taken for "
			              "attention)", r->model->family);
	for (size_t i = 0; i < sizeof windows / sizeof *windows && !kv_field(&r->f, KV_FIELDS_LAYER_TYPES); i++)
		if (kv_field(&r->f, windows[i]))
			kv_field_fail(&r->f, windows[i], "is set, and which layers it concerns is not known for model_type \"%s\": add "
			              "layer_types, or set it to null to have full attention everywhere", r->model->family);
}

/* Fields that give some layers another shape, each known for the classes that have them; and experts by other names. */
static void refuse_shapes(struct kv_model_reader *r)
{
	static const char *const fields[] = {"block_configs", "cross_attention_layers", "attention_other_setting",
	                                     "swa_num_key_value_heads", "num_query_heads", "num_mem_blocks", "use_cla"};
	const char *key;
	json_t *value;

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (kv_field(&r->f, fields[i]) && !json_is_false(kv_field(&r->f, fields[i])))
			kv_field_fail(&r->f, fields[i], "is set, and what it does to the shape of layers is not known for model_type "
			              "\"%s\": null here has all layers taken for alike", r->model->family);
	json_object_foreach(r->f.object, key, value)
		if (!kv_field(&r->f, KV_FIELDS_EXPERTS) && strstr(key, "expert") && json_integer_value(value) > 1)
			kv_field_fail(&r->f, key, "is set, and num_experts is not: add num_experts (0 if no layer has experts), "
			              "num_experts_per_tok and moe_intermediate_size");
}

/* vLLM's is_deepseek_mla goes by a list of classes; what is not on it, such as MiniCPM3, has its heads cached whole. */
static void doubt_latents(struct kv_model_reader *r)
{
	if (kv_field(&r->f, "kv_lora_rank"))
		kv_remark(&r->model->notes, "kv_lora_rank: one latent a token is counted; an engine that does not know model_type \"%s\" "
		          "as latent attention caches the keys and values of every head instead, many times as much", r->model->family);
}

void kv_model_refuse_unknown(struct kv_model_reader *r)
{
	if (r->model->known_family)
		return;
	if (!*r->model->family)
		kv_field_fail(&r->f, "model_type", "is missing: add the class of the model, such as \"llama\"");
	if (kv_field_bool(&r->f, "is_encoder_decoder", false))
		kv_field_fail(&r->f, "is_encoder_decoder", "is true: decoders alone are sized, and \"%s\" has an encoder and caches for "
		              "cross-attention beside", r->model->family);
	doubt_latents(r);
	refuse_shapes(r);
	refuse_kinds(r);
}
