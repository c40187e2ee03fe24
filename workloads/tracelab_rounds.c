/* TraceLab's recorded rounds (uw-syfi/TraceLab: code Apache-2.0, data CC BY 4.0): a JSON line a round, with the
 * provider's count of cached tokens and the times of its events. */
#include "config.h"

#include "workloads/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/base/quantity.h"
#include "workloads/jsonl.h"
#include "workloads/sessions.h"

struct rounds_params {
	kv_time stagger;
};

struct rounds {
	const struct rounds_params *params;
	struct kv_sessions sessions;
	struct kv_session *session;   /* of the row at hand */
	uint32_t total, kept;
	int64_t number;
	kv_time sent, answered;
};

static void read_session(void *owner, struct kv_row *row, const json_t *value)
{
	struct rounds *self = owner;

	if (json_is_string(value))
		self->session = kv_sessions_find(&self->sessions, json_string_value(value), json_string_length(value));
	else
		kv_row_fault(row, KV_FAULT_TEXT, "session_id: not a string; allowed: text in quotes");
}

static void read_total(void *owner, struct kv_row *row, const json_t *value)
{
	kv_row_json_tokens(row, "input_tokens_total", value, &((struct rounds *)owner)->total);
}

static void read_kept(void *owner, struct kv_row *row, const json_t *value)
{
	kv_row_json_tokens(row, "prefix_tokens", value, &((struct rounds *)owner)->kept);
}

static void read_number(void *owner, struct kv_row *row, const json_t *value)
{
	struct rounds *self = owner;

	self->number = json_integer_value(value);
	if (!json_is_integer(value) || self->number < 0)
		kv_row_fault(row, KV_FAULT_NUMBER, "round_index: is no whole number from 0 on");
}

static bool is_input(const char *type)
{
	return strcmp(type, "user_message") == 0 || strcmp(type, "tool_result") == 0;
}

/* A round is sent with its last input and answered with its last event. */
static void read_events(void *owner, struct kv_row *row, const json_t *events)
{
	struct rounds *self = owner;

	for (size_t i = 0; i < json_array_size(events); i++) {
		const json_t *event = json_array_get(events, i);
		const char *type = json_string_value(json_object_get(event, "event_type"));
		const char *date = json_string_value(json_object_get(event, "timestamp"));
		struct kv_error err;
		kv_time time;

		if (type == NULL || date == NULL || kv_parse_date(date, &time, &err) != 0) {
			kv_row_fault(row, KV_FAULT_NUMBER,
			             "timing_events: entry %zu has no event_type and timestamp; allowed: a date like "
			             "2026-06-01T05:40:20.151Z",
			             i);
			return;
		}
		if (self->sent == KV_TIME_NONE || is_input(type))
			self->sent = time;
		self->answered = time;
	}
}

static void finish(void *owner, struct kv_row *row)
{
	struct rounds *self = owner;
	struct kv_session *session = self->session;

	if (self->kept > self->total)
		kv_row_fault(row, KV_FAULT_RANGE,
		             "prefix_tokens: %" PRIu32 " of input_tokens_total %" PRIu32 "; allowed: at most these",
		             self->kept, self->total);
	else if ((uint64_t)self->number != session->rounds)
		kv_row_fault(row, KV_FAULT_REFERENCE,
		             "round_index: %" PRId64 " in session '%.80s'; allowed: %" PRIu64 ", the next one "
		             "(is the session id used twice?)",
		             self->number, session->name, session->rounds);
	else if (self->sent == KV_TIME_NONE)
		kv_row_fault(row, KV_FAULT_MISSING, "timing_events: is empty, and every round needs a time");
	if (row->faulty)
		return;
	if (session->rounds == 0)
		session->clock = self->sent - (kv_time)(self->sessions.count - 1) * self->params->stagger;
	row->arrival = self->sent - session->clock;
	if (session->rounds > 0 && self->sent > session->last_end)
		row->think = self->sent - session->last_end;
	kv_session_fill(session, row, self->kept, self->total - self->kept);
}

static void begin(void *owner)
{
	struct rounds *self = owner;

	self->sent = self->answered = KV_TIME_NONE;
}

static void take(void *owner, const struct kv_row *row)
{
	struct rounds *self = owner;

	kv_session_take(self->session, row);
	self->session->last_end = self->answered;
}

static void close_rounds(void *owner)
{
	kv_sessions_fini(&((struct rounds *)owner)->sessions);
	free(owner);
}

static const struct kv_field fields[] = {
	{.name = "session_id", .read_json = read_session, .required = true},
	{.name = "round_index", .read_json = read_number, .required = true},
	{.name = "input_tokens_total", .read_json = read_total, .required = true},
	{.name = "prefix_tokens", .read_json = read_kept, .required = true},
	{.name = "output_tokens", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens),
	 .required = true},
	{.name = "timing_events", .read_json = read_events, .required = true},
	{0}
};

static const struct kv_table table = {
	.fields = fields, .begin = begin, .finish = finish, .taken = take, .close = close_rounds
};

static const struct kv_param params[] = {
	{"stagger", KV_PARAM_TIME, offsetof(struct rounds_params, stagger), 0, 1e18, "0s", "",
	 "time between the starts of two sessions"},
	{0}
};

static const char *const keys[] = {
	"session_id", "round_index", "input_tokens_total", "prefix_tokens", "output_tokens", "timing_events", NULL
};

static bool detect(const struct kv_sniff *sniff)
{
	return json_object_get(sniff->json, "round_index") != NULL &&
	       json_object_get(sniff->json, "prefix_tokens") != NULL;
}

static struct kv_reader *open_rounds(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                     struct kv_error *err)
{
	struct rounds *self = kv_calloc(1, sizeof *self);

	(void)sniff;
	self->params = values;
	(void)err;
	kv_trace_declare(trace, KV_TRACE_DEPENDENT | KV_TRACE_PREFIX_IDENTITY | KV_TRACE_NAMEABLE_OUTPUTS);
	return kv_jsonl_open(trace, &table, self);
}

const struct kv_format kv_format_tracelab_rounds = {
	.name = "tracelab-rounds",
	.summary = "TraceLab round traces: dates, cached and new tokens of each round of a session, closed loop",
	.rules = "Sessions start together, or `stagger` apart in order of appearance, whatever their dates. A round is "
	         "sent with its last user_message or tool_result and answered with its last event; the next one "
	         "arrives as long after the answer as recorded, or at its recorded time with --open-loop. "
	         "prefix_tokens, what the provider's cache held, is taken as what a round keeps of the round before; "
	         "the rest of input_tokens_total is new. Other keys are counted and not used.",
	.keys = keys,
	.detect = detect,
	.open = open_rounds,
	.params_size = sizeof(struct rounds_params),
	.params = params
};
