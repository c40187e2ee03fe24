#include "config.h"

#include "workloads/csv.h"

#include <stdlib.h>
#include <string.h>

#include <csv.h>

#include "sim/base/memory.h"
#include "workloads/number.h"

/* A field longer than this means that a closing quote is missing. */
enum { FIELD_MAX = 64 << 20 };

/* What the parser's buffer grows by. Its own 128 bytes copy a field of 10 MB 80,000 times. */
enum { FIELD_STEP = 1 << 18 };

struct csv_reader {
	struct kv_reader reader;
	struct kv_trace *trace;
	const struct kv_table *table;
	void *owner;
	struct csv_parser parser;
	bool started;
	const struct kv_field **columns;  /* of the file, in its order; NULL = ignored */
	size_t column_count, column_capacity;
	char **names;                          /* of the header while it is read */
	size_t name_count, name_capacity;
	size_t field;                          /* fields of the row at hand so far */
	struct kv_row *row;
	uint64_t line;                         /* being read, from 1 */
	uint64_t row_line;                     /* that the row at hand began on */
	bool has_header, after_cr;
	bool failed;
	struct kv_error error;
};

static void free_names(struct csv_reader *csv)
{
	for (size_t i = 0; i < csv->name_count; i++)
		free(csv->names[i]);
	free(csv->names);
	csv->names = NULL;
	csv->name_count = csv->name_capacity = 0;
}

static void close_csv(struct kv_reader *reader)
{
	struct csv_reader *csv = (struct csv_reader *)reader;

	if (csv->table->close != NULL)
		csv->table->close(csv->owner);
	csv_free(&csv->parser);
	free_names(csv);
	free(csv->columns);
	free(csv);
}

static int fail_unknown_column(struct csv_reader *csv, const char *name)
{
	struct kv_error unknown;

	kv_field_fail_unknown(csv->table, "column", name, &unknown);
	return kv_trace_fail(csv->trace, &csv->error, csv->row_line, "%s", unknown.text);
}

static int map_column(struct csv_reader *csv, size_t at)
{
	const char *name = csv->names[at];
	const struct kv_field *column = kv_field_find(csv->table, name);

	if (column == NULL && csv->table->strict)
		return fail_unknown_column(csv, name);
	if (column == NULL)
		kv_trace_unknown_key(csv->trace);
	else if (column->refusal != NULL)
		return kv_trace_fail(csv->trace, &csv->error, csv->row_line, "column %s: %s", name, column->refusal);
	for (size_t i = 0; i < at && column != NULL; i++)
		if (csv->columns[i] == column)
			return kv_trace_fail(csv->trace, &csv->error, csv->row_line,
			                     "column %s: stands twice in the header; allowed: once", name);
	csv->columns[at] = column;
	return 0;
}

static int check_required(struct csv_reader *csv)
{
	for (const struct kv_field *column = csv->table->fields; column->name != NULL; column++) {
		bool found = !column->required;

		for (size_t i = 0; i < csv->column_count; i++)
			found |= csv->columns[i] == column;
		if (!found)
			return kv_trace_fail(csv->trace, &csv->error, csv->row_line,
			                     "column %s: is missing, and this format requires it", column->name);
	}
	return 0;
}

static void take_cell(struct csv_reader *csv, const char *text, size_t length)
{
	const struct kv_field *column;

	if (csv->field == 0) {
		csv->row = kv_trace_begin(csv->trace, csv->row_line);
		if (csv->table->begin != NULL)
			csv->table->begin(csv->owner);
	}
	if (csv->field++ >= csv->column_count)
		return;
	column = csv->columns[csv->field - 1];
	if (column == NULL || (csv->row->faulty && !column->decides))
		return;
	if (length > 0)
		kv_field_read_text(column, csv->owner, csv->row, text, length);
	else if (column->required)
		kv_row_fault(csv->row, KV_FAULT_MISSING, "%s: is empty, and every row needs it", column->name);
}

static void finish_row(struct csv_reader *csv)
{
	if (csv->field != csv->column_count) {
		csv->row->faulty = csv->row->expected = false;
		kv_row_fault(csv->row, KV_FAULT_COLUMNS, "%zu fields; allowed: %zu, as in the header", csv->field,
		             csv->column_count);
	}
	if (!csv->row->faulty && csv->table->finish != NULL)
		csv->table->finish(csv->owner, csv->row);
	if (csv->table->expand != NULL)
		csv->failed = csv->table->expand(csv->owner, csv->row) != 0;
	else if (kv_trace_accept(csv->trace) != 0)
		csv->failed = true;
	else if (!csv->row->faulty && csv->table->taken != NULL)
		csv->table->taken(csv->owner, csv->row);
}

/* Columns go by position; the first row is a header if it does not begin with a number. */
static int take_positions(struct csv_reader *csv)
{
	const struct kv_field *fields = csv->table->fields;
	int64_t ignored;

	for (size_t i = 0; i < csv->column_count && fields[i].name != NULL; i++)
		csv->columns[i] = &fields[i];
	if (check_required(csv) != 0)
		return -1;
	if (kv_number_parse(csv->names[0], strlen(csv->names[0]), 9, INT64_MAX, &ignored) == KV_NUMBER_MALFORMED)
		return 0;
	csv->field = 0;
	csv->has_header = true;
	for (size_t i = 0; i < csv->column_count; i++)
		take_cell(csv, csv->names[i], strlen(csv->names[i]));
	finish_row(csv);
	return csv->failed ? -1 : 0;
}

static int map_columns(struct csv_reader *csv)
{
	for (size_t i = 0; i < csv->column_count; i++)
		if (map_column(csv, i) != 0)
			return -1;
	return check_required(csv);
}

static void take_header(struct csv_reader *csv)
{
	int status;

	csv->column_count = csv->name_count;
	csv->columns = kv_grow(csv->columns, &csv->column_capacity, csv->column_count, sizeof *csv->columns);
	status = csv->table->positional ? take_positions(csv) : map_columns(csv);
	if (status == 0 && csv->table->header != NULL)
		status = csv->table->header(csv->owner, csv->columns, csv->column_count, &csv->error);
	if (status != 0)
		csv->failed = true;
	free_names(csv);
	csv->has_header = true;
}

static void take_name(struct csv_reader *csv, const char *text)
{
	csv->names = kv_grow(csv->names, &csv->name_capacity, csv->name_count + 1, sizeof *csv->names);
	csv->names[csv->name_count++] = kv_strdup(text);
	csv->field++;
}

static void on_field(void *text, size_t length, void *self)
{
	struct csv_reader *csv = self;

	csv->after_cr = false;
	if (csv->failed)
		return;
	if (csv->field == 0)
		csv->row_line = csv->line;
	if (csv->has_header)
		take_cell(csv, text, length);
	else
		take_name(csv, text);
	/* Only a quoted field can hold line ends, and it has been stripped of its quotes. */
	for (const char *at = text, *end = at + length; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
		csv->line++;
}

/* end: the character that ended the line, -1 at the end of the file. Lines without fields are reported too. */
static void on_row(int end, void *self)
{
	struct csv_reader *csv = self;

	if (!csv->failed && csv->field > 0) {
		if (csv->has_header)
			finish_row(csv);
		else
			take_header(csv);
		csv->field = 0;
	}
	if (end != '\n' || !csv->after_cr)
		csv->line++;
	csv->after_cr = end == '\r';
}

static int fail_syntax(struct csv_reader *csv, struct kv_error *err)
{
	if (csv_error(&csv->parser) != CSV_EPARSE)
		return kv_trace_fail(csv->trace, err, csv->line, "%s", csv_strerror(csv_error(&csv->parser)));
	return kv_trace_fail(csv->trace, err, csv->line,
	                     "malformed quotes; allowed: fields in double quotes from end to end, quotes inside "
	                     "doubled");
}

static int fill_csv(struct kv_reader *reader, struct kv_error *err)
{
	struct csv_reader *csv = (struct csv_reader *)reader;
	const char *data;
	size_t length;
	bool parsed;
	int status = kv_input_chunk(kv_trace_input(csv->trace), &data, &length, err);

	if (status < 0)
		return -1;
	if (status > 0)
		parsed = csv_parse(&csv->parser, data, length, on_field, on_row, csv) == length;
	else
		parsed = csv_fini(&csv->parser, on_field, on_row, csv) == 0;
	if (csv->failed && csv->error.text[0] != '\0')
		*err = csv->error;
	if (csv->failed)
		return -1;
	if (!parsed)
		return fail_syntax(csv, err);
	if (csv->parser.entry_pos > FIELD_MAX)
		return kv_trace_fail(csv->trace, err, csv->line,
		                     "a field longer than %d MiB: is a closing quote missing?", FIELD_MAX >> 20);
	return status;
}

struct kv_reader *kv_csv_open(struct kv_trace *trace, const struct kv_table *table, void *owner)
{
	struct csv_reader *csv = kv_calloc(1, sizeof *csv);

	csv->reader = (struct kv_reader){.fill = fill_csv, .close = close_csv};
	csv->trace = trace;
	csv->table = table;
	csv->owner = owner;
	csv->line = 1;
	csv_init(&csv->parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL | CSV_REPALL_NL);
	csv_set_blk_size(&csv->parser, FIELD_STEP);
	return &csv->reader;
}
