/* The sections of report.html, in files of their own. */
#ifndef KV_RESULTS_REPORT_PARTS_H
#define KV_RESULTS_REPORT_PARTS_H

#include <jansson.h>
#include <stdbool.h>

#include "results/output_file.h"

void kv_report_numbers(struct kv_output *out, const json_t *facts);
void kv_report_charts(struct kv_output *out, const json_t *facts);
/* Who took what and waited how long; nothing where the facts do not have it. */
void kv_report_who(struct kv_output *out, const json_t *facts);
void kv_report_basis(struct kv_output *out, const json_t *facts, const json_t *manifest);

/* Step times are given by the user, not modelled. */
bool kv_report_has_fixed_step_time(const json_t *facts);

#endif
