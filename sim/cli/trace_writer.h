/* Writes native traces in CSV. */
#ifndef KV_SIM_CLI_TRACE_WRITER_H
#define KV_SIM_CLI_TRACE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "results/output_file.h"
#include "sim/request.h"

/* Columns beside arrival_s, request_id, prompt_tokens and output_tokens. */
enum {
	KV_WRITE_PROMPT = 1,
	KV_WRITE_CONTENT = 2,  /* the same, where nothing names what requests generate */
	KV_WRITE_REST = 4,
	KV_WRITE_AFTER = 8
};

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

void kv_trace_write_header(struct kv_output *out, unsigned columns);
void kv_trace_write_line(struct kv_output *out, unsigned columns, const struct kv_trace_line *line);

#endif
