/* manifest.json: all that is needed to repeat the run, and what it warned of. */
#ifndef KV_RESULTS_MANIFEST_H
#define KV_RESULTS_MANIFEST_H

#include <jansson.h>

#include "results/output_file.h"
#include "results/results.h"
#include "results/summary.h"

/* After kv_summary_finish; json_decref() it. */
json_t *kv_manifest_build(const struct kv_run_info *info, const struct kv_summary *summary);
void kv_manifest_write(const json_t *manifest, struct kv_output *out);

#endif
