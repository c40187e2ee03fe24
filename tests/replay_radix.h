/* Vectors of SGLang's radix cache: one tree, operation by operation. */
#ifndef KV_TESTS_REPLAY_RADIX_H
#define KV_TESTS_REPLAY_RADIX_H

#include <stdbool.h>

#include <jansson.h>

/* Each plays a record's "ops" and compares what every operation returns and the totals after it; prints the first
 * difference. */
bool replay_radix_production(json_t *record);
bool replay_radix_oracle(json_t *record);

#endif
