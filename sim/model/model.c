#include "config.h"

#include "sim/model/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include <jansson.h>

#include "sim/base/memory.h"
#include "sim/base/names.h"
#include "sim/profiles/profiles.h"

enum { CONFIG_MAX_BYTES = 16 << 20 };

static const char *const mixer_names[KV_MIXERS] = {
	[KV_MIXER_FULL] = "full", [KV_MIXER_SLIDING] = "sliding window", [KV_MIXER_CHUNKED] = "chunked local",
	[KV_MIXER_MLA] = "MLA", [KV_MIXER_MAMBA1] = "Mamba", [KV_MIXER_MAMBA2] = "Mamba-2",
	[KV_MIXER_DELTA_NET] = "gated delta net", [KV_MIXER_KDA] = "Kimi delta attention",
	[KV_MIXER_COMPRESSED] = "compressed sparse attention", [KV_MIXER_SHORT_CONV] = "short convolution",
	[KV_MIXER_LIGHTNING] = "lightning attention", [KV_MIXER_NONE] = "feed-forward only",
};

static const struct {
	const char *name;
	uint32_t bits;
} dtypes[KV_DTYPES] = {
	[KV_DTYPE_F32] = {"float32", 32}, [KV_DTYPE_BF16] = {"bfloat16", 16}, [KV_DTYPE_F16] = {"float16", 16},
	[KV_DTYPE_FP8] = {"fp8", 8}, [KV_DTYPE_INT8] = {"int8", 8}, [KV_DTYPE_INT4] = {"int4", 4},
	[KV_DTYPE_NVFP4] = {"nvfp4", 4}, [KV_DTYPE_MXFP4] = {"mxfp4", 4},
};

static const struct {
	const char *name;
	enum kv_dtype dtype;
} dtype_aliases[] = {
	{"float", KV_DTYPE_F32}, {"fp32", KV_DTYPE_F32}, {"f32", KV_DTYPE_F32}, {"bf16", KV_DTYPE_BF16},
	{"half", KV_DTYPE_F16}, {"fp16", KV_DTYPE_F16}, {"f16", KV_DTYPE_F16}, {"fp8_e4m3", KV_DTYPE_FP8},
	{"fp8_e5m2", KV_DTYPE_FP8}, {"float8_e4m3fn", KV_DTYPE_FP8},
};

const char *kv_mixer_name(enum kv_mixer mixer)
{
	return mixer_names[mixer];
}

bool kv_layer_is_recurrent(const struct kv_layer *layer)
{
	return layer->with_state || (layer->mixer != KV_MIXER_NONE && !layer->kv_heads);
}

const char *kv_dtype_name(enum kv_dtype dtype)
{
	return dtypes[dtype].name;
}

uint32_t kv_dtype_bits(enum kv_dtype dtype)
{
	return dtypes[dtype].bits;
}

int kv_dtype_parse(const char *text, enum kv_dtype *out)
{
	if (!strncmp(text, "torch.", strlen("torch.")))
		text += strlen("torch.");
	for (int i = 0; i < KV_DTYPES; i++)
		if (!strcasecmp(text, dtypes[i].name)) {
			*out = (enum kv_dtype)i;
			return 0;
		}
	for (size_t i = 0; i < sizeof dtype_aliases / sizeof *dtype_aliases; i++)
		if (!strcasecmp(text, dtype_aliases[i].name)) {
			*out = dtype_aliases[i].dtype;
			return 0;
		}
	return -1;
}

/* The part behind the last slash: owners do not tell shapes apart. */
static const char *plain_name(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

static bool goes_by(const struct kv_profile *profile, const char *name)
{
	json_t *root, *alias;
	size_t at;
	bool found = !strcasecmp(profile->name, plain_name(name));

	if (found)
		return true;
	root = json_loads(profile->text, 0, NULL);
	json_array_foreach(json_object_get(json_object_get(root, "kvsim"), "aliases"), at, alias)
		found |= !strcasecmp(plain_name(json_string_value(alias)), plain_name(name));
	json_decref(root);
	return found;
}

static struct kv_model *load_built_in(const char *name, struct kv_error *err)
{
	const char *names[256];
	size_t count = 0;

	for (const struct kv_profile *p = kv_profile_next("models", NULL); p; p = kv_profile_next("models", p)) {
		if (goes_by(p, name))
			return kv_model_parse(p->text, p->name, err);
		if (count < sizeof names / sizeof *names)
			names[count++] = p->name;
	}
	kv_fail_unknown(err, KV_EXIT_USAGE, "model", name, names, count);
	return NULL;
}

static char *read_file(const char *path, struct kv_error *err)
{
	FILE *file = fopen(path, "rb");
	char *text = NULL;
	size_t capacity = 0, length = 0, got;

	if (!file) {
		kv_fail(err, errno == ENOENT ? KV_EXIT_MISSING : KV_EXIT_IO, "%s: %s", path, strerror(errno));
		return NULL;
	}
	do {
		text = kv_grow(text, &capacity, length + BUFSIZ, 1);
		got = fread(text + length, 1, BUFSIZ - 1, file);
		length += got;
	} while (got > 0 && length < CONFIG_MAX_BYTES);
	text[length] = '\0';
	if (ferror(file) || length >= CONFIG_MAX_BYTES || strlen(text) != length) {
		kv_fail(err, KV_EXIT_DATA, "%s: not a text file of at most %d bytes", path, CONFIG_MAX_BYTES);
		free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}

static struct kv_model *load_file(const char *path, struct kv_error *err)
{
	char *text = read_file(path, err);
	struct kv_model *model = text ? kv_model_parse(text, path, err) : NULL;

	free(text);
	return model;
}

struct kv_model *kv_model_load(const char *name_or_path, struct kv_error *err)
{
	size_t length = strlen(name_or_path);
	struct stat status;
	bool exists = stat(name_or_path, &status) == 0;

	if (exists && S_ISDIR(status.st_mode)) {
		char path[4096];

		snprintf(path, sizeof path, "%s/config.json", name_or_path);
		return load_file(path, err);
	}
	if (exists || (length >= 5 && !strcmp(name_or_path + length - 5, ".json")))
		return load_file(name_or_path, err);
	return load_built_in(name_or_path, err);
}

void kv_quantization_fini(struct kv_quantization *q)
{
	kv_name_patterns_fini(&q->skip);
	for (size_t i = 0; i < q->parts; i++)
		kv_name_patterns_fini(&q->part[i].targets);
	free(q->part);
	free(q->method);
	free(q->unsized);
}

void kv_model_free(struct kv_model *model)
{
	if (!model)
		return;
	kv_quantization_fini(&model->quantization);
	kv_remarks_fini(&model->notes);
	free(model->layer);
	free(model->name);
	free(model->architecture);
	free(model->family);
	free(model->source);
	free(model);
}

static int check_split(const struct kv_model *m, const char *what, uint32_t count, uint32_t tp, struct kv_error *err)
{
	if (count % tp == 0)
		return 0;
	return kv_fail(err, KV_EXIT_USAGE, "%u ranks do not divide the %u %s of %s", tp, count, what,
	               m->name);
}

int kv_model_check_tp(const struct kv_model *m, uint32_t tp, struct kv_error *err)
{
	if (check_split(m, "query heads", m->q_heads, tp, err) != 0)
		return -1;
	for (uint32_t i = 0; i < m->layers; i++) {
		uint32_t kv_heads = m->layer[i].kv_heads;

		if (kv_heads && kv_heads % tp && tp % kv_heads)
			return kv_fail(err, KV_EXIT_USAGE, "%u ranks neither divide the %u KV heads of %s nor are a "
			               "multiple of them", tp, kv_heads, m->name);
	}
	if (m->o_groups && check_split(m, "groups of the output projection", m->o_groups, tp, err) != 0)
		return -1;
	if (m->ffn_size && check_split(m, "columns of the feed-forward layers", m->ffn_size, tp, err) != 0)
		return -1;
	if (m->experts && check_split(m, "columns of the experts", m->expert_size, tp, err) != 0)
		return -1;
	if (m->recurrent.value_heads && check_split(m, "recurrent heads", m->recurrent.value_heads, tp, err) != 0)
		return -1;
	return 0;
}
