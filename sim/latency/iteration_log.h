/* Measured steps from a vLLM log (--enable-logging-iteration-details):
 *
 *     Iteration(15): 2 context requests, 7986 context tokens, 14 generation requests, 14 generation tokens, iteration
 *     elapsed time: 1115.64 ms, GPU KV cache usage: 41.2%
 *
 * The log knows neither card nor model, and of contexts only the last part, which older releases lack: the blocks in
 * use hold them all, or the user gives a mean. Tokens that prefill finds in the cache are not logged and count as
 * none.
 */
#ifndef KV_SIM_ITERATION_LOG_H
#define KV_SIM_ITERATION_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/latency/measurement.h"

struct kv_log_setting {
	struct kv_configuration configuration;  /* names belong to the caller */
	uint64_t pool_tokens;    /* that a usage of 100 % holds; 0 = unknown */
	uint64_t mean_context;   /* of a decode sequence, where the log does not tell; 0 = unknown */
};

/* Does the file have such a line among its first thousand? */
bool kv_is_iteration_log(const char *path);

/* NULL with err filled: no such file, no iteration in it. Steps whose contexts nobody knows are refused by name. */
struct kv_measurements *kv_iteration_log_read(const char *path, const struct kv_log_setting *setting,
                                              struct kv_error *err);

#endif
