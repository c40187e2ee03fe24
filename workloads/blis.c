/* Traces of BLIS, version 2 and 3 (inference-sim/inference-sim: Apache-2.0): the CSV; what the YAML beside it says of
 * the server is not part of the load. */
#include "config.h"

#include "workloads/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "workloads/csv.h"

enum { MICROSECONDS = 3 };

/* Of the row at hand. */
struct blis {
	uint32_t prefix;     /* tokens that the group shares */
	uint32_t served;     /* the prompt's tokens as the server counted them; 0 = it did not */
	char group[256];
	size_t group_length;
};

static void read_group(void *owner, struct kv_row *row, const char *text, size_t length)
{
	struct blis *self = owner;

	if (!kv_row_check_text(row, "prefix_group", text, length))
		return;
	if (length >= sizeof self->group) {
		kv_row_fault(row, KV_FAULT_RANGE, "prefix_group: %zu bytes; allowed: at most %zu", length,
		             sizeof self->group - 1);
		return;
	}
	memcpy(self->group, text, length);
	self->group_length = length;
}

static void read_prefix(void *owner, struct kv_row *row, const char *text, size_t length)
{
	kv_row_tokens(row, "prefix_length", text, length, &((struct blis *)owner)->prefix);
}

static void read_served(void *owner, struct kv_row *row, const char *text, size_t length)
{
	kv_row_tokens(row, "server_input_tokens", text, length, &((struct blis *)owner)->served);
}

static void read_status(void *owner, struct kv_row *row, const char *text, size_t length)
{
	(void)owner;
	(void)length;
	if (strcmp(text, "ok") != 0)
		kv_row_excuse(row, KV_FAULT_FAILED);
}

static void settle_deadline(struct kv_row *row)
{
	if (row->deadline == 0)
		row->deadline = KV_TIME_NONE;
	if (row->deadline == KV_TIME_NONE)
		return;
	if (row->deadline < row->arrival)
		kv_row_fault(row, KV_FAULT_RANGE, "deadline_us: before arrival_time_us; allowed: 0 (none), or later");
	else
		row->deadline -= row->arrival;
}

/* A prompt of a group is the group's prefix and input_tokens of its own; without one, the server's count is better. */
static void settle_prompt(const struct blis *self, struct kv_row *row)
{
	uint32_t own = row->prompt_tokens;

	if (self->group_length == 0 || self->prefix == 0) {
		row->prompt_tokens = self->group_length == 0 && self->served > 0 ? self->served : own;
		return;
	}
	if ((uint64_t)own + self->prefix > KV_TOKENS_MAX) {
		kv_row_fault(row, KV_FAULT_RANGE, "input_tokens: %" PRIu32 " + %" PRIu32 "; allowed: at most %u in all",
		             self->prefix, own, KV_TOKENS_MAX);
		return;
	}
	row->named = true;
	row->prompt_tokens = self->prefix + own;
	kv_row_named_segment(row, KV_STREAM_NAMED, self->group, self->group_length, self->prefix);
	if (own > 0)
		kv_row_segment(row, KV_STREAM_PRIVATE, 0, own);
}

static void finish(void *owner, struct kv_row *row)
{
	struct blis *self = owner;

	settle_deadline(row);
	if (!row->faulty)
		settle_prompt(self, row);
}

static void begin(void *owner)
{
	*(struct blis *)owner = (struct blis){0};
}

static const struct kv_field fields[] = {
	{.name = "arrival_time_us", .type = KV_FIELD_TIME, .digits = MICROSECONDS,
	 .offset = offsetof(struct kv_row, arrival), .required = true},
	{.name = "input_tokens", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, prompt_tokens),
	 .required = true},
	{.name = "output_tokens", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens),
	 .required = true},
	{.name = "prefix_group", .read_text = read_group},
	{.name = "prefix_length", .read_text = read_prefix},
	{.name = "server_input_tokens", .read_text = read_served},
	{.name = "status", .read_text = read_status, .decides = true},
	{.name = "deadline_us", .type = KV_FIELD_TIME, .digits = MICROSECONDS,
	 .offset = offsetof(struct kv_row, deadline)},
	{.name = "tenant_id", .type = KV_FIELD_NAME, .offset = offsetof(struct kv_row, tenant)},
	{.name = "vllm_priority", .type = KV_FIELD_INTEGER, .offset = offsetof(struct kv_row, priority)},
	{.name = "adapter", .type = KV_FIELD_NAME, .offset = offsetof(struct kv_row, adapter)},
	{.name = "request_id", .type = KV_FIELD_IGNORED}, {.name = "client_id", .type = KV_FIELD_IGNORED},
	{.name = "slo_class", .type = KV_FIELD_IGNORED}, {.name = "session_id", .type = KV_FIELD_IGNORED},
	{.name = "round_index", .type = KV_FIELD_IGNORED}, {.name = "streaming", .type = KV_FIELD_IGNORED},
	{.name = "text_tokens", .type = KV_FIELD_IGNORED}, {.name = "image_tokens", .type = KV_FIELD_IGNORED},
	{.name = "audio_tokens", .type = KV_FIELD_IGNORED}, {.name = "video_tokens", .type = KV_FIELD_IGNORED},
	{.name = "reason_ratio", .type = KV_FIELD_IGNORED}, {.name = "model", .type = KV_FIELD_IGNORED},
	{.name = "slo_target_us", .type = KV_FIELD_IGNORED}, {.name = "send_time_us", .type = KV_FIELD_IGNORED},
	{.name = "first_chunk_time_us", .type = KV_FIELD_IGNORED},
	{.name = "last_chunk_time_us", .type = KV_FIELD_IGNORED}, {.name = "num_chunks", .type = KV_FIELD_IGNORED},
	{.name = "error_message", .type = KV_FIELD_IGNORED}, {.name = "finish_reason", .type = KV_FIELD_IGNORED},
	{.name = "x_request_id", .type = KV_FIELD_IGNORED},
	{0}
};

static const struct kv_table table = {.fields = fields, .begin = begin, .finish = finish, .close = free};

static const char *const keys[] = {"arrival_time_us", "input_tokens", "output_tokens", NULL};

static bool detect(const struct kv_sniff *sniff)
{
	return kv_sniff_has_fields(sniff, keys);
}

static struct kv_reader *open_blis(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                   struct kv_error *err)
{
	(void)sniff;
	(void)values;
	(void)err;
	kv_trace_declare(trace, KV_TRACE_PREFIX_IDENTITY | KV_TRACE_ANY_COLUMN);
	return kv_csv_open(trace, &table, kv_calloc(1, sizeof(struct blis)));
}

const struct kv_format kv_format_blis = {
	.name = "blis",
	.summary = "BLIS trace CSV: microseconds, token counts, prefix groups",
	.rules = "Times are microseconds from the file's own zero; a request arrives at arrival_time_us, and its "
	         "deadline counts from there (0 is none). Prompts of one prefix_group begin with its prefix_length "
	         "tokens, before input_tokens of their own; without a group, server_input_tokens is the prompt where "
	         "it is not 0. Rows are whole requests, and rounds of a session do not wait for each other. Rows "
	         "whose status is not ok are left out and counted as failed_request, whatever else they say. The YAML "
	         "file beside it is not read.",
	.keys = keys,
	.detect = detect,
	.open = open_blis
};
