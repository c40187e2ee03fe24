#include "config.h"

#include "sim/base/csv_table.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <csv.h>

#include "sim/base/memory.h"
#include "sim/base/names.h"
#include "sim/base/quantity.h"

struct reader {
	struct kv_csv_table *table;
	struct kv_error *err;
	size_t line;            /* being parsed */
	size_t row_line;        /* that the row began on */
	size_t field;           /* fields of the row so far */
	size_t name_capacity, cell_capacity, line_capacity;
	bool has_header, failed;
};

static void take_name(struct reader *r, const char *text)
{
	struct kv_csv_table *t = r->table;

	t->names = kv_grow(t->names, &r->name_capacity, t->columns + 1, sizeof *t->names);
	t->names[t->columns++] = kv_strdup(text);
}

static void take_cell(struct reader *r, const char *text)
{
	struct kv_csv_table *t = r->table;
	size_t at = t->rows * t->columns + r->field;

	if (r->field >= t->columns)
		return;
	t->cells = kv_grow(t->cells, &r->cell_capacity, at + 1, sizeof *t->cells);
	t->cells[at] = kv_strdup(text);
}

static void on_field(void *text, size_t length, void *self)
{
	struct reader *r = self;

	(void)length;
	if (r->field == 0)
		r->row_line = r->line;
	if (!r->has_header)
		take_name(r, text);
	else if (!r->failed)
		take_cell(r, text);
	r->field++;
}

static void free_row(struct kv_csv_table *t, size_t cells)
{
	for (size_t i = 0; i < cells && i < t->columns; i++)
		free(t->cells[t->rows * t->columns + i]);
}

static void take_row(struct reader *r)
{
	struct kv_csv_table *t = r->table;

	if (r->field != t->columns) {
		free_row(t, r->field);
		r->failed = true;
		kv_fail(r->err, KV_EXIT_DATA, "%s:%zu: %zu cells; allowed: %zu, as in the header", t->path, r->row_line,
		        r->field, t->columns);
		return;
	}
	t->lines = kv_grow(t->lines, &r->line_capacity, t->rows + 1, sizeof *t->lines);
	t->lines[t->rows++] = r->row_line;
}

/* Which of two columns of one name counts, nobody can say. */
static void take_header(struct reader *r)
{
	const struct kv_csv_table *t = r->table;

	r->has_header = true;
	for (size_t i = 1; i < t->columns && !r->failed; i++) {
		r->failed = *t->names[i] && kv_csv_table_column(t, t->names[i]) < i;
		if (r->failed)
			kv_fail(r->err, KV_EXIT_DATA, "%s:%zu: column %s stands twice", t->path, r->row_line,
			        t->names[i]);
	}
}

static void on_row(int end, void *self)
{
	struct reader *r = self;

	(void)end;
	if (r->field > 0 && !r->has_header)
		take_header(r);
	else if (r->field > 0 && !r->failed)
		take_row(r);
	r->field = 0;
}

static int parse(struct reader *r, FILE *file)
{
	struct csv_parser parser;
	char *text = NULL;
	size_t capacity = 0;
	ssize_t length;
	bool malformed = false;

	csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL);
	while (!r->failed && !malformed && (length = getline(&text, &capacity, file)) > 0) {
		r->line++;
		malformed = csv_parse(&parser, text, (size_t)length, on_field, on_row, r) != (size_t)length;
	}
	if (!r->failed && !malformed)
		malformed = csv_fini(&parser, on_field, on_row, r) != 0;
	if (r->has_header && !r->failed)
		free_row(r->table, r->field);
	csv_free(&parser);
	free(text);
	if (malformed)
		return kv_fail(r->err, KV_EXIT_DATA, "%s:%zu: malformed quotes", r->table->path, r->line);
	if (ferror(file))
		return kv_fail(r->err, KV_EXIT_IO, "%s: reading failed", r->table->path);
	return r->failed ? -1 : 0;
}

static int read_file(struct reader *r)
{
	const char *path = r->table->path;
	FILE *file = strcmp(path, "-") ? fopen(path, "r") : stdin;
	int status;

	if (!file)
		return kv_fail(r->err, errno == ENOENT ? KV_EXIT_MISSING : KV_EXIT_IO, "%s: %s", path, strerror(errno));
	status = parse(r, file);
	if (file != stdin)
		fclose(file);
	if (status == 0 && r->table->rows == 0)
		return kv_fail(r->err, KV_EXIT_DATA, "%s: no rows; a header and at least one row are needed", path);
	return status;
}

struct kv_csv_table *kv_csv_table_read(const char *path, struct kv_error *err)
{
	struct reader reader = {.table = kv_calloc(1, sizeof *reader.table), .err = err};

	reader.table->path = kv_strdup(path);
	if (read_file(&reader) == 0)
		return reader.table;
	kv_csv_table_free(reader.table);
	return NULL;
}

void kv_csv_table_free(struct kv_csv_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->rows * table->columns; i++)
		free(table->cells[i]);
	for (size_t i = 0; i < table->columns; i++)
		free(table->names[i]);
	free(table->cells);
	free(table->lines);
	free(table->names);
	free(table->path);
	free(table);
}

size_t kv_csv_table_column(const struct kv_csv_table *table, const char *name)
{
	for (size_t i = 0; i < table->columns; i++)
		if (!strcmp(table->names[i], name))
			return i;
	return KV_NO_COLUMN;
}

const char *kv_csv_table_cell(const struct kv_csv_table *table, size_t row, size_t column)
{
	return table->cells[row * table->columns + column];
}

int kv_csv_table_fail(const struct kv_csv_table *table, size_t row, size_t column, struct kv_error *err,
                      const char *allowed)
{
	return kv_fail(err, KV_EXIT_DATA, "%s:%zu: %s: '%s'; allowed: %s", table->path, table->lines[row],
	               table->names[column], kv_csv_table_cell(table, row, column), allowed);
}

static size_t column_before(const struct kv_csv_table *table, const char *condition, const char *end)
{
	size_t length = (size_t)(end - condition);

	for (size_t i = 0; i < table->columns; i++)
		if (strlen(table->names[i]) == length && !strncmp(table->names[i], condition, length))
			return i;
	return KV_NO_COLUMN;
}

static int compare(const struct kv_csv_table *table, size_t row, size_t column, char sign, const char *limit,
                   struct kv_error *err)
{
	struct kv_error ignored;
	double cell, bound;

	if (kv_parse_double(limit, -HUGE_VAL, HUGE_VAL, &bound, err))
		return kv_fail_in(err, "--where %s%c=", table->names[column], sign);
	if (kv_parse_double(kv_csv_table_cell(table, row, column), -HUGE_VAL, HUGE_VAL, &cell, &ignored))
		return 0;
	return sign == '<' ? cell <= bound : cell >= bound;
}

static int fail_unknown_column(const struct kv_csv_table *table, const char *condition, const char *end,
                               struct kv_error *err)
{
	char name[64];

	snprintf(name, sizeof name, "%.*s", (int)(end - condition), condition);
	kv_fail_unknown(err, KV_EXIT_USAGE, "column", name, (const char *const *)table->names, table->columns);
	return kv_fail_in(err, "%s: --where %s", table->path, condition);
}

static int satisfies(const struct kv_csv_table *table, size_t row, const char *condition, struct kv_error *err)
{
	const char *equals = strchr(condition, '='), *end = equals;
	bool ordered = equals && equals > condition && (equals[-1] == '<' || equals[-1] == '>');
	size_t column;

	if (ordered)
		end--;
	if (equals == NULL)
		return kv_fail(err, KV_EXIT_USAGE, "--where %s: allowed: COLUMN=VALUE, COLUMN<=NUMBER, COLUMN>=NUMBER",
		               condition);
	column = column_before(table, condition, end);
	if (column == KV_NO_COLUMN)
		return fail_unknown_column(table, condition, end, err);
	if (ordered)
		return compare(table, row, column, *end, equals + 1, err);
	return !strcmp(kv_csv_table_cell(table, row, column), equals + 1);
}

int kv_csv_table_passes(const struct kv_csv_table *table, size_t row, const struct kv_row_filter *filter,
                        struct kv_error *err)
{
	for (size_t i = 0; filter && i < filter->count; i++) {
		int status = satisfies(table, row, filter->conditions[i], err);

		if (status <= 0)
			return status;
	}
	return 1;
}
