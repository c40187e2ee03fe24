/* What each model_type means beyond its numbers: defaults of its Hugging Face class, which layers are windowed or
 * recurrent, and which small tensors its layers have. From the configuration and modelling classes of transformers. */
#ifndef KV_SIM_MODEL_FAMILY_H
#define KV_SIM_MODEL_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/model/model.h"

enum kv_bias {
	KV_BIAS_NO,
	KV_BIAS_YES,
	KV_BIAS_IF_SET,     /* the config's attention_bias / mlp_bias / bias, false where missing */
	KV_BIAS_UNLESS_SET  /* the same, true where missing */
};

/* Which layers are what where the config has no layer_types. */
enum kv_layer_rule {
	KV_LAYERS_FULL,             /* sliding_window means nothing to the class */
	KV_LAYERS_ALL_SLIDING,      /* if sliding_window is set */
	KV_LAYERS_EVEN_SLIDING,     /* 0, 2, 4, ... */
	KV_LAYERS_PATTERN,          /* every sliding_window_pattern-th (default: the family's period) is full */
	KV_LAYERS_LATE_SLIDING,     /* with use_sliding_window: from max_window_layers on (Qwen) */
	KV_LAYERS_CHUNKED,          /* no_rope_layers says 1 = chunked; default: every fourth is full (Llama 4) */
	KV_LAYERS_LINEAR_INTERVAL,  /* every full_attention_interval-th (default 4) is full, the others linear */
	KV_LAYERS_JAMBA,            /* attn_layer_period and attn_layer_offset */
	KV_LAYERS_HYBRID_PATTERN,   /* hybrid_override_pattern: M Mamba-2, * attention, - and E feed-forward */
	KV_LAYERS_INDEX_LIST,       /* attn_layer_indices (or full_attn_idxs) are full, the others recurrent */
	KV_LAYERS_FLAG_LIST,        /* attn_type_list: 1 = full, 0 = recurrent (MiniMax-Text-01) */
	KV_LAYERS_WINDOW_FLAGS,     /* hybrid_layer_pattern: 1 = sliding, with the swa_ heads (MiMo-V2) */
	KV_LAYERS_SIDE_BY_SIDE,     /* every layer has full attention and a recurrent mixer (Falcon-H1) */
	KV_LAYERS_BLOCKS,           /* block_configs: what each layer has left (Llama-Nemotron) */
	KV_LAYERS_DOUBLED,          /* each layer is two, whose experts stand in the first one (LongCat-Flash) */
	KV_LAYERS_KIMI_LINEAR,      /* linear_attn_config.full_attn_layers, counted from 1 */
	KV_LAYERS_COMPRESSED        /* compress_ratios, or layer_types and compress_rates (DeepSeek-V4) */
};

/* What the class fills in where its published configs say nothing; 0 = the config must say it. */
struct kv_class_defaults {
	uint32_t q_heads, kv_heads, head_dim, vocab, max_position, mtp_layers;
	uint32_t layers, hidden, ffn_size;  /* of text parts alone, which are saved without what equals their class */
};

struct kv_family {
	const char *model_type;
	bool head_dim_derived;       /* the class computes hidden_size / num_attention_heads where it is missing */
	enum kv_bias qkv_bias, o_bias, ffn_bias;
	uint32_t ffn_matrices;
	uint32_t ffn_factor;         /* feed-forward width over hidden_size where the config gives none; 0 = it must */
	bool tied;                   /* tie_word_embeddings where missing */
	enum kv_layer_rule layers;
	uint32_t period;             /* KV_LAYERS_PATTERN */
	enum kv_qk_norm qk_norm_if_set;  /* with use_qk_norm, qk_layernorm or qk_norm */
	enum kv_mixer recurrent;     /* what a linear or mamba layer of the family is; KV_MIXER_NONE = it has none */
	bool wide_state;             /* its recurrent state is float32 unless the config says otherwise (vLLM) */
	struct kv_class_defaults defaults;
	struct kv_weight_traits traits;  /* the bias fields are filled from the rules above */
};

/* NULL if unknown. */
const struct kv_family *kv_family_find(const char *model_type);

/* What an unknown model_type is taken for: gated feed-forward, two RMS norms, no biases, head_dim not derived. */
extern const struct kv_family kv_family_unknown;

#endif
