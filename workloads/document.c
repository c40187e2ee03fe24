#include "config.h"

#include "workloads/document.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

enum { DOCUMENT_MAX = 1 << 30 };

struct document_reader {
	struct kv_reader reader;
	struct kv_trace *trace;
	const struct kv_document_table *table;
	void *owner;
	char *text;
	size_t length, capacity;
};

static void close_document(struct kv_reader *reader)
{
	struct document_reader *self = (struct document_reader *)reader;

	self->table->close(self->owner);
	free(self->text);
	free(self);
}

static int slurp(struct document_reader *self, struct kv_error *err)
{
	const char *data;
	size_t length;
	int status;

	while ((status = kv_input_chunk(kv_trace_input(self->trace), &data, &length, err)) == 1) {
		if (self->length + length > DOCUMENT_MAX)
			return kv_trace_fail(self->trace, err, 1,
			                     "longer than %d MiB; allowed: one JSON document of a run or session",
			                     DOCUMENT_MAX >> 20);
		self->text = kv_grow(self->text, &self->capacity, self->length + length, 1);
		memcpy(self->text + self->length, data, length);
		self->length += length;
	}
	return status;
}

/* Skips blanks and counts lines. */
static size_t skip_blanks(const struct document_reader *self, size_t at, uint64_t *line)
{
	while (at < self->length && memchr(" \t\r\n", self->text[at], 4) != NULL)
		*line += self->text[at++] == '\n';
	return at;
}

static uint64_t count_lines(const char *text, size_t length)
{
	uint64_t lines = 0;

	for (size_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	return lines;
}

/* Nobody knows where the next document begins: the rest of the file goes too. */
static int leave_out_rest(struct document_reader *self, size_t *at, uint64_t line, const json_error_t *error)
{
	*at = self->length;
	kv_row_json_fault(kv_trace_begin(self->trace, line + (uint64_t)error->line - 1), error, "JSON");
	return kv_trace_accept(self->trace);
}

static int take_document(struct document_reader *self, size_t *at, uint64_t *line)
{
	json_error_t error;
	json_t *document = json_loadb(self->text + *at, self->length - *at,
	                              JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &error);
	int status;

	if (document == NULL)
		return leave_out_rest(self, at, *line, &error);
	status = self->table->expand(self->owner, document, *line);
	json_decref(document);
	*line += count_lines(self->text + *at, (size_t)error.position);
	*at += (size_t)error.position;
	return status;
}

static int fill_document(struct kv_reader *reader, struct kv_error *err)
{
	struct document_reader *self = (struct document_reader *)reader;
	uint64_t line = 1;
	size_t at;
	int status;

	self->length = 0;
	status = slurp(self, err);
	at = skip_blanks(self, 0, &line);
	if (status == 0 && at == self->length)
		status = kv_trace_leave_out(self->trace, 1, KV_FAULT_SYNTAX, "the file is empty; allowed: JSON");
	for (; status == 0 && at < self->length; at = skip_blanks(self, at, &line))
		status = take_document(self, &at, &line);
	return status == 0 ? kv_trace_next_file(self->trace, err) : -1;
}

struct kv_reader *kv_document_open(struct kv_trace *trace, const struct kv_document_table *table, void *owner)
{
	struct document_reader *self = kv_calloc(1, sizeof *self);

	self->reader = (struct kv_reader){.fill = fill_document, .close = close_document};
	self->trace = trace;
	self->table = table;
	self->owner = owner;
	return &self->reader;
}
