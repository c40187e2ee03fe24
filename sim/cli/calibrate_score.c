#include "config.h"

#include "sim/cli/calibrate.h"

#include <math.h>
#include <stdio.h>

#include "sim/base/csv_table.h"
#include "sim/cli/calibrate_served.h"
#include "sim/cli/command.h"
#include "sim/cli/score_report.h"
#include "sim/latency/iteration_log.h"

json_t *kv_calibrate_refused_json(const struct kv_measurements *m)
{
	json_t *refused = json_array();

	for (size_t i = 0; i < m->rows; i++)
		if (m->row[i].problem)
			json_array_append_new(refused, json_pack("{sI ss}", "line", (json_int_t)m->row[i].line,
			                                         "reason", m->row[i].problem));
	return refused;
}

/* Kernel times lack what a calibration with them added for the engine. */
static void leave_out_engine(struct kv_calibrate_inputs *in)
{
	for (size_t c = 0; c < in->measurements->configurations; c++) {
		double *c0 = &in->set.setup[c].constants.c0;

		*c0 = fmax(*c0 - in->engine->overheads.c0, 0.0);
	}
}

/* Phases in the order of their enumeration, whatever comes first in the file. */
static void fill_report(const struct kv_calibrate_inputs *in, struct kv_score_report *report)
{
	const struct kv_measured_set *set = &in->set;
	bool calibrated = in->hardware && in->hardware->has_overheads;

	*report = (struct kv_score_report){
		.constants = in->hardware ? in->hardware->name : "each row's own card",
		.engine = calibrated ? "as calibrated" : in->engine->name,
		.rows = set->count,
		.configuration = in->measurements->configuration,
		.configurations = in->measurements->configurations,
		.refused = kv_calibrate_refused_json(in->measurements),
	};
	for (enum kv_phase p = 0; p < KV_PHASES; p++)
		for (size_t i = 0; i < set->count; i++) {
			const struct kv_measurement *row = &in->measurements->row[set->row[i]];

			if (row->phase == p)
				kv_score_report_add(report, kv_phase_name(p), row->configuration,
				                    kv_measured_set_predict(set, i) / row->seconds - 1.0);
		}
}

static int score_steps(const struct kv_calibrate_arguments *arguments, const struct kv_csv_table *table,
                       struct kv_error *err)
{
	struct kv_calibrate_source source = {.path = arguments->score, .table = table};
	struct kv_calibrate_inputs in;
	struct kv_score_report report;
	int status;

	if (kv_calibrate_load(arguments, &source, arguments->hardware, &in, err))
		return err->status;
	if (arguments->kernel_times)
		leave_out_engine(&in);
	kv_measured_set_screen(&in.set, in.measurements);
	kv_calibrate_name_refused(arguments, in.measurements);
	fill_report(&in, &report);
	if (in.set.count == 0) {
		kv_fail(err, KV_EXIT_DATA, "%s: no row can be used", arguments->score);
		status = err->status;
	} else if (kv_score_report_print(&report, arguments->json, err)) {
		status = err->status;
	} else {
		status = kv_score_report_exceeds(&report, arguments->fail_above) ? KV_EXIT_CHECK : KV_EXIT_OK;
	}
	kv_score_report_fini(&report);
	kv_calibrate_unload(&in);
	return status;
}

int kv_calibrate_score(const struct kv_calibrate_arguments *arguments)
{
	struct kv_error err = {0};
	struct kv_csv_table *table = NULL;
	int status;

	if (!kv_is_iteration_log(arguments->score) && (table = kv_csv_table_read(arguments->score, &err)) == NULL)
		return kv_cli_fail(&err);
	status = table && kv_is_served_table(table) ? kv_calibrate_score_served(arguments, table, &err)
	                                           : score_steps(arguments, table, &err);
	kv_csv_table_free(table);
	return status == KV_EXIT_OK || status == KV_EXIT_CHECK ? status : kv_cli_fail(&err);
}
