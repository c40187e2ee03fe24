/* AIBrix's generated workloads (Apache-2.0, vllm-project/aibrix): a JSON line a moment, with the requests sent then. */
#include "config.h"

#include "workloads/formats.h"

#include <stdlib.h>

#include "sim/base/memory.h"
#include "workloads/jsonl.h"

struct aibrix {
	struct kv_trace *trace;
};

static const struct kv_field time_field = {
	.name = "timestamp", .type = KV_FIELD_TIME, .digits = 6, .offset = offsetof(struct kv_row, arrival)
};
static const struct kv_field prompt_field = {
	.name = "prompt_length", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, prompt_tokens)
};
static const struct kv_field output_field = {
	.name = "output_length", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens)
};

static const char *const line_keys[] = {"timestamp", "requests", NULL};
static const char *const request_keys[] = {"prompt", "prompt_length", "output_length", "session_id", NULL};

/* A moment without requests gives no row, unless it is none. */
static int take_silence(struct aibrix *self, const json_t *object, uint64_t line)
{
	struct kv_row *row = kv_trace_begin(self->trace, line);

	kv_field_read_member(&time_field, row, object);
	return row->faulty ? kv_trace_accept(self->trace) : 0;
}

static int expand(void *owner, const json_t *object, uint64_t line)
{
	struct aibrix *self = owner;
	const json_t *requests = json_object_get(object, "requests");

	kv_trace_unknown_members(self->trace, object, line_keys);
	for (size_t i = 0; i < json_array_size(requests); i++) {
		struct kv_row *row = kv_trace_begin(self->trace, line);

		kv_trace_unknown_members(self->trace, json_array_get(requests, i), request_keys);
		kv_field_read_member(&time_field, row, object);
		kv_field_read_member(&prompt_field, row, json_array_get(requests, i));
		kv_field_read_member(&output_field, row, json_array_get(requests, i));
		if (kv_trace_accept(self->trace) != 0)
			return -1;
	}
	if (json_is_array(requests))
		return json_array_size(requests) > 0 ? 0 : take_silence(self, object, line);
	return kv_trace_leave_out(self->trace, line, KV_FAULT_MISSING,
	                          "requests: not a list; allowed: {\"timestamp\": ms, \"requests\": [...]}");
}

static const struct kv_table table = {.fields = (const struct kv_field[]){{0}}, .expand_json = expand, .close = free};

static const char *const keys[] = {"timestamp", "requests", NULL};

static bool detect(const struct kv_sniff *sniff)
{
	return json_is_array(json_object_get(sniff->json, "requests")) &&
	       json_object_get(sniff->json, "timestamp") != NULL;
}

static struct kv_reader *open_aibrix(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                     struct kv_error *err)
{
	struct aibrix *self = kv_calloc(1, sizeof *self);

	(void)sniff;
	(void)values;
	(void)err;
	self->trace = trace;
	return kv_jsonl_open(trace, &table, self);
}

const struct kv_format kv_format_aibrix = {
	.name = "aibrix",
	.summary = "AIBrix JSON lines: milliseconds and lists of requests with lengths, no prefix identity",
	.rules = "Times are milliseconds; all requests of a line arrive at its timestamp, in their order there. "
	         "prompt_length and output_length are tokens and have to be given. The text of prompts and "
	         "session_id are not used: prompts are replayed as unique.",
	.keys = keys,
	.detect = detect,
	.open = open_aibrix
};
