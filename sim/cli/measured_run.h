/* A measured run of a real engine, as benches of vLLM leave it: PREFIX_requests.jsonl (one line a request: input_toks,
 * output_toks, arrival_time, queued_ts, scheduled_ts, first_token_ts, last_token_ts), PREFIX_meta.json (engine
 * settings and pool), PREFIX_timeseries.csv (one-second samples; optional), and the prompts' content as 16-token block
 * ids in DATASET.blk16.jsonl beside them (optional: without it every prompt is unique).
 */
#ifndef KV_SIM_CLI_MEASURED_RUN_H
#define KV_SIM_CLI_MEASURED_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/request.h"

struct kv_measured_request {
	char *id;
	/* All from the first arrival; the two clocks are aligned at the request that was queued fastest. */
	kv_time arrival, scheduled, first_token, last_token;
	uint32_t prompt_tokens, output_tokens;
	struct kv_segment *prompt;
	uint32_t prompt_segments;
};

/* Of one second each. */
struct kv_measured_sample {
	double running, waiting, cache_percent;
};

struct kv_measured_run {
	char *prefix;
	struct kv_measured_request *request;  /* in order of arrival */
	size_t requests;
	struct kv_measured_sample *sample;
	size_t samples;           /* 0 = no time series */
	bool has_content;
	/* Engine settings; NULL or 0 where the run does not say. */
	char *model, *device, *engine_version, *kv_cache_dtype;
	uint64_t tensor_parallel, max_num_seqs, max_num_batched_tokens, max_model_len, block_size, num_gpu_blocks;
	int prefix_caching;       /* -1 = the run does not say */
};

/* Are there requests of a run at that prefix or beside that file? */
bool kv_is_measured_run(const char *path);

/* path: the prefix, or any of the files. NULL with err filled. */
struct kv_measured_run *kv_measured_run_load(const char *path, struct kv_error *err);
void kv_measured_run_free(struct kv_measured_run *run);

/* Yields the run's requests; the run must outlive it. */
struct kv_source *kv_measured_run_source(const struct kv_measured_run *run);

#endif
