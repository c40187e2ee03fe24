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

/* Fills model->layer: mixers, windows, attention shapes and feed-forward kinds. */
void kv_model_read_layers(struct kv_model_reader *r);

/* Fills model->quantization from quantization_config. */
void kv_model_read_quantization(struct kv_model_reader *r);

enum { KV_MAX_LAYERS = 4096, KV_MAX_HEADS = 65536, KV_MAX_WIDTH = 1 << 20, KV_MAX_EXPERTS = 65536,
       KV_MAX_STATE = 1 << 14, KV_MAX_SHARED = 1 << 10, KV_MAX_VOCAB = 1 << 26, KV_MAX_POSITION = 1 << 30 };

#endif
