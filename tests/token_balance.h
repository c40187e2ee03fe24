/* What the rows of requests say of tokens, against the events of the same run. */
#ifndef KV_TESTS_TOKEN_BALANCE_H
#define KV_TESTS_TOKEN_BALANCE_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/run_log.h"

/* Of each request with a first token: prompt = cached + computed + what a resumption before it found cached beyond all that
 * the request had had. Of each finished one: scheduled = computed + recomputed + all outputs but the last. Of the run:
 * decodes compute those outputs, but for the newest token of each resumption by recompute. False after writing the first
 * that is not so to text. The log has events. */
bool token_balance_holds(const struct run_log *log, char *text, size_t size);

#endif
