/* Measurements joined with the models, cards and engine that they speak about, ready to fit or to score. */
#ifndef KV_SIM_MEASURED_SET_H
#define KV_SIM_MEASURED_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/error.h"
#include "sim/deploy/engine_profile.h"
#include "sim/latency/calibration.h"
#include "sim/latency/latency.h"
#include "sim/latency/measurement.h"
#include "sim/model/model.h"
#include "sim/profiles/hardware.h"

struct kv_measured_options {
	/* Its constants count for all rows, its rates for rows of its own name and of unknown cards; rows of other
	 * cards keep the rates of their data sheets. NULL: every row has its own card's rates and constants. */
	const struct kv_hardware *hardware;
	const struct kv_engine_profile *engine;
	const char *quantization;  /* of all models; NULL = as in their configs */
	bool kernel_times;         /* the rows are sums of kernel times: without all-reduces */
	enum kv_dtype kv_dtype;
};

/* How many configurations, of what: for reports and for the validated region. */
struct kv_measured_set {
	const struct kv_measurements *measurements;  /* the caller's */
	struct kv_latency_setup *setup;              /* one a configuration */
	struct kv_observation *observation;          /* one a row; only usable ones are filled */
	const struct kv_observation **usable;        /* of rows without a problem */
	size_t *row;                                 /* the row of each usable one */
	size_t count;                                /* of usable ones */
};

/* -1 with err filled: unknown models or cards, rates that are not known. */
int kv_measured_set_build(struct kv_measured_set *set, const struct kv_measurements *measurements,
                          const struct kv_measured_options *options, struct kv_error *err);
void kv_measured_set_free(struct kv_measured_set *set);

/* Refuses rows that neither a fit nor a score should see: faster than the data sheet allows, or a hundred times from
 * the prediction, which only a wrong unit explains. Rebuilds `usable` and balances it. */
void kv_measured_set_screen(struct kv_measured_set *set, struct kv_measurements *measurements);

/* Gives every phase the same weight in total, not counting usable rows that are left out (NULL = none). */
void kv_measured_set_balance(struct kv_measured_set *set, const bool *left_out);

/* Predictions of usable rows by their own configuration's constants. */
double kv_measured_set_predict(const struct kv_measured_set *set, size_t usable);

#endif
