#include "config.h"

#include "sim/latency/latency_linear.h"

#include <string.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit.h>

void kv_linear_features(const struct kv_step_work *work, double features[KV_LINEAR_FEATURES])
{
	double tokens = (double)(work->prefill_tokens + work->decode_seqs);
	double sequences = (double)(work->prefill_seqs + work->decode_seqs);

	features[0] = 1.0;
	features[1] = tokens;
	features[2] = (double)(work->prefill_past + work->decode_context);
	features[3] = sequences > 0.0 ? tokens * tokens / sequences : 0.0;
}

static int solve(const struct kv_timed_work *rows, size_t count, const size_t *used, size_t columns, double *solution)
{
	gsl_matrix *X = gsl_matrix_alloc(count, columns), *covariance = gsl_matrix_alloc(columns, columns);
	gsl_vector *y = gsl_vector_alloc(count), *w = gsl_vector_alloc(count), *c = gsl_vector_alloc(columns);
	gsl_multifit_linear_workspace *workspace = gsl_multifit_linear_alloc(count, columns);
	double chi_squared;
	int status;

	for (size_t i = 0; i < count; i++) {
		double features[KV_LINEAR_FEATURES];

		kv_linear_features(&rows[i].work, features);
		for (size_t k = 0; k < columns; k++)
			gsl_matrix_set(X, i, k, features[used[k]]);
		gsl_vector_set(y, i, rows[i].seconds);
		gsl_vector_set(w, i, 1.0 / (rows[i].seconds * rows[i].seconds));
	}
	status = gsl_multifit_wlinear(X, w, y, c, covariance, &chi_squared, workspace);
	for (size_t k = 0; k < columns; k++)
		solution[k] = gsl_vector_get(c, k);
	gsl_multifit_linear_free(workspace);
	gsl_vector_free(c);
	gsl_vector_free(w);
	gsl_vector_free(y);
	gsl_matrix_free(covariance);
	gsl_matrix_free(X);
	return status;
}

static size_t most_negative(const double *solution, size_t columns)
{
	size_t worst = columns;

	for (size_t k = 0; k < columns; k++)
		if (solution[k] < 0.0 && (worst == columns || solution[k] < solution[worst]))
			worst = k;
	return worst;
}

static void find_region(const struct kv_timed_work *rows, size_t count, struct kv_latency_region *region)
{
	*region = (struct kv_latency_region){0};
	for (size_t i = 0; i < count; i++)
		kv_latency_region_extend(region, &rows[i].work);
}

int kv_linear_fit(const struct kv_timed_work *rows, size_t count, struct kv_linear *out, struct kv_error *err)
{
	size_t used[KV_LINEAR_FEATURES] = {0, 1, 2, 3}, columns = KV_LINEAR_FEATURES, worst;
	double solution[KV_LINEAR_FEATURES];

	if (count < KV_LINEAR_ROWS_MIN)
		return kv_fail(err, KV_EXIT_DATA,
		               "%zu rows for this card, model and number of ranks; a line needs at least %d", count,
		               KV_LINEAR_ROWS_MIN);
	for (;;) {
		int status = solve(rows, count, used, columns, solution);

		if (status)
			return kv_fail(err, KV_EXIT_DATA, "no line fits the rows: %s", gsl_strerror(status));
		worst = most_negative(solution, columns);
		if (worst == columns)
			break;
		if (columns == 1)
			return kv_fail(err, KV_EXIT_DATA, "no line with positive coefficients fits the rows");
		columns--;
		memmove(&used[worst], &used[worst + 1], (columns - worst) * sizeof *used);
	}
	memset(out->coefficient, 0, sizeof out->coefficient);
	for (size_t k = 0; k < columns; k++)
		out->coefficient[used[k]] = solution[k];
	find_region(rows, count, &out->region);
	return 0;
}
