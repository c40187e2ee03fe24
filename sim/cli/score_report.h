/* Errors of predictions, by phase and configuration, as a table and as the JSON that interface.md fixes. */
#ifndef KV_SIM_CLI_SCORE_REPORT_H
#define KV_SIM_CLI_SCORE_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "sim/base/error.h"
#include "sim/latency/measurement.h"

struct kv_scored {
	const char *phase;       /* static text; phases are reported in order of first appearance */
	size_t configuration;
	double error;            /* predicted / measured - 1 */
};

struct kv_score_report {
	const char *constants, *engine;  /* where they come from */
	size_t rows;             /* of the file, that were used */
	struct kv_scored *scored;
	size_t count, capacity;
	const struct kv_configuration *configuration;
	size_t configurations;
	json_t *refused;         /* [{line, reason}, ...]; owned */
};

void kv_score_report_add(struct kv_score_report *report, const char *phase, size_t configuration, double error);
void kv_score_report_fini(struct kv_score_report *report);

/* To stdout. */
int kv_score_report_print(const struct kv_score_report *report, bool as_json, struct kv_error *err);

/* Is the mean absolute error of any phase above this? */
bool kv_score_report_exceeds(const struct kv_score_report *report, double percent);

#endif
