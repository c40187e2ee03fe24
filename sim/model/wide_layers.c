#include "config.h"

#include "sim/model/wide_layers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/quantity.h"
#include "sim/model/model.h"

static void add(struct kv_wide_layers *wide, uint32_t layer)
{
	wide->bits[layer / 64] |= (uint64_t)1 << layer % 64;
}

bool kv_wide_layers_hold(const struct kv_wide_layers *wide, uint32_t layer)
{
	return wide->bits[layer / 64] >> layer % 64 & 1;
}

bool kv_wide_layers_any(const struct kv_wide_layers *wide)
{
	for (size_t i = 0; i < sizeof wide->bits / sizeof *wide->bits; i++)
		if (wide->bits[i])
			return true;
	return false;
}

static int add_sliding(const struct kv_model *model, struct kv_wide_layers *wide, struct kv_error *err)
{
	for (uint32_t i = 0; i < model->layers; i++)
		if (model->layer[i].mixer == KV_MIXER_SLIDING && model->layer[i].shares_kv_with < 0)
			add(wide, i);
	return kv_wide_layers_any(wide) ? 0 : kv_fail(err, KV_EXIT_USAGE, "%s has no sliding_window layer", model->name);
}

static int add_one(const char *word, const struct kv_model *model, struct kv_wide_layers *wide, struct kv_error *err)
{
	uint64_t layer;

	if (!strcmp(word, "sliding_window"))
		return add_sliding(model, wide, err);
	if (kv_parse_count(word, 0, UINT64_MAX, &layer, err) != 0)
		return kv_fail(err, KV_EXIT_USAGE, "'%s' is neither the number of a layer nor sliding_window", word);
	if (layer >= model->layers)
		return kv_fail(err, KV_EXIT_USAGE, "layer %" PRIu64 " is beyond the %u layers of %s, counted from 0", layer, model->layers,
		               model->name);
	if (!model->layer[layer].kv_heads || model->layer[layer].shares_kv_with >= 0)
		return kv_fail(err, KV_EXIT_USAGE, "layer %" PRIu64 " of %s has no KV cache of its own", layer, model->name);
	add(wide, (uint32_t)layer);
	return 0;
}

int kv_wide_layers_parse(const char *list, const struct kv_model *model, struct kv_wide_layers *out, struct kv_error *err)
{
	char word[64];

	*out = (struct kv_wide_layers){0};
	for (const char *at = list;; at++) {
		size_t length = strcspn(at, ",");

		snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), at);
		if (add_one(word, model, out, err) != 0)
			return -1;
		at += length;
		if (*at == '\0')
			return 0;
	}
}
