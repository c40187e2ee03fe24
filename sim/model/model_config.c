#include "config.h"

#include "sim/model/model_config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

static void read_identity(struct kv_model_reader *r, json_t *root)
{
	struct kv_model *m = r->model;
	const json_t *architecture = json_array_get(json_object_get(root, "architectures"), 0);
	const json_t *built_in = json_object_get(root, "kvsim");
	const char *source = json_string_value(json_object_get(built_in, "source"));

	m->architecture = kv_strdup(json_is_string(architecture) ? json_string_value(architecture) : "");
	m->family = kv_strdup(kv_field_text(&r->f, "model_type", ""));
	m->source = kv_strdup(source ? source : "config.json");
	r->family = kv_family_find(m->family);
	m->known_family = r->family != NULL;
	if (!r->family) {
		r->family = &kv_family_unknown;
		kv_remark(&m->notes, "model_type \"%s\" is unknown: taken for a decoder with gated feed-forward, two RMS norms a "
		          "layer and full attention", m->family);
	}
	kv_model_refuse_unknown(r);
}

/* A count that the class supplies (0 = it does not) where a text part says nothing; else as kv_field_count. */
static uint32_t count_or_class(struct kv_model_reader *r, const char *names, uint32_t maximum, uint32_t by_class,
                               uint32_t fallback)
{
	if (by_class == 0 || !r->f.outer || kv_field(&r->f, names))
		return kv_field_count(&r->f, names, 1, maximum, fallback);
	kv_remark(&r->model->notes, "%.*s is missing: %u assumed, the default of the model's class", (int)strcspn(names, "|"),
	          names, by_class);
	return by_class;
}

static void read_head_dim(struct kv_model_reader *r)
{
	struct kv_model *m = r->model;

	m->head_dim = count_or_class(r, "head_dim|kv_channels|attention_head_dim", KV_MAX_WIDTH,
	                             r->family->defaults.head_dim, 0);
	if (m->head_dim || r->f.failed)
		return;
	if (!m->known_family) {
		kv_field_fail(&r->f, "head_dim", "is missing, and model_type \"%s\" is unknown here, so that no rule for it is known: "
		              "add head_dim", m->family);
		return;
	}
	if (!r->family->head_dim_derived || m->hidden % m->q_heads) {
		kv_field_fail(&r->f, "head_dim", "is missing, and hidden_size / num_attention_heads (%u / %u) is not the rule of "
		              "model_type \"%s\": add head_dim", m->hidden, m->q_heads, m->family);
		return;
	}
	m->head_dim = m->hidden / m->q_heads;
	kv_remark(&m->notes,
	          "head_dim is missing: %u = hidden_size / num_attention_heads assumed, the rule of model_type \"%s\"",
	          m->head_dim, m->family);
}

/* Falcon and GPTBigCode say multi_query for one KV head. */
static bool has_one_kv_head(struct kv_model_reader *r)
{
	const char *type = r->family->model_type;

	if (!strcmp(type, "falcon"))
		return kv_field_bool(&r->f, "multi_query", true) && !kv_field_bool(&r->f, "new_decoder_architecture", false);
	return !strcmp(type, "gpt_bigcode") && kv_field_bool(&r->f, "multi_query", true);
}

static void read_kv_heads(struct kv_model_reader *r)
{
	bool all = !strcmp(r->family->model_type, "chatglm") && !kv_field_bool(&r->f, "multi_query_attention", false);
	const char *names = all ? "num_key_value_heads"
	                    : "num_key_value_heads|num_kv_heads|n_head_kv|multi_query_group_num|num_attention_groups|kv_n_heads";
	struct kv_model *m = r->model;

	if (has_one_kv_head(r) || r->family->layers == KV_LAYERS_BLOCKS)
		m->kv_heads = 1;  /* with blocks, each layer has its own */
	else if (kv_field(&r->f, names) || (r->f.outer && r->family->defaults.kv_heads))
		m->kv_heads = count_or_class(r, names, KV_MAX_HEADS, r->family->defaults.kv_heads, KV_FIELD_REQUIRED);
	else {
		m->kv_heads = m->q_heads;
		kv_remark(&m->notes, "num_key_value_heads is missing: %u assumed, one for every query head (multi-head attention)",
		          m->kv_heads);
	}
	if (!r->f.failed && m->q_heads % m->kv_heads)
		kv_field_fail(&r->f, "num_key_value_heads", "is %u: it must divide num_attention_heads, which is %u",
		              m->kv_heads, m->q_heads);
}

static void read_indexer(struct kv_model_reader *r)
{
	r->model->index_heads = kv_field_count(&r->f, "index_n_heads", 0, KV_MAX_HEADS, 0);
	r->model->index_head_dim = kv_field_count(&r->f, "index_head_dim", 0, KV_MAX_WIDTH, 0);
}

static void read_mla(struct kv_model_reader *r)
{
	struct kv_model *m = r->model;

	m->kv_lora_rank = kv_field_count(&r->f, "kv_lora_rank", 1, KV_MAX_WIDTH, 0);
	if (!m->kv_lora_rank)
		return;
	m->q_lora_rank = kv_field_count(&r->f, "q_lora_rank", 0, KV_MAX_WIDTH, 0);
	m->qk_nope_dim = kv_field_count(&r->f, "qk_nope_head_dim", 1, KV_MAX_WIDTH, KV_FIELD_REQUIRED);
	m->qk_rope_dim = kv_field_count(&r->f, "qk_rope_head_dim", 0, KV_MAX_WIDTH, KV_FIELD_REQUIRED);
	m->v_head_dim = kv_field_count(&r->f, "v_head_dim", 1, KV_MAX_WIDTH, KV_FIELD_REQUIRED);
	read_indexer(r);
}

static void read_compressed(struct kv_model_reader *r)
{
	struct kv_model *m = r->model;

	m->q_lora_rank = kv_field_count(&r->f, "q_lora_rank", 1, KV_MAX_WIDTH, KV_FIELD_REQUIRED);
	m->qk_rope_dim = kv_field_count(&r->f, "qk_rope_head_dim", 1, KV_MAX_WIDTH, KV_FIELD_REQUIRED);
	m->o_groups = kv_field_count(&r->f, "o_groups", 1, m->q_heads, KV_FIELD_REQUIRED);
	m->o_lora_rank = kv_field_count(&r->f, "o_lora_rank", 1, KV_MAX_WIDTH, KV_FIELD_REQUIRED);
	m->residual_streams = kv_field_count(&r->f, "hc_mult", 1, 64, 4);
	read_indexer(r);
}

static void read_query_heads(struct kv_model_reader *r)
{
	static const char names[] = KV_FIELDS_QUERY_HEADS;

	if (!kv_field(&r->f, names) && kv_field(&r->f, "state_size|ssm_state_size|mamba_d_state"))
		kv_field_fail(&r->f, names, "is missing, and there is a state size: a model of recurrent layers alone (model_type "
		              "\"%s\") has no KV cache to size; models that have attention too are sized", r->model->family);
	r->model->q_heads = count_or_class(r, names, KV_MAX_HEADS, r->family->defaults.q_heads, KV_FIELD_REQUIRED);
}

static void read_attention(struct kv_model_reader *r)
{
	struct kv_model *m = r->model;

	read_query_heads(r);
	read_mla(r);
	if (r->f.failed)
		return;
	if (m->kv_lora_rank) {
		m->kv_heads = 1;
		m->head_dim = m->qk_nope_dim + m->qk_rope_dim;
		return;
	}
	read_head_dim(r);
	read_kv_heads(r);
	m->v_head_dim = r->family->layers == KV_LAYERS_WINDOW_FLAGS
	                ? kv_field_count(&r->f, "v_head_dim", 1, KV_MAX_WIDTH, m->head_dim) : m->head_dim;
	m->q_lora_rank = kv_field_count(&r->f, "share_q_dim", 1, KV_MAX_WIDTH, 0);
	if (r->family->layers == KV_LAYERS_COMPRESSED)
		read_compressed(r);
}

/* LFM2 states the width that two matrices would have. */
static uint32_t two_thirds(struct kv_model_reader *r, uint32_t width)
{
	uint32_t multiple = kv_field_count(&r->f, "block_multiple_of", 1, KV_MAX_WIDTH, 256);
	const json_t *factor = kv_field(&r->f, "block_ffn_dim_multiplier");
	double scaled = floor((factor ? json_number_value(factor) : 1) * floor(2.0 * width / 3));

	return (uint32_t)ceil(scaled / multiple) * multiple;
}

static void read_ffn_size(struct kv_model_reader *r)
{
	struct kv_model *m = r->model;
	bool may_lack = kv_field(&r->f, KV_FIELDS_EXPERTS) || r->family->layers == KV_LAYERS_BLOCKS;
	uint32_t factor = kv_field_count(&r->f, "expansion_ratio", 1, 64, r->family->ffn_factor);
	const char *names = kv_field(&r->f, "intermediate_size_mlp") ? "intermediate_size_mlp"
	                    : !strcmp(r->family->model_type, "granitemoehybrid") ? "shared_intermediate_size|intermediate_size"
	                    : "intermediate_size|block_ff_dim|ffn_dim|ffn_hidden_size|n_inner";

	m->ffn_matrices = r->family->ffn_matrices;
	if (r->family->defaults.ffn_size)
		m->ffn_size = count_or_class(r, names, KV_MAX_WIDTH, r->family->defaults.ffn_size, KV_FIELD_REQUIRED);
	else
		m->ffn_size = kv_model_same_count(r, names, 0, KV_MAX_WIDTH,
		                                  factor ? factor * m->hidden : may_lack ? 0 : KV_FIELD_REQUIRED);
	if (!strcmp(m->family, "qwen"))
		m->ffn_size /= 2;  /* its class counts the gate and up projections together */
	if (!strcmp(r->family->model_type, "lfm2") && kv_field_bool(&r->f, "block_auto_adjust_ff_dim", true))
		m->ffn_size = two_thirds(r, m->ffn_size);
}

uint32_t kv_model_same_count(struct kv_model_reader *r, const char *names, uint32_t minimum, uint32_t maximum,
                             uint32_t fallback)
{
	const json_t *list = kv_field_found(&r->f, &names), *first = json_array_get(list, 0);

	if (!json_is_array(list))
		return kv_field_count(&r->f, names, minimum, maximum, fallback);
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!json_equal(json_array_get(list, i), first))
			kv_field_fail(&r->f, names, "differs between layers 0 and %zu: it is sized where it is the same in all", i);
	if (!json_is_integer(first) || json_integer_value(first) < minimum || json_integer_value(first) > maximum)
		kv_field_fail(&r->f, names, "must hold whole numbers from %u to %u", minimum, maximum);
	return r->f.failed ? minimum : (uint32_t)json_integer_value(first);
}

static void read_state_dtype(struct kv_model_reader *r)
{
	struct kv_recurrent *state = &r->model->recurrent;
	const char *text = kv_field_text(&r->f, "mamba_ssm_dtype|mamba_ssm_cache_dtype", NULL);

	state->conv_dtype = state->state_dtype = r->model->dtype;
	if (r->family->wide_state) {
		state->state_dtype = KV_DTYPE_F32;
		state->state_dtype_given = true;
	}
	if (!text || r->f.failed)
		return;
	state->state_dtype_given = true;
	if (kv_dtype_parse(text, &state->state_dtype) != 0)
		kv_field_fail(&r->f, "mamba_ssm_dtype", "is \"%s\": it must be float32, bfloat16 or float16", text);
}

static void read_delta_net(struct kv_model_reader *r)
{
	struct kv_recurrent *state = &r->model->recurrent;

	state->key_heads = kv_field_count(&r->f, "linear_num_key_heads", 1, KV_MAX_HEADS, KV_FIELD_REQUIRED);
	state->value_heads = kv_field_count(&r->f, "linear_num_value_heads", 1, KV_MAX_HEADS, KV_FIELD_REQUIRED);
	state->key_dim = kv_field_count(&r->f, "linear_key_head_dim", 1, KV_MAX_WIDTH, KV_FIELD_REQUIRED);
	state->value_dim = kv_field_count(&r->f, "linear_value_head_dim", 1, KV_MAX_WIDTH, KV_FIELD_REQUIRED);
	state->conv_kernel = kv_field_count(&r->f, "linear_conv_kernel_dim", 1, 64, KV_FIELD_REQUIRED);
}

static void read_kda(struct kv_model_reader *r)
{
	struct kv_recurrent *state = &r->model->recurrent;
	struct kv_fields f = r->f;

	f.object = kv_field(&r->f, "linear_attn_config");
	f.outer = NULL;
	if (!json_is_object(f.object)) {
		kv_field_fail(&r->f, "linear_attn_config", "is missing: it holds num_heads, head_dim and full_attn_layers");
		return;
	}
	state->key_heads = state->value_heads = kv_field_count(&f, "num_heads", 1, KV_MAX_HEADS, KV_FIELD_REQUIRED);
	state->key_dim = state->value_dim = kv_field_count(&f, "head_dim", 1, KV_MAX_WIDTH, KV_FIELD_REQUIRED);
	state->conv_kernel = kv_field_count(&f, "short_conv_kernel_size", 1, 64, KV_FIELD_REQUIRED);
	r->f.failed = f.failed;
}

static void read_mamba1(struct kv_model_reader *r)
{
	struct kv_recurrent *state = &r->model->recurrent;

	state->inner = r->model->hidden * kv_field_count(&r->f, "mamba_expand|expand", 1, 64, KV_FIELD_REQUIRED);
	state->d_state = kv_field_count(&r->f, "mamba_d_state|state_size|ssm_state_size", 1, KV_MAX_WIDTH,
	                                KV_FIELD_REQUIRED);
	state->conv_kernel = kv_field_count(&r->f, "mamba_d_conv|conv_kernel", 1, 64, KV_FIELD_REQUIRED);
	if (json_is_string(kv_field(&r->f, "mamba_dt_rank")))
		state->dt_rank = (r->model->hidden + 15) / 16;  /* "auto" */
	else
		state->dt_rank = kv_field_count(&r->f, "mamba_dt_rank", 1, KV_MAX_WIDTH, (r->model->hidden + 15) / 16);
}

static void read_mamba2(struct kv_model_reader *r)
{
	struct kv_recurrent *state = &r->model->recurrent;

	state->key_heads = kv_field_count(&r->f, "n_groups|mamba_n_groups", 1, KV_MAX_HEADS, KV_FIELD_REQUIRED);
	state->value_heads = kv_field_count(&r->f, "mamba_num_heads|mamba_n_heads", 1, KV_MAX_STATE, KV_FIELD_REQUIRED);
	state->value_dim = kv_field_count(&r->f, "mamba_head_dim|mamba_d_head", 1, KV_MAX_STATE, KV_FIELD_REQUIRED);
	state->d_state = kv_field_count(&r->f, "ssm_state_size|mamba_d_state", 1, KV_MAX_WIDTH, KV_FIELD_REQUIRED);
	state->key_dim = state->d_state;
	state->conv_kernel = kv_field_count(&r->f, "conv_kernel|mamba_d_conv", 1, 64, KV_FIELD_REQUIRED);
	state->inner = state->value_heads * state->value_dim;
}

static void read_short_conv(struct kv_model_reader *r)
{
	r->model->recurrent.inner = r->model->hidden;
	r->model->recurrent.conv_kernel = kv_field_count(&r->f, "conv_L_cache", 1, 64, KV_FIELD_REQUIRED);
}

static void read_lightning(struct kv_model_reader *r)
{
	struct kv_recurrent *state = &r->model->recurrent;

	state->key_heads = state->value_heads = r->model->q_heads;
	state->key_dim = state->value_dim = r->model->head_dim;
	state->conv_kernel = 1;
}

static void read_recurrent(struct kv_model_reader *r)
{
	bool any = false;

	for (uint32_t i = 0; i < r->model->layers && !r->f.failed; i++)
		any |= r->family->recurrent != KV_MIXER_NONE
		       && (r->model->layer[i].mixer == r->family->recurrent || r->model->layer[i].with_state);
	if (!any || r->f.failed)
		return;
	switch (r->family->recurrent) {
	case KV_MIXER_DELTA_NET: read_delta_net(r); break;
	case KV_MIXER_KDA: read_kda(r); break;
	case KV_MIXER_MAMBA1: read_mamba1(r); break;
	case KV_MIXER_MAMBA2: read_mamba2(r); break;
	case KV_MIXER_SHORT_CONV: read_short_conv(r); break;
	case KV_MIXER_LIGHTNING: read_lightning(r); break;
	default: break;
	}
	read_state_dtype(r);
}

#define BIAS "attention_bias|bias|use_bias"

static bool has_bias(struct kv_model_reader *r, enum kv_bias rule, const char *names)
{
	if (rule == KV_BIAS_NO || rule == KV_BIAS_YES)
		return rule == KV_BIAS_YES;
	return kv_field_bool(&r->f, names, rule == KV_BIAS_UNLESS_SET);
}

/* Attention and feed-forward share a norm where they work side by side, unless the config gives each its own. */
static uint32_t falcon_norms(struct kv_model_reader *r)
{
	bool parallel = kv_field_bool(&r->f, "parallel_attn", true), newer = kv_field_bool(&r->f, "new_decoder_architecture", false);

	return newer ? kv_field_count(&r->f, "num_ln_in_parallel_attn", 1, 2, 2) : parallel ? 1 : 2;
}

static void read_traits(struct kv_model_reader *r)
{
	struct kv_weight_traits *t = &r->model->traits;

	*t = r->family->traits;
	t->qkv_bias = has_bias(r, r->family->qkv_bias, "use_qkv_bias|qkv_bias|add_qkv_bias|" BIAS);
	t->o_bias = has_bias(r, r->family->o_bias, "attention_out_bias|" BIAS);
	t->ffn_bias = has_bias(r, r->family->ffn_bias, "mlp_bias|bias|use_bias");
	t->head_bias |= kv_field_bool(&r->f, "lm_head_bias", false);
	if (!strcmp(r->family->model_type, "falcon"))
		t->norms = falcon_norms(r);
	if (!strcmp(r->family->model_type, "stablelm") && kv_field_bool(&r->f, "use_parallel_residual", false))
		t->norms = 1;
	if (r->family->qk_norm_if_set && kv_field_bool(&r->f, "use_qk_norm|qk_layernorm|qk_norm", false))
		t->qk_norm = r->family->qk_norm_if_set;
	t->head_gate = kv_field_bool(&r->f, "use_head_wise_attn_gate|gating", !strcmp(r->family->model_type, "step3p5"));
	t->keys_are_values = kv_field_bool(&r->f, "attention_k_eq_v", false);
}

static void read_output(struct kv_model_reader *r)
{
	struct kv_model *m = r->model;
	const char *dtype = kv_field_text(&r->f, "torch_dtype|dtype", NULL);

	m->vocab = count_or_class(r, "vocab_size|padded_vocab_size", KV_MAX_VOCAB, r->family->defaults.vocab,
	                          KV_FIELD_REQUIRED);
	m->draft_vocab = kv_field_count(&r->f, "draft_vocab_size", 1, KV_MAX_VOCAB, 0);
	m->max_position = count_or_class(r, kv_field(&r->f, "model_max_length") ? "model_max_length"
	                                 : "max_position_embeddings|n_positions|seq_length|max_sequence_length|max_seq_len|n_ctx",
	                                 KV_MAX_POSITION, r->family->defaults.max_position, 0);
	m->tied_embeddings = kv_field_bool(&r->f, "tie_word_embeddings", r->family->tied);
	if (!kv_field(&r->f, "tie_word_embeddings"))
		kv_remark(&m->notes, "tie_word_embeddings is missing: %s assumed, %s", r->family->tied ? "true" : "false",
		          m->known_family ? "the default of the model's class" : "which counts the output head apart");
	m->dtype = KV_DTYPE_BF16;
	if (!dtype)
		kv_remark(&m->notes, "torch_dtype is missing: bfloat16 assumed");
	else if (kv_dtype_parse(dtype, &m->dtype) != 0)
		kv_field_fail(&r->f, "torch_dtype", "is \"%s\": it must be float32, bfloat16 or float16", dtype);
}

/* The part of a multimodal config that describes the language model; NULL = all of it does. */
static json_t *text_part(json_t *root, struct kv_fields *f)
{
	static const char *const names[] = {"text_config", "llm_config", "language_config", "thinker_config"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		json_t *part = json_object_get(root, names[i]);

		if (!part || json_is_null(part))
			continue;
		if (!json_is_object(part))
			kv_field_fail(f, names[i], "must be an object: the config of the language model");
		else if (json_is_object(json_object_get(part, names[i])))
			kv_field_fail(f, names[i], "holds another %s: give the inner one as a file of its own", names[i]);
		else if (json_is_object(json_object_get(part, names[0])))
			return json_object_get(part, names[0]);
		return part;
	}
	return NULL;
}

static void read_prediction_layers(struct kv_model_reader *r)
{
	static const char names[] = "num_nextn_predict_layers|mtp_num_hidden_layers";
	uint32_t by_class = r->family->defaults.mtp_layers;

	r->model->mtp_layers = kv_field_count(&r->f, names, 0, KV_MAX_LAYERS, by_class);
	if (by_class && !kv_field(&r->f, names))
		kv_remark(&r->model->notes, "num_nextn_predict_layers is missing: %u assumed, the default of the model's class, which "
		          "counts with speculative decoding only", by_class);
}

/* DBRX and MPT nest what others have at the top. */
static void lift_nested(struct kv_model_reader *r)
{
	if (strcmp(r->family->model_type, "dbrx") != 0 && strcmp(r->family->model_type, "mpt") != 0)
		return;
	json_object_update_missing(r->f.object, json_object_get(r->f.object, "attn_config"));
	json_object_update_missing(r->f.object, json_object_get(r->f.object, "ffn_config"));
}

static void read_layer_inputs(struct kv_model_reader *r)
{
	struct kv_layer_inputs *in = &r->model->layer_inputs;

	in->width = kv_field_count(&r->f, "hidden_size_per_layer_input", 0, KV_MAX_WIDTH, 0);
	if (in->width)
		in->vocab = kv_field_count(&r->f, "vocab_size_per_layer_input", 1, KV_MAX_VOCAB, r->model->vocab);
	in->laurel_rank = kv_field_count(&r->f, "laurel_rank", 0, KV_MAX_WIDTH, 0);
	in->altup_streams = kv_field_count(&r->f, "altup_num_inputs", 0, 64, 0);
}

/* LongCat-Flash: two attentions and two feed-forward parts a layer, experts beside the first. */
static void double_layers(struct kv_model *m)
{
	kv_remark(&m->notes, "each of the %u layers holds two attentions: counted as %u layers", m->layers, 2 * m->layers);
	m->layers *= 2;
}

static void read_model(struct kv_model_reader *r, json_t *root)
{
	struct kv_model *m = r->model;

	read_identity(r, root);
	lift_nested(r);
	m->layers = count_or_class(r, "num_hidden_layers|n_layer|n_layers|num_layers", KV_MAX_LAYERS,
	                           r->family->defaults.layers, KV_FIELD_REQUIRED);
	read_prediction_layers(r);
	if (r->family->layers == KV_LAYERS_DOUBLED && !r->f.failed)
		double_layers(m);
	m->hidden = count_or_class(r, "hidden_size|n_embd|n_embed|d_model", KV_MAX_WIDTH, r->family->defaults.hidden,
	                           KV_FIELD_REQUIRED);
	if (!r->f.failed)
		read_attention(r);
	if (!r->f.failed)
		read_ffn_size(r);
	kv_model_read_experts(r);
	read_output(r);
	read_layer_inputs(r);
	if (!r->f.failed)
		kv_model_read_layers(r);
	read_recurrent(r);
	read_traits(r);
	kv_model_read_quantization(r);
	if (!r->f.failed)
		kv_model_read_vision(r, root);
}

/* Some editors put it first; JSON does not allow it (RFC 8259, section 8.1: parsers may ignore it). */
#define UTF8_MARK "\xEF\xBB\xBF"

struct kv_model *kv_model_parse(const char *text, const char *label, struct kv_error *err)
{
	const size_t mark = strlen(UTF8_MARK);
	json_error_t where;
	json_t *root = json_loads(strncmp(text, UTF8_MARK, mark) ? text : text + mark, JSON_REJECT_DUPLICATES, &where);
	struct kv_model_reader r = {.f = {.label = label, .err = err}};

	if (!root) {
		kv_fail(err, KV_EXIT_DATA, "%s:%d:%d: not JSON: %s", label, where.line, where.column, where.text);
		return NULL;
	}
	if (!json_is_object(root)) {
		kv_fail(err, KV_EXIT_DATA, "%s: not a JSON object: a Hugging Face config.json is expected", label);
		json_decref(root);
		return NULL;
	}
	r.model = kv_calloc(1, sizeof *r.model);
	r.model->name = kv_strdup(label);
	r.f.object = text_part(root, &r.f);
	r.f.outer = r.f.object ? root : NULL;
	if (!r.f.object)
		r.f.object = root;
	if (!r.f.failed)
		read_model(&r, root);
	json_decref(root);
	if (r.f.failed) {
		kv_model_free(r.model);
		return NULL;
	}
	return r.model;
}
