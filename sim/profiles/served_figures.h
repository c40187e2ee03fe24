/* How far step times of a card were from served loads that others measured, as a hardware profile says it:
 *
 *     served:
 *       loads: "4 to 64 clients, ..."     # what was served, and where the measurements are from
 *       figures:                          # in percent; a bias below zero: modelled times are too short
 *         - {engine: vllm, model: llama-3.1-70b, weight_bits: 8, rows: 42, ttft: 4.5, ttft_bias: 0.5, tpot: 7.0,
 *            tpot_bias: -0.1}
 */
#ifndef KV_SIM_SERVED_FIGURES_H
#define KV_SIM_SERVED_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/yaml_tree.h"

struct kv_served_figure {
	char *engine;             /* what the names of its profiles begin with: vllm, sglang, trtllm */
	char *model;              /* a built-in model's name */
	uint64_t weight_bits;     /* of one weight of most layers */
	uint64_t rows;            /* measured loads */
	double ttft, tpot;        /* mean absolute error, percent */
	double ttft_bias, tpot_bias;
};

struct kv_served_figures {
	char *loads;
	struct kv_served_figure *figure;   /* its texts are its own */
	size_t count;
};

int kv_served_figures_read(const struct kv_node *node, struct kv_served_figures *out, struct kv_error *err);
void kv_served_figures_fini(struct kv_served_figures *figures);

#endif
