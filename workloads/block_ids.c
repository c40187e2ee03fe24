#include "config.h"

#include "workloads/block_ids.h"

#include <inttypes.h>
#include <stdlib.h>

#include "sim/base/memory.h"
#include "workloads/jsonl.h"

enum { FIELDS_MAX = 24 };

/* The ids wait in `ids` until the whole row has been read: their number depends on the prompt's length. */
struct block_ids {
	const struct kv_block_id_params *params;
	const json_t *ids;
	gsl_rng *spread;           /* NULL = times stay as they are */
	struct kv_field fields[FIELDS_MAX];
	size_t field_count;
	struct kv_table table;
};

unsigned kv_time_unit_digits(uint32_t unit)
{
	static const unsigned digits[] = {9, 6, 3, 0};

	return digits[unit];
}

bool kv_block_id_parse(const char *text, size_t length, uint64_t *id)
{
	uint64_t number = 0;

	for (size_t i = 0; i < length; i++) {
		uint64_t digit = (unsigned char)text[i] - (uint64_t)'0';

		if (digit > 9 || number > (KV_BLOCK_ID_END - 1 - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*id = number;
	return length > 0;
}

bool kv_block_id_json(const json_t *value, uint64_t *id)
{
	if (json_is_string(value))
		return kv_block_id_parse(json_string_value(value), json_string_length(value), id);
	*id = (uint64_t)json_integer_value(value);
	return json_is_integer(value) && json_integer_value(value) >= 0;
}

static void keep_ids(void *owner, struct kv_row *row, const json_t *ids)
{
	struct block_ids *self = owner;

	self->ids = ids;
	row->named = true;
}

static void add_segments(const struct kv_block_id_params *params, struct kv_row *row, const json_t *ids, uint32_t left)
{
	uint32_t block = (uint32_t)params->block;
	size_t count = json_array_size(ids);

	for (size_t i = 0; i < count; i++) {
		uint32_t length = left < block ? left : block;
		uint64_t id;

		if (!kv_block_id_json(json_array_get(ids, i), &id)) {
			kv_row_fault(row, KV_FAULT_HASH_IDS, "%s: entry %zu is no id; allowed: " KV_BLOCK_ID_ALLOWED,
			             params->ids_key, i);
			return;
		}
		kv_row_segment(row, KV_STREAM_BLOCK, id, length);
		left -= length;
	}
	if (left > 0)
		kv_row_segment(row, KV_STREAM_PRIVATE, 0, left);
}

static uint64_t blocks_of(uint32_t tokens, uint64_t block, uint32_t last)
{
	return last == KV_LAST_CEIL ? kv_ceil_div(tokens, block) : tokens / block;
}

/* A usual block size with which this row would be right, or 0. */
static uint64_t fitting_block(uint32_t tokens, uint64_t ids, uint32_t last)
{
	static const uint64_t usual[] = {512, 16, 64, 32, 128, 256, 1024, 8, 4};

	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		if (blocks_of(tokens, usual[i], last) == ids)
			return usual[i];
	return 0;
}

static void fault_number_of_ids(const struct kv_block_id_params *params, struct kv_row *row, uint64_t found,
                                uint32_t tokens)
{
	uint64_t other = fitting_block(tokens, found, params->last);
	char hint[80] = "";

	if (other != 0)
		snprintf(hint, sizeof hint, " (%" PRIu64 " would be right with block=%" PRIu64 ")", found, other);
	kv_row_fault(row, KV_FAULT_HASH_IDS,
	             "%s: %" PRIu64 " ids for %s %" PRIu32 "; allowed: %" PRIu64 ", one for every "
	             "%" PRIu64 " tokens%s%s",
	             params->ids_key, found, params->input_key, tokens,
	             blocks_of(tokens, params->block, params->last), params->block,
	             params->last == KV_LAST_CEIL ? " and one for the rest" : "", hint);
}

void kv_block_ids_add(const struct kv_block_id_params *params, struct kv_row *row, const json_t *ids, uint32_t tokens)
{
	if (!json_is_array(ids))
		kv_row_fault(row, KV_FAULT_HASH_IDS, "%s: not a list; allowed: a list of block ids", params->ids_key);
	else if (json_array_size(ids) != blocks_of(tokens, params->block, params->last))
		fault_number_of_ids(params, row, json_array_size(ids), tokens);
	else
		add_segments(params, row, ids, tokens);
}

static void spread_arrival(const struct block_ids *self, struct kv_row *row)
{
	row->moved = (kv_time)(gsl_rng_uniform(self->spread) * (double)self->params->spread);
	row->arrival = (row->arrival != KV_TIME_NONE ? row->arrival : 0) + row->moved;
}

static void finish(void *owner, struct kv_row *row)
{
	struct block_ids *self = owner;

	if (row->output_tokens == KV_TOKENS_UNSET)
		row->output_tokens = (uint32_t)self->params->output;
	if (row->named)
		kv_block_ids_add(self->params, row, self->ids, row->prompt_tokens);
	if (self->spread != NULL)
		spread_arrival(self, row);
}

static void close_block_ids(void *owner)
{
	struct block_ids *self = owner;

	if (self->spread != NULL)
		gsl_rng_free(self->spread);
	free(self);
}

/* A key without a name is one that the format does not have. */
static void add_field(struct block_ids *self, struct kv_field field)
{
	KV_ASSERT(self->field_count < FIELDS_MAX - 1, "too many keys");
	if (*field.name != '\0')
		self->fields[self->field_count++] = field;
}

static void fill_fields(struct block_ids *self, const struct kv_block_id_shape *shape)
{
	const struct kv_block_id_params *params = self->params;
	const char *const *ignored = shape->ignored;

	add_field(self, (struct kv_field){
		.name = params->time_key, .type = KV_FIELD_TIME, .digits = kv_time_unit_digits(params->unit),
		.offset = offsetof(struct kv_row, arrival), .required = true
	});
	add_field(self, (struct kv_field){
		.name = params->input_key, .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, prompt_tokens),
		.required = true
	});
	add_field(self, (struct kv_field){
		.name = params->output_key, .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens),
		.required = params->output == 0 && !shape->output_optional
	});
	add_field(self, (struct kv_field){.name = params->ids_key, .read_json = keep_ids});
	for (; ignored != NULL && *ignored != NULL; ignored++)
		add_field(self, (struct kv_field){.name = *ignored, .type = KV_FIELD_IGNORED});
}

struct kv_reader *kv_block_ids_open(struct kv_trace *trace, const struct kv_block_id_params *params,
                                    const struct kv_block_id_shape *shape)
{
	struct block_ids *self = kv_calloc(1, sizeof *self);

	self->params = params;
	fill_fields(self, shape);
	self->table = (struct kv_table){.fields = self->fields, .finish = finish, .close = close_block_ids};
	if (params->spread > 0) {
		self->spread = kv_trace_random(trace, "spread");
		kv_trace_note(trace, "arrivals are spread at random over %g s after the recorded times, as asked",
		              (double)params->spread / (double)KV_SECOND);
	}
	kv_trace_declare(trace, KV_TRACE_PREFIX_IDENTITY);
	return kv_jsonl_open(trace, &self->table, self);
}

bool kv_block_ids_detect(const struct kv_sniff *sniff, const char *const *keys)
{
	const json_t *value = NULL;

	for (; *keys != NULL; keys++) {
		value = json_object_get(sniff->json, *keys);
		if (value == NULL)
			return false;
	}
	return json_is_array(value);
}
