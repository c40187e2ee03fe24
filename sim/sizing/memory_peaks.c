#include "config.h"

#include "sim/sizing/memory_peaks.h"

#include "sim/base/units.h"

#define SAMPLED_BYTES 14.65
#define ELEMENT_BYTES 2.0
#define GIB 0x1p30

enum { GRAPH_BYTES_A_LAYER = 27 << 20, GRAPHED_SEQS = 512 };

/* Widest feed-forward part of the model's layers on one rank, in elements a token. */
static double dense_width(const struct kv_model *m, uint32_t tp)
{
	uint32_t widest = 0;

	for (uint32_t i = 0; i < m->layers; i++)
		if (m->layer[i].ffn == KV_FFN_DENSE && m->layer[i].ffn_size > widest)
			widest = m->layer[i].ffn_size;
	return 3.0 * widest / tp;
}

static double expert_width(const struct kv_model *m, uint32_t tp)
{
	double inner = (double)m->expert_size / tp;
	double wide = 2 * inner > m->hidden ? 2 * inner : m->hidden;

	return m->experts ? m->experts_used * (wide + inner) : 0;
}

int64_t kv_activation_peak(const struct kv_model *m, const struct kv_peak_shape *shape)
{
	double tokens = (double)shape->max_tokens, seqs = (double)kv_min(shape->max_seqs, shape->max_tokens);
	double dense = dense_width(m, shape->tensor_parallel), experts = expert_width(m, shape->tensor_parallel);
	double hiddens = shape->pipeline_parallel > 1 ? 6 : 4;  /* two more to hand over to the next stage */
	double forward = tokens * ELEMENT_BYTES * (hiddens * m->hidden + (dense > experts ? dense : experts));
	double sampling = SAMPLED_BYTES * seqs * m->vocab + tokens * ELEMENT_BYTES * (1.5 * m->hidden + experts);

	return (int64_t)(shape->last_stage && sampling > forward ? sampling : forward);
}

int64_t kv_runtime_bytes(const struct kv_peak_shape *shape)
{
	if (shape->tensor_parallel > 1)
		return (int64_t)(2.1 * GIB);
	return (int64_t)((shape->pipeline_parallel > 1 ? 0.07 : 0.25) * GIB);
}

int64_t kv_runtime_most_bytes(const struct kv_peak_shape *shape)
{
	bool alone = shape->tensor_parallel == 1 && shape->pipeline_parallel == 1;

	return alone ? (int64_t)(0.70 * GIB) : kv_runtime_bytes(shape);
}

int64_t kv_graph_bytes(uint32_t layers, uint64_t max_seqs)
{
	return (int64_t)layers * GRAPH_BYTES_A_LAYER * (int64_t)kv_min(max_seqs, GRAPHED_SEQS) / GRAPHED_SEQS;
}
