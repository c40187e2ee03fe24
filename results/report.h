/* report.html: one self-contained page. Its text and tables are written here, complete without scripts; its charts are
 * drawn by results/report/report.js with dygraphs from the data between begin and end. */
#ifndef KV_RESULTS_REPORT_H
#define KV_RESULTS_REPORT_H

#include <jansson.h>

#include "results/output_file.h"
#include "sim/base/error.h"

/* Everything up to where charts.json is to be written into the page. */
void kv_report_begin(const json_t *facts, const json_t *manifest, struct kv_output *out);
void kv_report_end(struct kv_output *out);

/* `kvsim report DIR`: writes report.html of a result folder again from its summary, manifest and charts.
 * KV_EXIT_MISSING without summary.json, KV_EXIT_DATA if what is there cannot be read. */
int kv_report_render_again(const char *dir, struct kv_error *err);
/* Prints what to look at on standard output. */
int kv_report_explain(const char *dir, struct kv_error *err);

#endif
