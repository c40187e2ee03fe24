/* What an engine's ranks hold beside weights and KV cache: activations at their peak, the runtime, CUDA graphs.
 *
 * vLLM measures the first by running a full step; here it is the larger of two closed forms, fitted to start-up logs of
 * vLLM (tests/data/activation-peaks.csv: 22 of release 0.19, 2 of 0.6; mean error 2 %, at most 10 %):
 *
 *     forward  = tokens x 2 B x (4 hidden + m)         m = 3 x inner width of a rank's feed-forward part, or for experts
 *     sampling = sequences x vocabulary x 14.65 B          used x (max(2 x inner, hidden) + inner)
 *                + tokens x 2 B x (1.5 hidden + m of experts)
 *
 * with tokens = max_num_batched_tokens and sequences = max_num_seqs, at most tokens. Releases before 0.17 sampled with
 * about three times as much.
 */
#ifndef KV_SIM_MEMORY_PEAKS_H
#define KV_SIM_MEMORY_PEAKS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/model/model.h"

struct kv_peak_shape {
	uint32_t tensor_parallel, pipeline_parallel;
	uint64_t max_tokens, max_seqs;
	bool last_stage;      /* samples */
};

/* Largest error of the closed forms on those logs, as a share. */
#define KV_ACTIVATION_ERROR 0.10

int64_t kv_activation_peak(const struct kv_model *model, const struct kv_peak_shape *shape);

/* CUDA context and libraries; with tensor parallelism the buffers of collectives too. Measured with vLLM 0.19 on H100s:
 * 0.25 GiB alone, 2.1 GiB with 2 or 4 ranks, 0.07 GiB for a pipeline stage of one rank. */
int64_t kv_runtime_bytes(const struct kv_peak_shape *shape);

/* The most that was seen: 0.70 GiB for a rank alone. vLLM 0.19 with Llama-3.1-8B on an RTX 4090 kept 1,237,612,954 bytes
 * beside weights and KV cache, 0.68 GiB more than the activation peak. With several ranks there is no second
 * measurement. */
int64_t kv_runtime_most_bytes(const struct kv_peak_shape *shape);

/* Graphs of all captured batch sizes: 27 MiB a layer for the 51 sizes of 512 sequences, fewer sizes in proportion.
 * From 0.84 GiB for 32 layers; 35 models between 0.51 and 1.85 GiB. */
int64_t kv_graph_bytes(uint32_t layers, uint64_t max_seqs);

#endif
