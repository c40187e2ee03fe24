#include "config.h"

#include "sim/cli/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <jansson.h>

#include "results/output_file.h"
#include "sim/base/memory.h"
#include "sim/base/random.h"
#include "sim/cli/calibrate_profile.h"
#include "sim/cli/command.h"

/* Kernel times know nothing of the host: what remains of a step's and a sequence's overhead is the device's. */
#define KERNEL_TIMES_C0 50e-6
#define KERNEL_TIMES_CS 1e-6

enum { WORST_ROWS = 10, DRAWS = 12 };

struct fitting {
	const struct kv_calibrate_arguments *arguments;
	struct kv_calibrate_inputs in;
	struct kv_hardware *card;             /* that the profile is written for */
	struct kv_latency_constants start;
	struct kv_fit fit;
	double *held_out;                     /* predictions of rows by fits that had not seen them; NULL = no folds */
};

/* --- the start ---------------------------------------------------------------------------------------------------- */

static const char *only_card(const struct kv_measurements *m)
{
	for (size_t i = 1; i < m->configurations; i++)
		if (strcmp(m->configuration[i].gpu, m->configuration[0].gpu))
			return NULL;
	return m->configuration[0].gpu;
}

/* Constants that belong to no card in particular: rows of several cards share them, each with its own data sheet. */
static struct kv_hardware *no_card(struct kv_error *err)
{
	return kv_hardware_parse("name: pooled\n", "pooled", err);
}

static struct kv_hardware *choose_card(const struct kv_calibrate_arguments *a, const struct kv_measurements *m,
                                       struct kv_error *err)
{
	const char *gpu = a->hardware ? a->hardware : only_card(m);

	return gpu ? kv_hardware_load(gpu, err) : no_card(err);
}

static void choose_start(struct fitting *f)
{
	size_t configuration = f->in.measurements->row[f->in.set.row[0]].configuration;

	f->start = f->in.set.setup[configuration].constants;
	if (!f->in.hardware && !only_card(f->in.measurements))
		f->start.ec = f->card->efficiency.ec;
	if (f->arguments->kernel_times) {
		f->start.c0 = KERNEL_TIMES_C0;
		f->start.cs = KERNEL_TIMES_CS;
	}
}

/* --- fitting ------------------------------------------------------------------------------------------------------ */

/* In a fit that is reported, an outlier is a row with a problem: it gets its name printed. */
static void refuse_outliers(struct fitting *f, const bool *set_aside)
{
	const struct kv_measured_set *set = &f->in.set;

	for (size_t i = 0; i < set->count; i++) {
		double ratio = set->usable[i]->seconds / kv_observation_predict(set->usable[i], &f->fit.constants);

		if (set_aside[i])
			kv_measurement_refuse(&f->in.measurements->row[set->row[i]],
			                      "outlier: %.3g ms is %.2f times what the other rows say (its error is "
			                      "counted all the same)",
			                      set->usable[i]->seconds * 1e3, ratio);
	}
}

/* By shape, or by the value of a column: rows of one value are held out together. */
static size_t fold_of(const struct fitting *f, size_t usable)
{
	const struct kv_measurements *m = f->in.measurements;
	const struct kv_measurement *row = &m->row[f->in.set.row[usable]];
	const char *by = f->arguments->leave_out;

	if (!by)
		return row->shape % f->arguments->folds;
	for (size_t c = 0; c < row->configuration; c++) {
		const struct kv_configuration *a = &m->configuration[c], *b = &m->configuration[row->configuration];

		if (!strcmp(by, "tp")    ? a->tp == b->tp
		    : !strcmp(by, "gpu") ? !strcmp(a->gpu, b->gpu)
		                         : !strcmp(a->model, b->model))
			return c;
	}
	return row->configuration;
}

static int cross_validate(struct fitting *f, struct kv_error *err)
{
	const struct kv_measured_set *set = &f->in.set;
	size_t *fold = kv_calloc(set->count, sizeof *fold);
	size_t folds = f->arguments->leave_out ? f->in.measurements->configurations : f->arguments->folds;
	int status;

	for (size_t i = 0; i < set->count; i++)
		fold[i] = fold_of(f, i);
	f->held_out = kv_calloc(set->count, sizeof *f->held_out);
	status = kv_cross_validate(set->usable, set->count, fold, folds, &f->start, f->held_out, err);
	free(fold);
	return status;
}

/* The final constants: as if the rows that were set aside had never been there. */
static int fit_the_rest(struct fitting *f, const bool *set_aside, struct kv_error *err)
{
	struct kv_measured_set *set = &f->in.set;
	const struct kv_observation **kept = kv_calloc(set->count, sizeof *kept);
	size_t count = 0;
	int status = 0;

	for (size_t i = 0; i < set->count; i++)
		if (!set_aside[i])
			kept[count++] = set->usable[i];
	if (count < set->count) {
		kv_measured_set_balance(set, set_aside);
		status = kv_calibrate(kept, count, &f->start, &f->fit, NULL, err);
	}
	free(kept);
	return status;
}

static int run_fit(struct fitting *f, struct kv_error *err)
{
	const struct kv_measured_set *set = &f->in.set;
	bool *set_aside = kv_calloc(set->count, sizeof *set_aside);
	int status = kv_calibrate(set->usable, set->count, &f->start, &f->fit, set_aside, err);

	if (status == 0 && f->arguments->folds > 0)
		status = cross_validate(f, err);
	if (status == 0)
		status = fit_the_rest(f, set_aside, err);
	if (status == 0)
		refuse_outliers(f, set_aside);
	free(set_aside);
	return status;
}

/* --- results ------------------------------------------------------------------------------------------------------ */

static double error_of(const struct fitting *f, size_t usable, bool held_out)
{
	const struct kv_observation *o = f->in.set.usable[usable];
	double predicted = held_out ? f->held_out[usable] : kv_observation_predict(o, &f->fit.constants);

	return predicted / o->seconds - 1.0;
}

/* phase KV_PHASES: all of them. */
static struct kv_score score_phase(const struct fitting *f, enum kv_phase phase, bool held_out)
{
	double *errors = kv_calloc(f->in.set.count, sizeof *errors);
	struct kv_score score;
	size_t n = 0;

	for (size_t i = 0; i < f->in.set.count; i++)
		if (phase == KV_PHASES || f->in.measurements->row[f->in.set.row[i]].phase == phase)
			errors[n++] = error_of(f, i, held_out);
	score = kv_score_errors(errors, n);
	free(errors);
	return score;
}

static void find_worst(const struct fitting *f, size_t worst[WORST_ROWS], size_t *count)
{
	*count = 0;
	for (size_t i = 0; i < f->in.set.count; i++) {
		double size = fabs(error_of(f, i, false));
		size_t at = *count < WORST_ROWS ? (*count)++ : WORST_ROWS;

		for (; at > 0 && fabs(error_of(f, worst[at - 1], false)) < size; at--)
			if (at < WORST_ROWS)
				worst[at] = worst[at - 1];
		if (at < WORST_ROWS)
			worst[at] = i;
	}
}

static char *describe_row(const struct fitting *f, size_t usable)
{
	const struct kv_measurement *row = &f->in.measurements->row[f->in.set.row[usable]];
	const struct kv_configuration *at = &f->in.measurements->configuration[row->configuration];
	char text[256];

	int used = snprintf(text, sizeof text, "line %zu: %u x %s, %s, %s: %llu new tokens", row->line, at->tp, at->gpu,
	                    at->model, kv_phase_name(row->phase), (unsigned long long)row->p_tok);

	if (row->phase != KV_PHASE_LAYER && (size_t)used < sizeof text)
		snprintf(text + used, sizeof text - (size_t)used, " of %llu, %llu past; %llu decodes on %llu",
		         (unsigned long long)row->p_seq, (unsigned long long)row->p_ctx, (unsigned long long)row->d_seq,
		         (unsigned long long)row->d_ctx);
	return kv_strdup(text);
}

static const char *remark(const struct kv_fit *fit, enum kv_constant k)
{
	return fit->at_bound[k]    ? "  at its bound: your data ask for more"
	       : !fit->informed[k] ? "  not informed by your data"
	                           : "";
}

void kv_calibrate_print_constants(struct kv_output *out, const struct kv_latency_constants *start,
                                  const struct kv_fit *fit)
{
	kv_output_printf(out, "%-8s %10s %-3s %8s %10s\n", "constant", "value", "", "+- %", "start");
	for (enum kv_constant k = 0; k < KV_CONSTANTS; k++) {
		double scale = kv_constant_per_second(k);

		kv_output_printf(out, "%-8s %10.4g %-3s %8.1f %10.4g%s\n", kv_constant_name(k),
		                 kv_constant_get(&fit->constants, k) * scale, kv_constant_unit(k), 100 * fit->log_sd[k],
		                 kv_constant_get(start, k) * scale, remark(fit, k));
	}
	if (!fit->converged)
		kv_output_text(out, "The fit did not settle: treat the constants as a guess.\n");
}

static void print_scores(struct kv_output *out, const struct fitting *f, bool held_out)
{
	char title[64] = "absolute error of the fit, %";

	if (held_out && f->arguments->leave_out)
		snprintf(title, sizeof title, "unseen rows, one %s left out, %%", f->arguments->leave_out);
	else if (held_out)
		snprintf(title, sizeof title, "unseen rows, %u folds by shape, %%", (unsigned)f->arguments->folds);
	kv_output_printf(out, "\n%-36s %6s %8s %8s %8s %8s\n", title, "rows", "mean", "median", "p90", "bias");
	for (enum kv_phase p = 0; p <= KV_PHASES; p++) {
		struct kv_score s = score_phase(f, p, held_out);

		if (s.rows > 0)
			kv_output_printf(out, "%-36s %6zu %8.2f %8.2f %8.2f %+8.2f\n",
			                 p < KV_PHASES ? kv_phase_name(p) : "all", s.rows, 100 * s.mean, 100 * s.median,
			                 100 * s.p90, 100 * s.bias);
	}
}

static void print_worst(struct kv_output *out, const struct fitting *f)
{
	size_t worst[WORST_ROWS], count;

	find_worst(f, worst, &count);
	kv_output_text(out, "\nworst rows:\n");
	for (size_t i = 0; i < count; i++) {
		char *row = describe_row(f, worst[i]);

		kv_output_printf(out, "%+7.1f %%  %s\n", 100 * error_of(f, worst[i], false), row);
		free(row);
	}
}

static json_t *scores_json(const struct fitting *f, bool held_out)
{
	json_t *phases = json_array();

	for (enum kv_phase p = 0; p < KV_PHASES; p++) {
		struct kv_score s = score_phase(f, p, held_out);

		if (s.rows > 0)
			json_array_append_new(phases,
			                      json_pack("{ss sI sf sf sf sf}", "phase", kv_phase_name(p), "rows",
			                                (json_int_t)s.rows, "mape", 100 * s.mean, "median_ape",
			                                100 * s.median, "p90_ape", 100 * s.p90, "bias", 100 * s.bias));
	}
	return phases;
}

static json_t *constants_json(const struct fitting *f)
{
	json_t *array = json_array();

	for (enum kv_constant k = 0; k < KV_CONSTANTS; k++) {
		double scale = kv_constant_per_second(k);

		json_array_append_new(array,
		                      json_pack("{ss sf ss sf sf sb sb}", "name", kv_constant_name(k), "value",
		                                kv_constant_get(&f->fit.constants, k) * scale, "unit",
		                                kv_constant_unit(k), "standard_error_percent", 100 * f->fit.log_sd[k],
		                                "start", kv_constant_get(&f->start, k) * scale, "informed",
		                                (int)f->fit.informed[k], "at_bound", (int)f->fit.at_bound[k]));
	}
	return array;
}

static json_t *worst_json(const struct fitting *f)
{
	size_t worst[WORST_ROWS], count;
	json_t *rows = json_array();

	find_worst(f, worst, &count);
	for (size_t i = 0; i < count; i++) {
		char *text = describe_row(f, worst[i]);

		json_array_append_new(rows, json_pack("{sI ss sf}", "line",
		                                      (json_int_t)f->in.measurements->row[f->in.set.row[worst[i]]].line,
		                                      "row", text, "error", 100 * error_of(f, worst[i], false)));
		free(text);
	}
	return rows;
}

static void print_json(struct kv_output *out, const struct fitting *f)
{
	json_t *document = json_pack("{sI so so so so}", "rows", (json_int_t)f->in.set.count, "constants",
	                             constants_json(f), "fit", scores_json(f, false), "worst", worst_json(f), "refused",
	                             kv_calibrate_refused_json(f->in.measurements));
	char *text;

	if (f->held_out)
		json_object_set_new(document, "cross_validation", scores_json(f, true));
	text = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	kv_output_printf(out, "%s\n", text);
	free(text);
	json_decref(document);
}

static int print(const struct fitting *f, struct kv_error *err)
{
	struct kv_output *out = kv_output_to_descriptor(STDOUT_FILENO, "standard output");
	int failed;

	if (f->arguments->json) {
		print_json(out, f);
	} else {
		if (f->card->memory_bandwidth > 0)
			kv_calibrate_print_assumed(out, f->card);
		kv_calibrate_print_constants(out, &f->start, &f->fit);
		print_scores(out, f, false);
		if (f->held_out)
			print_scores(out, f, true);
		print_worst(out, f);
	}
	failed = kv_output_close(out, err);
	kv_output_free(out);
	return failed;
}

/* --- a few rows at a time ----------------------------------------------------------------------------------------- */

/* Mean absolute error on the rows that a draw left out. */
static int draw_once(const struct fitting *f, uint64_t seed, double *mean, struct kv_error *err)
{
	const struct kv_measured_set *set = &f->in.set;
	gsl_rng *rng = kv_random_create(seed, 0, "calibration draw");
	size_t *order = kv_calloc(set->count, sizeof *order), drawn = f->arguments->draw, left = set->count - drawn;
	const struct kv_observation **seen = kv_calloc(drawn, sizeof *seen);
	double *errors = kv_calloc(left, sizeof *errors);
	struct kv_fit fit;
	int status;

	for (size_t i = 0; i < set->count; i++)
		order[i] = i;
	gsl_ran_shuffle(rng, order, set->count, sizeof *order);
	for (size_t i = 0; i < drawn; i++)
		seen[i] = set->usable[order[i]];
	status = kv_calibrate(seen, drawn, &f->start, &fit, NULL, err);
	for (size_t i = 0; i < left && status == 0; i++) {
		const struct kv_observation *o = set->usable[order[drawn + i]];

		errors[i] = kv_observation_predict(o, &fit.constants) / o->seconds - 1.0;
	}
	*mean = status == 0 ? kv_score_errors(errors, left).mean : NAN;
	free(errors);
	free(seen);
	free(order);
	gsl_rng_free(rng);
	return status;
}

static int draw_and_tell(const struct fitting *f, struct kv_error *err)
{
	struct kv_output *out = kv_output_to_descriptor(STDOUT_FILENO, "standard output");
	double sum = 0, mean;
	int status = 0;

	if (f->arguments->draw >= f->in.set.count)
		status = kv_fail(err, KV_EXIT_USAGE, "--draw: %zu rows can be used; allowed: less than that",
		                 f->in.set.count);
	for (uint64_t i = 0; i < DRAWS && status == 0; i++) {
		status = draw_once(f, f->arguments->seed + i, &mean, err);
		sum += mean;
		kv_output_printf(out, "seed %llu: %llu rows, mean absolute error on the rest %.2f %%\n",
		                 (unsigned long long)(f->arguments->seed + i), (unsigned long long)f->arguments->draw,
		                 100 * mean);
	}
	if (status == 0)
		kv_output_printf(out, "mean of %d draws: %.2f %%\n", DRAWS, 100 * sum / DRAWS);
	if (kv_output_close(out, err))
		status = -1;
	kv_output_free(out);
	return status;
}

/* --- the profile -------------------------------------------------------------------------------------------------- */

static void describe_error(const struct fitting *f, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (enum kv_phase p = 0; p < KV_PHASES; p++) {
		struct kv_score s = score_phase(f, p, f->held_out != NULL);

		if (s.rows > 0 && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s %.1f %% of %zu rows", used ? ", " : "",
			                         kv_phase_name(p), 100 * s.mean, s.rows);
	}
	if (used < size)
		snprintf(text + used, size - used, " (mean absolute error, %s)",
		         f->held_out ? "cross-validated" : "in sample");
}

static int write_profile(struct fitting *f, struct kv_error *err)
{
	const struct kv_latency_setup *any = &f->in.set.setup[f->in.measurements->row[f->in.set.row[0]].configuration];
	const char *file = strrchr(f->arguments->data, '/');
	struct kv_calibrated_profile profile = {
		.card = f->card,
		.constants = f->fit.constants,
		.narrow_products = any->rates.compute_flops > any->rates.attention_flops,
		.engine = f->in.engine,
	};
	char error[512];

	if (f->arguments->kernel_times)
		profile.constants.c0 += f->in.engine->overheads.c0;
	kv_calibrated_region(&f->in.set, &profile.region);
	describe_error(f, error, sizeof error);
	profile.error = error;
	profile.data = file ? file + 1 : f->arguments->data;
	return kv_calibrated_profile_write(&profile, f->arguments->out, err);
}

static int fit_and_tell(struct fitting *f, struct kv_error *err)
{
	kv_measured_set_screen(&f->in.set, f->in.measurements);
	if (f->in.set.count == 0) {
		kv_calibrate_name_refused(f->arguments, f->in.measurements);
		return kv_fail(err, KV_EXIT_DATA, "%s: no row can be used", f->arguments->data);
	}
	f->card = choose_card(f->arguments, f->in.measurements, err);
	if (!f->card)
		return -1;
	choose_start(f);
	if (f->arguments->draw) {
		kv_calibrate_name_refused(f->arguments, f->in.measurements);
		return draw_and_tell(f, err);
	}
	if (run_fit(f, err))
		return -1;
	kv_calibrate_name_refused(f->arguments, f->in.measurements);
	if (print(f, err))
		return -1;
	return f->arguments->out ? write_profile(f, err) : 0;
}

int kv_calibrate_fit(const struct kv_calibrate_arguments *arguments)
{
	struct fitting f = {.arguments = arguments};
	const char *constants = arguments->start ? arguments->start : arguments->hardware;
	struct kv_calibrate_source source = {.path = arguments->data};
	struct kv_error err;
	int failed;

	if (kv_calibrate_load(arguments, &source, constants, &f.in, &err))
		return kv_cli_fail(&err);
	failed = fit_and_tell(&f, &err);
	free(f.held_out);
	kv_hardware_free(f.card);
	kv_calibrate_unload(&f.in);
	return failed ? kv_cli_fail(&err) : KV_EXIT_OK;
}
