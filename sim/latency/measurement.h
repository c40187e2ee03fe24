/* Measured times of steps or of whole static batches, read from CSV.
 *
 * Steps: gpu, tp, model, p_tok, p_seq, p_ctx, d_seq, d_ctx, time_ms (prefill: new tokens, sequences, KV tokens already
 * there; decode: sequences, KV tokens read; totals over the batch). Instead of the five: phase (prefill or decode),
 * batch, tokens, context. Static batches: phase e2e_static, batch, tokens (input = output length of each), time_ms.
 * Matrix products of one layer: phase layer_linear, tokens, time_ms; batch empty.
 * Other columns are ignored, except kv_overflow: rows where it is 1 do not measure steps.
 *
 * Rows that cannot be used stay in the list and say why; nothing is dropped without a name.
 */
#ifndef KV_SIM_MEASUREMENT_H
#define KV_SIM_MEASUREMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/csv_table.h"
#include "sim/base/error.h"
#include "sim/latency/calibration.h"

enum kv_phase { KV_PHASE_PREFILL, KV_PHASE_DECODE, KV_PHASE_MIXED, KV_PHASE_STATIC, KV_PHASE_LAYER, KV_PHASES };

const char *kv_phase_name(enum kv_phase phase);

struct kv_measurement {
	size_t line;
	size_t configuration;
	size_t shape;          /* equal for equal numbers of tokens, sequences
	                          and contexts, whatever the configuration */
	enum kv_phase phase;
	/* Static: p_seq sequences of p_tok / p_seq tokens in and out each. A layer: p_tok alone. */
	uint64_t p_tok, p_seq, p_ctx, d_seq, d_ctx;
	double seconds;
	char *problem;         /* why it cannot be used; NULL = it can */
};

struct kv_configuration {
	char *gpu, *model;
	uint32_t tp;
};

struct kv_measurements {
	char *path;
	struct kv_measurement *row;
	size_t rows;
	struct kv_configuration *configuration;
	size_t configurations;
	size_t shapes;
	size_t row_capacity, configuration_capacity;
};

/* NULL with err filled: the file or its columns cannot be used, no row passes the filter. */
struct kv_measurements *kv_measurements_read(const char *path, const struct kv_row_filter *filter,
                                             struct kv_error *err);
/* The same of a table that was read already; it stays the caller's. */
struct kv_measurements *kv_measurements_of_table(const struct kv_csv_table *table, const struct kv_row_filter *filter,
                                                 struct kv_error *err);
/* The same from another source than CSV: an empty list, to which rows are added. The row's configuration and shape are
 * found by the list, which also refuses what cannot be and what stands there already. */
struct kv_measurements *kv_measurements_create(const char *path);
void kv_measurements_add(struct kv_measurements *measurements, const struct kv_configuration *configuration,
                         const struct kv_measurement *row);
void kv_measurements_free(struct kv_measurements *measurements);

/* Marks a row as unusable; the first reason stays. */
void kv_measurement_refuse(struct kv_measurement *row, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Does the row tell the time of one step? Static batches are many, a layer is a part of one. */
bool kv_measurement_is_step(const struct kv_measurement *row);

/* A step row's work for a model with the window (tokens; 0 = none). Sequences are taken as equal. */
struct kv_step_work kv_measurement_work(const struct kv_measurement *row, uint64_t window);

/* The row in terms of a roofline whose model has the window (tokens; 0 = none). Sequences are taken as equal. */
void kv_measurement_observe(const struct kv_measurement *row, const struct kv_roofline *roofline, uint64_t window,
                            struct kv_observation *out);

#endif
