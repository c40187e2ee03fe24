/* Mooncake's traces (Apache-2.0, kvcache-ai/Mooncake): timestamp (ms), input_length, output_length, hash_ids of 512
 * tokens. */
#include "config.h"

#include "workloads/formats.h"

#include "workloads/block_ids.h"

static const struct kv_param params[] = KV_BLOCK_ID_PARAMS("512", "ms", "ceil", "timestamp", "0");

static const char *const keys[] = {"timestamp", "input_length", "output_length", "hash_ids", NULL};

static bool detect(const struct kv_sniff *sniff)
{
	return json_object_get(sniff->json, "chat_id") == NULL && json_object_get(sniff->json, "session_id") == NULL &&
	       json_object_get(sniff->json, "delay") == NULL && kv_block_ids_detect(sniff, keys);
}

static struct kv_reader *open_mooncake(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                       struct kv_error *err)
{
	(void)sniff;
	(void)err;
	return kv_block_ids_open(trace, values, &(struct kv_block_id_shape){0});
}

const struct kv_format kv_format_mooncake = {
	.name = "mooncake",
	.summary = "Mooncake JSON lines: milliseconds and hash ids of 512-token blocks",
	.rules = "Times are milliseconds. An id stands for a block of 512 tokens and everything before it; a prompt "
	         "has one id for every 512 tokens and one for the rest, and any other number of ids is an error. Ids "
	         "are global, from 0 to 9223372036854775807 (2^63 - 1), or to 18446744073709551614 as text in quotes; "
	         "one that is partial in one row and full in another agrees as far as both go, is counted and warned "
	         "of, as is one that stands behind two different ids. Rows are whole requests: earlier turns are "
	         "inside. Rows without hash_ids are unique prompts; a row without prompt tokens is an error. The "
	         "clock of the conversation trace steps by 3 s: spread=3s draws a time within them, with the run's "
	         "seed, before anything is said of waiting times.",
	.keys = keys,
	.detect = detect,
	.open = open_mooncake,
	.params_size = sizeof(struct kv_block_id_params),
	.params = params
};
