/* Internal to the model reader: what its files share. */
#ifndef KV_SIM_MODEL_CONFIG_H
#define KV_SIM_MODEL_CONFIG_H

#include "sim/base/config_fields.h"
#include "sim/model/model.h"
#include "sim/model/model_family.h"

struct kv_model_reader {
	struct kv_fields f;
	struct kv_model *model;
	const struct kv_family *family;
};

/* A count that may also be a list of equal ones, one a layer; else as kv_field_count. */
uint32_t kv_model_same_count(struct kv_model_reader *r, const char *names, uint32_t minimum, uint32_t maximum,
                             uint32_t fallback);

#define KV_FIELDS_QUERY_HEADS "num_attention_heads|n_head|n_heads"

/* How many experts a layer of experts has. */
#define KV_FIELDS_EXPERTS "n_routed_experts|num_local_experts|num_experts|moe_num_experts"

/* Fills the model's numbers and sizes of experts, 0 for a dense model; model->ffn_size must have been read. */
void kv_model_read_experts(struct kv_model_reader *r);

/* Does layer i hold experts? For models that have some. */
bool kv_model_holds_experts(struct kv_model_reader *r, uint32_t i);

/* What each layer is, one name a layer. */
#define KV_FIELDS_LAYER_TYPES "layer_types|layers_block_type"

/* Fails for fields of an unknown class that could mean anything. */
void kv_model_refuse_unknown(struct kv_model_reader *r);

/* Heads and feed-forward part of layer i, whose mixer is known. */
void kv_model_shape_layer(struct kv_model_reader *r, uint32_t i);

/* Counts the tower of vision_config where its class is known, and says what is not counted. */
void kv_model_read_vision(struct kv_model_reader *r, const json_t *root);

/* Fills model->layer: mixers, windows, attention shapes and feed-forward kinds. */
void kv_model_read_layers(struct kv_model_reader *r);

/* Fills model->quantization from quantization_config. */
void kv_model_read_quantization(struct kv_model_reader *r);

enum { KV_MAX_LAYERS = 4096, KV_MAX_HEADS = 65536, KV_MAX_WIDTH = 1 << 20, KV_MAX_EXPERTS = 65536,
       KV_MAX_STATE = 1 << 14, KV_MAX_SHARED = 1 << 10, KV_MAX_VOCAB = 1 << 26, KV_MAX_POSITION = 1 << 30 };

#endif
