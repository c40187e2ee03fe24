#include "config.h"

#include "sim/cli/trace_writer.h"

#include <string.h>

#include "results/csv_text.h"

static const char *const names[KV_COLUMNS] = {
	"arrival_s", "request_id", "prompt_tokens", "output_tokens", "prompt",     "content", "max_tokens", "tenant",
	"salt",      "adapter",    "priority",      "retrieval_s",   "deadline_s", "after",   "think_s"
};

void kv_trace_layout_add(struct kv_trace_layout *layout, enum kv_trace_column column)
{
	layout->columns[layout->count++] = column;
}

bool kv_trace_layout_has(const struct kv_trace_layout *layout, enum kv_trace_column column)
{
	for (size_t i = 0; i < layout->count; i++)
		if (layout->columns[i] == column)
			return true;
	return false;
}

enum kv_trace_column kv_trace_column_find(const char *name)
{
	for (int i = 0; i < KV_COLUMNS; i++)
		if (strcmp(names[i], name) == 0)
			return (enum kv_trace_column)i;
	return KV_COLUMNS;
}

void kv_trace_write_header(struct kv_output *out, const struct kv_trace_layout *layout)
{
	for (size_t i = 0; i < layout->count; i++) {
		kv_output_text(out, i > 0 ? "," : "");
		kv_output_text(out, names[layout->columns[i]]);
	}
	kv_output_text(out, "\n");
}

static void write_number(struct kv_output *out, int64_t value)
{
	kv_output_advance(out, kv_text_i64(kv_output_room(out, KV_NUMBER_TEXT_MAX), value));
}

/* Nothing for KV_TIME_NONE. */
static void write_time(struct kv_output *out, kv_time time)
{
	if (time != KV_TIME_NONE)
		kv_output_advance(out, kv_text_seconds(kv_output_room(out, KV_NUMBER_TEXT_MAX), time));
}

static kv_time none_if_zero(kv_time time)
{
	return time != 0 ? time : KV_TIME_NONE;
}

static void write_cell(struct kv_output *out, enum kv_trace_column column, const struct kv_trace_line *line)
{
	switch (column) {
	case KV_COLUMN_ARRIVAL: write_time(out, line->arrival); break;
	case KV_COLUMN_ID: kv_csv_request_id(out, line->id, line->index); break;
	case KV_COLUMN_PROMPT_TOKENS: write_number(out, line->prompt_tokens); break;
	case KV_COLUMN_OUTPUT_TOKENS: write_number(out, line->output_tokens); break;
	case KV_COLUMN_PROMPT:
	case KV_COLUMN_CONTENT: kv_csv_text(out, line->prompt); break;
	case KV_COLUMN_MAX_TOKENS:
		if (line->max_tokens != KV_TOKENS_UNSET)
			write_number(out, line->max_tokens);
		break;
	case KV_COLUMN_TENANT: kv_csv_text(out, line->tenant); break;
	case KV_COLUMN_SALT: kv_csv_text(out, line->salt); break;
	case KV_COLUMN_ADAPTER: kv_csv_text(out, line->adapter); break;
	case KV_COLUMN_PRIORITY: write_number(out, line->priority); break;
	case KV_COLUMN_RETRIEVAL: write_time(out, none_if_zero(line->retrieval)); break;
	case KV_COLUMN_DEADLINE: write_time(out, line->deadline); break;
	case KV_COLUMN_AFTER: kv_csv_text(out, line->after); break;
	case KV_COLUMN_THINK:
		write_time(out, *line->after != '\0' ? none_if_zero(line->think) : KV_TIME_NONE);
		break;
	case KV_COLUMNS: break;
	}
}

void kv_trace_write_line(struct kv_output *out, const struct kv_trace_layout *layout, const struct kv_trace_line *line)
{
	for (size_t i = 0; i < layout->count; i++) {
		kv_output_text(out, i > 0 ? "," : "");
		write_cell(out, layout->columns[i], line);
	}
	kv_output_text(out, "\n");
}
