#include "config.h"

#include "sim/cli/score_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/output_file.h"
#include "sim/base/memory.h"
#include "sim/latency/calibration.h"

#define ALL_CONFIGURATIONS SIZE_MAX

enum { PHASES_MAX = 8 };

void kv_score_report_add(struct kv_score_report *r, const char *phase, size_t configuration, double error)
{
	r->scored = kv_grow(r->scored, &r->capacity, r->count + 1, sizeof *r->scored);
	r->scored[r->count++] = (struct kv_scored){.phase = phase, .configuration = configuration, .error = error};
}

void kv_score_report_fini(struct kv_score_report *r)
{
	free(r->scored);
	json_decref(r->refused);
}

static size_t list_phases(const struct kv_score_report *r, const char *phases[PHASES_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++) {
		bool known = false;

		for (size_t p = 0; p < count; p++)
			known |= strcmp(phases[p], r->scored[i].phase) == 0;
		if (!known && count < PHASES_MAX)
			phases[count++] = r->scored[i].phase;
	}
	return count;
}

static struct kv_score score(const struct kv_score_report *r, const char *phase, size_t configuration)
{
	double *errors = kv_calloc(r->count, sizeof *errors);
	struct kv_score result;
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(r->scored[i].phase, phase) &&
		    (configuration == ALL_CONFIGURATIONS || r->scored[i].configuration == configuration))
			errors[n++] = r->scored[i].error;
	result = kv_score_errors(errors, n);
	free(errors);
	return result;
}

static double percent(double share)
{
	return round(share * 1e6) / 1e4;
}

static json_t *with_score(json_t *object, const struct kv_score *s)
{
	json_object_set_new(object, "rows", json_integer((json_int_t)s->rows));
	json_object_set_new(object, "mape", json_real(percent(s->mean)));
	json_object_set_new(object, "median_ape", json_real(percent(s->median)));
	json_object_set_new(object, "p90_ape", json_real(percent(s->p90)));
	json_object_set_new(object, "bias", json_real(percent(s->bias)));
	return object;
}

static void print_json(struct kv_output *out, const struct kv_score_report *r)
{
	json_t *all = json_array(), *by = json_array(), *document;
	const char *phases[PHASES_MAX];
	size_t count = list_phases(r, phases);
	char *text;

	for (size_t p = 0; p < count; p++) {
		struct kv_score s = score(r, phases[p], ALL_CONFIGURATIONS);

		json_array_append_new(all, with_score(json_pack("{ss}", "phase", phases[p]), &s));
	}
	for (size_t c = 0; c < r->configurations; c++)
		for (size_t p = 0; p < count; p++) {
			const struct kv_configuration *at = &r->configuration[c];
			struct kv_score s = score(r, phases[p], c);

			if (s.rows > 0)
				json_array_append_new(by, with_score(json_pack("{ss si ss ss}", "gpu", at->gpu, "tp",
				                                               (int)at->tp, "model", at->model, "phase",
				                                               phases[p]),
				                                     &s));
		}
	document = json_pack("{sI ss ss so so sO}", "rows", (json_int_t)r->rows, "constants", r->constants, "engine",
	                     r->engine, "phases", all, "by", by, "refused", r->refused);
	text = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
	kv_output_printf(out, "%s\n", text);
	free(text);
	json_decref(document);
}

static void print_line(struct kv_output *out, const char *what, const struct kv_score *s)
{
	if (s->rows > 0)
		kv_output_printf(out, "%-48s %6zu %8.2f %8.2f %8.2f %+8.2f\n", what, s->rows, 100 * s->mean,
		                 100 * s->median, 100 * s->p90, 100 * s->bias);
}

static void print_text(struct kv_output *out, const struct kv_score_report *r)
{
	const char *phases[PHASES_MAX];
	size_t count = list_phases(r, phases);
	char what[256];

	kv_output_printf(out, "constants: %s; engine: %s\n", r->constants, r->engine);
	kv_output_printf(out, "%-48s %6s %8s %8s %8s %8s\n", "absolute error in %", "rows", "mean", "median", "p90",
	                 "bias");
	for (size_t p = 0; p < count; p++) {
		struct kv_score s = score(r, phases[p], ALL_CONFIGURATIONS);

		print_line(out, phases[p], &s);
	}
	for (size_t c = 0; c < r->configurations; c++)
		for (size_t p = 0; p < count; p++) {
			const struct kv_configuration *at = &r->configuration[c];
			struct kv_score s = score(r, phases[p], c);

			snprintf(what, sizeof what, "%u x %s, %s, %s", at->tp, at->gpu, at->model, phases[p]);
			print_line(out, what, &s);
		}
}

int kv_score_report_print(const struct kv_score_report *report, bool as_json, struct kv_error *err)
{
	struct kv_output *out = kv_output_to_descriptor(STDOUT_FILENO, "standard output");
	int failed;

	if (as_json)
		print_json(out, report);
	else
		print_text(out, report);
	failed = kv_output_close(out, err);
	kv_output_free(out);
	return failed;
}

bool kv_score_report_exceeds(const struct kv_score_report *r, double allowed)
{
	const char *phases[PHASES_MAX];
	size_t count = list_phases(r, phases);

	for (size_t p = 0; p < count; p++)
		if (100 * score(r, phases[p], ALL_CONFIGURATIONS).mean > allowed)
			return true;
	return false;
}
