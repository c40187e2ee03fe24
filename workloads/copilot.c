/* GitHub Copilot's coding agents of 2026 (CC BY 4.0, Azure/AzurePublicDataset): a JSON line a session, with the calls
 * of each turn and how many tokens of each the provider found in its cache. Written from the published description of
 * the keys; the files themselves are release assets of some hundred megabytes. */
#include "config.h"

#include "workloads/formats.h"

#include <inttypes.h>
#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/base/quantity.h"
#include "workloads/jsonl.h"
#include "workloads/sessions.h"

struct copilot {
	struct kv_trace *trace;
	struct kv_sessions sessions;
};

static const struct kv_field prompt_field = {
	.name = "prompt", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, prompt_tokens)
};
static const struct kv_field output_field = {
	.name = "completion", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens)
};
/* Through a member that this format has no other use for. */
static const struct kv_field cached_field = {
	.name = "cached", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, max_tokens)
};
static const struct kv_field duration_field = {
	.name = "duration_ms", .type = KV_FIELD_TIME, .digits = 6, .offset = offsetof(struct kv_row, retrieval)
};

static void read_start(struct kv_row *row, const json_t *call)
{
	const json_t *date = json_object_get(call, "timestamp");
	struct kv_error err;

	if (!json_is_string(date))
		kv_row_fault(row, KV_FAULT_MISSING,
		             "timestamp: not a date in quotes; allowed: 2026-06-01T05:40:20.151Z");
	else if (kv_parse_date(json_string_value(date), &row->arrival, &err) != 0)
		kv_row_fault(row, KV_FAULT_NUMBER, "timestamp: %s", err.text);
}

static void read_tokens(struct kv_row *row, const json_t *tokens, uint32_t *cached)
{
	kv_field_read_member(&prompt_field, row, tokens);
	kv_field_read_member(&output_field, row, tokens);
	kv_field_read_member(&cached_field, row, tokens);
	*cached = row->max_tokens;
	row->max_tokens = KV_TOKENS_UNSET;
	if (!row->faulty && *cached > row->prompt_tokens)
		kv_row_fault(row, KV_FAULT_RANGE, "cached: %" PRIu32 " of prompt %" PRIu32 "; allowed: at most these",
		             *cached, row->prompt_tokens);
}

static kv_time read_duration(struct kv_row *row, const json_t *call)
{
	kv_time duration;

	kv_field_read_member(&duration_field, row, call);
	duration = row->retrieval;
	row->retrieval = 0;
	return duration;
}

static const char *const session_keys[] = {"session_id", "date", "turns", NULL};
static const char *const turn_keys[] = {"turn_id", "llm_calls", "tool_batches", NULL};
static const char *const call_keys[] = {
	"message_id", "timestamp", "duration_ms", "initiator_type", "model", "result", "status_code", "tokens",
	"message_metadata", NULL
};

static int take_call(struct copilot *self, struct kv_session *session, const json_t *call, uint64_t line)
{
	struct kv_row *row = kv_trace_begin(self->trace, line);
	const json_t *status = json_object_get(call, "status_code");
	uint32_t cached = 0;
	kv_time duration;

	kv_trace_unknown_members(self->trace, call, call_keys);
	read_start(row, call);
	duration = read_duration(row, call);
	read_tokens(row, json_object_get(call, "tokens"), &cached);
	if (json_is_integer(status) && json_integer_value(status) >= 400)
		kv_row_excuse(row, KV_FAULT_FAILED);
	else if (status != NULL && !json_is_null(status) && !json_is_integer(status))
		kv_row_fault(row, KV_FAULT_NUMBER,
		             "status_code: is no whole number; allowed: that of HTTP, such as 200");
	if (!row->faulty) {
		if (session->rounds > 0 && row->arrival > session->last_end)
			row->think = row->arrival - session->last_end;
		kv_session_fill(session, row, cached, row->prompt_tokens - cached);
	}
	if (kv_trace_accept(self->trace) != 0)
		return -1;
	if (row->faulty)
		return 0;
	kv_session_take(session, row);
	session->last_end = row->arrival + duration;
	return 0;
}

static int take_turns(struct copilot *self, struct kv_session *session, const json_t *turns, uint64_t line, bool *any)
{
	for (size_t t = 0; t < json_array_size(turns); t++) {
		const json_t *calls = json_object_get(json_array_get(turns, t), "llm_calls");

		kv_trace_unknown_members(self->trace, json_array_get(turns, t), turn_keys);
		if (!json_is_array(calls) && kv_trace_leave_out(self->trace, line, KV_FAULT_SYNTAX,
		                                                "llm_calls: is no list; allowed: the calls of a turn"))
			return -1;
		*any |= !json_is_array(calls);
		for (size_t i = 0; i < json_array_size(calls); i++) {
			*any = true;
			if (take_call(self, session, json_array_get(calls, i), line) != 0)
				return -1;
		}
	}
	return 0;
}

static int expand(void *owner, const json_t *object, uint64_t line)
{
	struct copilot *self = owner;
	const json_t *id = json_object_get(object, "session_id");
	const json_t *turns = json_object_get(object, "turns");
	struct kv_session *session;
	bool any = false;

	if (!json_is_string(id))
		return kv_trace_leave_out(self->trace, line, KV_FAULT_MISSING,
		                          "session_id: not a string; allowed: text in quotes");
	if (!json_is_array(turns))
		return kv_trace_leave_out(self->trace, line, KV_FAULT_SYNTAX,
		                          "turns: is no list; allowed: the turns of a session");
	kv_trace_unknown_members(self->trace, object, session_keys);
	session = kv_sessions_find(&self->sessions, json_string_value(id), json_string_length(id));
	if (session->rounds > 0)
		return kv_trace_leave_out(self->trace, line, KV_FAULT_DUPLICATE_ID,
		                 "session_id: is that of an earlier session too; allowed: unique ids");
	if (take_turns(self, session, turns, line, &any) != 0)
		return -1;
	kv_session_end(session);
	return any ? 0 : kv_trace_leave_out(self->trace, line, KV_FAULT_EMPTY_SESSION, NULL);
}

static void close_copilot(void *owner)
{
	kv_sessions_fini(&((struct copilot *)owner)->sessions);
	free(owner);
}

static const struct kv_table table = {
	.fields = (const struct kv_field[]){{0}}, .expand_json = expand, .close = close_copilot
};

static const char *const keys[] = {"session_id", "turns", NULL};

static bool detect(const struct kv_sniff *sniff)
{
	const json_t *first = json_array_get(json_object_get(sniff->json, "turns"), 0);

	return json_is_array(json_object_get(first, "llm_calls")) ||
	       (sniff->json == NULL && kv_sniff_contains(sniff, "\"llm_calls\""));
}

static struct kv_reader *open_copilot(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                      struct kv_error *err)
{
	struct copilot *self = kv_calloc(1, sizeof *self);

	(void)sniff;
	(void)values;
	(void)err;
	self->trace = trace;
	kv_trace_declare(trace, KV_TRACE_DEPENDENT | KV_TRACE_PREFIX_IDENTITY | KV_TRACE_NAMEABLE_OUTPUTS |
	                 KV_TRACE_CLOCK_FROM_FIRST);
	return kv_jsonl_open(trace, &table, self);
}

const struct kv_format kv_format_copilot = {
	.name = "copilot",
	.summary = "GitHub Copilot coding agents: dates, tokens and cached tokens of each call of a session, closed "
	           "loop",
	.rules = "Times are dates and count from the first session; sessions further out of order than "
	         "--reorder-time are refused. A call arrives as long after the answer before it (timestamp and "
	         "duration_ms) as recorded, or at its recorded time with --open-loop. What the provider's cache held "
	         "of a prompt is taken as what it keeps of the call before, the rest as new; what sessions share is "
	         "not known. Calls with a status_code from 400 on are left out and counted as failed_request, "
	         "sessions without calls as empty_session. Written from the description of the data set, not from "
	         "its files.",
	.keys = keys,
	.detect = detect,
	.open = open_copilot
};
