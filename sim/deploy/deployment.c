#include "config.h"

#include "sim/deploy/deployment.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/base/quantity.h"
#include "sim/deploy/host_memory.h"
#include "sim/deploy/latency_trust.h"
#include "sim/deploy/policy_pairs.h"
#include "sim/deploy/scored_error.h"
#include "sim/latency/latency_data.h"
#include "sim/latency/latency_setup.h"
#include "sim/request.h"

static bool is_given(const struct kv_scenario *scenario, const char *path)
{
	const struct kv_setting *setting = kv_scenario_setting(scenario, path);

	return setting->text != NULL && setting->origin >= KV_BY_FILE;
}

static uint64_t device_bytes(const struct kv_deployment *d, uint64_t given)
{
	return given ? given : d->hardware ? kv_hardware_device_memory(d->hardware) : 0;
}

static int load_profiles(struct kv_deployment *d, struct kv_scenario *s, uint64_t given, struct kv_error *err)
{
	if (s->model == NULL)
		return kv_fail(err, KV_EXIT_USAGE,
		               "no model: give --model NAME or --model config.json (kvsim list models)");
	d->profile = kv_engine_profile_load(s->engine.profile, err);
	if (d->profile == NULL)
		return kv_scenario_fail_in(s, "engine.profile", err);
	if (s->hardware != NULL) {
		d->hardware = kv_hardware_load(s->hardware, err);
		if (d->hardware == NULL)
			return kv_scenario_fail_in(s, "hardware", err);
	}
	if (kv_scenario_resolve(s, d->profile, d->hardware ? d->hardware->name : "", device_bytes(d, given), err))
		return -1;
	d->model = kv_model_load(s->model, err);
	return d->model == NULL ? kv_scenario_fail_in(s, "model", err) : 0;
}

static void set_dtype(struct kv_model *model, enum kv_dtype dtype)
{
	if (model->quantization.format.dtype == model->dtype)
		model->quantization.format.dtype = dtype;
	if (!model->recurrent.state_dtype_given)
		model->recurrent.state_dtype = dtype;
	model->recurrent.conv_dtype = model->dtype = dtype;
}

/* Engines load float32 checkpoints with 16 bits unless told otherwise. */
static void narrow_dtype(struct kv_deployment *d)
{
	if (d->model->dtype != KV_DTYPE_F32)
		return;
	set_dtype(d->model, KV_DTYPE_BF16);
	kv_remark(&d->warnings,
	          "torch_dtype of %s is float32, which engines load with 16 bits: --dtype float32 keeps it",
	          d->model->name);
}

/* Kernels of the same format go by longer names: awq_marlin, modelopt_fp4; fp8_block is fp8 with scales of blocks. */
static bool is_method_of(const char *asked, const char *config)
{
	static const char *const endings[] = { "", "_marlin", "_block", "_fp4" };
	size_t length = strlen(config);

	for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
		if (!strncmp(asked, config, length) && !strcmp(asked + length, endings[i]))
			return true;
	return false;
}

/* vLLM and SGLang refuse to be asked for a method that is not the checkpoint's; with its own, its config counts. */
static int quantize(struct kv_model *model, const struct kv_scenario *s, struct kv_error *err)
{
	const char *config = model->quantization.method, *asked = s->engine.quantization;

	if (config == NULL || model->quantization.unsized != NULL || !is_given(s, "engine.quantization") ||
	    !strcmp(asked, "none"))
		return kv_model_quantize(model, asked, err);
	if (is_method_of(asked, config))
		return 0;
	return kv_fail(err, KV_EXIT_USAGE,
	               "%s is not the method of %s, whose quantization_config says %s, and engines refuse another: leave it "
	               "out, or give none for weights that are not quantised", asked, model->name, config);
}

static int apply_types(struct kv_deployment *d, const struct kv_scenario *s, struct kv_error *err)
{
	enum kv_dtype dtype;

	if (s->engine.dtype != NULL && strcmp(s->engine.dtype, "auto") != 0) {
		if (kv_dtype_parse(s->engine.dtype, &dtype) || kv_dtype_bits(dtype) < 16) {
			kv_fail(err, KV_EXIT_USAGE, "unknown type '%s': valid are auto, bfloat16, float16, float32",
			        s->engine.dtype);
			return kv_scenario_fail_in(s, "engine.dtype", err);
		}
		set_dtype(d->model, dtype);
	} else {
		narrow_dtype(d);
	}
	if (s->engine.quantization != NULL && quantize(d->model, s, err))
		return kv_scenario_fail_in(s, "engine.quantization", err);
	if (kv_model_check_tp(d->model, (uint32_t)s->engine.tensor_parallel_size, err))
		return kv_scenario_fail_in(s, "engine.tensor_parallel_size", err);
	return 0;
}

struct kv_model *kv_deployment_quantized(const struct kv_deployment *d, const struct kv_scenario *s, const char *method)
{
	const struct kv_quantization *now = &d->model->quantization;
	struct kv_model *model = NULL;
	struct kv_error ignored;

	if (now->method == NULL && now->unsized == NULL && now->format.dtype == d->model->dtype)
		model = kv_model_load(s->model, &ignored);
	if (model == NULL)
		return NULL;
	if (model->dtype != d->model->dtype)
		set_dtype(model, d->model->dtype);
	if (kv_model_quantize(model, method, &ignored) == 0)
		return model;
	kv_model_free(model);
	return NULL;
}

/* vLLM's defaults: the model's context, and without chunked prefill a budget that holds any prompt. */
static int resolve_lengths(struct kv_deployment *d, struct kv_scenario *s, struct kv_error *err)
{
	uint32_t limit = d->model->max_position;
	char number[32], source[256];

	if (!kv_scenario_is_set(s, "engine.max_model_len")) {
		if (limit == 0)
			return kv_fail(err, KV_EXIT_USAGE,
			               "%s does not say how long its context is: give --max-model-len", d->model->name);
		snprintf(number, sizeof number, "%" PRIu32, limit);
		snprintf(source, sizeof source, "model %s", d->model->name);
		if (kv_scenario_set(s, "engine.max_model_len", number, KV_BY_DEFAULT, source, err))
			return -1;
	} else if (limit != 0 && s->engine.max_model_len > limit) {
		kv_remark(&d->warnings,
		       "max_model_len %" PRIu64 " is beyond the %" PRIu32 " tokens of %s: the real engine needs to be "
		       "told to allow it",
		       s->engine.max_model_len, limit, d->model->name);
	}
	if (s->engine.enable_chunked_prefill || s->engine.step_order == KV_STEPS_PREFILL_FIRST ||
	    s->engine.max_num_batched_tokens >= s->engine.max_model_len)
		return 0;
	if (is_given(s, "engine.max_num_batched_tokens")) {
		kv_remark(&d->warnings,
		       "without chunked prefill, prompts longer than max_num_batched_tokens (%" PRIu64
		       ") wait for ever",
		       s->engine.max_num_batched_tokens);
		return 0;
	}
	snprintf(number, sizeof number, "%" PRIu64, s->engine.max_model_len);
	snprintf(source, sizeof source, "profile %s: max_model_len, because chunked prefill is off", d->profile->name);
	return kv_scenario_set(s, "engine.max_num_batched_tokens", number, KV_BY_PROFILE, source, err);
}

const char *kv_deployment_checkpoint_cache(const struct kv_deployment *d)
{
	const struct kv_quantization *q = &d->model->quantization;
	bool follows = d->profile->auto_cache == KV_AUTO_CHECKPOINT ||
	               (d->profile->auto_cache == KV_AUTO_MODELOPT && q->method && !strncmp(q->method, "modelopt", 8));

	return follows ? q->cache : NULL;
}

/* --kv-cache-dtype auto is not the model's type where the engine goes by the scales in a checkpoint. */
static int follow_checkpoint(struct kv_deployment *d, struct kv_scenario *s, struct kv_error *err)
{
	const char *asked = d->model->quantization.cache, *followed = kv_deployment_checkpoint_cache(d);
	char source[256];

	if (asked == NULL || strcmp(s->engine.kv_cache_dtype, "auto") != 0)
		return 0;
	if (followed == NULL) {
		kv_remark(&d->warnings,
		          "%s has scales for an %s KV cache, which %s leaves alone unless --kv-cache-dtype %s is given",
		          d->model->name, asked, d->profile->name, asked);
		return 0;
	}
	kv_remark(&d->warnings,
	          "%s has scales for an %s KV cache, so --kv-cache-dtype auto is %s: --kv-cache-dtype %s keeps the "
	          "model's type",
	          d->model->name, followed, followed, kv_dtype_name(d->model->dtype));
	snprintf(source, sizeof source, "quantization_config of %s", d->model->name);
	return kv_scenario_set(s, "engine.kv_cache_dtype", followed, KV_BY_DEFAULT, source, err);
}

/* vLLM keeps the keys of sparse attention's indexer in blocks of 64 tokens (DEEPSEEK_V32_INDEXER). */
static uint32_t block_multiple(const struct kv_deployment *d)
{
	bool indexed = d->model->index_heads && d->model->kv_lora_rank && d->profile->sizing.engine == KV_SIZING_VLLM;

	return indexed ? 64 : (uint32_t)kv_max(1, d->profile->sizing.block_multiple);
}

/* SGLang's MAMBA_CACHE_SIZE_MAX_RUNNING_REQUESTS_RATIO: the tree keeps states beside the running one. */
enum { SGLANG_STATES_WITH_TREE = 3 };

static struct kv_sizing_rule sizing_rule(const struct kv_deployment *d)
{
	struct kv_sizing_rule rule = d->profile->sizing;

	rule.block_multiple = block_multiple(d);
	return rule;
}

static int fill_question(struct kv_deployment *d, const struct kv_scenario *s, uint64_t device_bytes,
                         struct kv_error *err)
{
	const struct kv_cache_format *cache = kv_cache_format_find(s->engine.kv_cache_dtype, err);

	if (cache == NULL)
		return kv_scenario_fail_in(s, "engine.kv_cache_dtype", err);
	d->question = (struct kv_budget_question){
		.model = d->model,
		.rule = sizing_rule(d),
		.layout = { .block_size = (uint32_t)s->engine.block_size,
		            .tensor_parallel = (uint32_t)s->engine.tensor_parallel_size, .cache = cache },
		.pipeline_parallel = (uint32_t)s->engine.pipeline_parallel_size,
		.expert_ranks = 1,
		.max_num_batched_tokens = s->engine.max_num_batched_tokens,
		.max_num_seqs = s->engine.max_num_seqs,
		.states_per_request = s->engine.enable_prefix_caching ? SGLANG_STATES_WITH_TREE : 1,
		.device_bytes = device_bytes,
		.device_source = KV_FROM_PROFILE,
		.utilization = s->engine.gpu_memory_utilization,
		.utilization_source = is_given(s, "engine.gpu_memory_utilization") ? KV_FROM_USER : KV_FROM_PROFILE,
		.weights_bytes = KV_BYTES_UNSET,
		.runtime_bytes = KV_BYTES_UNSET,
		.activation_bytes = KV_BYTES_UNSET,
		.graph_bytes = KV_BYTES_UNSET,
		.reserve_bytes = KV_BYTES_UNSET,
		.headroom_bytes = KV_BYTES_UNSET,
		.kv_cache_memory_bytes = s->engine.kv_cache_memory_bytes,
		.num_blocks_override = s->engine.num_gpu_blocks_override,
	};
	return 0;
}

static int read_wide_layers(struct kv_deployment *d, const struct kv_scenario *s, struct kv_error *err)
{
	const char *list = s->engine.kv_cache_dtype_skip_layers;

	if (list == NULL)
		return 0;
	if (d->question.layout.cache->bits == 0)
		kv_fail(err, KV_EXIT_USAGE, "all layers have the model's own type: give --kv-cache-dtype too");
	else if (!kv_wide_layers_parse(list, d->model, &d->question.layout.wide, err))
		return 0;
	return kv_scenario_fail_in(s, "engine.kv_cache_dtype_skip_layers", err);
}

/* Kinds of KV groups that the engine runs. */
static int check_groups(const struct kv_deployment *d, struct kv_error *err)
{
	const struct kv_layout *layout = &d->budget.layout;

	for (uint32_t g = 0; g < layout->groups; g++) {
		enum kv_group_kind kind = layout->group[g].kind;

		if (kind != KV_GROUP_FULL && kind != KV_GROUP_MLA && kind != KV_GROUP_SLIDING_WINDOW)
			return kv_fail(err, KV_EXIT_USAGE,
			               "%s has layers of kind %s, which run does not simulate: it runs models with "
			               "full, mla and sliding_window layers",
			               d->model->name, kv_group_kind_name(kind));
		if (layout->group[g].block_size != layout->group[0].block_size)
			return kv_fail(err, KV_EXIT_USAGE,
			               "%s needs blocks of %" PRIu32 " and of %" PRIu32 " tokens, and run simulates "
			               "one block size only",
			               d->model->name, layout->group[0].block_size, layout->group[g].block_size);
	}
	if (layout->state_bytes)
		return kv_fail(err, KV_EXIT_USAGE, "%s has recurrent layers, whose states run does not simulate: it runs models with "
		               "full, mla and sliding_window layers", d->model->name);
	return 0;
}

/* What goes with the order of steps: chunks are whole blocks (SGLang starts with no other). */
static int check_steps(const struct kv_deployment *d, const struct kv_scenario *s, struct kv_error *err)
{
	uint32_t block = d->budget.layout.group[0].block_size;

	if (s->engine.step_order == KV_STEPS_MIXED) {
		if (!is_given(s, "engine.max_prefill_tokens"))
			return 0;
		kv_fail(err, KV_EXIT_USAGE, "only steps of prompts alone have such a limit: it goes with step_order "
		        "prefill-first, and this run's is mixed");
		return kv_scenario_fail_in(s, "engine.max_prefill_tokens", err);
	}
	if (kv_policy_swaps(&d->config.policy[KV_POLICY_PREEMPTION]))
		return kv_fail(err, KV_EXIT_USAGE,
		               "preemption %s,mode=swap does not go with step_order prefill-first: what comes back "
		               "would decode among prompts: leave mode=swap out",
		               d->config.policy[KV_POLICY_PREEMPTION].policy->name);
	if (!s->engine.enable_chunked_prefill || s->engine.max_num_batched_tokens % block == 0)
		return 0;
	kv_fail(err, KV_EXIT_USAGE, "%" PRIu64 " tokens are no whole number of blocks of %" PRIu32
	        ", which prompts are cut into where they go first", s->engine.max_num_batched_tokens, block);
	return kv_scenario_fail_in(s, "engine.max_num_batched_tokens", err);
}

static int fail_empty_pool(const struct kv_deployment *d, const struct kv_scenario *s, struct kv_error *err)
{
	const struct kv_budget *b = &d->budget;
	char kv[KV_QUANTITY_MAX], page[KV_QUANTITY_MAX], budget[512];
	size_t used = 0;

	if (s->engine.num_gpu_blocks_override > 0 || s->engine.kv_cache_memory_bytes > 0)
		return kv_fail(err, KV_EXIT_USAGE, "the pool has no usable block: %" PRIu64 " in all%s, %s each",
		               b->num_blocks, d->profile->null_block ? " with the null block" : "",
		               kv_format_bytes_short((int64_t)b->layout.page_bytes, page));
	budget[0] = '\0';
	for (uint32_t i = 0; i < b->lines && used < sizeof budget; i++)
		used += (size_t)snprintf(budget + used, sizeof budget - used, "%s%s %s", i ? ", " : "", b->line[i].item,
		                         kv_format_bytes_short(b->line[i].bytes, kv));
	return kv_fail(err, KV_EXIT_USAGE,
	               "no memory is left for the KV cache: %s a rank where a block takes %s (%s): use more "
	               "or larger GPUs, smaller weights or a larger --gpu-memory-utilization",
	               kv_format_bytes_short(b->kv_bytes, kv),
	               kv_format_bytes_short((int64_t)b->layout.page_bytes, page), budget);
}

/* vLLM's start-up check counts the null block as if a request could use it. */
static int check_pool(const struct kv_deployment *d, const struct kv_scenario *s, struct kv_error *err)
{
	uint64_t in_flight = s->engine.max_num_batched_tokens, longest;
	bool overridden = s->engine.num_gpu_blocks_override > 0;

	if (d->budget.usable_blocks == 0)
		return fail_empty_pool(d, s, err);
	if ((overridden && !d->profile->override_is_checked) ||
	    kv_budget_starts(&d->budget, s->engine.max_model_len, in_flight))
		return 0;
	longest = kv_budget_largest_length(&d->budget, s->engine.max_model_len, in_flight);
	return kv_fail(err, KV_EXIT_USAGE,
	               "one request of max_model_len %" PRIu64 " takes %" PRIu64 " blocks and the pool has %" PRIu64
	               ", so the engine would not start: the largest --max-model-len that fits is %" PRIu64,
	               s->engine.max_model_len,
	               kv_layout_request_blocks(&d->budget.layout, s->engine.max_model_len, in_flight),
	               d->budget.num_blocks, longest);
}

/* A request without max_tokens is allowed the rest of the context, as vLLM does: few such requests run side by side. */
static void tell_allowed(struct kv_deployment *d, const struct kv_scenario *s)
{
	const struct kv_policy *admission = d->config.policy[KV_POLICY_ADMISSION].policy;

	if (admission->flags & KV_POLICY_TAKES_ALLOWED && !s->workload.default_max_tokens.output &&
	    s->workload.default_max_tokens.tokens == KV_TOKENS_UNSET)
		kv_remark(&d->warnings,
		          "admission %s sets aside max_model_len (%" PRIu64 " tokens) for every request whose "
		          "max_tokens the trace does not give, so few run at once: --default-max-tokens N sets aside "
		          "less",
		          admission->name, s->engine.max_model_len);
}

static int parse_policies(struct kv_deployment *d, const struct kv_scenario *s, struct kv_error *err)
{
	for (int kind = 0; kind < KV_POLICY_KINDS; kind++) {
		struct kv_policy_use *use = &d->config.policy[kind];

		KV_ASSERT(s->policy[kind] != NULL, "no %s policy", kv_policy_kind_name(kind));
		if (kv_policy_parse(kind, s->policy[kind], use, err))
			return -1;
		d->oracle |= (use->policy->flags & KV_POLICY_ORACLE) != 0;
	}
	d->oracle |= s->workload.default_max_tokens.output;
	return kv_policies_check(d->config.policy, &d->budget.layout, err);
}

enum kv_dtype kv_deployment_cache_dtype(const struct kv_deployment *d, const struct kv_scenario *s)
{
	struct kv_error ignored;
	const struct kv_cache_format *format = kv_cache_format_find(s->engine.kv_cache_dtype, &ignored);
	enum kv_dtype dtype;

	if (format->bits == 0)
		return d->model->dtype;
	if (kv_dtype_parse(format->name, &dtype) == 0)
		return dtype;
	return format->bits <= 4 ? KV_DTYPE_INT4 : format->bits <= 8 ? KV_DTYPE_FP8 : KV_DTYPE_BF16;
}

static int build_roofline(struct kv_deployment *d, const struct kv_scenario *s, struct kv_error *err)
{
	struct kv_latency_layout layout = {
		.tensor_parallel = (uint32_t)s->engine.tensor_parallel_size,
		.pipeline_parallel = (uint32_t)s->engine.pipeline_parallel_size,
		.kv_dtype = kv_deployment_cache_dtype(d, s),
		.wide = d->question.layout.wide,
	};
	struct kv_latency_setup setup;
	struct kv_latency *latency;

	if (d->model->quantization.unsized)
		return kv_fail(err, KV_EXIT_USAGE,
		               "how fast steps are goes by the bytes of the weights: %s: %s; give --quantization with "
		               "the nearest known one",
		               d->model->name, d->model->quantization.unsized);
	if (kv_latency_setup_fill(d->model, d->hardware, &d->profile->overheads, &d->profile->efficiency, &layout,
	                          &setup, err))
		return -1;
	latency = kv_latency_roofline(&setup);
	d->config.latency = latency;
	d->latency_source = kv_latency_provenance(d->hardware, d->profile);
	d->latency_error = kv_latency_scored_error(d->hardware, d->model, d->profile);
	kv_latency_warn_far_off(d->hardware, d->model, d->profile, &d->warnings);
	kv_latency_trust_setting(d->hardware, s->engine.tensor_parallel_size,
	                         kv_dtype_bits(d->model->quantization.format.dtype) <= 8, latency, &d->warnings);
	return 0;
}

static int build_from_data(struct kv_deployment *d, const struct kv_scenario *s, struct kv_error *err)
{
	enum kv_data_backend backend = s->latency.backend == KV_LATENCY_LINEAR ? KV_DATA_LINEAR : KV_DATA_TABLE;

	if (s->latency_data == NULL)
		return kv_fail(err, KV_EXIT_USAGE, "latency %s goes by measured steps: give --latency-data FILE",
		               backend == KV_DATA_LINEAR ? "linear" : "table");
	if (s->engine.pipeline_parallel_size > 1)
		return kv_fail(err, KV_EXIT_USAGE,
		               "measured steps are of one pipeline stage: pipeline_parallel_size must be 1");
	d->config.latency = kv_latency_from_data(backend, s->latency_data, d->model, d->hardware,
	                                         (uint32_t)s->engine.tensor_parallel_size, err);
	d->latency_source = kv_strdup("measured steps of this card, model and number of ranks");
	d->latency_error = kv_strdup("not scored on unseen rows");
	return d->config.latency == NULL ? -1 : 0;
}

static int build_latency(struct kv_deployment *d, const struct kv_scenario *s, struct kv_error *err)
{
	if (s->latency_data != NULL && s->latency.backend != KV_LATENCY_LINEAR &&
	    s->latency.backend != KV_LATENCY_TABLE)
		kv_remark(&d->warnings, "nothing goes by the measured steps in %s: that takes latency linear or table",
		          s->latency_data);
	switch (s->latency.backend) {
	case KV_LATENCY_FIXED:
		d->config.latency = kv_latency_fixed(s->latency.duration);
		return 0;
	case KV_LATENCY_LINEAR:
	case KV_LATENCY_TABLE:
		return build_from_data(d, s, err);
	default:
		return build_roofline(d, s, err);
	}
}

void kv_deployment_note_run(struct kv_deployment *deployment)
{
	kv_latency_trust_run(deployment->config.latency, &deployment->warnings);
}

/* Most tokens of a prompt that a step may compute. */
static uint64_t longest_piece(const struct kv_scenario *s)
{
	if (s->engine.step_order == KV_STEPS_PREFILL_FIRST && !s->engine.enable_chunked_prefill)
		return s->engine.max_model_len;
	return s->engine.max_num_batched_tokens;
}

static void fill_config(struct kv_deployment *d, const struct kv_scenario *s)
{
	const struct kv_layout *layout = &d->budget.layout;
	struct kv_engine_config *c = &d->config;

	c->block_size = layout->group[0].block_size;
	c->usable_blocks = d->budget.usable_blocks;
	c->watermark_blocks = (uint64_t)(s->engine.watermark * (double)d->budget.num_blocks);
	c->groups = layout->groups;
	for (uint32_t g = 0; g < layout->groups; g++) {
		c->group[g] = layout->group[g];
		c->admission_cap[g] = UINT64_MAX;
		if (layout->group[g].window > 0)
			c->admission_cap[g] = kv_group_request_blocks(layout, &layout->group[g],
			                                              s->engine.max_model_len, longest_piece(s));
	}
	c->max_num_seqs = (uint32_t)s->engine.max_num_seqs;
	c->step_order = s->engine.step_order;
	c->max_num_batched_tokens = s->engine.max_num_batched_tokens;
	c->max_prefill_tokens = s->engine.max_prefill_tokens > 0 ? s->engine.max_prefill_tokens : UINT64_MAX;
	c->max_model_len = (uint32_t)s->engine.max_model_len;
	c->long_prefill_token_threshold = (uint32_t)s->engine.long_prefill_token_threshold;
	c->enable_chunked_prefill = s->engine.enable_chunked_prefill;
	c->blank_blocks_first = d->profile->blank_blocks_first;
	c->retention_interval = s->engine.prefix_cache_retention_interval;
	c->refuse_impossible = s->engine.refuse_impossible;
	c->cache_scope = s->engine.cache_scope;
	c->default_max_tokens = s->workload.default_max_tokens.tokens;
	c->default_max_tokens_is_output = s->workload.default_max_tokens.output;
	c->max_concurrency = (uint32_t)s->workload.max_concurrency;
	c->frontend = s->engine.frontend;
}

/* Where blocks are pages of the prefix policy, it may say how large they are. */
static int apply_page(struct kv_scenario *s, struct kv_error *err)
{
	struct kv_policy_use prefix;
	uint32_t page = 0;
	char number[32];

	if (s->policy[KV_POLICY_PREFIX] == NULL)
		return 0;
	if (kv_policy_parse(KV_POLICY_PREFIX, s->policy[KV_POLICY_PREFIX], &prefix, err))
		return -1;
	if (prefix.policy->hooks.prefix.block_tokens != NULL)
		page = prefix.policy->hooks.prefix.block_tokens(prefix.state);
	kv_policy_use_fini(&prefix);
	if (page == 0 || page == s->engine.block_size)
		return 0;
	if (is_given(s, "engine.block_size"))
		return kv_fail(err, KV_EXIT_USAGE,
		               "prefix %s: a page is a block, and engine.block_size is given as %" PRIu64
		               ": give one of them",
		               s->policy[KV_POLICY_PREFIX], s->engine.block_size);
	snprintf(number, sizeof number, "%" PRIu32, page);
	return kv_scenario_set(s, "engine.block_size", number, KV_BY_PROFILE, "page of policies.prefix", err);
}

static int default_block_size(struct kv_deployment *d, struct kv_scenario *s, struct kv_error *err)
{
	uint32_t multiple = block_multiple(d);
	char number[32], source[256];

	if (is_given(s, "engine.block_size") || s->engine.block_size % multiple == 0)
		return 0;
	snprintf(number, sizeof number, "%" PRIu32, multiple);
	snprintf(source, sizeof source, "profile %s: blocks that its kernels take for %s", d->profile->name,
	         d->model->name);
	return kv_scenario_set(s, "engine.block_size", number, KV_BY_PROFILE, source, err);
}

static int check_block_size(const struct kv_deployment *d, const struct kv_scenario *s, struct kv_error *err)
{
	uint32_t multiple = block_multiple(d);

	if (s->engine.block_size % multiple == 0)
		return 0;
	kv_fail(err, KV_EXIT_USAGE,
	        "is %" PRIu64 ": %s takes multiples of %" PRIu32 " for %s, as its attention kernels do",
	        s->engine.block_size, d->profile->name, multiple, d->model->name);
	return kv_scenario_fail_in(s, "engine.block_size", err);
}

static int plan(struct kv_deployment *d, struct kv_scenario *s, uint64_t given, struct kv_error *err)
{
	return load_profiles(d, s, given, err) || apply_types(d, s, err) || resolve_lengths(d, s, err) ||
	       default_block_size(d, s, err) || apply_page(s, err) || follow_checkpoint(d, s, err) ||
	       fill_question(d, s, device_bytes(d, given), err) || read_wide_layers(d, s, err) ? -1 : 0;
}

static int check_runs(const struct kv_deployment *d, const struct kv_scenario *s, struct kv_error *err)
{
	if (d->profile->sizes_only)
		return kv_fail(err, KV_EXIT_USAGE,
		               "engine profile %s cannot run: its scheduler is not built (%s)",
		               d->profile->name, d->profile->summary);
	if (s->hardware == NULL && s->latency.backend != KV_LATENCY_FIXED)
		return kv_fail(err, KV_EXIT_USAGE,
		               "no hardware: give --hardware NAME (kvsim list hardware), or a step time with "
		               "--latency fixed:DURATION");
	return 0;
}

/* Before anything else, so that all that a card's profile lacks is asked for at once. */
static int check_card(const struct kv_scenario *s, struct kv_error *err)
{
	bool linked = s->engine.tensor_parallel_size > 1 || s->engine.pipeline_parallel_size > 1;
	struct kv_hardware *hardware;
	int failed;

	if (s->hardware == NULL || s->latency.backend != KV_LATENCY_ROOFLINE)
		return 0;
	hardware = kv_hardware_load(s->hardware, err);
	if (hardware == NULL)
		return kv_scenario_fail_in(s, "hardware", err);
	failed = kv_latency_check_card(hardware, linked, err);
	kv_hardware_free(hardware);
	return failed;
}

/* What profiles left open and a rule filled in. */
static void tell_assumptions(struct kv_deployment *d, const struct kv_scenario *s)
{
	for (size_t i = 0; i < d->model->notes.count; i++)
		kv_remark(&d->warnings, "%s: %s", d->model->name, d->model->notes.text[i]);
	if (d->hardware == NULL || s->latency.backend != KV_LATENCY_ROOFLINE)
		return;
	for (size_t i = 0; i < d->hardware->assumed_count; i++)
		kv_remark(&d->assumptions, "%s: %s", d->hardware->name, d->hardware->assumed[i]);
}

/* A file's policies stay when an option or a variant chooses another profile, which then is not what its name says. */
static void tell_kept_policies(struct kv_deployment *d, const struct kv_scenario *s)
{
	const struct kv_node *policies = d->profile->policies;

	if (kv_scenario_setting(s, "engine.profile")->origin <= KV_BY_FILE)
		return;
	for (size_t i = 0; i < policies->children; i++) {
		const char *kind = policies->child[i].key, *its_own = policies->child[i].text;
		const struct kv_setting *setting;
		char path[64];

		snprintf(path, sizeof path, "policies.%s", kind);
		setting = kv_scenario_setting(s, path);
		if (setting->origin == KV_BY_FILE && setting->text != NULL && its_own != NULL &&
		    strcmp(setting->text, its_own) != 0)
			kv_remark(&d->warnings, "%s sets %s %s, which stays: profile %s has %s", setting->source, kind,
			          setting->text, d->profile->name, its_own);
	}
}

static int build(struct kv_deployment *d, struct kv_scenario *s, struct kv_error *err)
{
	if (check_card(s, err) || plan(d, s, 0, err) || check_runs(d, s, err) || kv_budget_draw(&d->question, &d->budget, err) ||
	    check_groups(d, err) || check_pool(d, s, err) || parse_policies(d, s, err) || check_steps(d, s, err) ||
	    build_latency(d, s, err))
		return -1;
	if (kv_host_memory_fill(d, s, err))
		return -1;
	fill_config(d, s);
	if (d->profile->approximate != NULL)
		kv_remark(&d->warnings, "profile %s is approximate: %s", d->profile->name, d->profile->approximate);
	tell_assumptions(d, s);
	tell_kept_policies(d, s);
	tell_allowed(d, s);
	return 0;
}

int kv_deployment_plan(struct kv_deployment *deployment, struct kv_scenario *scenario, uint64_t device_memory,
                       struct kv_error *err)
{
	memset(deployment, 0, sizeof *deployment);
	if (!plan(deployment, scenario, device_memory, err) && !check_block_size(deployment, scenario, err)) {
		tell_assumptions(deployment, scenario);
		return 0;
	}
	kv_deployment_fini(deployment);
	return -1;
}

int kv_deployment_init(struct kv_deployment *deployment, struct kv_scenario *scenario, struct kv_error *err)
{
	memset(deployment, 0, sizeof *deployment);
	if (!build(deployment, scenario, err))
		return 0;
	kv_deployment_fini(deployment);
	return -1;
}

void kv_deployment_fini(struct kv_deployment *d)
{
	for (int kind = 0; kind < KV_POLICY_KINDS; kind++)
		kv_policy_use_fini(&d->config.policy[kind]);
	kv_latency_free((struct kv_latency *)d->config.latency);
	kv_model_free(d->model);
	kv_hardware_free(d->hardware);
	kv_engine_profile_free(d->profile);
	kv_remarks_fini(&d->warnings);
	kv_remarks_fini(&d->assumptions);
	free(d->latency_source);
	free(d->latency_error);
	memset(d, 0, sizeof *d);
}
