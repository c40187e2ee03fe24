/* kvsim calibrate: fit the constants of the step-time model to measurements, score a profile against them, replay a
 * measured run. */
#ifndef KV_SIM_CLI_CALIBRATE_H
#define KV_SIM_CLI_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "results/output_file.h"
#include "sim/base/error.h"
#include "sim/deploy/engine_profile.h"
#include "sim/deploy/measured_set.h"
#include "sim/latency/measurement.h"
#include "sim/profiles/hardware.h"

int kv_cli_calibrate(int argc, char **argv);

#define KV_CALIBRATE_DEFAULT_ENGINE "vllm-2026-08"

enum { KV_CALIBRATE_CONDITIONS = 16 };

struct kv_calibrate_arguments {
	const char *data, *out, *start, *score, *against;
	uint64_t blocks;        /* of the measured run or log; 0 = its own file says */
	const char *model;      /* of a log, which does not say */
	uint64_t tp, mean_context;
	const char *hardware, *engine, *quantization, *kv_cache_dtype;
	const char *condition[KV_CALIBRATE_CONDITIONS];
	size_t conditions;
	uint64_t folds;
	const char *leave_out;  /* "gpu", "tp", "model": folds by its values; NULL = by shape */
	uint64_t draw;          /* fit to so many random rows, again and again; 0 = to all */
	uint64_t seed;
	double fail_above;      /* percent; INFINITY = never */
	bool kernel_times, json;
	bool list_refused;      /* a line for every row that is not used, not one a reason */
};

/* What the arguments name, loaded; measurements and set only where a file of measurements is given. */
struct kv_calibrate_inputs {
	struct kv_hardware *hardware;          /* NULL: each row's own card */
	struct kv_engine_profile *engine;
	struct kv_measurements *measurements;
	struct kv_measured_set set;
};

/* --data or --score: a file, or the table that it held. */
struct kv_calibrate_source {
	const char *path;
	const struct kv_csv_table *table;  /* NULL = not read yet, or no table */
};

/* On failure nothing is left to free. */
int kv_calibrate_load(const struct kv_calibrate_arguments *arguments, const struct kv_calibrate_source *source,
                      const char *hardware, struct kv_calibrate_inputs *inputs, struct kv_error *err);
void kv_calibrate_unload(struct kv_calibrate_inputs *inputs);

/* Tells on stderr which rows are not used, and why. */
void kv_calibrate_name_refused(const struct kv_calibrate_arguments *arguments,
                               const struct kv_measurements *measurements);

/* [{line, reason}, ...]: a new reference. */
json_t *kv_calibrate_refused_json(const struct kv_measurements *measurements);

/* One line each for what a card's profile leaves to defaults. */
void kv_calibrate_print_assumed(struct kv_output *out, const struct kv_hardware *hardware);

/* The table of constants with their standard errors. */
void kv_calibrate_print_constants(struct kv_output *out, const struct kv_latency_constants *start,
                                  const struct kv_fit *fit);

/* The modes: an exit status. */
int kv_calibrate_fit(const struct kv_calibrate_arguments *arguments);
int kv_calibrate_fit_run(const struct kv_calibrate_arguments *arguments);
int kv_calibrate_score(const struct kv_calibrate_arguments *arguments);
int kv_calibrate_against(const struct kv_calibrate_arguments *arguments);

#endif
