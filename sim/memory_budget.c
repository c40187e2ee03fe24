#include "config.h"

#include "sim/memory_budget.h"

#include <math.h>

#include "sim/units.h"

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
	budget->line[budget->lines++] = (struct kv_budget_line){item, bytes, source, note};
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

static void draw_lines(const struct kv_budget_question *q, struct kv_budget *budget)
{
	double requested = ceil((double)q->device_bytes * q->utilization);

	add_line(budget, "device memory", (int64_t)q->device_bytes, q->device_source, "");
	add_line(budget, "beyond gpu_memory_utilization", (int64_t)requested - (int64_t)q->device_bytes,
	         q->utilization_source, "");
	take(budget, "weights", q->weights_bytes, (int64_t)budget->weights.bytes, KV_FROM_CONFIG, "");
	take(budget, "runtime, activation peak and graphs", q->overhead_bytes, KV_DEFAULT_OVERHEAD, KV_ASSUMED,
	     "as measured for Llama-3.1-8B on an RTX 4090");
	take(budget, "services", q->reserve_bytes, 0, KV_ASSUMED, "");
	take(budget, "headroom", q->headroom_bytes, 0, KV_ASSUMED, "");
}

static void count_blocks(const struct kv_budget_question *q, struct kv_budget *budget)
{
	if (q->num_blocks_override)
		budget->num_blocks = q->num_blocks_override;
	else if (budget->kv_bytes > 0)
		budget->num_blocks = (uint64_t)budget->kv_bytes / budget->layout.page_bytes;
	budget->usable_blocks = kv_sub_floor(budget->num_blocks, q->null_block ? 1 : 0);
}

static int draw_stage(const struct kv_budget_question *q, uint32_t stage, struct kv_budget *budget,
                      struct kv_error *err)
{
	struct kv_layout_options layout = q->layout;
	struct kv_weight_options weights = {.tensor_parallel = layout.tensor_parallel, .expert_ranks = q->expert_ranks,
	                                    .mtp = layout.mtp};

	*budget = (struct kv_budget){.stage = stage};
	kv_pipeline_stage(q->model->layers, q->pipeline_parallel, stage, &layout.first_layer, &layout.layer_count);
	weights.first_layer = layout.first_layer;
	weights.layer_count = layout.layer_count;
	if (kv_layout_plan(q->model, &layout, &budget->layout, err) != 0)
		return -1;
	kv_weights_count(q->model, &weights, &budget->weights);
	if (q->kv_cache_memory_bytes)
		add_line(budget, "kv_cache_memory_bytes", (int64_t)q->kv_cache_memory_bytes, KV_FROM_USER, "");
	else if (q->device_bytes)
		draw_lines(q, budget);
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
