#include "config.h"

#include "sim/sizing/memory_budget.h"

#include <math.h>

#include "sim/base/units.h"
#include "sim/sizing/memory_peaks.h"

static const char *const provenance_names[] = {
	[KV_FROM_USER] = "given", [KV_FROM_CONFIG] = "config", [KV_FROM_PROFILE] = "profile",
	[KV_FROM_RULE] = "computed", [KV_ASSUMED] = "assumed",
};

const char *kv_provenance_name(enum kv_provenance provenance)
{
	return provenance_names[provenance];
}

void kv_pipeline_stage(uint32_t layers, uint32_t stages, uint32_t stage, uint32_t *first, uint32_t *count)
{
	uint32_t share = layers / stages, rest = layers % stages;

	*first = 0;
	for (uint32_t i = 0; i <= stage; i++) {
		bool takes_one_more = i + 1 < stages && i + 1 + rest >= stages;

		*count = share + takes_one_more;
		if (i < stage)
			*first += *count;
	}
}

static void add_line(struct kv_budget *budget, const char *item, int64_t bytes, enum kv_provenance source,
                     const char *note)
{
	KV_ASSERT(budget->lines < KV_BUDGET_LINES, "too many budget lines");
	budget->line[budget->lines++] = (struct kv_budget_line){.item = item, .bytes = bytes, .source = source, .note = note};
	budget->kv_bytes += bytes;
}

/* A cost that the user may give; `fallback` stands in with its own source. */
static void take(struct kv_budget *budget, const char *item, int64_t given, int64_t fallback,
                 enum kv_provenance source, const char *note)
{
	if (given != KV_BYTES_UNSET)
		add_line(budget, item, -given, KV_FROM_USER, "");
	else if (fallback)
		add_line(budget, item, -fallback, source, note);
}

/* As take, of a cost that was measured on one kind of deployment only. */
static void take_unsure(struct kv_budget *budget, const char *item, int64_t given, int64_t fallback, const char *note)
{
	uint32_t lines = budget->lines;

	take(budget, item, given, fallback, KV_ASSUMED, note);
	if (budget->lines > lines)
		budget->line[lines].error_unknown = given == KV_BYTES_UNSET;
}

static struct kv_peak_shape peak_shape(const struct kv_budget_question *q, uint32_t stage)
{
	return (struct kv_peak_shape){.tensor_parallel = q->layout.tensor_parallel, .pipeline_parallel = q->pipeline_parallel,
	                              .max_tokens = q->max_num_batched_tokens, .max_seqs = q->max_num_seqs,
	                              .last_stage = stage + 1 == q->pipeline_parallel};
}

static void take_weights(const struct kv_budget_question *q, struct kv_budget *budget)
{
	take(budget, "weights", q->weights_bytes, (int64_t)budget->weights.bytes, KV_FROM_CONFIG,
	     q->layout.mtp ? "with prediction layers, whose activations and graphs are not counted" : "");
	if (q->layout.draft)
		add_line(budget, "draft weights", -(int64_t)kv_drafter_weights(q->layout.draft, q->drafter, q->model,
		                                                               q->layout.tensor_parallel),
		         KV_FROM_CONFIG, "its activations and graphs are not counted");
}

/* With several ranks, and for graphs, the error is not known. */
static int64_t runtime_bytes(const struct kv_budget_question *q, const struct kv_peak_shape *shape)
{
	return q->error_end == KV_LEAST_LEFT ? kv_runtime_most_bytes(shape) : kv_runtime_bytes(shape);
}

static int64_t activation_bytes(const struct kv_budget_question *q, const struct kv_peak_shape *shape)
{
	int64_t fitted = kv_activation_peak(q->model, shape), error = (int64_t)((double)fitted * KV_ACTIVATION_ERROR);

	switch (q->error_end) {
	case KV_LEAST_LEFT: return fitted + error;
	case KV_MOST_LEFT: return fitted - error;
	default: return fitted;
	}
}

static void take_peaks(const struct kv_budget_question *q, struct kv_budget *budget)
{
	struct kv_peak_shape shape = peak_shape(q, budget->stage);
	bool known = kv_runtime_most_bytes(&shape) > kv_runtime_bytes(&shape);

	if (known)
		take(budget, "runtime", q->runtime_bytes, runtime_bytes(q, &shape), KV_ASSUMED,
		     "as measured on H100s, up to 0.70 GiB elsewhere");
	else
		take_unsure(budget, "runtime", q->runtime_bytes, runtime_bytes(q, &shape),
		            "as measured on H100s, error not known");
	take(budget, "activation peak", q->activation_bytes, activation_bytes(q, &shape), KV_ASSUMED, "fitted, +-10 %");
}

static void take_extras(const struct kv_budget_question *q, struct kv_budget *budget)
{
	take(budget, "services", q->reserve_bytes, 0, KV_ASSUMED, "");
	take(budget, "headroom", q->headroom_bytes, 0, KV_ASSUMED, "");
}

static void draw_vllm(const struct kv_budget_question *q, uint32_t layers, struct kv_budget *budget)
{
	int64_t requested = (int64_t)ceil((double)q->device_bytes * q->utilization);

	add_line(budget, "beyond gpu_memory_utilization", requested - (int64_t)q->device_bytes, q->utilization_source, "");
	take_weights(q, budget);
	take_peaks(q, budget);
	if (q->rule.graphs_subtracted)
		take_unsure(budget, "CUDA graphs", q->graph_bytes, kv_graph_bytes(layers, q->max_num_seqs),
		            "by layers and captured sizes, error not known");
}

/* Most sequences of a captured graph, by device memory in MiB: SGLang's default. */
static uint64_t sglang_graph_seqs(uint64_t device_mib, uint32_t tp)
{
	if (device_mib < 20 * 1024)
		return 8;
	if (device_mib < 35 * 1024)
		return tp < 4 ? 24 : 80;
	if (device_mib < 60 * 1024)
		return tp < 4 ? 32 : 160;
	return device_mib < 160 * 1024 && tp < 4 ? 256 : 512;
}

static int64_t sglang_reserve(const struct kv_budget_question *q)
{
	uint64_t mib = q->device_bytes >> 20, ranks = (uint64_t)q->layout.tensor_parallel * q->pipeline_parallel;
	uint64_t reserve = 512 + kv_max(q->max_num_batched_tokens, 2048) * 3 / 2
	                   + 2 * sglang_graph_seqs(mib, q->layout.tensor_parallel) + ranks * 1024 / 8;

	if (mib > 60 * 1024)
		reserve = kv_max(reserve, 10 * 1024);
	return (int64_t)(reserve << 20);
}

static void draw_sglang(const struct kv_budget_question *q, struct kv_budget *budget)
{
	int64_t beyond = (int64_t)((double)q->device_bytes * q->utilization) - (int64_t)q->device_bytes;

	if (q->utilization > 0)
		add_line(budget, "beyond mem_fraction_static", beyond, q->utilization_source, "");
	else
		add_line(budget, "reserve (1 - mem_fraction_static)", -sglang_reserve(q), KV_FROM_PROFILE,
		         "512 + 1.5 x chunk + 2 x graph batch + ranks x 128 MiB, at least 10 GiB beyond 60 GiB");
	take_weights(q, budget);
}

static void draw_tensorrt_llm(const struct kv_budget_question *q, struct kv_budget *budget)
{
	int64_t kept;

	take_weights(q, budget);
	take_peaks(q, budget);
	kept = budget->kv_bytes > 0 ? (int64_t)((double)budget->kv_bytes * (1 - q->utilization)) : 0;
	add_line(budget, "beyond free_gpu_memory_fraction", -kept, q->utilization_source, "");
}

static void draw_lines(const struct kv_budget_question *q, uint32_t layers, struct kv_budget *budget)
{
	add_line(budget, "device memory", (int64_t)q->device_bytes, q->device_source, "");
	switch (q->rule.engine) {
	case KV_SIZING_VLLM: draw_vllm(q, layers, budget); break;
	case KV_SIZING_SGLANG: draw_sglang(q, budget); break;
	case KV_SIZING_TENSORRT_LLM: draw_tensorrt_llm(q, budget); break;
	case KV_SIZING_LLAMA_CPP:
		take_weights(q, budget);
		take_peaks(q, budget);
		break;
	}
	take_extras(q, budget);
}

static void count_blocks(const struct kv_budget_question *q, struct kv_budget *budget)
{
	if (q->num_blocks_override)
		budget->num_blocks = q->num_blocks_override;
	else if (budget->kv_bytes > 0 && q->rule.engine == KV_SIZING_TENSORRT_LLM)
		budget->num_blocks = kv_ceil_div((uint64_t)budget->kv_bytes, budget->layout.page_bytes);  /* rounds up */
	else if (budget->kv_bytes > 0)
		budget->num_blocks = (uint64_t)budget->kv_bytes / budget->layout.page_bytes;
	budget->usable_blocks = kv_sub_floor(budget->num_blocks, q->rule.null_block ? 1 : 0);
}

/* SGLang keeps separate pools for windowed and recurrent layers, TensorRT-LLM one a window. */
bool kv_sizing_has_whole_contexts(const struct kv_sizing_rule *rule)
{
	return rule->engine == KV_SIZING_SGLANG || rule->engine == KV_SIZING_TENSORRT_LLM;
}

/* SGLang's server_args.py and memory pools: states are float32 unless the config says otherwise. */
#define MAMBA_FULL_MEMORY_RATIO 0.9

static uint64_t slot_bytes(const struct kv_budget_question *q, uint32_t first, uint32_t layers)
{
	const struct kv_recurrent *r = &q->model->recurrent;
	struct kv_state_elements all = kv_model_state(q->model, q->layout.tensor_parallel);
	uint64_t bits = all.convolution * kv_dtype_bits(r->conv_dtype)
	                + all.state * (r->state_dtype_given ? kv_dtype_bits(r->state_dtype) : 32);
	uint64_t here = 0, everywhere = 0;

	for (uint32_t i = 0; i < q->model->layers; i++) {
		bool recurrent = kv_layer_is_recurrent(&q->model->layer[i]);

		everywhere += recurrent;
		here += recurrent && i >= first && i < first + layers;
	}
	return everywhere ? bits / 8 / q->layout.tensor_parallel * here / everywhere : 0;
}

static void take_states(const struct kv_budget_question *q, const struct kv_layout_options *stage, struct kv_budget *budget)
{
	uint64_t slot = slot_bytes(q, stage->first_layer, stage->layer_count);
	double share = MAMBA_FULL_MEMORY_RATIO / (1 + MAMBA_FULL_MEMORY_RATIO);

	if (q->rule.engine != KV_SIZING_SGLANG || slot == 0)
		return;
	budget->layout.state_bytes = slot;
	budget->state_slots = budget->kv_bytes > 0 ? (uint64_t)((double)budget->kv_bytes * share / (double)slot) : 0;
	add_line(budget, "slots of recurrent state", -(int64_t)(budget->state_slots * slot), KV_FROM_PROFILE,
	         "mamba_full_memory_ratio 0.9");
}

static int check_layers(const struct kv_budget_question *q, struct kv_error *err)
{
	if (q->rule.engine == KV_SIZING_LLAMA_CPP && q->model->layer[0].mixer == KV_MIXER_COMPRESSED)
		return kv_fail(err, KV_EXIT_USAGE, "%s has compressed layers: their cache in llama.cpp is not known here; use a vLLM profile",
		               q->model->name);
	for (uint32_t i = 0; q->rule.engine == KV_SIZING_TENSORRT_LLM && i < q->model->layers; i++)
		if (kv_layer_is_recurrent(&q->model->layer[i]))
			return kv_fail(err, KV_EXIT_USAGE, "%s has recurrent layers: how this engine shares memory between their states and "
			               "its KV cache is not known here; use a vLLM profile", q->model->name);
	return 0;
}

/* They matter where the KV cache is what they leave. */
static int check_weights(const struct kv_budget_question *q, struct kv_error *err)
{
	const char *unsized = q->model->quantization.unsized;
	bool matters = q->weights_bytes == KV_BYTES_UNSET && !q->kv_cache_memory_bytes && !q->num_blocks_override;

	if (!matters || !unsized)
		return 0;
	return kv_fail(err, KV_EXIT_USAGE, "the weights of %s are not known: %s; give --weights-bytes, or --quantization with a known "
	               "one", q->model->name, unsized);
}

static int draw_stage(const struct kv_budget_question *q, uint32_t stage, struct kv_budget *budget,
                      struct kv_error *err)
{
	struct kv_layout_options layout = q->layout;
	struct kv_weight_options weights = {.tensor_parallel = layout.tensor_parallel, .expert_ranks = q->expert_ranks,
	                                    .expert_slices = q->expert_slices, .mtp = layout.mtp, .pad_experts = q->rule.engine == KV_SIZING_VLLM};

	*budget = (struct kv_budget){.stage = stage};
	layout.whole_context |= kv_sizing_has_whole_contexts(&q->rule);
	layout.states_apart = q->rule.engine == KV_SIZING_SGLANG;
	kv_pipeline_stage(q->model->layers, q->pipeline_parallel, stage, &layout.first_layer, &layout.layer_count);
	weights.first_layer = layout.first_layer;
	weights.layer_count = layout.layer_count;
	if (kv_layout_plan(q->model, &layout, &budget->layout, err) != 0)
		return -1;
	kv_weights_count(q->model, &weights, &budget->weights);
	if (q->kv_cache_memory_bytes)
		add_line(budget, "kv_cache_memory_bytes", (int64_t)q->kv_cache_memory_bytes, KV_FROM_USER, "");
	else if (q->device_bytes)
		draw_lines(q, layout.layer_count, budget);
	if (budget->lines)
		take_states(q, &layout, budget);
	count_blocks(q, budget);
	if (q->num_blocks_override && !q->kv_cache_memory_bytes && !q->device_bytes)
		add_line(budget, "num_gpu_blocks_override", (int64_t)(budget->num_blocks * budget->layout.page_bytes),
		         KV_FROM_USER, "");
	return 0;
}

int kv_budget_draw(const struct kv_budget_question *q, struct kv_budget *budget, struct kv_error *err)
{
	if (q->pipeline_parallel > q->model->layers)
		return kv_fail(err, KV_EXIT_USAGE, "--pipeline-parallel-size %u exceeds the %u layers of %s", q->pipeline_parallel,
		               q->model->layers, q->model->name);
	if (!q->device_bytes && !q->kv_cache_memory_bytes && !q->num_blocks_override)
		return kv_fail(err, KV_EXIT_USAGE, "the memory of the device is not known: give --hardware with a known card, "
		               "--kv-cache-memory-bytes or --num-gpu-blocks-override");
	if (check_weights(q, err) != 0 || check_layers(q, err) != 0)
		return -1;
	for (uint32_t stage = 0; stage < q->pipeline_parallel; stage++) {
		struct kv_budget drawn;

		if (draw_stage(q, stage, &drawn, err) != 0)
			return -1;
		if (stage == 0 || drawn.num_blocks < budget->num_blocks
		    || (drawn.num_blocks == budget->num_blocks && drawn.kv_bytes < budget->kv_bytes))
			*budget = drawn;
	}
	return 0;
}

bool kv_budget_starts(const struct kv_budget *budget, uint64_t max_model_len, uint64_t in_flight)
{
	return budget->num_blocks > 0
	       && kv_layout_request_blocks(&budget->layout, max_model_len, in_flight) <= budget->num_blocks;
}

uint64_t kv_budget_largest_length(const struct kv_budget *budget, uint64_t limit, uint64_t in_flight)
{
	uint64_t fits = 0, fails = limit + 1;

	while (fails - fits > 1) {
		uint64_t middle = fits + (fails - fits) / 2;

		if (kv_budget_starts(budget, middle, in_flight))
			fits = middle;
		else
			fails = middle;
	}
	return fits;
}
