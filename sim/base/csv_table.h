/* A small CSV file with a header, whole in memory: measurements, not traces (workloads/ streams those). */
#ifndef KV_SIM_CSV_TABLE_H
#define KV_SIM_CSV_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"

#define KV_NO_COLUMN SIZE_MAX

struct kv_csv_table {
	char *path;
	char **names;    /* of the columns */
	size_t columns;
	size_t rows;     /* without the header */
	char **cells;    /* rows * columns */
	size_t *lines;   /* of each row in the file, from 1 */
};

/* "-" is stdin. NULL with err filled: no such file, malformed quotes, a row with more or fewer cells than the header,
 * no rows. */
struct kv_csv_table *kv_csv_table_read(const char *path, struct kv_error *err);
void kv_csv_table_free(struct kv_csv_table *table);

/* KV_NO_COLUMN if there is none. */
size_t kv_csv_table_column(const struct kv_csv_table *table, const char *name);
const char *kv_csv_table_cell(const struct kv_csv_table *table, size_t row, size_t column);

/* Conditions "column=text", "column<=number" or "column>=number", all of which a row must satisfy. */
struct kv_row_filter {
	const char *const *conditions;
	size_t count;
};

/* 1 = passes, 0 = does not, -1 with err filled = a condition names no column or compares no numbers. NULL passes. */
int kv_csv_table_passes(const struct kv_csv_table *table, size_t row, const struct kv_row_filter *filter,
                        struct kv_error *err);

/* "path:line: column: found" in front of the message; returns -1. */
int kv_csv_table_fail(const struct kv_csv_table *table, size_t row, size_t column, struct kv_error *err,
                      const char *allowed);

#endif
