#include "config.h"

#include "sim/cli/trace_writer.h"

#include "results/csv_text.h"

void kv_trace_write_header(struct kv_output *out, unsigned columns)
{
	kv_output_text(out, "arrival_s,request_id,prompt_tokens,output_tokens");
	if (columns & KV_WRITE_PROMPT)
		kv_output_text(out, ",prompt");
	if (columns & KV_WRITE_CONTENT)
		kv_output_text(out, ",content");
	if (columns & KV_WRITE_REST)
		kv_output_text(out, ",max_tokens,tenant,salt,adapter,priority,retrieval_s,deadline_s");
	if (columns & KV_WRITE_AFTER)
		kv_output_text(out, ",after,think_s");
	kv_output_text(out, "\n");
}

static void write_text(struct kv_output *out, const char *text)
{
	kv_output_text(out, ",");
	kv_csv_text(out, text);
}

static void write_number(struct kv_output *out, int64_t value)
{
	char *p = kv_output_room(out, KV_NUMBER_TEXT_MAX + 1);

	*p++ = ',';
	kv_output_advance(out, kv_text_i64(p, value));
}

static void write_time(struct kv_output *out, kv_time time)
{
	char *p = kv_output_room(out, KV_NUMBER_TEXT_MAX + 1);

	*p++ = ',';
	kv_output_advance(out, kv_text_seconds(p, time));
}

/* Nothing where it is 0. */
static void write_seconds(struct kv_output *out, kv_time time)
{
	if (time != 0)
		write_time(out, time);
	else
		kv_output_text(out, ",");
}

static void write_rest(struct kv_output *out, const struct kv_trace_line *line)
{
	if (line->max_tokens != KV_TOKENS_UNSET)
		write_number(out, line->max_tokens);
	else
		kv_output_text(out, ",");
	write_text(out, line->tenant);
	write_text(out, line->salt);
	write_text(out, line->adapter);
	write_number(out, line->priority);
	write_seconds(out, line->retrieval);
	if (line->deadline == KV_TIME_NONE)
		kv_output_text(out, ",");
	else
		write_time(out, line->deadline);
}

void kv_trace_write_line(struct kv_output *out, unsigned columns, const struct kv_trace_line *line)
{
	char *p = kv_output_room(out, KV_NUMBER_TEXT_MAX + 1);

	kv_output_advance(out, kv_csv_seconds(p, line->arrival));
	kv_csv_request_id(out, line->id, line->index);
	write_number(out, line->prompt_tokens);
	write_number(out, line->output_tokens);
	if (columns & (KV_WRITE_PROMPT | KV_WRITE_CONTENT))
		write_text(out, line->prompt);
	if (columns & KV_WRITE_REST)
		write_rest(out, line);
	if (columns & KV_WRITE_AFTER) {
		write_text(out, line->after);
		write_seconds(out, *line->after != '\0' ? line->think : 0);
	}
	kv_output_text(out, "\n");
}
