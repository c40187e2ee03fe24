/* A model's shape, read from a Hugging Face config.json or from a built-in file of the same form
 * (sim/profiles/models/). Enough for the KV layout, weight bytes and step times; nothing depends on an engine.
 *
 * Nothing is guessed silently: what the file does not say and a rule supplied stands in `notes`, one sentence each.
 * head_dim is read; it is derived (and noted) only for architectures whose Hugging Face class derives it.
 */
#ifndef KV_SIM_MODEL_H
#define KV_SIM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/remarks.h"
#include "sim/model/name_patterns.h"

/* What mixes tokens in a layer. */
enum kv_mixer {
	KV_MIXER_FULL,
	KV_MIXER_SLIDING,    /* each token sees the last `window` tokens, itself included */
	KV_MIXER_CHUNKED,    /* each token sees its own chunk of `window` tokens up to itself */
	KV_MIXER_MLA,        /* latent attention: one compressed vector a token */
	KV_MIXER_MAMBA1,
	KV_MIXER_MAMBA2,
	KV_MIXER_DELTA_NET,  /* gated delta net */
	KV_MIXER_KDA,        /* Kimi delta attention */
	KV_MIXER_COMPRESSED, /* DeepSeek-V4: the last `window` tokens, and rows that stand for compress_ratio tokens each */
	KV_MIXER_SHORT_CONV, /* a gated convolution over the last few tokens (LFM2) */
	KV_MIXER_LIGHTNING,  /* linear attention with one state a head (MiniMax-Text-01) */
	KV_MIXER_NONE,       /* feed-forward only (Nemotron-H) */
	KV_MIXERS
};

const char *kv_mixer_name(enum kv_mixer mixer);

enum kv_ffn { KV_FFN_NONE, KV_FFN_DENSE, KV_FFN_MOE };

struct kv_layer {
	enum kv_mixer mixer;
	uint32_t q_heads;       /* attention only; 0 for the others, as in the next three */
	uint32_t kv_heads;      /* 1 for MLA */
	uint32_t head_dim;      /* of queries and keys (nope + rope for MLA) */
	uint32_t v_head_dim;
	uint32_t window;        /* tokens; 0 unless sliding, chunked or compressed */
	uint32_t compress_ratio;/* tokens in a row, 4 (with an indexer) or 128; 0 = no rows, or no compressed layer */
	bool with_state;        /* a Mamba-2 mixer works beside the attention (Falcon-H1) */
	uint8_t linear_maps;    /* matrices of hidden x hidden in place of attention or feed-forward (Llama-Nemotron) */
	int32_t shares_kv_with; /* index of the layer whose keys and values it reads; -1 = its own */
	enum kv_ffn ffn;
	uint32_t ffn_size;      /* inner width: of the dense FFN, or of one expert */
};

/* Does it keep a state of fixed size a sequence? */
bool kv_layer_is_recurrent(const struct kv_layer *layer);

enum kv_dtype {
	KV_DTYPE_F32, KV_DTYPE_BF16, KV_DTYPE_F16, KV_DTYPE_FP8, KV_DTYPE_INT8, KV_DTYPE_INT4, KV_DTYPE_NVFP4,
	KV_DTYPE_MXFP4, KV_DTYPES
};

/* Names as in configs and flags: float32, bfloat16, float16, fp8, int8, int4, nvfp4, mxfp4. */
const char *kv_dtype_name(enum kv_dtype dtype);
/* Accepts "torch." before and the usual short forms (bf16, fp16, half, float, fp8_e4m3, ...). -1 if unknown. */
int kv_dtype_parse(const char *text, enum kv_dtype *out);
/* Bits of one element, scales not included. */
uint32_t kv_dtype_bits(enum kv_dtype dtype);

/* How quantised weights are stored. */
struct kv_weight_format {
	enum kv_dtype dtype;
	uint32_t group_size;      /* weights that share a scale along the input; 0 = a whole output row or tensor */
	uint32_t block_rows;      /* output rows that share a scale (fp8 blocks); 1 = each its own, 0 = the tensor */
	uint32_t scale_bits;      /* of one scale */
	uint32_t zero_bits;       /* of one zero point; 0 = none */
};

/* Modules with a format of their own. */
struct kv_quantized_part {
	struct kv_name_patterns targets;
	struct kv_weight_format format;
};

/* How the weights of linear layers are stored. */
struct kv_quantization {
	struct kv_weight_format format;  /* its dtype = the model's: not quantised */
	char *method;             /* quant_method as the config spells it; NULL = none */
	char *unsized;            /* why the bytes of the weights are not known; NULL = they are */
	bool mxfp4_experts;       /* routed experts are mxfp4, whatever the rest is (DeepSeek-V4) */
	const char *cache;        /* format of the KV cache that the checkpoint has scales for, "fp8"; NULL = says nothing */
	struct kv_name_patterns skip;    /* what stays in the model's dtype */
	struct kv_quantized_part *part;  /* the first whose targets match counts; other modules stay wide */
	size_t parts;             /* 0 = the format is everywhere */
};

/* Recurrent layers; all layers of one model are alike. Elements before tensor parallelism. */
struct kv_recurrent {
	uint32_t key_heads, value_heads;   /* delta nets and KDA; Mamba-2: groups, heads */
	uint32_t key_dim, value_dim;       /* of one head; Mamba-2: d_state, head dim */
	uint32_t inner;                    /* Mamba: expanded width; short convolutions: channels */
	uint32_t d_state;                  /* Mamba */
	uint32_t dt_rank;                  /* Mamba-1 */
	uint32_t conv_kernel;
	enum kv_dtype conv_dtype;          /* the model's dtype unless the config says otherwise */
	enum kv_dtype state_dtype;         /* of the recurrent part */
	bool state_dtype_given;            /* by the config or the class; false: it goes with the model's dtype */
};

/* Every layer also sees an embedding of its own of the token (Gemma 3n and 4); laurel and altup are Gemma 3n's low-rank
 * residual and its parallel residual streams. */
struct kv_layer_inputs {
	uint32_t width, vocab;     /* 0 = none */
	uint32_t laurel_rank, altup_streams;
};

/* Parameters of a vision tower and its projector: matrices that tensor parallelism splits, and the rest. They stay in the
 * model's dtype. */
struct kv_vision {
	uint64_t split, whole;     /* 0 = none that is counted */
};

enum kv_qk_norm { KV_QK_NORM_NONE, KV_QK_NORM_HEAD, KV_QK_NORM_FULL };

/* Which small tensors the family's layers have beside the matrices. */
struct kv_weight_traits {
	bool qkv_bias, o_bias, ffn_bias;
	bool norm_bias;              /* LayerNorm instead of RMSNorm */
	uint32_t norms;              /* of hidden width in a layer */
	enum kv_qk_norm qk_norm;     /* one norm of a head's width, or of all heads' */
	bool attention_gate;         /* the query projection also yields an output gate */
	bool head_gate;              /* a projection yields one output gate a head */
	bool attention_sinks;        /* one learned logit a head */
	bool router_bias, expert_bias;
	bool shared_expert_gate;
	bool learned_positions;      /* a position table (GPT-2) */
	uint32_t extra_positions;    /* rows of it beyond the context (OPT) */
	bool embedding_norm;         /* a norm after the embedding (BLOOM) */
	bool head_bias;              /* the output head has a bias (Phi-2) */
	bool mamba_norms;            /* norms of dt, B and C (Jamba) */
	bool idle_projections;       /* layers that share keys and values have projections for them all the same */
	bool keys_are_values;        /* full-attention layers have no value projection (Gemma 4) */
};

struct kv_model {
	char *name;              /* built-in name, or the file's path */
	char *architecture;      /* architectures[0]; "" = none */
	char *family;            /* model_type of the text part */
	char *source;            /* where the shape is from: "config.json" or what the built-in file says */
	bool known_family;

	uint32_t layers;         /* decoder layers, without MTP layers */
	struct kv_layer *layer;  /* layers + mtp_layers of them */
	uint32_t mtp_layers;     /* multi-token prediction; loaded and cached only with speculative decoding */
	uint32_t hidden;
	uint32_t q_heads, kv_heads, head_dim;  /* those of the first attention layer */
	uint32_t ffn_size;       /* dense FFN width; 0 where all layers are experts */
	uint32_t ffn_matrices;   /* 3 = gated, 2 = plain */
	uint32_t vocab;
	uint32_t draft_vocab;    /* tokens that an EAGLE-3 head can draft; 0 = the config does not say */
	uint32_t max_position;   /* context limit in tokens; 0 = the config does not say */
	bool tied_embeddings;

	uint32_t experts, experts_used;        /* 0 = dense model */
	uint32_t expert_size;                  /* inner width of one expert */
	uint32_t shared_experts_size;          /* summed inner width of the experts that always run */

	uint32_t q_lora_rank, kv_lora_rank;    /* kv_lora_rank 0 = no MLA, q_lora_rank 0 = queries are not compressed */
	uint32_t qk_nope_dim, qk_rope_dim, v_head_dim;
	uint32_t index_heads, index_head_dim;  /* sparse attention indexer (DeepSeek-V3.2 and V4); 0 = none */
	uint32_t o_groups, o_lora_rank;        /* output projection in groups of low rank (DeepSeek-V4); 0 = none */
	uint32_t residual_streams;             /* hyper-connections (DeepSeek-V4); 0 = one residual stream */

	struct kv_recurrent recurrent;         /* zero without recurrent layers */
	struct kv_layer_inputs layer_inputs;
	struct kv_vision vision;

	enum kv_dtype dtype;
	struct kv_quantization quantization;
	struct kv_weight_traits traits;

	struct kv_remarks notes;               /* assumptions, to be printed */
};

/* A built-in name or alias (case and "owner/" do not matter), or the path of a config.json (it ends in .json or is a
 * file that exists, or a folder that holds a config.json). NULL with err filled: unknown names (the nearest are
 * listed), unreadable files, and every field that is missing or makes no sense. */
struct kv_model *kv_model_load(const char *name_or_path, struct kv_error *err);

/* The same from text; label names it in errors and becomes the model's name. */
struct kv_model *kv_model_parse(const char *text, const char *label, struct kv_error *err);

void kv_model_free(struct kv_model *model);

void kv_quantization_fini(struct kv_quantization *quantization);

/* Checks that heads and experts can be split over tp ranks; KV heads may be replicated. */
int kv_model_check_tp(const struct kv_model *model, uint32_t tp, struct kv_error *err);

#endif
