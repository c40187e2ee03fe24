#include "config.h"

#include "sim/model/drafter.h"

#include <string.h>

#include "sim/base/names.h"
#include "sim/base/units.h"
#include "sim/model/weights.h"

static const char *const methods[] = {
	[KV_DRAFT_MODEL] = "draft_model", [KV_DRAFT_EAGLE] = "eagle", [KV_DRAFT_EAGLE3] = "eagle3",
};

enum { METHODS = sizeof methods / sizeof *methods };

const char *kv_draft_method_name(enum kv_draft_method method)
{
	return methods[method];
}

static enum kv_draft_method method_of(const struct kv_model *draft)
{
	if (strstr(draft->architecture, "Eagle3"))
		return KV_DRAFT_EAGLE3;
	return strstr(draft->architecture, "Eagle") || strstr(draft->architecture, "EAGLE") ? KV_DRAFT_EAGLE : KV_DRAFT_MODEL;
}

int kv_drafter_read(const struct kv_model *draft, const char *method, enum kv_draft_method *out, struct kv_error *err)
{
	if (!method) {
		*out = method_of(draft);
		return 0;
	}
	for (int i = 0; i < METHODS; i++)
		if (!strcmp(methods[i], method)) {
			*out = (enum kv_draft_method)i;
			return 0;
		}
	return kv_fail_unknown(err, KV_EXIT_USAGE, "method", method, methods, METHODS);
}

static uint64_t element_bytes(const struct kv_model *model, uint64_t elements)
{
	return elements * kv_dtype_bits(model->dtype) / 8;
}

/* Query, key and value projections see the token's embedding beside the hidden state. */
static uint64_t wider_attention(const struct kv_model *draft, uint32_t tp)
{
	uint64_t rows = 0;

	for (uint32_t i = 0; i < draft->layers; i++) {
		const struct kv_layer *l = &draft->layer[i];

		rows += (uint64_t)l->q_heads / tp * l->head_dim
		        + kv_max(1, l->kv_heads / tp) * (uint64_t)(l->head_dim + l->v_head_dim);
	}
	return rows * draft->hidden;
}

uint64_t kv_drafter_weights(const struct kv_model *draft, enum kv_draft_method method, const struct kv_model *target,
                            uint32_t tp)
{
	struct kv_weight_options options = {.tensor_parallel = tp, .expert_ranks = 1};
	uint64_t head = draft->draft_vocab ? draft->draft_vocab : draft->vocab, extra;
	struct kv_weights weights;

	kv_weights_count(draft, &options, &weights);
	if (method == KV_DRAFT_MODEL)
		return weights.bytes;
	if (method == KV_DRAFT_EAGLE)
		extra = 2 * (uint64_t)draft->hidden * draft->hidden;
	else
		extra = 3 * (uint64_t)target->hidden * draft->hidden + wider_attention(draft, tp)
		        + kv_ceil_div(head, tp) * draft->hidden;
	return weights.bytes - weights.part_bytes[KV_WEIGHTS_EMBEDDING] - weights.part_bytes[KV_WEIGHTS_HEAD]
	       + element_bytes(draft, extra);
}
