#include "config.h"

#include "sim/model/model_config.h"

#include <string.h>

/* Towers of vision transformers, tensor by tensor, as the classes in transformers have them. */
struct tower {
	struct kv_fields f;      /* vision_config */
	uint64_t width, layers, inner, text;  /* text: hidden_size of the language model */
	struct kv_vision *out;
};

static uint64_t read_count(struct tower *t, const char *names)
{
	return kv_field_count(&t->f, names, 1, KV_MAX_WIDTH, KV_FIELD_REQUIRED);
}

static uint64_t squared(uint64_t n)
{
	return n * n;
}

/* What a patch of an image (of so many frames) becomes. */
static uint64_t patch_elements(struct tower *t, uint64_t frames)
{
	return kv_field_count(&t->f, "num_channels|in_channels|in_chans", 1, 64, 3) * frames
	       * squared(read_count(t, "patch_size")) * t->width;
}

static uint64_t patches(struct tower *t)
{
	uint64_t size = read_count(t, "image_size"), patch = read_count(t, "patch_size");

	return patch ? squared(size / patch) : 0;
}

static void add_layers(struct tower *t, uint64_t matrices, bool biases, uint64_t norm_elements)
{
	uint64_t bias = biases ? 5 * t->width + (matrices - 1) * t->inner : 0;

	t->out->split += t->layers * (4 * squared(t->width) + matrices * t->width * t->inner);
	t->out->whole += t->layers * (bias + norm_elements);
}

/* Joins merge x merge patches of a tower and maps them to the language model. */
static void add_merger(struct tower *t, uint64_t merge, uint64_t norm_elements, uint64_t copies)
{
	uint64_t joined = squared(merge) * t->width;

	t->out->split += copies * (squared(joined) + joined * t->text);
	t->out->whole += copies * (norm_elements + joined + t->text);
}

static void count_qwen2(struct tower *t)
{
	t->width = read_count(t, "embed_dim");
	t->layers = read_count(t, "depth");
	t->inner = t->width * read_count(t, "mlp_ratio");
	t->out->whole += patch_elements(t, read_count(t, "temporal_patch_size"));
	add_layers(t, 2, true, 4 * t->width);
	add_merger(t, read_count(t, "spatial_merge_size"), 2 * t->width, 1);
}

static void count_qwen2_5(struct tower *t)
{
	t->width = read_count(t, "hidden_size");
	t->layers = read_count(t, "depth");
	t->inner = read_count(t, "intermediate_size");
	t->out->whole += patch_elements(t, read_count(t, "temporal_patch_size"));
	add_layers(t, 3, true, 2 * t->width);
	add_merger(t, read_count(t, "spatial_merge_size"), t->width, 1);
}

static void count_qwen3(struct tower *t)
{
	uint64_t merge = read_count(t, "spatial_merge_size");
	size_t deep = json_array_size(kv_field_list(&t->f, "deepstack_visual_indexes", 0));

	t->width = read_count(t, "hidden_size");
	t->layers = read_count(t, "depth");
	t->inner = read_count(t, "intermediate_size");
	t->out->whole += patch_elements(t, read_count(t, "temporal_patch_size")) + t->width
	                 + read_count(t, "num_position_embeddings") * t->width;
	add_layers(t, 2, true, 4 * t->width);
	add_merger(t, merge, 2 * t->width, 1);
	add_merger(t, merge, 2 * squared(merge) * t->width, deep);
}

static void read_vit(struct tower *t)
{
	t->width = read_count(t, "hidden_size");
	t->layers = read_count(t, "num_hidden_layers");
	t->inner = read_count(t, "intermediate_size");
}

/* Gemma 3: SigLIP without its head, one projection with a norm. */
static void count_siglip(struct tower *t)
{
	read_vit(t);
	t->out->whole += patch_elements(t, 1) + t->width + patches(t) * t->width + 2 * t->width;
	add_layers(t, 2, true, 4 * t->width);
	t->out->whole += t->width * t->text + t->width;
}

static void add_llava_projector(struct tower *t, bool biases)
{
	t->out->whole += t->width * t->text + squared(t->text) + (biases ? 2 * t->text : 0);
}

static void count_clip(struct tower *t)
{
	read_vit(t);
	t->out->whole += patch_elements(t, 1) + t->width + (patches(t) + 1) * t->width + 4 * t->width;
	add_layers(t, 2, true, 4 * t->width);
	add_llava_projector(t, true);
}

static void add_pixtral(struct tower *t)
{
	read_vit(t);
	t->out->whole += patch_elements(t, 1) + t->width;
	add_layers(t, 3, false, 2 * t->width);
}

static void count_pixtral(struct tower *t)
{
	add_pixtral(t);
	add_llava_projector(t, true);
}

/* Joins 2 x 2 patches before the projector. */
static void count_mistral3(struct tower *t)
{
	add_pixtral(t);
	t->out->whole += t->width + 4 * squared(t->width);
	add_llava_projector(t, false);
}

static void count_llama4(struct tower *t)
{
	uint64_t output = read_count(t, "projector_output_dim");

	read_vit(t);
	t->out->whole += patch_elements(t, 1) + t->width + (patches(t) + 1) * t->width + 4 * t->width;
	add_layers(t, 2, true, 4 * t->width);
	t->out->split += t->inner * read_count(t, "projector_input_dim") + squared(output);
	t->out->whole += read_count(t, "vision_output_dim") * t->text;
}

static const struct {
	const char *model_type, *vision_type;  /* of the whole model and its vision_config; NULL = any */
	void (*count)(struct tower *);
} towers[] = {
	{"qwen2_vl", NULL, count_qwen2}, {"qwen2_5_vl", NULL, count_qwen2_5}, {"qwen3_vl", NULL, count_qwen3},
	{"qwen3_vl_moe", NULL, count_qwen3}, {"qwen3_5", NULL, count_qwen3}, {"qwen3_5_moe", NULL, count_qwen3},
	{"gemma3", "siglip_vision_model", count_siglip}, {"llava", "clip_vision_model", count_clip},
	{"llava", "pixtral", count_pixtral}, {"mistral3", "pixtral", count_mistral3}, {"llama4", NULL, count_llama4},
};

static bool count_tower(struct kv_model_reader *r, const json_t *root, json_t *vision)
{
	const char *type = json_string_value(json_object_get(root, "model_type"));
	const char *kind = json_string_value(json_object_get(vision, "model_type"));
	struct kv_error ignored;
	struct tower t = {.f = {.label = r->f.label, .object = vision, .err = &ignored}, .text = r->model->hidden,
	                  .out = &r->model->vision};

	for (size_t i = 0; type && i < sizeof towers / sizeof *towers; i++) {
		if (strcmp(towers[i].model_type, type) || (towers[i].vision_type && (!kind || strcmp(towers[i].vision_type, kind))))
			continue;
		towers[i].count(&t);
		if (!t.f.failed)
			return true;
		r->model->vision = (struct kv_vision){0};
		return false;
	}
	return false;
}

void kv_model_read_vision(struct kv_model_reader *r, const json_t *root)
{
	json_t *vision = kv_field(&r->f, "vision_config");
	struct kv_model *m = r->model;

	if (json_is_object(vision) && count_tower(r, root, vision))
		kv_remark(&m->notes, "the %.0f million parameters of vision_config are counted with the weights, what images take at run "
		          "time is not", (double)(m->vision.split + m->vision.whole) / 1e6);
	else if (vision || r->f.outer)
		kv_remark(&m->notes, "only the text part of a multimodal model is counted");
}
