/* What AIPerf's mooncake_trace loader takes beyond Mooncake's own rows (ai-dynamo/aiperf, docs/benchmark-modes): rows
 * without times or ids, and sessions whose rows are turns. */
#include "config.h"

#include "workloads/formats.h"

#include <stdlib.h>

#include "sim/base/memory.h"
#include "workloads/block_ids.h"
#include "workloads/jsonl.h"
#include "workloads/sessions.h"

struct aiperf_params {
	uint64_t block, output;
	uint32_t turns;
};

enum turns { TURNS_ADDED, TURNS_WHOLE };

struct aiperf {
	const struct aiperf_params *params;
	struct kv_block_id_params ids_params;
	struct kv_sessions sessions;
	struct kv_session *session;   /* of the row at hand; NULL = none */
	const json_t *ids;            /* likewise */
	bool has_delay;
};

static void read_session(void *owner, struct kv_row *row, const json_t *value)
{
	struct aiperf *self = owner;

	if (json_is_string(value))
		self->session = kv_sessions_find(&self->sessions, json_string_value(value), json_string_length(value));
	else
		kv_row_fault(row, KV_FAULT_TEXT, "session_id: not a string; allowed: text in quotes");
}

static void keep_ids(void *owner, struct kv_row *row, const json_t *ids)
{
	(void)row;
	((struct aiperf *)owner)->ids = ids;
}

static void read_delay(void *owner, struct kv_row *row, const json_t *value)
{
	static const struct kv_field field = {
		.name = "delay", .type = KV_FIELD_TIME, .digits = 6, .offset = offsetof(struct kv_row, think)
	};

	((struct aiperf *)owner)->has_delay = true;
	kv_field_read_json(&field, NULL, row, value);
}

/* A turn with a time of its own arrives then; one with a delay, or with neither, waits for the answer before it. */
static void place_in_time(const struct aiperf *self, struct kv_row *row)
{
	bool timed = row->arrival != KV_TIME_NONE;

	if (timed && self->has_delay) {
		kv_row_fault(row, KV_FAULT_REFERENCE, "delay: is given beside timestamp; allowed: one of them");
	} else if (!timed && self->session != NULL && self->session->rounds > 0) {
		kv_session_follow(self->session, row);
	} else if (!timed) {
		row->arrival = row->think;
		row->think = 0;
	}
}

static void fill(const struct aiperf *self, struct kv_row *row)
{
	const struct kv_session *session = self->session;
	uint32_t added = row->prompt_tokens;
	bool grows = session != NULL && self->params->turns == TURNS_ADDED;

	if (session != NULL)
		kv_session_begin(session, row, grows ? (uint32_t)kv_min(session->tokens, KV_TOKENS_MAX) : 0, added);
	row->named = session != NULL || self->ids != NULL;
	if (row->faulty)
		return;
	if (self->ids != NULL)
		kv_block_ids_add(&self->ids_params, row, self->ids, added);
	else if (session != NULL)
		kv_session_add(session, row, added);
}

static void finish(void *owner, struct kv_row *row)
{
	struct aiperf *self = owner;

	if (row->output_tokens == KV_TOKENS_UNSET)
		row->output_tokens = (uint32_t)self->params->output;
	place_in_time(self, row);
	if (!row->faulty)
		fill(self, row);
}

static void begin(void *owner)
{
	struct aiperf *self = owner;

	self->session = NULL;
	self->ids = NULL;
	self->has_delay = false;
}

static void take(void *owner, const struct kv_row *row)
{
	struct aiperf *self = owner;

	if (self->session != NULL)
		kv_session_take(self->session, row);
}

static void close_aiperf(void *owner)
{
	kv_sessions_fini(&((struct aiperf *)owner)->sessions);
	free(owner);
}

#define TEXT "is text, whose tokens only a tokenizer could count; allowed: rows with input_length"

static const struct kv_field fields[] = {
	{.name = "timestamp", .type = KV_FIELD_TIME, .digits = 6, .offset = offsetof(struct kv_row, arrival)},
	{.name = "input_length", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, prompt_tokens),
	 .required = true},
	{.name = "output_length", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens)},
	{.name = "hash_ids", .read_json = keep_ids},
	{.name = "session_id", .read_json = read_session},
	{.name = "delay", .read_json = read_delay},
	{.name = "text_input", .refusal = TEXT},
	{.name = "messages", .refusal = TEXT},
	{.name = "payload", .refusal = TEXT},
	{0}
};

static const struct kv_table table = {
	.fields = fields, .begin = begin, .finish = finish, .taken = take, .close = close_aiperf
};

static const struct kv_param params[] = {
	{"block", KV_PARAM_UINT, offsetof(struct aiperf_params, block), 1, KV_TOKENS_MAX, "512", "tokens",
	 "tokens that an id stands for"},
	{"output", KV_PARAM_UINT, offsetof(struct aiperf_params, output), 0, KV_TOKENS_MAX, "1", "tokens",
	 "output of rows without one"},
	{"turns", KV_PARAM_CHOICE, offsetof(struct aiperf_params, turns), 0, 0, "added", "added|whole",
	 "whether a row of a session adds to what came before it, or is all of the prompt"},
	{0}
};

static bool detect(const struct kv_sniff *sniff)
{
	const json_t *ids = json_object_get(sniff->json, "hash_ids");

	return (json_object_get(sniff->json, "input_length") != NULL && (ids == NULL || json_is_array(ids))) ||
	       json_object_get(sniff->json, "text_input") != NULL;
}

static struct kv_reader *open_aiperf(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                     struct kv_error *err)
{
	struct aiperf *self = kv_calloc(1, sizeof *self);

	(void)sniff;
	(void)err;
	self->params = values;
	self->ids_params = (struct kv_block_id_params){
		.block = self->params->block, .last = KV_LAST_CEIL, .input_key = "input_length", .ids_key = "hash_ids"
	};
	kv_trace_declare(trace, KV_TRACE_DEPENDENT | KV_TRACE_PREFIX_IDENTITY | KV_TRACE_NAMEABLE_OUTPUTS);
	return kv_jsonl_open(trace, &table, self);
}

const struct kv_format kv_format_aiperf = {
	.name = "aiperf",
	.summary = "AIPerf's rows beside Mooncake's: sessions, delays, rows without times or ids",
	.rules = "timestamp and delay are milliseconds; a row has one of them at most, and rows with neither arrive "
	         "at 0 (give --request-rate to spread them). Rows of one session_id are its turns in the order of the "
	         "file: with turns=added, as AIPerf sends them, a prompt is the prompt and the answer before it and "
	         "input_length new tokens; with turns=whole, input_length and hash_ids are all of it. A turn with a "
	         "delay arrives so long after the answer before it (a first one after 0), one with a timestamp then, "
	         "one with neither at once. hash_ids stand for 512 tokens each and one for the rest. Rows without "
	         "output_length generate `output` tokens. text_input, messages and payload are text and cannot be "
	         "used.",
	.detect = detect,
	.open = open_aiperf,
	.params_size = sizeof(struct aiperf_params),
	.params = params
};
