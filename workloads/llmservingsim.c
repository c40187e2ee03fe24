/* LLMServingSim's workloads and the requests of vLLM runs that it measured (MIT, casys-kaist/LLMServingSim): JSON lines
 * with input_toks and output_toks. */
#include "config.h"

#include "workloads/formats.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "sim/base/memory.h"
#include "workloads/block_ids.h"
#include "workloads/jsonl.h"

struct llmservingsim_params {
	uint32_t clock;
	uint64_t block;
};

enum clock { CLOCK_QUEUED, CLOCK_ARRIVAL };

static const char queued_key[] = "queued_ts", nanoseconds_key[] = "arrival_time_ns", seconds_key[] = "arrival_time";

struct llmservingsim {
	const struct llmservingsim_params *params;
	/* Of the row at hand; NULL = it has none. */
	const json_t *ids, *tokens;
	kv_time queued;
	const char *clock;    /* the key that arrivals are taken from, of all rows as of the first; NULL = none */
};

static void read_queued(void *owner, struct kv_row *row, const json_t *value)
{
	static const struct kv_field field = {
		.name = queued_key, .type = KV_FIELD_TIME, .digits = 9, .offset = offsetof(struct kv_row, retrieval)
	};
	struct llmservingsim *self = owner;

	/* Through a time of the row that this format has no other use for. */
	kv_field_read_json(&field, NULL, row, value);
	self->queued = row->retrieval;
	row->retrieval = 0;
}

static void keep_ids(void *owner, struct kv_row *row, const json_t *ids)
{
	struct llmservingsim *self = owner;

	(void)row;
	self->ids = ids;
}

static void keep_tokens(void *owner, struct kv_row *row, const json_t *tokens)
{
	(void)row;
	((struct llmservingsim *)owner)->tokens = tokens;
}

/* Blocks of token ids are hashed together with all that precedes them; 63 bits, so that they can be written as ids. */
static void add_tokens(const struct llmservingsim *self, struct kv_row *row)
{
	uint32_t block = (uint32_t)self->params->block;
	uint64_t hash = 0;

	if (json_array_size(self->tokens) != row->prompt_tokens) {
		kv_row_fault(row, KV_FAULT_HASH_IDS,
		             "input_tok_ids: %zu ids for input_toks %" PRIu32 "; allowed: as many",
		             json_array_size(self->tokens), row->prompt_tokens);
		return;
	}
	for (uint32_t i = 0; i < row->prompt_tokens; i++) {
		const json_t *token = json_array_get(self->tokens, i);
		uint64_t id = htole64((uint64_t)json_integer_value(token));

		if (!json_is_integer(token)) {
			kv_row_fault(row, KV_FAULT_HASH_IDS, "input_tok_ids: entry %" PRIu32 " is no whole number", i);
			return;
		}
		hash = XXH3_64bits_withSeed(&id, sizeof id, hash);
		if ((i + 1) % block == 0)
			kv_row_segment(row, KV_STREAM_BLOCK, hash >> 1, block);
	}
	if (row->prompt_tokens % block != 0)
		kv_row_segment(row, KV_STREAM_PRIVATE, 0, row->prompt_tokens % block);
}

static void add_ids(const struct llmservingsim *self, struct kv_row *row)
{
	uint64_t block = self->params->block;
	size_t count = json_array_size(self->ids);

	if (count != row->prompt_tokens / block) {
		kv_row_fault(row, KV_FAULT_HASH_IDS,
		             "prompt_full_block_ids: %zu ids for input_toks %" PRIu32 "; allowed: %" PRIu64
		             ", one for every whole block of %" PRIu64 " tokens",
		             count, row->prompt_tokens, row->prompt_tokens / block, block);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t id;

		if (!kv_block_id_json(json_array_get(self->ids, i), &id)) {
			kv_row_fault(row, KV_FAULT_HASH_IDS,
			             "prompt_full_block_ids: entry %zu is no id; allowed: " KV_BLOCK_ID_ALLOWED, i);
			return;
		}
		kv_row_segment(row, KV_STREAM_BLOCK, id, (uint32_t)block);
	}
	if (row->prompt_tokens % block != 0)
		kv_row_segment(row, KV_STREAM_PRIVATE, 0, (uint32_t)(row->prompt_tokens % block));
}

static void begin(void *owner)
{
	struct llmservingsim *self = owner;

	self->queued = KV_TIME_NONE;
	self->ids = self->tokens = NULL;
}

static void finish(void *owner, struct kv_row *row)
{
	struct llmservingsim *self = owner;

	if (self->clock == queued_key)
		row->arrival = self->queued;
	if (self->clock != NULL && row->arrival == KV_TIME_NONE)
		kv_row_fault(row, KV_FAULT_MISSING, "%s: is missing, and every row needs it as the first has it",
		             self->clock);
	row->named = self->ids != NULL || self->tokens != NULL;
	if (self->ids != NULL)
		add_ids(self, row);
	else if (self->tokens != NULL)
		add_tokens(self, row);
}

static const struct kv_field fields[] = {
	{.name = "input_toks", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, prompt_tokens),
	 .required = true},
	{.name = "output_toks", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens),
	 .required = true},
	{.name = nanoseconds_key, .type = KV_FIELD_TIME, .digits = 0, .offset = offsetof(struct kv_row, arrival)},
	{.name = seconds_key, .type = KV_FIELD_TIME, .digits = 9, .offset = offsetof(struct kv_row, arrival)},
	{.name = queued_key, .read_json = read_queued},
	{.name = "request_id", .type = KV_FIELD_NAME, .offset = offsetof(struct kv_row, id)},
	{.name = "prompt_full_block_ids", .read_json = keep_ids},
	{.name = "later_full_block_ids", .type = KV_FIELD_IGNORED},
	{.name = "scheduled_ts", .type = KV_FIELD_IGNORED},
	{.name = "first_token_ts", .type = KV_FIELD_IGNORED},
	{.name = "last_token_ts", .type = KV_FIELD_IGNORED},
	{.name = "input_tok_ids", .read_json = keep_tokens},
	{.name = "output_tok_ids", .type = KV_FIELD_IGNORED},
	{0}
};

static const struct kv_table table = {.fields = fields, .begin = begin, .finish = finish, .close = free};

static const struct kv_param params[] = {
	{"clock", KV_PARAM_CHOICE, offsetof(struct llmservingsim_params, clock), 0, 0, "queued", "queued|arrival",
	 "which time of a measured request is its arrival"},
	{"block", KV_PARAM_UINT, offsetof(struct llmservingsim_params, block), 1, KV_TOKENS_MAX, "16", "tokens",
	 "tokens that an id of prompt_full_block_ids stands for, or that are hashed together"},
	{0}
};

/* The first line may be longer than what is known of the file: then keys are looked for in its text. */
static bool has_key(const struct kv_sniff *sniff, const char *name)
{
	char quoted[40];

	if (sniff->json != NULL)
		return json_object_get(sniff->json, name) != NULL;
	snprintf(quoted, sizeof quoted, "\"%s\"", name);
	return sniff->length > 0 && sniff->text[0] == '{' && kv_sniff_contains(sniff, quoted);
}

static const char *const keys[] = {"input_toks", "output_toks", "arrival_time_ns", NULL};

static const char *find_clock(const struct kv_sniff *sniff, uint32_t clock)
{
	if (has_key(sniff, queued_key) && clock == CLOCK_QUEUED)
		return queued_key;
	if (has_key(sniff, nanoseconds_key))
		return nanoseconds_key;
	return has_key(sniff, seconds_key) ? seconds_key : NULL;
}

static bool detect(const struct kv_sniff *sniff)
{
	return has_key(sniff, "input_toks") && has_key(sniff, "output_toks") &&
	       !has_key(sniff, "sub_requests");
}

static struct kv_reader *open_llmservingsim(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                            struct kv_error *err)
{
	struct llmservingsim *self = kv_calloc(1, sizeof *self);
	unsigned flags = 0;

	(void)err;
	self->params = values;
	self->clock = find_clock(sniff, self->params->clock);
	if (self->clock != nanoseconds_key)
		flags |= KV_TRACE_CLOCK_FROM_FIRST;
	if (has_key(sniff, "prompt_full_block_ids") || has_key(sniff, "input_tok_ids"))
		flags |= KV_TRACE_PREFIX_IDENTITY;
	kv_trace_declare(trace, flags);
	return kv_jsonl_open(trace, &table, self);
}

const struct kv_format kv_format_llmservingsim = {
	.name = "llmservingsim",
	.summary = "LLMServingSim JSON lines: its workloads, and requests of measured vLLM runs",
	.rules = "arrival_time_ns is in nanoseconds from the start. Measured requests have arrival_time (seconds "
	         "since 1970) and queued_ts (another clock): the arrival is queued_ts unless clock=arrival, counted "
	         "from the first. Every row needs the time that the first one has; where that has none, all are there "
	         "at 0. prompt_full_block_ids, if there, are ids of whole blocks of 16 tokens and everything before "
	         "them; else input_tok_ids, the tokens themselves, are hashed in such blocks (block=N for others). "
	         "The rest of a prompt is unique. What requests generate is not named in later prompts.",
	.keys = keys,
	.detect = detect,
	.open = open_llmservingsim,
	.params_size = sizeof(struct llmservingsim_params),
	.params = params
};
