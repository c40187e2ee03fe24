/* manifest.json: all that is needed to repeat the run, and what it warned of. */
#ifndef KV_RESULTS_MANIFEST_H
#define KV_RESULTS_MANIFEST_H

#include "results/output_file.h"
#include "results/results.h"

void kv_manifest_write(const struct kv_run_info *info, const struct kv_run_outcome *outcome, struct kv_output *out);

#endif
