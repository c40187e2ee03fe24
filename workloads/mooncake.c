/* Mooncake's traces (Apache-2.0, kvcache-ai/Mooncake): JSON lines of timestamp (ms), input_length, output_length, hash_ids.
 *
 * An id stands for a block of 512 tokens and everything before it; the last block of a prompt may be shorter, so that
 * there are ceil(input_length / 512) of them. Ids are global and 64 bits wide. Rows without hash_ids are unique prompts.
 */
#include "config.h"

#include "workloads/formats.h"

#include <inttypes.h>
#include <stdlib.h>

#include "sim/memory.h"
#include "workloads/jsonl.h"

enum { BLOCK = 512, MILLISECONDS = 6 };

/* The ids wait in `ids` until the whole row has been read: their number depends on input_length. */
struct mooncake {
	const json_t *ids;
};

static void keep_ids(void *owner, struct kv_row *row, const json_t *ids)
{
	struct mooncake *mooncake = owner;

	mooncake->ids = ids;
	row->named = true;
	if (!json_is_array(ids))
		kv_row_fault(row, KV_FAULT_HASH_IDS, "hash_ids: not a list; allowed: a list of block ids");
}

static void add_ids(struct kv_row *row, const json_t *ids)
{
	uint32_t left = row->prompt_tokens;
	size_t count = json_array_size(ids);

	for (size_t i = 0; i < count; i++) {
		const json_t *id = json_array_get(ids, i);
		uint32_t length = left < BLOCK ? left : BLOCK;

		if (!json_is_integer(id) || json_integer_value(id) < 0) {
			kv_row_fault(row, KV_FAULT_HASH_IDS, "hash_ids: entry %zu is no whole number from 0 on", i);
			return;
		}
		kv_row_segment(row, KV_STREAM_BLOCK, (uint64_t)json_integer_value(id), length);
		left -= length;
	}
}

static void finish(void *owner, struct kv_row *row)
{
	struct mooncake *mooncake = owner;
	uint64_t blocks = kv_ceil_div(row->prompt_tokens, BLOCK);

	if (!row->named)
		return;
	if (json_array_size(mooncake->ids) != blocks)
		kv_row_fault(row, KV_FAULT_HASH_IDS, "hash_ids: %zu ids for input_length %" PRIu32 "; allowed: %" PRIu64
		             ", one for every %d tokens and one for the rest (is the block size another one?)",
		             json_array_size(mooncake->ids), row->prompt_tokens, blocks, BLOCK);
	else
		add_ids(row, mooncake->ids);
}

static const struct kv_field fields[] = {
	{.name = "timestamp", .type = KV_FIELD_TIME, .digits = MILLISECONDS, .offset = offsetof(struct kv_row, arrival),
	 .required = true},
	{.name = "input_length", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, prompt_tokens),
	 .required = true},
	{.name = "output_length", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens),
	 .required = true},
	{.name = "hash_ids", .read_json = keep_ids},
	{0}
};

static const struct kv_table table = {.fields = fields, .finish = finish, .close = free};

static bool detect(const struct kv_sniff *sniff)
{
	for (const struct kv_field *field = fields; field->name != NULL; field++)
		if (json_object_get(sniff->json, field->name) == NULL)
			return false;
	return json_is_array(json_object_get(sniff->json, "hash_ids"));
}

static struct kv_reader *open_mooncake(struct kv_trace *trace, const struct kv_sniff *sniff, struct kv_error *err)
{
	struct mooncake *mooncake = kv_calloc(1, sizeof *mooncake);

	(void)sniff;
	(void)err;
	kv_trace_declare(trace, true, false);
	return kv_jsonl_open(trace, &table, mooncake);
}

const struct kv_format kv_format_mooncake = {
	.name = "mooncake",
	.summary = "Mooncake JSON lines: milliseconds and hash ids of 512-token blocks",
	.detect = detect,
	.open = open_mooncake
};
