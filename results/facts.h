/* The numbers of a run as one JSON object: what summary.json holds beside its arrays, and what text and page are made
 * from. The keys of `vllm bench serve --save-result` at top level, in its order, with its units and null rules
 * (vllm/benchmarks/serve.py at 009e6d4a1c: where no request has a metric, the statistics of a single 0, "ttfts or 0");
 * what is ours under "kvsim", where such a metric is null, and "without_values" names those of vLLM's. */
#ifndef KV_RESULTS_FACTS_H
#define KV_RESULTS_FACTS_H

#include <jansson.h>

#include "results/insight.h"
#include "results/results.h"
#include "results/summary.h"

/* insight may be NULL: then what only it knows is left out. Sorts its lists. json_decref() it. */
json_t *kv_facts_build(const struct kv_summary *summary, struct kv_insight *insight, const struct kv_run_info *info);

/* Numbers and texts at "kvsim/ttft_parts/queue/mean_ms"; 0 or NULL if there is none. */
double kv_facts_number(const json_t *facts, const char *path);
const char *kv_facts_text(const json_t *facts, const char *path);
const json_t *kv_facts_at(const json_t *facts, const char *path);

#endif
