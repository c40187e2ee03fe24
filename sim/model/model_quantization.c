#include "config.h"

#include "sim/model/model_config.h"

#include <string.h>
#include <strings.h>

#include "sim/base/memory.h"

static void keep_skip_list(struct kv_quantization *q, const json_t *list)
{
	size_t count = json_array_size(list), at, kept = 0;
	const json_t *value;

	q->skip = kv_calloc(count + 1, sizeof *q->skip);
	json_array_foreach(list, at, value)
		if (json_is_string(value))
			q->skip[kept++] = kv_strdup(json_string_value(value));
}

static void read_fp8(struct kv_fields *f, struct kv_quantization *q)
{
	json_t *block = kv_field_list(f, "weight_block_size", 0);

	q->dtype = KV_DTYPE_FP8;
	q->scale_bits = 32;
	if (!block)
		return;
	q->block_rows = (uint32_t)json_integer_value(json_array_get(block, 0));
	q->group_size = (uint32_t)json_integer_value(json_array_get(block, 1));
	if (json_array_size(block) != 2 || !q->block_rows || !q->group_size)
		kv_field_fail(f, "weight_block_size", "must hold two whole numbers above 0");
}

static void read_integer_groups(struct kv_fields *f, struct kv_quantization *q, bool zero_default, const char *zero_field)
{
	uint32_t bits = kv_field_count(f, "bits|w_bit", 4, 8, KV_FIELD_REQUIRED);
	const json_t *group = kv_field(f, "group_size|q_group_size");

	q->dtype = bits == 4 ? KV_DTYPE_INT4 : KV_DTYPE_INT8;
	if (bits != 4 && bits != 8)
		kv_field_fail(f, "bits", "is %u: 4 and 8 are known", bits);
	q->scale_bits = 16;
	q->block_rows = 1;
	if (json_integer_value(group) != -1)
		q->group_size = kv_field_count(f, "group_size|q_group_size", 1, KV_MAX_WIDTH, 128);
	if (kv_field_bool(f, zero_field, zero_default))
		q->zero_bits = bits;
}

static void read_nvfp4(struct kv_quantization *q)
{
	q->dtype = KV_DTYPE_NVFP4;
	q->group_size = 16;
	q->block_rows = 1;
	q->scale_bits = 8;
}

/* The first group of a compressed-tensors file speaks for all: kinds that differ by layer are refused by the caller. */
static void read_compressed(struct kv_fields *f, struct kv_quantization *q)
{
	json_t *groups = kv_field(f, "config_groups");
	json_t *first = json_object_iter_value(json_object_iter(groups));
	struct kv_fields weights = {.label = f->label, .object = json_object_get(first, "weights"), .err = f->err};
	uint32_t bits;
	const char *type, *strategy;

	if (json_object_size(groups) > 1)
		kv_field_fail(f, "config_groups", "has %zu groups: one is understood", json_object_size(groups));
	bits = kv_field_count(&weights, "num_bits", 1, 16, KV_FIELD_REQUIRED);
	type = kv_field_text(&weights, "type", "int");
	strategy = kv_field_text(&weights, "strategy", "tensor");
	q->scale_bits = bits == 4 ? 16 : 32;
	q->group_size = kv_field_count(&weights, "group_size", 1, KV_MAX_WIDTH, 0);
	q->block_rows = strcmp(strategy, "tensor") != 0;
	if (bits == 4 && !strcmp(type, "float"))
		read_nvfp4(q);
	else if (bits == 4 || bits == 8)
		q->dtype = bits == 4 ? KV_DTYPE_INT4 : !strcmp(type, "float") ? KV_DTYPE_FP8 : KV_DTYPE_INT8;
	else
		kv_field_fail(f, "config_groups", "has weights of %u bits: 4 and 8 are known", bits);
	if (!kv_field_bool(&weights, "symmetric", true))
		q->zero_bits = bits;
	f->failed |= weights.failed;
}

static void read_modelopt(struct kv_fields *f, struct kv_quantization *q)
{
	struct kv_fields inner = *f;
	json_t *nested = kv_field(f, "quantization");
	const char *algorithm;

	if (json_is_object(nested))
		inner.object = nested;
	algorithm = kv_field_text(&inner, "quant_algo", "FP8");
	if (!strcmp(algorithm, "NVFP4"))
		read_nvfp4(q);
	else if (!strcmp(algorithm, "FP8")) {
		q->dtype = KV_DTYPE_FP8;
		q->scale_bits = 32;
	} else {
		kv_field_fail(f, "quant_algo", "is \"%.40s\": FP8 and NVFP4 are known", algorithm);
	}
}

static void read_bitsandbytes(struct kv_fields *f, struct kv_quantization *q)
{
	bool four = kv_field_bool(f, "load_in_4bit", false);

	q->dtype = four ? KV_DTYPE_INT4 : KV_DTYPE_INT8;
	q->group_size = four ? 64 : 0;
	q->block_rows = 1;
	q->scale_bits = 32;
}

/* DeepSeek-V4 states the type of its experts beside an fp8 quantization_config. */
static void read_experts_dtype(struct kv_model_reader *r, struct kv_quantization *q)
{
	const char *type;

	if (r->family->layers != KV_LAYERS_COMPRESSED)
		return;
	type = kv_field_text(&r->f, "expert_dtype", NULL);
	q->mxfp4_experts = !type || !strcmp(type, "fp4");
	if (!type)
		kv_remark(&r->model->notes, "expert_dtype is missing: fp4 assumed, as in the published models of this class");
	else if (!q->mxfp4_experts && strcmp(type, "fp8") != 0)
		kv_field_fail(&r->f, "expert_dtype", "is \"%.40s\": known are fp4 and fp8", type);
}

/* The KV cache that the checkpoint was made for: kv_cache_scheme of compressed-tensors, either field with ModelOpt. */
static void read_cache(struct kv_model_reader *r, struct kv_fields *f, struct kv_quantization *q)
{
	const json_t *nested = kv_field(f, "quantization");
	const json_t *source = json_is_object(nested) ? nested : f->object;
	const json_t *scheme = json_object_get(source, "kv_cache_scheme");
	const json_t *type = json_object_get(scheme, "type"), *algorithm = json_object_get(source, "kv_cache_quant_algo");
	bool eight = json_is_string(type) && !strcmp(json_string_value(type), "float")
	             && json_integer_value(json_object_get(scheme, "num_bits")) == 8;

	if (eight || (json_is_string(algorithm) && !strcasecmp(json_string_value(algorithm), "FP8")))
		q->cache = "fp8";
	else if (json_is_object(scheme) || (json_is_string(algorithm) && strcasecmp(json_string_value(algorithm), "none")))
		kv_remark(&r->model->notes, "quantization_config asks for a KV cache other than fp8, which no engine here takes from "
		          "it: --kv-cache-dtype says what it is");
}

void kv_model_read_quantization(struct kv_model_reader *r)
{
	struct kv_quantization *q = &r->model->quantization;
	json_t *object = kv_field(&r->f, "quantization_config|compression_config");
	struct kv_fields f = {.label = r->f.label, .object = object, .err = r->f.err, .failed = r->f.failed};
	const char *method;

	q->dtype = r->model->dtype;
	if (object && !json_is_object(object))
		kv_field_fail(&r->f, "quantization_config", "must be an object with quant_method, or null");
	if (!object || r->f.failed)
		return;
	method = kv_field_text(&f, "quant_method", json_is_string(kv_field(&f, "quant_algo")) ? "modelopt" : "");
	q->method = kv_strdup(method);
	if (!strcmp(method, "fp8")) {
		read_fp8(&f, q);
	} else if (!strcmp(method, "fbgemm_fp8")) {
		read_fp8(&f, q);
		q->block_rows = 1;
	} else if (!strcmp(method, "awq")) {
		read_integer_groups(&f, q, true, "zero_point");
	} else if (!strcmp(method, "gptq")) {
		read_integer_groups(&f, q, true, "has_zero_points");
	} else if (!strcmp(method, "compressed-tensors")) {
		read_compressed(&f, q);
	} else if (!strncmp(method, "modelopt", strlen("modelopt"))) {
		read_modelopt(&f, q);
	} else if (!strcmp(method, "mxfp4")) {
		*q = (struct kv_quantization){.dtype = KV_DTYPE_MXFP4, .method = q->method, .group_size = 32, .block_rows = 1,
		                              .scale_bits = 8};
	} else if (!strcmp(method, "bitsandbytes")) {
		read_bitsandbytes(&f, q);
	} else {
		kv_field_fail(&f, "quant_method", "is \"%.40s\": known are fp8, fbgemm_fp8, awq, gptq, compressed-tensors, modelopt, "
		              "mxfp4 and bitsandbytes; give --weights-bytes for others", method);
	}
	read_experts_dtype(r, q);
	if (!strcmp(method, "compressed-tensors") || !strncmp(method, "modelopt", strlen("modelopt")))
		read_cache(r, &f, q);
	keep_skip_list(q, kv_field(&f, "modules_to_not_convert|ignored_layers|ignore|exclude_modules|llm_int8_skip_modules"));
	r->f.failed = r->f.failed || f.failed;
}
