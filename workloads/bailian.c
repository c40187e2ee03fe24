/* Qwen-Bailian usage traces (Apache-2.0, alibaba-edu/qwen-bailian-usagetraces-anon): Mooncake's shape in seconds and
 * blocks of 16 tokens, with conversations. */
#include "config.h"

#include "workloads/formats.h"

#include "workloads/block_ids.h"

static const struct kv_param params[] = KV_BLOCK_ID_PARAMS("16", "s", "ceil", "timestamp", "0");

static const char *const ignored[] = {"chat_id", "parent_chat_id", "type", "turn", NULL};

static const char *const keys[] = {"chat_id", "timestamp", "input_length", "output_length", "hash_ids", NULL};

static bool detect(const struct kv_sniff *sniff)
{
	return kv_block_ids_detect(sniff, keys);
}

static struct kv_reader *open_bailian(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                      struct kv_error *err)
{
	(void)sniff;
	(void)err;
	return kv_block_ids_open(trace, values, &(struct kv_block_id_shape){.ignored = ignored});
}

const struct kv_format kv_format_bailian = {
	.name = "bailian",
	.summary = "Qwen-Bailian JSON lines: seconds and hash ids of 16-token blocks",
	.rules = "Times are seconds. Ids are global hashes of 16 tokens and everything before them, ceil(input_length "
	         "/ 16) a row. A row is a whole request: the turns before it are inside its ids and its length, so "
	         "chat_id and parent_chat_id are not needed, and a parent that is not in the file does no harm.",
	.keys = keys,
	.detect = detect,
	.open = open_bailian,
	.params_size = sizeof(struct kv_block_id_params),
	.params = params
};
