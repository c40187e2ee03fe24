/* What `vllm bench serve --dataset-name timed_trace` reads: Mooncake's keys, by default in seconds and chunks of 16
 * tokens (vllm-project/vllm#39795). */
#include "config.h"

#include "workloads/formats.h"

#include "workloads/block_ids.h"

static const struct kv_param params[] = KV_BLOCK_ID_PARAMS("16", "s", "ceil", "timestamp", "0");

/* Nothing in a file tells it from Mooncake's: the format has to be named. */
static bool detect(const struct kv_sniff *sniff)
{
	(void)sniff;
	return false;
}

static struct kv_reader *open_timed(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                    struct kv_error *err)
{
	(void)sniff;
	(void)err;
	return kv_block_ids_open(trace, values, &(struct kv_block_id_shape){0});
}

const struct kv_format kv_format_vllm_timed = {
	.name = "vllm-timed",
	.summary = "vLLM's timed traces: Mooncake's keys in seconds and 16-token chunks (never detected)",
	.rules = "As mooncake, but times are seconds and an id stands for 16 tokens, which are the defaults of vLLM's "
	         "benchmark. Files look like Mooncake's, so that the format must be named.",
	.detect = detect,
	.open = open_timed,
	.params_size = sizeof(struct kv_block_id_params),
	.params = params
};
