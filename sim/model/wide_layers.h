/* Layers whose KV cache keeps the model's own type while the others' is narrow: vLLM's kv_cache_dtype_skip_layers. */
#ifndef KV_SIM_WIDE_LAYERS_H
#define KV_SIM_WIDE_LAYERS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"

struct kv_model;

enum { KV_WIDE_LAYERS_MAX = 4096 };

/* One bit a layer; all zero = none. */
struct kv_wide_layers {
	uint64_t bits[KV_WIDE_LAYERS_MAX / 64];
};

/* A list such as "0,1,31" or "sliding_window", which stands for all windowed layers. KV_EXIT_USAGE for other words and for
 * layers that the model does not have or that cache no keys and values of their own. */
int kv_wide_layers_parse(const char *list, const struct kv_model *model, struct kv_wide_layers *out, struct kv_error *err);

bool kv_wide_layers_hold(const struct kv_wide_layers *wide, uint32_t layer);
bool kv_wide_layers_any(const struct kv_wide_layers *wide);

#endif
