/* What to look at: questions answered from the facts of a run, each with a verdict, its evidence and what would change it.
 * Who got no answer? (if anybody did not) What was exhausted? Why were prompts not hit? Why did first tokens come late? */
#ifndef KV_RESULTS_EXPLAIN_H
#define KV_RESULTS_EXPLAIN_H

#include <jansson.h>

#include "results/output_file.h"

/* Adds kvsim/what_to_look_at: an array of {topic, verdict, evidence: [...], change: [...]}. */
void kv_explain_add(json_t *facts);

/* A line each, for the summary. */
void kv_explain_write_hints(const json_t *facts, struct kv_output *out);
/* All of it, for `kvsim report --explain`. */
void kv_explain_write(const json_t *facts, struct kv_output *out);

#endif
