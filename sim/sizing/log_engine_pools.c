/* Engines that print the memory of so many tokens (SGLang, TensorRT-LLM) or cells (llama.cpp), against the model. */
#include "config.h"

#include "sim/sizing/log_checker.h"

#include <math.h>
#include <string.h>

#include "sim/base/units.h"

#define GIB 0x1p30
#define MIB 0x1p20

enum { SGLANG_PAGE = 256 };  /* SGLang allocates a page more than it counts; its largest usual one */

/* --- TensorRT-LLM ------------------------------------------------------------------------------------------------- */

/* A pool of so many blocks against what is free: 0.9 of it unless another share was set. */
static bool explain_share(struct kv_checker *c, const struct kv_log_value *blocks, double bytes, bool said,
                          uint32_t size)
{
	struct kv_span available = kv_span_times(kv_span_of(kv_log_get(c->log, KV_FACT_FREE)), kv_span_exactly(GIB));
	struct kv_span computed = {floor(0.9 * available.low / bytes), ceil(0.9 * available.high / bytes)};
	bool usual = kv_span_meets(kv_span_of(blocks), computed);

	if (usual && said)
		kv_checker_add(c, KV_FACT_BLOCKS, blocks, blocks->number, KV_CHECK_AGREES,
		               "0.9 x what is free / bytes of a block");
	else if (usual)
		kv_checker_add(c, KV_FACT_BLOCKS, blocks, blocks->number, KV_CHECK_EXPLAINED,
		               "0.9 x what is free / bytes of a block, if it has %u tokens: the log does not say", size);
	else if (said && blocks->number * bytes <= available.high)
		kv_checker_add(
			c, KV_FACT_BLOCKS, blocks, computed.low, KV_CHECK_EXPLAINED,
			"%.2f x what is free / bytes of a block: kv_cache_free_gpu_mem_fraction or a number of tokens was set",
			blocks->number * bytes / available.high);
	else
		return false;
	return true;
}

/* Older logs do not say how long blocks are. */
static void check_share_of_free(struct kv_checker *c, const struct kv_layout *layout, const struct kv_layout *fp8)
{
	static const uint32_t sizes[] = {64, 32, 128, 16};
	const struct kv_log_value *available = kv_log_get(c->log, KV_FACT_FREE);
	const struct kv_log_value *blocks = kv_log_get(c->log, KV_FACT_BLOCKS);
	const struct kv_log_value *kv = kv_log_get(c->log, KV_FACT_KV);
	uint32_t said = (uint32_t)kv_checker_number(c->log, KV_FACT_BLOCK_SIZE, c->given->block_size, 0);
	double token_bytes = (double)layout->growing_bytes;
	uint32_t size = said ? said : sizes[0];

	if (!available || !blocks)
		return;
	if (kv && said
	    && kv_span_meets(kv_span_of(kv), kv_span_exactly(blocks->number * said * (double)fp8->growing_bytes / GIB)))
		token_bytes = (double)fp8->growing_bytes;
	for (size_t i = 0; i < (said ? 1 : sizeof sizes / sizeof *sizes); i++)
		if (explain_share(c, blocks, token_bytes * (said ? said : sizes[i]), said > 0, sizes[i]))
			return;
	kv_checker_add(c, KV_FACT_BLOCKS, blocks,
	               ceil(0.9 * (available->number + available->half) * GIB / token_bytes / size), KV_CHECK_DIFFERS,
	               "0.9 x what is free / bytes of a block of %u tokens", size);
}

/* Tokens against their memory; what type the cache has is not logged. */
static void check_token_memory(struct kv_checker *c, const struct kv_layout *layout, const struct kv_layout *fp8)
{
	const struct kv_log_value *bytes = kv_log_get(c->log, KV_FACT_KV_BYTES), *kv = kv_log_get(c->log, KV_FACT_KV);
	const struct kv_log_value *tokens = kv_log_get(c->log, KV_FACT_TOKENS);
	double wide, narrow;

	if (!tokens || tokens->number < 1)
		return;
	wide = tokens->number * (double)layout->growing_bytes;
	narrow = tokens->number * (double)fp8->growing_bytes;
	if (bytes)
		kv_checker_compare(c, KV_FACT_KV_BYTES, bytes, kv_span_exactly(bytes->number == narrow ? narrow : wide),
		                   "tokens x bytes of a token");
	if (kv && kv_span_meets(kv_span_of(kv), kv_span_exactly(narrow / GIB)) && narrow < wide)
		kv_checker_add(c, KV_FACT_KV, kv, narrow / GIB, KV_CHECK_EXPLAINED,
		               "tokens x bytes of a token, one an element: the KV cache is fp8 or int8");
	else if (kv)
		kv_checker_compare(c, KV_FACT_KV, kv, kv_span_exactly(wide / GIB), "tokens x bytes of a token");
}

static void check_tensorrt_pool(struct kv_checker *c, const struct kv_layout_options *options)
{
	struct kv_layout_options o = *options;
	struct kv_layout layout, fp8;
	struct kv_error ignored;

	o.whole_context = true;
	if (kv_layout_plan(c->given->model, &o, &layout, &ignored) != 0)
		return;
	o.cache = kv_cache_format_find("fp8", &ignored);
	if (kv_layout_plan(c->given->model, &o, &fp8, &ignored) != 0)
		fp8 = layout;
	check_share_of_free(c, &layout, &fp8);
	check_token_memory(c, &layout, &fp8);
}

/* --- SGLang ------------------------------------------------------------------------------------------------------- */

/* Memory of a pool's tokens, the page more included. */
static struct kv_span pool_memory(double tokens, double token_bytes)
{
	return (struct kv_span){tokens * token_bytes / GIB, (tokens + SGLANG_PAGE) * token_bytes / GIB};
}

/* The share of keys in what a token takes. */
static double key_share(const struct kv_model *m)
{
	for (uint32_t i = 0; i < m->layers; i++)
		if (m->layer[i].kv_heads && m->layer[i].head_dim + m->layer[i].v_head_dim > 0)
			return m->layer[i].head_dim / (double)(m->layer[i].head_dim + m->layer[i].v_head_dim);
	return 0.5;
}

/* Bytes of a token in each of the pools that SGLang may have: all layers, full ones, windowed ones. */
struct pool_bytes {
	double all, full, windowed;
};

static int pools_of(const struct kv_checker *c, const struct kv_layout_options *options, struct pool_bytes *out)
{
	struct kv_layout layout;
	struct kv_error ignored;

	if (kv_layout_plan(c->given->model, options, &layout, &ignored) != 0)
		return -1;
	out->full = (double)layout.growing_bytes;
	out->windowed = (double)layout.windowed_bytes;
	out->all = out->full + out->windowed;
	return 0;
}

/* One pool's memory; false where no kind of layers takes as much. */
static bool explain_pool(struct kv_checker *c, enum kv_fact fact, const struct kv_log_value *size, double tokens,
                         struct pool_bytes bytes, double share, const char *cache)
{
	const struct kv_log_value *windowed = kv_log_get(c->log, KV_FACT_WINDOW_TOKENS);
	struct {
		double bytes;
		const char *rule;
	} pools[] = {{windowed && windowed->number == tokens ? bytes.windowed : 0, " of windowed layers"}, {bytes.all, ""},
	             {bytes.full, " of full layers"}, {bytes.windowed, " of windowed layers"}};

	for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
		struct kv_span computed = pool_memory(tokens, pools[i].bytes * share);

		if (pools[i].bytes <= 0 || !kv_span_meets(kv_span_of(size), computed))
			continue;
		kv_checker_add(c, fact, size, fmin(fmax(size->number, computed.low), computed.high),
		               cache ? KV_CHECK_EXPLAINED : KV_CHECK_AGREES, "tokens x %sbytes of a token%s%s%s",
		               fact == KV_FACT_KV ? "" : "half the ", pools[i].rule, cache ? ": the KV cache is " : "",
		               cache ? cache : "");
		return true;
	}
	return false;
}

static void check_pool_line(struct kv_checker *c, const struct kv_layout_options *options, enum kv_fact fact,
                            const struct kv_log_value *size, double tokens)
{
	static const char *const others[] = {"fp8", "auto"};
	double share = fact == KV_FACT_KV ? 1 : key_share(c->given->model);
	struct kv_layout_options o = *options;
	struct pool_bytes bytes;
	struct kv_error ignored;

	if (pools_of(c, &o, &bytes) != 0 || explain_pool(c, fact, size, tokens, bytes, share, NULL))
		return;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		struct pool_bytes other;

		o.cache = kv_cache_format_find(others[i], &ignored);
		if (pools_of(c, &o, &other) == 0
		    && explain_pool(c, fact, size, tokens, other, share, i ? "of the model's type" : others[i]))
			return;
	}
	kv_checker_compare(c, fact, size, kv_span_exactly(tokens * bytes.all * share / GIB),
	                   fact == KV_FACT_KV ? "tokens x bytes of a token" : "tokens x half the bytes of a token");
}

/* Drafters have smaller pools of their own, of as many tokens: the largest of a number of tokens is the model's. */
static bool is_model_pool(const struct kv_log *log, enum kv_fact fact, size_t i)
{
	const struct kv_log_value *size = &log->value[fact][i], *tokens = kv_log_on_line(log, KV_FACT_TOKENS, size->line);

	for (size_t j = 0; j < log->count[fact]; j++) {
		const struct kv_log_value *other = &log->value[fact][j];
		const struct kv_log_value *beside = kv_log_on_line(log, KV_FACT_TOKENS, other->line);

		if (tokens && beside && beside->number == tokens->number
		    && (other->number > size->number || (other->number == size->number && j < i)))
			return false;
	}
	return tokens && tokens->number >= 1;
}

/* Slots of recurrent state, one more than are counted; states are float32. */
static void check_states(struct kv_checker *c, uint32_t tp)
{
	const struct kv_recurrent *r = &c->given->model->recurrent;
	struct kv_state_elements one = kv_model_state(c->given->model, tp);
	const struct kv_log_value *slots = kv_log_get(c->log, KV_FACT_STATE_SLOTS);
	const struct kv_log_value *conv = kv_log_get(c->log, KV_FACT_CONV_SIZE);
	const struct kv_log_value *state = kv_log_get(c->log, KV_FACT_STATE_SIZE);
	double share;

	if (!slots || !conv || !state || !(one.convolution + one.state))
		return;
	share = (slots->number + 1) / tp / GIB;
	kv_checker_compare(c, KV_FACT_CONV_SIZE, conv, kv_span_exactly(share * (double)one.convolution
	                   * kv_dtype_bits(r->conv_dtype) / 8), "(slots + 1) x convolution states");
	kv_checker_compare(c, KV_FACT_STATE_SIZE, state, kv_span_exactly(share * (double)one.state * 4),
	                   "(slots + 1) x recurrent states of 4 bytes");
}

static void check_sglang_pools(struct kv_checker *c, const struct kv_layout_options *options)
{
	static const enum kv_fact sizes[] = {KV_FACT_K_SIZE, KV_FACT_KV};

	for (size_t f = 0; f < sizeof sizes / sizeof *sizes; f++)
		for (size_t i = 0; i < c->log->count[sizes[f]]; i++)
			if (is_model_pool(c->log, sizes[f], i))
				check_pool_line(c, options, sizes[f], &c->log->value[sizes[f]][i],
				                kv_log_on_line(c->log, KV_FACT_TOKENS, c->log->value[sizes[f]][i].line)->number);
	check_states(c, options->tensor_parallel);
}

/* --- llama.cpp ---------------------------------------------------------------------------------------------------- */

/* Elements of keys or values in a cell of the attention layers that pass: all, or those with or without a window. */
struct cell_width {
	double layers, keys, values;
	double latents;  /* of the keys, without what is rotated */
};

static struct cell_width width_of(const struct kv_model *m, bool full, bool windowed)
{
	struct cell_width w = {0};

	for (uint32_t i = 0; i < m->layers; i++) {
		const struct kv_layer *l = &m->layer[i];

		if (!l->kv_heads || l->shares_kv_with >= 0 || !(l->window ? windowed : full))
			continue;
		w.layers++;
		w.keys += l->mixer == KV_MIXER_MLA ? m->kv_lora_rank + m->qk_rope_dim : (double)l->kv_heads * l->head_dim;
		w.values += l->mixer == KV_MIXER_MLA ? 0 : (double)l->kv_heads * l->v_head_dim;
		w.latents += l->mixer == KV_MIXER_MLA ? m->kv_lora_rank : 0;
	}
	return w;
}

/* Until 2025-04 llama.cpp stored keys and values of every head of MLA models. */
static struct cell_width width_without_latents(const struct kv_model *m)
{
	return (struct cell_width){.layers = m->layers,
	                           .keys = (double)m->layers * m->q_heads * (m->qk_nope_dim + m->qk_rope_dim),
	                           .values = (double)m->layers * m->q_heads * m->v_head_dim};
}

static bool explain_cells(struct kv_checker *c, const struct kv_log_cache *cache, struct cell_width w, const char *why)
{
	double cells = cache->cells * cache->streams;
	struct kv_span keys = kv_span_exactly(cells * w.keys * kv_checker_type_bytes(cache->first_type) / MIB);
	struct kv_span values = kv_span_exactly(cells * (cache->transposed ? w.latents : w.values)
	                                        * kv_checker_type_bytes(cache->second_type) / MIB);

	if ((cache->layers > 0 && w.layers != cache->layers) || !kv_span_meets(kv_span_of(&cache->first), keys)
	    || !kv_span_meets(kv_span_of(&cache->second), values))
		return false;
	kv_checker_add(c, KV_FACT_K_SIZE, &cache->first, keys.low, why ? KV_CHECK_EXPLAINED : KV_CHECK_AGREES,
	               "cells x %.0f layers of the model, in MiB%s%s", w.layers, why ? ": " : "", why ? why : "");
	return true;
}

static void check_cells(struct kv_checker *c, const struct kv_log_cache *cache)
{
	const struct kv_model *m = c->given->model;
	struct cell_width all = width_of(m, true, true);

	if (cache->cells < 1 || kv_checker_type_bytes(cache->first_type) <= 0
	    || explain_cells(c, cache, all, NULL) || explain_cells(c, cache, width_of(m, true, false), NULL)
	    || explain_cells(c, cache, width_of(m, false, true), NULL))
		return;
	if (m->kv_lora_rank
	    && explain_cells(c, cache, width_without_latents(m), "keys and values of every head, as until 2025-04"))
		return;
	kv_checker_compare(c, KV_FACT_K_SIZE, &cache->first, kv_span_exactly(cache->cells * cache->streams * all.keys
	                   * kv_checker_type_bytes(cache->first_type) / MIB), "cells x layers of the model, in MiB");
}

/* All of the model's layers, or else some whole ones where lines of other devices are missing; false if they are
 * not. */
static bool explain_buffers(struct kv_checker *c, const struct kv_log_value *sum, double layers, double each,
                            const char *type, bool all)
{
	double some = round(sum->number / each), slack = sum->half + (strcmp(type, "f16") ? some * each * 0.001 : 0);

	if (some < 1 || some > layers || (some == layers) != all || fabs(some * each - sum->number) > slack)
		return false;
	if (all)
		kv_checker_add(c, KV_FACT_KV_BUFFER, sum, layers * each,
		               strcmp(type, "f16") ? KV_CHECK_EXPLAINED : KV_CHECK_AGREES,
		               "context x %.0f layers of the model as %s, in MiB", layers, type);
	else
		kv_checker_add(c, KV_FACT_KV_BUFFER, sum, layers * each, KV_CHECK_EXPLAINED,
		               "%.0f of the model's %.0f layers as %s: lines of other devices are missing", some, layers, type);
	return true;
}

/* Without the caches' own lines: their types are not known, nor how many cells those with a window have. */
static void check_buffers_alone(struct kv_checker *c)
{
	static const char *const types[] = {"f16", "q8_0", "q4_0"};
	const struct kv_log_value *context = kv_log_get(c->log, KV_FACT_CONTEXT);
	struct kv_log_value sum = kv_checker_sum(c, KV_FACT_KV_BUFFER);
	struct cell_width w = width_of(c->given->model, true, true);
	double elements;

	if (!context || !sum.line || w.layers < 1 || width_of(c->given->model, false, true).layers > 0)
		return;
	elements = context->number * (w.keys + w.values);
	for (int whole = 1; whole >= 0; whole--)
		for (size_t i = 0; i < sizeof types / sizeof *types; i++)
			if (explain_buffers(c, &sum, w.layers, elements * kv_checker_type_bytes(types[i]) / w.layers / MIB,
			                    types[i], whole))
				return;
	kv_checker_compare(c, KV_FACT_KV_BUFFER, &sum, kv_span_exactly(elements * kv_checker_type_bytes("f16") / MIB),
	                   "context x layers of the model as f16, in MiB");
}

/* States of each sequence, convolution (R) and recurrent (S) apart. */
static void check_recurrent_cells(struct kv_checker *c, const struct kv_log_cache *cache)
{
	struct kv_state_elements one = kv_model_state(c->given->model, 1);
	double states = cache->cells * (1 + cache->snapshots) / MIB;

	if (!one.convolution && !one.state)
		return;
	kv_checker_compare(c, KV_FACT_CONV_SIZE, &cache->first, kv_span_exactly(states * (double)one.convolution
	                   * kv_checker_type_bytes(cache->first_type)), "sequences x convolution states, in MiB");
	kv_checker_compare(c, KV_FACT_STATE_SIZE, &cache->second, kv_span_exactly(states * (double)one.state
	                   * kv_checker_type_bytes(cache->second_type)), "sequences x recurrent states, in MiB");
}

bool kv_checker_engine_pools(struct kv_checker *c, const struct kv_layout_options *options)
{
	switch (c->log->engine) {
	case KV_LOG_SGLANG:
		check_sglang_pools(c, options);
		return true;
	case KV_LOG_TENSORRT_LLM:
		check_tensorrt_pool(c, options);
		return true;
	case KV_LOG_LLAMA_CPP:
		if (!c->log->caches)
			check_buffers_alone(c);
		for (size_t i = 0; i < c->log->caches; i++)
			(c->log->cache[i].recurrent ? check_recurrent_cells : check_cells)(c, &c->log->cache[i]);
		return true;
	default:
		return false;
	}
}
