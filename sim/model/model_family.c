#include "config.h"

#include "sim/model/model_family.h"

#include <stddef.h>
#include <string.h>

#define RMS2 .traits = {.norms = 2}
#define RMS4 .traits = {.norms = 4}
#define RMS2_QK(kind) .traits = {.norms = 2, .qk_norm = kind}

static const struct kv_family families[] = {
	{.model_type = "bloom", .head_dim_derived = true, .qkv_bias = KV_BIAS_YES, .o_bias = KV_BIAS_YES,
	 .ffn_bias = KV_BIAS_YES, .ffn_matrices = 2, .tied = true, .layers = KV_LAYERS_FULL, .recurrent = KV_MIXER_NONE,
	 .traits = {.norms = 2, .norm_bias = true, .embedding_norm = true}},
	{.model_type = "deepseek_v2", .ffn_matrices = 3, .recurrent = KV_MIXER_NONE, RMS2},
	{.model_type = "deepseek_v3", .ffn_matrices = 3, .recurrent = KV_MIXER_NONE,
	 .traits = {.norms = 2, .router_bias = true}},
	{.model_type = "deepseek_v32", .ffn_matrices = 3, .recurrent = KV_MIXER_NONE,
	 .traits = {.norms = 2, .router_bias = true}},
	{.model_type = "deepseek_v4", .ffn_matrices = 3, .layers = KV_LAYERS_COMPRESSED, .recurrent = KV_MIXER_NONE,
	 .traits = {.norms = 2, .router_bias = true, .attention_sinks = true}},
	{.model_type = "falcon", .head_dim_derived = true, .qkv_bias = KV_BIAS_IF_SET, .o_bias = KV_BIAS_IF_SET,
	 .ffn_bias = KV_BIAS_IF_SET, .ffn_matrices = 2, .tied = true, .recurrent = KV_MIXER_NONE,
	 .traits = {.norms = 1, .norm_bias = true}},
	{.model_type = "gemma", .qkv_bias = KV_BIAS_IF_SET, .o_bias = KV_BIAS_IF_SET, .ffn_matrices = 3, .tied = true,
	 .recurrent = KV_MIXER_NONE, RMS2},
	{.model_type = "gemma2", .qkv_bias = KV_BIAS_IF_SET, .o_bias = KV_BIAS_IF_SET, .ffn_matrices = 3, .tied = true,
	 .layers = KV_LAYERS_EVEN_SLIDING, .recurrent = KV_MIXER_NONE, RMS4},
	{.model_type = "gemma3_text", .qkv_bias = KV_BIAS_IF_SET, .o_bias = KV_BIAS_IF_SET, .ffn_matrices = 3,
	 .tied = true, .layers = KV_LAYERS_PATTERN, .recurrent = KV_MIXER_NONE,
	 .defaults = {.q_heads = 8, .kv_heads = 4, .head_dim = 256, .vocab = 262208, .max_position = 131072},
	 .traits = {.norms = 4, .qk_norm = KV_QK_NORM_HEAD}},
	{.model_type = "gemma4_text", .qkv_bias = KV_BIAS_IF_SET, .o_bias = KV_BIAS_IF_SET, .ffn_matrices = 3,
	 .tied = true, .layers = KV_LAYERS_PATTERN, .recurrent = KV_MIXER_NONE,
	 .traits = {.norms = 4, .qk_norm = KV_QK_NORM_HEAD}},
	{.model_type = "glm4_moe", .qkv_bias = KV_BIAS_IF_SET, .ffn_matrices = 3, .recurrent = KV_MIXER_NONE,
	 .traits = {.norms = 2, .router_bias = true}},
	{.model_type = "glm4_moe_lite", .ffn_matrices = 3, .recurrent = KV_MIXER_NONE,
	 .traits = {.norms = 2, .router_bias = true}},
	{.model_type = "glm_moe_dsa", .ffn_matrices = 3, .recurrent = KV_MIXER_NONE,
	 .traits = {.norms = 2, .router_bias = true}},
	{.model_type = "gpt_oss", .qkv_bias = KV_BIAS_UNLESS_SET, .o_bias = KV_BIAS_UNLESS_SET, .ffn_matrices = 3,
	 .layers = KV_LAYERS_EVEN_SLIDING, .recurrent = KV_MIXER_NONE,
	 .traits = {.norms = 2, .attention_sinks = true, .router_bias = true, .expert_bias = true}},
	{.model_type = "internlm", .head_dim_derived = true, .qkv_bias = KV_BIAS_IF_SET, .o_bias = KV_BIAS_IF_SET,
	 .ffn_matrices = 3, .recurrent = KV_MIXER_NONE, RMS2},
	{.model_type = "jamba", .head_dim_derived = true, .ffn_matrices = 3, .layers = KV_LAYERS_JAMBA,
	 .recurrent = KV_MIXER_MAMBA1, .traits = {.norms = 2, .mamba_norms = true}},
	{.model_type = "kimi_k2", .ffn_matrices = 3, .recurrent = KV_MIXER_NONE,
	 .traits = {.norms = 2, .router_bias = true}},
	{.model_type = "kimi_linear", .ffn_matrices = 3, .layers = KV_LAYERS_KIMI_LINEAR, .recurrent = KV_MIXER_KDA,
	 .traits = {.norms = 2, .router_bias = true}},
	{.model_type = "llama", .head_dim_derived = true, .qkv_bias = KV_BIAS_IF_SET, .o_bias = KV_BIAS_IF_SET,
	 .ffn_bias = KV_BIAS_IF_SET, .ffn_matrices = 3, .recurrent = KV_MIXER_NONE, RMS2},
	{.model_type = "llama4_text", .ffn_matrices = 3, .layers = KV_LAYERS_CHUNKED, .recurrent = KV_MIXER_NONE, RMS2},
	{.model_type = "minimax_m2", .ffn_matrices = 3, .recurrent = KV_MIXER_NONE,
	 .traits = {.norms = 2, .qk_norm = KV_QK_NORM_FULL, .router_bias = true}},
	{.model_type = "ministral3", .ffn_matrices = 3, .layers = KV_LAYERS_ALL_SLIDING, .recurrent = KV_MIXER_NONE, RMS2},
	{.model_type = "mistral", .head_dim_derived = true, .ffn_matrices = 3, .layers = KV_LAYERS_ALL_SLIDING,
	 .recurrent = KV_MIXER_NONE, RMS2},
	{.model_type = "mixtral", .head_dim_derived = true, .ffn_matrices = 3, .layers = KV_LAYERS_ALL_SLIDING,
	 .recurrent = KV_MIXER_NONE, RMS2},
	{.model_type = "nemotron_h", .qkv_bias = KV_BIAS_IF_SET, .o_bias = KV_BIAS_IF_SET, .ffn_bias = KV_BIAS_IF_SET,
	 .ffn_matrices = 2, .layers = KV_LAYERS_HYBRID_PATTERN, .recurrent = KV_MIXER_MAMBA2, .traits = {.norms = 1}},
	{.model_type = "opt", .head_dim_derived = true, .qkv_bias = KV_BIAS_YES, .o_bias = KV_BIAS_YES,
	 .ffn_bias = KV_BIAS_YES, .ffn_matrices = 2, .tied = true, .recurrent = KV_MIXER_NONE,
	 .traits = {.norms = 2, .norm_bias = true, .learned_positions = true}},
	{.model_type = "phi", .head_dim_derived = true, .qkv_bias = KV_BIAS_YES, .o_bias = KV_BIAS_YES,
	 .ffn_bias = KV_BIAS_YES, .ffn_matrices = 2, .recurrent = KV_MIXER_NONE,
	 .traits = {.norms = 1, .norm_bias = true, .head_bias = true}},
	{.model_type = "phi3", .head_dim_derived = true, .ffn_matrices = 3, .layers = KV_LAYERS_ALL_SLIDING,
	 .recurrent = KV_MIXER_NONE, RMS2},
	{.model_type = "qwen", .head_dim_derived = true, .qkv_bias = KV_BIAS_YES, .ffn_matrices = 3,
	 .recurrent = KV_MIXER_NONE, RMS2},
	{.model_type = "qwen2", .head_dim_derived = true, .qkv_bias = KV_BIAS_YES, .ffn_matrices = 3,
	 .layers = KV_LAYERS_LATE_SLIDING, .recurrent = KV_MIXER_NONE, RMS2},
	{.model_type = "qwen2_moe", .head_dim_derived = true, .qkv_bias = KV_BIAS_YES, .ffn_matrices = 3,
	 .layers = KV_LAYERS_LATE_SLIDING, .recurrent = KV_MIXER_NONE,
	 .traits = {.norms = 2, .shared_expert_gate = true}},
	{.model_type = "qwen3", .qkv_bias = KV_BIAS_IF_SET, .o_bias = KV_BIAS_IF_SET, .ffn_matrices = 3,
	 .layers = KV_LAYERS_LATE_SLIDING, .recurrent = KV_MIXER_NONE, RMS2_QK(KV_QK_NORM_HEAD)},
	{.model_type = "qwen3_5_moe_text", .qkv_bias = KV_BIAS_IF_SET, .o_bias = KV_BIAS_IF_SET, .ffn_matrices = 3,
	 .layers = KV_LAYERS_LINEAR_INTERVAL, .recurrent = KV_MIXER_DELTA_NET,
	 .traits = {.norms = 2, .qk_norm = KV_QK_NORM_HEAD, .attention_gate = true, .shared_expert_gate = true}},
	{.model_type = "qwen3_5_text", .qkv_bias = KV_BIAS_IF_SET, .o_bias = KV_BIAS_IF_SET, .ffn_matrices = 3,
	 .layers = KV_LAYERS_LINEAR_INTERVAL, .recurrent = KV_MIXER_DELTA_NET,
	 .traits = {.norms = 2, .qk_norm = KV_QK_NORM_HEAD, .attention_gate = true}},
	{.model_type = "qwen3_moe", .qkv_bias = KV_BIAS_IF_SET, .o_bias = KV_BIAS_IF_SET, .ffn_matrices = 3,
	 .layers = KV_LAYERS_LATE_SLIDING, .recurrent = KV_MIXER_NONE, RMS2_QK(KV_QK_NORM_HEAD)},
	{.model_type = "qwen3_next", .qkv_bias = KV_BIAS_IF_SET, .o_bias = KV_BIAS_IF_SET, .ffn_matrices = 3,
	 .layers = KV_LAYERS_LINEAR_INTERVAL, .recurrent = KV_MIXER_DELTA_NET, .defaults = {.mtp_layers = 1},
	 .traits = {.norms = 2, .qk_norm = KV_QK_NORM_HEAD, .attention_gate = true, .shared_expert_gate = true}},
	{.model_type = "qwen3_vl_moe_text", .qkv_bias = KV_BIAS_IF_SET, .o_bias = KV_BIAS_IF_SET, .ffn_matrices = 3,
	 .recurrent = KV_MIXER_NONE, RMS2_QK(KV_QK_NORM_HEAD)},
	{.model_type = "qwen3_vl_text", .qkv_bias = KV_BIAS_IF_SET, .o_bias = KV_BIAS_IF_SET, .ffn_matrices = 3,
	 .recurrent = KV_MIXER_NONE, RMS2_QK(KV_QK_NORM_HEAD)},
};

const struct kv_family kv_family_unknown = {
	.model_type = "", .qkv_bias = KV_BIAS_IF_SET, .o_bias = KV_BIAS_IF_SET, .ffn_bias = KV_BIAS_IF_SET,
	.ffn_matrices = 3, .recurrent = KV_MIXER_NONE, RMS2,
};

static const struct {
	const char *model_type, *meant;
} wrappers[] = {
	{"gemma3", "gemma3_text"}, {"gemma4", "gemma4_text"}, {"llama4", "llama4_text"}, {"qwen3_5", "qwen3_5_text"},
	{"qwen3_5_moe", "qwen3_5_moe_text"}, {"qwen2_vl", "qwen2"}, {"qwen2_5_vl", "qwen2"}, {"qwen2_vl_text", "qwen2"},
	{"qwen2_5_vl_text", "qwen2"}, {"nemotron_h_puzzle", "nemotron_h"},
};

const struct kv_family *kv_family_find(const char *model_type)
{
	for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
		if (!strcmp(wrappers[i].model_type, model_type))
			model_type = wrappers[i].meant;
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (!strcmp(families[i].model_type, model_type))
			return &families[i];
	return NULL;
}
