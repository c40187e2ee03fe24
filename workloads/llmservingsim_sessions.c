/* LLMServingSim's sessions (MIT, casys-kaist/LLMServingSim): a JSON line a session, whose sub_requests follow each
 * other with a tool between them. Lines that are single requests may stand among them. */
#include "config.h"

#include "workloads/formats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/memory.h"
#include "workloads/jsonl.h"
#include "workloads/sessions.h"

struct sessions_params {
	uint32_t reuse;
};

enum reuse { REUSE_PREVIOUS, REUSE_NONE };

struct llmservingsim_sessions {
	struct kv_trace *trace;
	const struct sessions_params *params;
	struct kv_sessions sessions;
};

static const struct kv_field prompt_field = {
	.name = "input_toks", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, prompt_tokens)
};
static const struct kv_field output_field = {
	.name = "output_toks", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens)
};
static const struct kv_field arrival_field = {
	.name = "arrival_time_ns", .type = KV_FIELD_TIME, .digits = 0, .offset = offsetof(struct kv_row, arrival)
};
static const struct kv_field wait_field = {
	.name = "tool_duration_ns", .type = KV_FIELD_TIME, .digits = 0, .offset = offsetof(struct kv_row, think)
};

/* The wait before the next one, 0 where there is none. */
static kv_time read_wait(struct kv_row *row, const json_t *request)
{
	const json_t *value = json_object_get(request, wait_field.name);
	kv_time think = row->think, wait = 0;

	if (value != NULL && !json_is_null(value)) {
		kv_field_read_json(&wait_field, NULL, row, value);
		wait = row->think;
		row->think = think;
	}
	return wait;
}

static const char *const session_keys[] = {"session_id", "arrival_time_ns", "sub_requests", NULL};
static const char *const request_keys[] = {
	"input_toks", "output_toks", "tool_duration_ns", "input_tok_ids", "output_tok_ids", "session_id",
	"arrival_time_ns", NULL
};

static int take_request(struct llmservingsim_sessions *self, struct kv_session *session, const json_t *request,
                        const json_t *object, uint64_t line)
{
	struct kv_row *row = kv_trace_begin(self->trace, line);
	uint64_t kept = self->params->reuse == REUSE_PREVIOUS ? session->tokens : 0;
	kv_time wait;

	kv_trace_unknown_members(self->trace, request, request_keys);
	kv_field_read_member(&prompt_field, row, request);
	kv_field_read_member(&output_field, row, request);
	if (session->rounds == 0)
		kv_field_read_member(&arrival_field, row, object);
	row->think = session->last_end;
	wait = read_wait(row, request);
	if (!row->faulty) {
		kept = kv_min(kept, row->prompt_tokens);
		kv_session_fill(session, row, (uint32_t)kept, row->prompt_tokens - (uint32_t)kept);
	}
	if (kv_trace_accept(self->trace) != 0)
		return -1;
	if (row->faulty)
		return 0;
	kv_session_take(session, row);
	session->last_end = wait;
	return 0;
}

/* Sessions are called by their order where they have no id of their own. */
static struct kv_session *find_session(struct llmservingsim_sessions *self, const json_t *object)
{
	const json_t *id = json_object_get(object, "session_id");
	char name[40];
	int length;

	if (json_is_string(id))
		return kv_sessions_find(&self->sessions, json_string_value(id), json_string_length(id));
	length = json_is_integer(id) ? snprintf(name, sizeof name, "%" JSON_INTEGER_FORMAT, json_integer_value(id))
	                             : snprintf(name, sizeof name, "line-%zu", self->sessions.count);
	return kv_sessions_find(&self->sessions, name, (size_t)length);
}

static int expand(void *owner, const json_t *object, uint64_t line)
{
	struct llmservingsim_sessions *self = owner;
	const json_t *requests = json_object_get(object, "sub_requests");
	struct kv_session *session = find_session(self, object);
	int status = 0;

	if (session->rounds > 0)
		return kv_trace_leave_out(self->trace, line, KV_FAULT_DUPLICATE_ID,
		                 "session_id: is that of an earlier session too; allowed: unique ids");
	if (requests == NULL)
		return take_request(self, session, object, object, line);
	kv_trace_unknown_members(self->trace, object, session_keys);
	if (!json_is_array(requests))
		return kv_trace_leave_out(self->trace, line, KV_FAULT_SYNTAX,
		                          "sub_requests: is no list; allowed: the requests of a session");
	if (json_array_size(requests) == 0)
		return kv_trace_leave_out(self->trace, line, KV_FAULT_EMPTY_SESSION, NULL);
	for (size_t i = 0; i < json_array_size(requests) && status == 0; i++)
		status = take_request(self, session, json_array_get(requests, i), object, line);
	kv_session_end(session);
	return status;
}

static void close_sessions(void *owner)
{
	kv_sessions_fini(&((struct llmservingsim_sessions *)owner)->sessions);
	free(owner);
}

static const struct kv_table table = {
	.fields = (const struct kv_field[]){{0}}, .expand_json = expand, .close = close_sessions
};

static const struct kv_param params[] = {
	{"reuse", KV_PARAM_CHOICE, offsetof(struct sessions_params, reuse), 0, 0, "previous", "previous|none",
	 "whether a prompt begins with the prompt and the answer before it"},
	{0}
};

static const char *const keys[] = {"arrival_time_ns", "sub_requests", NULL};

static bool detect(const struct kv_sniff *sniff)
{
	return json_is_array(json_object_get(sniff->json, "sub_requests")) ||
	       (sniff->json == NULL && kv_sniff_contains(sniff, "\"sub_requests\""));
}

static struct kv_reader *open_sessions(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                       struct kv_error *err)
{
	struct llmservingsim_sessions *self = kv_calloc(1, sizeof *self);

	(void)sniff;
	(void)err;
	self->trace = trace;
	self->params = values;
	kv_trace_declare(trace, KV_TRACE_DEPENDENT | KV_TRACE_PREFIX_IDENTITY | KV_TRACE_NAMEABLE_OUTPUTS);
	return kv_jsonl_open(trace, &table, self);
}

const struct kv_format kv_format_llmservingsim_sessions = {
	.name = "llmservingsim-sessions",
	.summary = "LLMServingSim sessions: sub-requests with tools between them, closed loop",
	.rules = "arrival_time_ns is in nanoseconds from the start, of a session's first sub-request; each of the "
	         "others arrives tool_duration_ns of the one before after that one has been answered. input_toks is "
	         "the whole prompt. The file does not say what it shares: with reuse=previous it begins with the "
	         "prompt and the answer before it, as far as it is long enough, with reuse=none nothing is shared. "
	         "Token ids are not read. Lines without sub_requests are single requests; a session without any is "
	         "left out and counted as empty_session.",
	.keys = keys,
	.detect = detect,
	.open = open_sessions,
	.params_size = sizeof(struct sessions_params),
	.params = params
};
