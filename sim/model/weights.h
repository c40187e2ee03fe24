/* Weight bytes from the config, tensor by tensor: what one rank holds once the model is loaded. */
#ifndef KV_SIM_WEIGHTS_H
#define KV_SIM_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/model/model.h"

enum kv_weight_part {
	KV_WEIGHTS_EMBEDDING,
	KV_WEIGHTS_ATTENTION,
	KV_WEIGHTS_RECURRENT,
	KV_WEIGHTS_FFN,       /* dense layers and experts that always run */
	KV_WEIGHTS_EXPERTS,   /* routed experts */
	KV_WEIGHTS_ROUTER,
	KV_WEIGHTS_NORM,
	KV_WEIGHTS_HEAD,      /* 0 where tied */
	KV_WEIGHTS_VISION,
	KV_WEIGHT_PARTS
};

const char *kv_weight_part_name(enum kv_weight_part part);

struct kv_weight_options {
	uint32_t tensor_parallel;
	uint32_t expert_ranks;   /* ranks that divide the experts among them; 1 = every rank holds a slice of each expert */
	uint32_t expert_slices;  /* into which each expert's inner width is cut then; 0 = tensor_parallel */
	bool mtp;                /* load the multi-token prediction layers too */
	bool pad_experts;        /* vLLM's mxfp4 kernels before Blackwell pad inner width to 128 and hidden to 256 */
	uint32_t first_layer, layer_count;  /* the pipeline stage; count 0 = all layers */
};

struct kv_weights {
	uint64_t parameters;         /* of the stage's layers, all ranks together, each counted once */
	uint64_t active_parameters;  /* the same with only the experts that a token uses, and without vision */
	uint64_t part_bytes[KV_WEIGHT_PARTS];  /* on one rank, scales included */
	uint64_t scale_bytes;        /* scales and zero points as part of them */
	uint64_t bytes;              /* sum of the parts */
};

/* The model's dtype and quantization count. tensor_parallel must have passed kv_model_check_tp. */
void kv_weights_count(const struct kv_model *model, const struct kv_weight_options *options, struct kv_weights *weights);

/* Replaces the model's quantization by a named one, as --quantization does: none, fp8, fp8_block, int8, awq, gptq,
 * mxfp4, nvfp4, bitsandbytes. KV_EXIT_USAGE for others. */
int kv_model_quantize(struct kv_model *model, const char *name, struct kv_error *err);

#endif
