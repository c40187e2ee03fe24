#include "config.h"

#include "workloads/jsonl.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "workloads/json_arena.h"

enum { LINE_MAX_BYTES = 1 << 30 };

struct jsonl_reader {
	struct kv_reader reader;
	struct kv_trace *trace;
	const struct kv_table *table;
	void *owner;
	uint64_t line;
	char *partial;  /* a line that began in an earlier chunk */
	size_t partial_length, partial_capacity;
};

static void close_jsonl(struct kv_reader *reader)
{
	struct jsonl_reader *jsonl = (struct jsonl_reader *)reader;

	if (jsonl->table->close != NULL)
		jsonl->table->close(jsonl->owner);
	free(jsonl->partial);
	kv_json_arena_release();
	free(jsonl);
}

static bool is_blank(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
			return false;
	return true;
}

static void fault_json(struct kv_row *row, const char *text, size_t length, const json_error_t *error)
{
	if (memchr(text, '\0', length) != NULL)
		kv_row_fault(row, KV_FAULT_TEXT, "the line contains a NUL byte; allowed: one JSON object a line");
	else
		kv_row_json_fault(row, error, "one JSON object a line");
}

static void fault_unknown_key(struct jsonl_reader *jsonl, struct kv_row *row, const char *key)
{
	struct kv_error unknown;

	if (jsonl->table->strict) {
		kv_field_fail_unknown(jsonl->table, "key", key, &unknown);
		kv_row_fault(row, KV_FAULT_UNKNOWN_KEY, "%s", unknown.text);
	}
	kv_trace_unknown_key(jsonl->trace);
}

static void read_object(struct jsonl_reader *jsonl, struct kv_row *row, json_t *object)
{
	const struct kv_field *field;
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value) {
		field = kv_field_find(jsonl->table, key);
		if (field == NULL)
			fault_unknown_key(jsonl, row, key);
		else if (field->refusal != NULL)
			kv_row_fault(row, KV_FAULT_NOT_BUILT, "%s: %s", key, field->refusal);
		else if (!json_is_null(value))
			kv_field_read_json(field, jsonl->owner, row, value);
	}
	for (field = jsonl->table->fields; field->name != NULL; field++) {
		value = field->required ? json_object_get(object, field->name) : NULL;
		if (field->required && (value == NULL || json_is_null(value)))
			kv_row_fault(row, KV_FAULT_MISSING, "%s: is missing, and every row needs it", field->name);
	}
	if (!row->faulty && jsonl->table->finish != NULL)
		jsonl->table->finish(jsonl->owner, row);
}

static int accept_row(struct jsonl_reader *jsonl, const struct kv_row *row)
{
	if (kv_trace_accept(jsonl->trace) != 0)
		return -1;
	if (!row->faulty && jsonl->table->taken != NULL)
		jsonl->table->taken(jsonl->owner, row);
	return 0;
}

static int take_line(struct jsonl_reader *jsonl, const char *text, size_t length)
{
	struct kv_row *row;
	json_error_t error;
	json_t *object;
	int status;

	jsonl->line++;
	if (is_blank(text, length))
		return 0;
	row = kv_trace_begin(jsonl->trace, jsonl->line);
	if (jsonl->table->begin != NULL)
		jsonl->table->begin(jsonl->owner);
	kv_json_arena_begin();
	object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
	if (object == NULL)
		fault_json(row, text, length, &error);
	else if (!json_is_object(object))
		kv_row_fault(row, KV_FAULT_SYNTAX, "the line is no JSON object; allowed: one JSON object a line");
	else if (jsonl->table->expand_json == NULL)
		read_object(jsonl, row, object);
	if (row->faulty || jsonl->table->expand_json == NULL)
		status = accept_row(jsonl, row);
	else
		status = jsonl->table->expand_json(jsonl->owner, object, jsonl->line);
	kv_json_arena_end();
	return status;
}

static void keep_partial(struct jsonl_reader *jsonl, const char *text, size_t length)
{
	jsonl->partial = kv_grow(jsonl->partial, &jsonl->partial_capacity, jsonl->partial_length + length, 1);
	memcpy(jsonl->partial + jsonl->partial_length, text, length);
	jsonl->partial_length += length;
}

static int take_partial(struct jsonl_reader *jsonl)
{
	size_t length = jsonl->partial_length;

	jsonl->partial_length = 0;
	return length > 0 ? take_line(jsonl, jsonl->partial, length) : 0;
}

static int take_chunk(struct jsonl_reader *jsonl, const char *data, size_t length)
{
	const char *end = data + length;
	const char *newline;
	int status = 0;

	for (; status == 0 && (newline = memchr(data, '\n', (size_t)(end - data))) != NULL; data = newline + 1) {
		if (jsonl->partial_length == 0) {
			status = take_line(jsonl, data, (size_t)(newline - data));
		} else {
			keep_partial(jsonl, data, (size_t)(newline - data));
			status = take_partial(jsonl);
		}
	}
	if (status == 0 && data < end)
		keep_partial(jsonl, data, (size_t)(end - data));
	return status;
}

static int fill_jsonl(struct kv_reader *reader, struct kv_error *err)
{
	struct jsonl_reader *jsonl = (struct jsonl_reader *)reader;
	const char *data;
	size_t length;
	int status = kv_input_chunk(kv_trace_input(jsonl->trace), &data, &length, err);

	if (status == 0)
		return take_partial(jsonl) != 0 ? -1 : 0;
	if (status < 0 || take_chunk(jsonl, data, length) != 0)
		return -1;
	if (jsonl->partial_length > LINE_MAX_BYTES)
		return kv_trace_fail(jsonl->trace, err, jsonl->line + 1,
		                     "a line longer than %d MiB; allowed: one JSON object a line",
		                     LINE_MAX_BYTES >> 20);
	return 1;
}

struct kv_reader *kv_jsonl_open(struct kv_trace *trace, const struct kv_table *table, void *owner)
{
	struct jsonl_reader *jsonl = kv_calloc(1, sizeof *jsonl);

	jsonl->reader = (struct kv_reader){.fill = fill_jsonl, .close = close_jsonl};
	jsonl->trace = trace;
	jsonl->table = table;
	jsonl->owner = owner;
	return &jsonl->reader;
}
