/* Step time as a line, t = a + b tokens + c context + d tokens^2 / sequences, with no negative coefficient: as good as
 * physics inside one configuration (card, ranks, model), worthless outside it. Fitted by weighted least squares (weight
 * 1/t^2: relative errors count); a coefficient that comes out negative is dropped, the most negative first.
 */
#ifndef KV_SIM_LATENCY_LINEAR_H
#define KV_SIM_LATENCY_LINEAR_H

#include <stddef.h>

#include "sim/base/error.h"
#include "sim/latency/latency.h"

enum { KV_LINEAR_FEATURES = 4, KV_LINEAR_ROWS_MIN = 16 };

/* 1, tokens, context, tokens^2 / sequences of a step. */
void kv_linear_features(const struct kv_step_work *work, double features[KV_LINEAR_FEATURES]);

struct kv_linear {
	double coefficient[KV_LINEAR_FEATURES];
	struct kv_latency_region region;  /* of the rows */
};

/* -1 with err filled: fewer than KV_LINEAR_ROWS_MIN rows, or rows that do not differ. */
int kv_linear_fit(const struct kv_timed_work *rows, size_t count, struct kv_linear *out, struct kv_error *err);

#endif
