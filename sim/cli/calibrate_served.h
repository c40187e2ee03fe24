/* Scoring against served loads: closed loops (mean TTFT and TPOT at a concurrency) and maximum throughput. Each row is
 * a deployment and a synthetic load that runs through the simulator.
 *
 * Closed loop: backend, model_path, system, mode, isl, osl, gemm_quant_mode, precision, concurrency, tp_size, pp_size,
 * attention_dp_size, silicon_ttft_ms, silicon_tpot_ms. Ten prompts a client; lengths are uniform between 0.8 and 1
 * times the nominal ones, as the benchmark's client draws them; 20 ms of front-end time a request.
 *
 * Throughput: gpu, tp, model, tokens (input length), context (output length), out_tok_s; all requests at once, fp8.
 */
#ifndef KV_SIM_CLI_CALIBRATE_SERVED_H
#define KV_SIM_CLI_CALIBRATE_SERVED_H

#include <stdbool.h>

#include "sim/base/csv_table.h"
#include "sim/cli/calibrate.h"

bool kv_is_served_table(const struct kv_csv_table *table);

/* An exit status; other than 0 and 1 with err filled. */
int kv_calibrate_score_served(const struct kv_calibrate_arguments *arguments, const struct kv_csv_table *table,
                              struct kv_error *err);

#endif
