/* Vidur's and Sarathi's traces (MIT, microsoft/vidur), vAttention's copies of them with counts as floats (7564.0), and
 * those of Frontier with block ids joined by "|". */
#include "config.h"

#include "workloads/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "workloads/block_ids.h"
#include "workloads/csv.h"

struct vidur_params {
	uint64_t block;
};

struct vidur {
	struct kv_trace *trace;
	const struct vidur_params *params;
	bool timed;          /* there is a column of times: then every row has one */
};

/* Segments are a block each here; the last one is cut to the prompt's length at the end of the row. */
static void read_ids(void *owner, struct kv_row *row, const char *text, size_t length)
{
	struct vidur *self = owner;
	const char *end = text + length;
	uint64_t id;

	row->named = true;
	for (const char *bar; text <= end && !row->faulty; text = bar + 1) {
		bar = memchr(text, '|', (size_t)(end - text));
		if (bar == NULL)
			bar = end;
		if (!kv_block_id_parse(text, (size_t)(bar - text), &id))
			kv_row_fault(row, KV_FAULT_HASH_IDS,
			             "block_hash_ids: an entry is no whole number; allowed: ids joined by |");
		else
			kv_row_segment(row, KV_STREAM_BLOCK, id, (uint32_t)self->params->block);
	}
}

static void finish(void *owner, struct kv_row *row)
{
	const struct vidur *self = owner;
	uint64_t wanted = kv_ceil_div(row->prompt_tokens, self->params->block);

	if (self->timed && row->arrival == KV_TIME_NONE)
		kv_row_fault(row, KV_FAULT_MISSING, "arrived_at: is empty, and every row needs it where there is such "
		             "a column");
	if (!row->named || wanted == 0)
		return;
	if (row->segment_count != wanted)
		kv_row_fault(row, KV_FAULT_HASH_IDS,
		             "block_hash_ids: %zu ids for num_prefill_tokens %" PRIu32 "; allowed: %" PRIu64
		             ", one for every %" PRIu64 " tokens and one for the rest",
		             row->segment_count, row->prompt_tokens, wanted, self->params->block);
	else
		row->segments[wanted - 1].length = row->prompt_tokens - (uint32_t)((wanted - 1) * self->params->block);
}

static int check_header(void *owner, const struct kv_field *const *columns, size_t count, struct kv_error *err)
{
	struct vidur *self = owner;

	(void)err;
	for (size_t i = 0; i < count; i++) {
		if (columns[i] == NULL)
			continue;
		if (columns[i]->read_text == read_ids)
			kv_trace_declare(self->trace, KV_TRACE_PREFIX_IDENTITY);
		self->timed |= columns[i]->type == KV_FIELD_TIME;
	}
	return 0;
}

static const struct kv_field fields[] = {
	{.name = "num_prefill_tokens", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, prompt_tokens),
	 .required = true},
	{.name = "num_decode_tokens", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens),
	 .required = true},
	{.name = "arrived_at", .type = KV_FIELD_TIME, .digits = 9, .offset = offsetof(struct kv_row, arrival)},
	{.name = "block_hash_ids", .read_text = read_ids},
	{.name = "num_total_tokens", .type = KV_FIELD_IGNORED},
	{.name = "pd_ratio", .type = KV_FIELD_IGNORED},
	{.name = "session_id", .type = KV_FIELD_IGNORED},
	{0}
};

static const struct kv_table table = {.fields = fields, .header = check_header, .finish = finish, .close = free};

static const struct kv_param params[] = {
	{"block", KV_PARAM_UINT, offsetof(struct vidur_params, block), 1, KV_TOKENS_MAX, "16", "tokens",
	 "tokens that an id of block_hash_ids stands for"},
	{0}
};

static const char *const keys[] = {"num_prefill_tokens", "num_decode_tokens", NULL};

static bool detect(const struct kv_sniff *sniff)
{
	return kv_sniff_has_fields(sniff, keys);
}

static struct kv_reader *open_vidur(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                    struct kv_error *err)
{
	struct vidur *self = kv_calloc(1, sizeof *self);

	(void)sniff;
	(void)err;
	self->trace = trace;
	self->params = values;
	return kv_csv_open(trace, &table, self);
}

const struct kv_format kv_format_vidur = {
	.name = "vidur",
	.summary = "Vidur, Sarathi, vAttention and Frontier CSV: lengths, with or without times and block ids",
	.rules = "arrived_at is in seconds; its float noise is rounded to nanoseconds. Files without that column are "
	         "batches: all requests are there at 0 (give --request-rate to spread them). Counts may be written as "
	         "floats (7564.0). Nothing is clipped. block_hash_ids, if there, are global ids of `block` tokens, "
	         "the last one for the rest; rows without any are unique prompts.",
	.keys = keys,
	.detect = detect,
	.open = open_vidur,
	.params_size = sizeof(struct vidur_params),
	.params = params
};
