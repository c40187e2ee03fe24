/* Traces in JSON lines: one object a line, of any length; lines of blanks are skipped. */
#ifndef KV_WORKLOADS_JSONL_H
#define KV_WORKLOADS_JSONL_H

#include "workloads/format.h"

/* The reader calls the table's hooks with owner, which it closes with itself. A null value counts as absent. */
struct kv_reader *kv_jsonl_open(struct kv_trace *trace, const struct kv_table *table, void *owner);

#endif
