#include "config.h"

#include "sim/cli/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include "results/output_file.h"
#include "sim/cli/command.h"
#include "sim/memory.h"

#define ALL_PHASES KV_PHASES
#define ALL_CONFIGURATIONS SIZE_MAX

/* Of the usable rows of a phase and a configuration. */
static struct kv_score score_rows(const struct kv_measured_set *set, enum kv_phase phase, size_t configuration)
{
	double *errors = kv_calloc(set->count, sizeof *errors);
	struct kv_score score;
	size_t n = 0;

	for (size_t i = 0; i < set->count; i++) {
		const struct kv_measurement *row = &set->measurements->row[set->row[i]];

		if ((phase == ALL_PHASES || row->phase == phase) &&
		    (configuration == ALL_CONFIGURATIONS || row->configuration == configuration))
			errors[n++] = kv_measured_set_predict(set, i) / row->seconds - 1.0;
	}
	score = kv_score_errors(errors, n);
	free(errors);
	return score;
}

static double percent(double share)
{
	return round(share * 1e6) / 1e4;
}

static void add_score(json_t *object, const struct kv_score *score)
{
	json_object_set_new(object, "rows", json_integer((json_int_t)score->rows));
	json_object_set_new(object, "mape", json_real(percent(score->mean)));
	json_object_set_new(object, "median_ape", json_real(percent(score->median)));
	json_object_set_new(object, "p90_ape", json_real(percent(score->p90)));
	json_object_set_new(object, "bias", json_real(percent(score->bias)));
}

static json_t *phases_json(const struct kv_measured_set *set)
{
	json_t *phases = json_array();

	for (enum kv_phase p = 0; p < KV_PHASES; p++) {
		struct kv_score score = score_rows(set, p, ALL_CONFIGURATIONS);
		json_t *object;

		if (score.rows == 0)
			continue;
		object = json_pack("{ss}", "phase", kv_phase_name(p));
		add_score(object, &score);
		json_array_append_new(phases, object);
	}
	return phases;
}

static json_t *configurations_json(const struct kv_measured_set *set)
{
	json_t *by = json_array();

	for (size_t c = 0; c < set->measurements->configurations; c++)
		for (enum kv_phase p = 0; p < KV_PHASES; p++) {
			const struct kv_configuration *at = &set->measurements->configuration[c];
			struct kv_score score = score_rows(set, p, c);
			json_t *object;

			if (score.rows == 0)
				continue;
			object = json_pack("{ss si ss ss}", "gpu", at->gpu, "tp", (int)at->tp, "model", at->model, "phase",
			                   kv_phase_name(p));
			add_score(object, &score);
			json_array_append_new(by, object);
		}
	return by;
}

json_t *kv_calibrate_refused_json(const struct kv_measurements *m)
{
	json_t *refused = json_array();

	for (size_t i = 0; i < m->rows; i++)
		if (m->row[i].problem)
			json_array_append_new(refused, json_pack("{sI ss}", "line", (json_int_t)m->row[i].line, "reason",
			                                         m->row[i].problem));
	return refused;
}

static void print_json(struct kv_output *out, const struct kv_calibrate_inputs *in)
{
	json_t *document = json_pack("{sI ss ss so so so}", "rows", (json_int_t)in->set.count, "hardware",
	                             in->hardware ? in->hardware->name : "each row's own", "engine", in->engine->name,
	                             "phases", phases_json(&in->set), "by", configurations_json(&in->set), "refused",
	                             kv_calibrate_refused_json(in->measurements));
	char *text = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(10));

	kv_output_printf(out, "%s\n", text);
	free(text);
	json_decref(document);
}

static void print_line(struct kv_output *out, const char *what, const struct kv_score *s)
{
	if (s->rows > 0)
		kv_output_printf(out, "%-44s %6zu %8.2f %8.2f %8.2f %+8.2f\n", what, s->rows, 100 * s->mean, 100 * s->median,
		                 100 * s->p90, 100 * s->bias);
}

static void print_text(struct kv_output *out, const struct kv_calibrate_inputs *in)
{
	char what[256];

	kv_output_printf(out, "constants: %s; overheads: %s\n", in->hardware ? in->hardware->name : "each row's own card",
	                 in->hardware && in->hardware->has_overheads ? in->hardware->name : in->engine->name);
	kv_output_printf(out, "%-44s %6s %8s %8s %8s %8s\n", "absolute error in %", "rows", "mean", "median", "p90", "bias");
	for (enum kv_phase p = 0; p < KV_PHASES; p++) {
		struct kv_score score = score_rows(&in->set, p, ALL_CONFIGURATIONS);

		print_line(out, kv_phase_name(p), &score);
	}
	for (size_t c = 0; c < in->measurements->configurations; c++)
		for (enum kv_phase p = 0; p < KV_PHASES; p++) {
			const struct kv_configuration *at = &in->measurements->configuration[c];
			struct kv_score score = score_rows(&in->set, p, c);

			snprintf(what, sizeof what, "%u x %s, %s, %s", at->tp, at->gpu, at->model, kv_phase_name(p));
			print_line(out, what, &score);
		}
}

static bool fails(const struct kv_measured_set *set, double percent_allowed)
{
	for (enum kv_phase p = 0; p < KV_PHASES; p++)
		if (100 * score_rows(set, p, ALL_CONFIGURATIONS).mean > percent_allowed)
			return true;
	return false;
}

static int print(const struct kv_calibrate_inputs *in, bool as_json, struct kv_error *err)
{
	struct kv_output *out = kv_output_to_descriptor(STDOUT_FILENO, "standard output");
	int failed;

	if (as_json)
		print_json(out, in);
	else
		print_text(out, in);
	failed = kv_output_close(out, err);
	kv_output_free(out);
	return failed;
}

int kv_calibrate_score(const struct kv_calibrate_arguments *arguments)
{
	struct kv_calibrate_inputs in;
	struct kv_error err;
	int status = KV_EXIT_OK;

	if (kv_calibrate_load(arguments, arguments->score, arguments->hardware, &in, &err))
		return kv_cli_fail(&err);
	kv_calibrate_name_refused(in.measurements);
	if (in.set.count == 0) {
		kv_fail(&err, KV_EXIT_DATA, "%s: no row can be used", arguments->score);
		status = kv_cli_fail(&err);
	} else if (print(&in, arguments->json, &err)) {
		status = kv_cli_fail(&err);
	} else if (fails(&in.set, arguments->fail_above)) {
		status = KV_EXIT_CHECK;
	}
	kv_calibrate_unload(&in);
	return status;
}
