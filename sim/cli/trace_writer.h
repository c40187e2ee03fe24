/* Writes native traces in CSV. */
#ifndef KV_SIM_CLI_TRACE_WRITER_H
#define KV_SIM_CLI_TRACE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "results/output_file.h"
#include "sim/request.h"

enum kv_trace_column {
	KV_COLUMN_ARRIVAL,
	KV_COLUMN_ID,
	KV_COLUMN_PROMPT_TOKENS,
	KV_COLUMN_OUTPUT_TOKENS,
	KV_COLUMN_PROMPT,
	KV_COLUMN_CONTENT,      /* the same, where nothing names what requests generate */
	KV_COLUMN_MAX_TOKENS,
	KV_COLUMN_TENANT,
	KV_COLUMN_SALT,
	KV_COLUMN_ADAPTER,
	KV_COLUMN_PRIORITY,
	KV_COLUMN_RETRIEVAL,
	KV_COLUMN_DEADLINE,
	KV_COLUMN_AFTER,
	KV_COLUMN_THINK,
	KV_COLUMNS
};

/* Columns in the order in which they are written. */
struct kv_trace_layout {
	enum kv_trace_column columns[KV_COLUMNS];
	size_t count;
};

void kv_trace_layout_add(struct kv_trace_layout *layout, enum kv_trace_column column);
bool kv_trace_layout_has(const struct kv_trace_layout *layout, enum kv_trace_column column);
/* The column of that name; KV_COLUMNS if there is none. */
enum kv_trace_column kv_trace_column_find(const char *name);

struct kv_trace_line {
	kv_time arrival;          /* KV_TIME_NONE = none */
	const char *id;           /* NULL = "r" and index */
	uint64_t index;
	const char *prompt;       /* segments; "" = unique content */
	uint32_t prompt_tokens, output_tokens, max_tokens;
	const char *tenant, *salt, *adapter;
	int64_t priority;
	kv_time retrieval;
	kv_time deadline;         /* KV_TIME_NONE = none */
	const char *after;        /* ids separated by blanks; "" = none */
	kv_time think;
};

void kv_trace_write_header(struct kv_output *out, const struct kv_trace_layout *layout);
void kv_trace_write_line(struct kv_output *out, const struct kv_trace_layout *layout, const struct kv_trace_line *line);

#endif
