/* Traces in CSV: libcsv in strict mode, plus the header, the number of fields a row, blank lines and line numbers.
 *
 * CRLF, LF and CR end lines; a last line may lack its end; lines without any text are skipped; quoted fields may hold
 * commas and line ends. Malformed quoting stops the reader: what follows it cannot be told apart.
 */
#ifndef KV_WORKLOADS_CSV_H
#define KV_WORKLOADS_CSV_H

#include "workloads/format.h"

/* The reader calls the table's hooks with owner, which it closes with itself. */
struct kv_reader *kv_csv_open(struct kv_trace *trace, const struct kv_table *table, void *owner);

#endif
