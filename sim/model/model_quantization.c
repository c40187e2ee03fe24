#include "config.h"

#include "sim/model/model_config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sim/base/memory.h"

static void set_unsized(struct kv_quantization *q, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first reason counts. */
static void set_unsized(struct kv_quantization *q, const char *format, ...)
{
	char text[256];
	va_list args;

	if (q->unsized)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	q->unsized = kv_strdup(text);
}

static void add_names(struct kv_name_patterns *patterns, const json_t *list, struct kv_quantization *q)
{
	size_t at;
	const json_t *value;

	json_array_foreach(list, at, value)
		if (json_is_string(value) && !kv_name_patterns_add(patterns, json_string_value(value)))
			set_unsized(q, "the expression \"%.120s\" in quantization_config is not understood", json_string_value(value));
}

static void read_fp8(struct kv_fields *f, struct kv_weight_format *format)
{
	json_t *block = kv_field_list(f, "weight_block_size|block_structure", 0);

	format->dtype = KV_DTYPE_FP8;
	format->scale_bits = 32;
	if (!block)
		return;
	format->block_rows = (uint32_t)json_integer_value(json_array_get(block, 0));
	format->group_size = (uint32_t)json_integer_value(json_array_get(block, 1));
	if (json_array_size(block) != 2 || !format->block_rows || !format->group_size)
		kv_field_fail(f, "weight_block_size|block_structure", "must hold two whole numbers above 0");
}

static void read_integer_groups(struct kv_fields *f, struct kv_quantization *q, const char *zero_field)
{
	uint32_t bits = kv_field_count(f, "bits|w_bit", 1, 32, KV_FIELD_REQUIRED);
	const json_t *group = kv_field(f, "group_size|q_group_size");

	if (bits != 4 && bits != 8)
		set_unsized(q, "quantization_config has %u bits: 4 and 8 are known", bits);
	q->format = (struct kv_weight_format){.dtype = bits == 8 ? KV_DTYPE_INT8 : KV_DTYPE_INT4, .scale_bits = 16, .block_rows = 1};
	if (json_integer_value(group) != -1)
		q->format.group_size = kv_field_count(f, "group_size|q_group_size", 1, KV_MAX_WIDTH, 128);
	if (kv_field_bool(f, zero_field, true))
		q->format.zero_bits = bits;
}

/* GPTQ's exceptions by module: "-:" and an expression leaves it wide, "+:" gives it other bits. */
static void read_exceptions(struct kv_fields *f, struct kv_quantization *q, json_t *skip)
{
	const char *pattern;
	json_t *value;

	json_object_foreach(kv_field(f, "dynamic"), pattern, value) {
		if (!strncmp(pattern, "-:", 2))
			json_array_append_new(skip, json_sprintf("re:%s", pattern + 2));
		else
			set_unsized(q, "quantization_config has other bits for \"%.60s\"", pattern);
	}
}

static const struct kv_weight_format nvfp4 = {.dtype = KV_DTYPE_NVFP4, .group_size = 16, .block_rows = 1, .scale_bits = 8};

/* One group of a compressed-tensors file. */
static struct kv_weight_format read_group(struct kv_fields *f, const json_t *group, struct kv_quantization *q)
{
	struct kv_fields weights = {.label = f->label, .object = json_object_get(group, "weights"), .err = f->err,
	                            .failed = f->failed};
	uint32_t bits = kv_field_count(&weights, "num_bits", 1, 32, KV_FIELD_REQUIRED);
	const char *type = kv_field_text(&weights, "type", "int"), *strategy = kv_field_text(&weights, "strategy", "tensor");
	struct kv_weight_format format = {.scale_bits = bits == 4 ? 16 : 32};

	format.group_size = kv_field_count(&weights, "group_size", 1, KV_MAX_WIDTH, 0);
	format.block_rows = strcmp(strategy, "tensor") != 0;
	if (bits == 4 && !strcmp(type, "float"))
		format = nvfp4;
	else if (bits == 8 && !strcmp(type, "float") && !strcmp(strategy, "block"))
		read_fp8(&weights, &format);
	else
		format.dtype = bits == 4 ? KV_DTYPE_INT4 : !strcmp(type, "float") ? KV_DTYPE_FP8 : KV_DTYPE_INT8;
	if (bits != 4 && bits != 8)
		set_unsized(q, "quantization_config has weights of %u bits: 4 and 8 are known", bits);
	if (!kv_field_bool(&weights, "symmetric", true))
		format.zero_bits = bits;
	f->failed |= weights.failed;
	return format;
}

static bool is_everywhere(const json_t *targets)
{
	return json_array_size(targets) == 0 || (json_array_size(targets) == 1 && json_is_string(json_array_get(targets, 0))
	                                         && !strcmp(json_string_value(json_array_get(targets, 0)), "Linear"));
}

static void read_compressed(struct kv_fields *f, struct kv_quantization *q)
{
	json_t *groups = kv_field(f, "config_groups"), *group;
	const char *name;

	if (json_object_size(groups) == 0) {
		set_unsized(q, "quantization_config has no config_groups");
		return;
	}
	q->part = kv_calloc(json_object_size(groups), sizeof *q->part);
	json_object_foreach(groups, name, group) {
		struct kv_weight_format format = read_group(f, group, q);

		if (q->parts == 0)
			q->format = format;
		q->part[q->parts].format = format;
		add_names(&q->part[q->parts++].targets, json_object_get(group, "targets"), q);
	}
	group = json_object_iter_value(json_object_iter(groups));
	if (q->parts == 1 && is_everywhere(json_object_get(group, "targets"))) {
		kv_name_patterns_fini(&q->part[0].targets);
		q->parts = 0;
	}
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
		q->format = nvfp4;
	else
		q->format = (struct kv_weight_format){.dtype = KV_DTYPE_FP8, .scale_bits = 32};
	if (strcmp(algorithm, "NVFP4") != 0 && strcmp(algorithm, "FP8") != 0)
		set_unsized(q, "quant_algo is \"%.40s\": FP8 and NVFP4 are known", algorithm);
	f->failed |= inner.failed;
}

static void read_bitsandbytes(struct kv_fields *f, struct kv_weight_format *format)
{
	bool four = kv_field_bool(f, "load_in_4bit", false);

	*format = (struct kv_weight_format){.dtype = four ? KV_DTYPE_INT4 : KV_DTYPE_INT8, .group_size = four ? 64 : 0,
	                                    .block_rows = 1, .scale_bits = 32};
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

static bool is_modelopt(const char *method)
{
	return !strncmp(method, "modelopt", strlen("modelopt"));
}

static void read_method(struct kv_fields *f, const char *method, struct kv_quantization *q)
{
	if (!strcmp(method, "fp8")) {
		read_fp8(f, &q->format);
	} else if (!strcmp(method, "fbgemm_fp8")) {
		read_fp8(f, &q->format);
		q->format.block_rows = 1;
	} else if (!strcmp(method, "awq")) {
		read_integer_groups(f, q, "zero_point");
	} else if (!strcmp(method, "gptq") || !strcmp(method, "auto-round") || !strcmp(method, "intel/auto-round")) {
		read_integer_groups(f, q, "has_zero_points");
	} else if (!strcmp(method, "compressed-tensors")) {
		read_compressed(f, q);
	} else if (is_modelopt(method)) {
		read_modelopt(f, q);
	} else if (!strcmp(method, "mxfp4")) {
		q->format = (struct kv_weight_format){.dtype = KV_DTYPE_MXFP4, .group_size = 32, .block_rows = 1, .scale_bits = 8};
	} else if (!strcmp(method, "bitsandbytes")) {
		read_bitsandbytes(f, &q->format);
	} else {
		set_unsized(q, "quant_method is %s%.40s%s: known are fp8, fbgemm_fp8, awq, gptq, auto-round, compressed-tensors, modelopt, "
		            "mxfp4 and bitsandbytes", *method ? "\"" : "missing", method, *method ? "\"" : "");
	}
}

static void read_skip_list(struct kv_fields *f, struct kv_quantization *q)
{
	json_t *listed = kv_field(f, "modules_to_not_convert|ignored_layers|ignore|exclude_modules|llm_int8_skip_modules");
	json_t *skip = json_is_array(listed) ? json_copy(listed) : json_array();

	read_exceptions(f, q, skip);
	add_names(&q->skip, skip, q);
	json_decref(skip);
}

void kv_model_read_quantization(struct kv_model_reader *r)
{
	struct kv_quantization *q = &r->model->quantization;
	json_t *object = kv_field(&r->f, "quantization_config|compression_config");
	struct kv_fields f = {.label = r->f.label, .object = object, .err = r->f.err, .failed = r->f.failed};
	const char *method;

	q->format.dtype = r->model->dtype;
	if (object && !json_is_object(object))
		kv_field_fail(&r->f, "quantization_config", "must be an object with quant_method, or null");
	if (!object || r->f.failed)
		return;
	method = kv_field_text(&f, "quant_method", json_is_string(kv_field(&f, "quant_algo")) ? "modelopt" : "");
	q->method = kv_strdup(method);
	read_method(&f, method, q);
	read_experts_dtype(r, q);
	if (!strcmp(method, "compressed-tensors") || is_modelopt(method))
		read_cache(r, &f, q);
	read_skip_list(&f, q);
	r->f.failed = r->f.failed || f.failed;
}
