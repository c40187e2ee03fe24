/* The questions of results/explain.h, each answered from the facts of a run by a finding that the caller owns. */
#ifndef KV_RESULTS_EXPLAIN_QUESTIONS_H
#define KV_RESULTS_EXPLAIN_QUESTIONS_H

#include <jansson.h>
#include <stdbool.h>

#include "results/finding.h"

/* NULL if all requests were answered, but for those that the end of the run cut short. */
json_t *kv_explain_unanswered(const json_t *facts);
json_t *kv_explain_exhausted(const json_t *facts);
json_t *kv_explain_misses(const json_t *facts);
json_t *kv_explain_first_tokens(const json_t *facts);

/* An open load that takes longer to serve than to arrive, and not for one long request at its end: somebody waited most
 * of the time. */
bool kv_explain_is_overloaded(const json_t *facts);

#endif
