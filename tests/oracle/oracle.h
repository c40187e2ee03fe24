/* The plain simulator that production is compared with: it walks every token, every block and every request in every
 * step, and does nothing clever. It shares the input and record types, the latency function and the policies with
 * production; cache, allocators, engine and loop are its own. Rules: vLLM V1 as of August 2026 (reference document
 * engine-semantics, section 1) and the contracts of sim/. */
#ifndef KV_TESTS_ORACLE_H
#define KV_TESTS_ORACLE_H

#include "sim/engine/simulation.h"

/* The same contract as kv_simulate(). options->check is ignored: there is nothing cached here that could go wrong. */
int kv_oracle_simulate(const struct kv_engine_config *config, struct kv_source *source, struct kv_sink *sink,
                       const struct kv_run_options *options, struct kv_run_outcome *outcome, struct kv_error *err);

#endif
