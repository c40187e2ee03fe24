/* RAGPulse (MIT, flashserve/RAGPulse): prompts as chunks of content, whose lengths stand in tables beside the trace.
 *
 * A chunk's id stands for its own text wherever it stands, so that two prompts share what they have in common from the
 * start on, not every chunk that both contain.
 */
#include "config.h"

#include "workloads/formats.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "workloads/ids.h"
#include "workloads/jsonl.h"
#include "workloads/number.h"

struct ragpulse_params {
	char tables[KV_PARAM_TEXT_MAX];
};

/* In the order in which they stand in a prompt, which is that of the keys in the trace. */
static const struct {
	const char *key;      /* of hash_ids */
	const char *id;       /* of the table's rows */
} kinds[] = {
	{"sys_prompt", "sys_prompt_id"}, {"passages_ids", "passage_id"}, {"history", "history_id"},
	{"web_search", "web_search_id"}, {"user_input", "user_input_id"}
};

enum { KINDS = sizeof kinds / sizeof *kinds };

struct ragpulse {
	struct kv_trace *trace;
	struct kv_ids lengths[KINDS];   /* id + 1 to tokens */
	const json_t *chunks;           /* of the row at hand */
};

/* --- tables ------------------------------------------------------------------------------------------------------- */

enum table_row { ROW_NONE, ROW_TAKEN, ROW_CONTRADICTS };

/* Tables may overlap, as a cut one and the whole, as long as they agree: folders list their files in any order. */
static enum table_row take_length(struct kv_ids *lengths, json_int_t id, json_int_t length)
{
	const uint32_t *known;

	if (id < 0 || length < 0 || length > KV_TOKENS_MAX)
		return ROW_NONE;
	known = kv_ids_find(lengths, (uint64_t)id + 1);
	if (known != NULL)
		return *known == (uint32_t)length ? ROW_TAKEN : ROW_CONTRADICTS;
	kv_ids_add(lengths, (uint64_t)id + 1, (uint32_t)length);
	return ROW_TAKEN;
}

static enum table_row take_table_row(struct ragpulse *self, const json_t *row)
{
	const json_t *length = json_object_get(row, "token_length");

	for (int i = 0; i < KINDS; i++) {
		const json_t *id = json_object_get(row, kinds[i].id);

		if (json_is_integer(id) && json_is_integer(length))
			return take_length(&self->lengths[i], json_integer_value(id), json_integer_value(length));
	}
	return ROW_NONE;
}

/* A file whose first line is no row of a table is none, and is left alone. */
static int read_table(struct ragpulse *self, const char *path, struct kv_error *err)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t capacity = 0;
	ssize_t length;
	uint64_t number = 0;
	int status = 0;

	if (file == NULL)
		return kv_fail(err, KV_EXIT_IO, "%s: %s", path, strerror(errno));
	while (status == 0 && (length = getline(&line, &capacity, file)) > 0) {
		json_t *row = json_loadb(line, (size_t)length, 0, NULL);
		enum table_row taken = take_table_row(self, row);

		json_decref(row);
		if (taken == ROW_NONE && number == 0)
			break;
		if (taken == ROW_CONTRADICTS)
			status = kv_fail(err, KV_EXIT_DATA,
			                 "%s:%" PRIu64 ": token_length: the tables of this folder have another one for "
			                 "this id; allowed: one length an id",
			                 path, number + 1);
		if (taken == ROW_NONE && strspn(line, " \t\r\n") != (size_t)length)
			status = kv_fail(err, KV_EXIT_DATA,
			                 "%s:%" PRIu64 ": no id and token_length; allowed: rows like the first", path,
			                 number + 1);
		number++;
	}
	free(line);
	fclose(file);
	return status;
}

static bool is_json_lines(const char *name)
{
	size_t length = strlen(name);

	return length > 6 && strcmp(name + length - 6, ".jsonl") == 0;
}

static int read_tables(struct ragpulse *self, const char *folder, struct kv_error *err)
{
	DIR *directory = opendir(folder);
	const struct dirent *entry;
	int status = 0;

	if (directory == NULL)
		return kv_fail(err, KV_EXIT_MISSING,
		               "%s: %s (the tables of chunk lengths are looked for there; name another folder with "
		               "--format ragpulse,tables=FOLDER)",
		               folder, strerror(errno));
	while (status == 0 && (entry = readdir(directory)) != NULL) {
		size_t size = strlen(folder) + strlen(entry->d_name) + 2;
		char *path = kv_calloc(size, 1);

		snprintf(path, size, "%s/%s", folder, entry->d_name);
		if (is_json_lines(entry->d_name))
			status = read_table(self, path, err);
		free(path);
	}
	closedir(directory);
	return status;
}

static int read_tables_near(struct ragpulse *self, const char *trace, const char *folder, struct kv_error *err)
{
	const char *slash = strrchr(trace, '/');
	char *copy;
	int status;

	if (*folder != '\0')
		return read_tables(self, folder, err);
	copy = kv_strdup(slash != NULL ? trace : ".");
	if (slash != NULL)
		copy[slash - trace + (slash == trace)] = '\0';
	status = read_tables(self, copy, err);
	free(copy);
	return status;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Seconds as text: "82". */
static void read_timestamp(void *owner, struct kv_row *row, const json_t *value)
{
	(void)owner;
	if (!json_is_string(value) ||
	    kv_number_parse(json_string_value(value), json_string_length(value), 9, KV_ARRIVAL_MAX, &row->arrival) !=
	    KV_NUMBER_OK)
		kv_row_fault(row, KV_FAULT_NUMBER, "timestamp: not seconds in quotes; allowed: text like \"82\"");
}

static void keep_chunks(void *owner, struct kv_row *row, const json_t *value)
{
	static const char *const known[] = {
		"sys_prompt", "passages_ids", "history", "web_search", "user_input", NULL
	};
	struct ragpulse *self = owner;

	self->chunks = value;
	kv_trace_unknown_members(self->trace, value, known);
	if (!json_is_object(value))
		kv_row_fault(row, KV_FAULT_HASH_IDS, "hash_ids: not an object; allowed: lists of chunk ids by kind");
}

static void add_named(struct kv_row *row, int kind, json_int_t id, uint32_t tokens)
{
	char name[80];
	int length = snprintf(name, sizeof name, "%s/%" JSON_INTEGER_FORMAT, kinds[kind].key, id);

	kv_row_named_segment(row, KV_STREAM_NAMED, name, (size_t)length, tokens);
}

static void add_chunk(const struct ragpulse *self, struct kv_row *row, int kind, const json_t *id, uint64_t *sum)
{
	const uint32_t *length = NULL;

	if (json_is_integer(id) && json_integer_value(id) >= 0)
		length = kv_ids_find(&self->lengths[kind], (uint64_t)json_integer_value(id) + 1);
	if (length == NULL) {
		kv_row_fault(row, KV_FAULT_HASH_IDS,
		             "hash_ids: a chunk of %s has no length; allowed: ids of a table with %s and token_length "
		             "beside the trace, or in tables=FOLDER",
		             kinds[kind].key, kinds[kind].id);
		return;
	}
	*sum += *length;
	if (*length > 0)
		add_named(row, kind, json_integer_value(id), *length);
}

static void finish(void *owner, struct kv_row *row)
{
	const struct ragpulse *self = owner;
	uint64_t sum = 0;

	for (int kind = 0; kind < KINDS; kind++) {
		const json_t *list = json_object_get(self->chunks, kinds[kind].key);

		if (list != NULL && !json_is_null(list) && !json_is_array(list))
			kv_row_fault(row, KV_FAULT_HASH_IDS, "hash_ids: %s is no list; allowed: a list of chunk ids",
			             kinds[kind].key);
		for (size_t i = 0; i < json_array_size(list); i++)
			add_chunk(self, row, kind, json_array_get(list, i), &sum);
	}
	if (!row->faulty && sum > row->prompt_tokens)
		kv_row_fault(row, KV_FAULT_PROMPT_SUM,
		             "input_length: %" PRIu32 ", but its chunks sum to %" PRIu64 "; allowed: at least "
		             "these",
		             row->prompt_tokens, sum);
	row->named = true;
	if (!row->faulty && sum < row->prompt_tokens)
		kv_row_segment(row, KV_STREAM_PRIVATE, 0, row->prompt_tokens - (uint32_t)sum);
}

static void close_ragpulse(void *owner)
{
	struct ragpulse *self = owner;

	for (int i = 0; i < KINDS; i++)
		kv_ids_fini(&self->lengths[i]);
	free(self);
}

static const struct kv_field fields[] = {
	{.name = "timestamp", .read_json = read_timestamp, .required = true},
	{.name = "input_length", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, prompt_tokens),
	 .required = true},
	{.name = "output_length", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens),
	 .required = true},
	{.name = "hash_ids", .read_json = keep_chunks, .required = true},
	{.name = "session_id", .type = KV_FIELD_IGNORED},
	{0}
};

static const struct kv_table table = {.fields = fields, .finish = finish, .close = close_ragpulse};

static const struct kv_param params[] = {
	{"tables", KV_PARAM_TEXT, offsetof(struct ragpulse_params, tables), 0, 0, "", "",
	 "folder of the tables of chunk lengths (default: that of the trace)"},
	{0}
};

static bool detect(const struct kv_sniff *sniff)
{
	return json_is_object(json_object_get(sniff->json, "hash_ids"));
}

static struct kv_reader *open_ragpulse(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                       struct kv_error *err)
{
	const struct ragpulse_params *params_given = values;
	struct ragpulse *self = kv_calloc(1, sizeof *self);

	(void)sniff;
	self->trace = trace;
	kv_trace_declare(trace, KV_TRACE_PREFIX_IDENTITY);
	if (read_tables_near(self, kv_input_name(kv_trace_input(trace)), params_given->tables, err) != 0) {
		close_ragpulse(self);
		return NULL;
	}
	return kv_jsonl_open(trace, &table, self);
}

const struct kv_format kv_format_ragpulse = {
	.name = "ragpulse",
	.summary = "RAGPulse JSON lines: chunks of content with lengths in tables beside them",
	.rules = "Times are seconds, as text. A prompt is its chunks in the order system prompt, passages, history, "
	         "web search, user input; their lengths stand in JSON-lines tables in the same folder, or in "
	         "tables=FOLDER. Chunk ids have no position: prompts share what they have in common from the start "
	         "on, and `info` also says what they share wherever it stands. Tokens beyond the chunks, 7 to 12 of a "
	         "template, stand at the end and are unique.",
	.detect = detect,
	.open = open_ragpulse,
	.params_size = sizeof(struct ragpulse_params),
	.params = params
};
