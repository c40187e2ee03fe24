/* TraceLab's replay files (uw-syfi/TraceLab: code Apache-2.0, data CC BY 4.0): a row a round of a session, in two
 * spellings of the header. */
#include "config.h"

#include "workloads/formats.h"

#include <inttypes.h>
#include <stdlib.h>

#include "sim/base/memory.h"
#include "workloads/csv.h"
#include "workloads/number.h"
#include "workloads/sessions.h"

enum { MILLISECONDS = 6 };

struct tracelab {
	struct kv_sessions sessions;
	struct kv_session *session;   /* of the row at hand */
	uint32_t kept, added;
	int64_t round;
	kv_time wait;                 /* after the row at hand */
};

static void read_session(void *owner, struct kv_row *row, const char *text, size_t length)
{
	struct tracelab *self = owner;

	if (kv_row_check_text(row, "session_id", text, length))
		self->session = kv_sessions_find(&self->sessions, text, length);
}

static void read_kept(void *owner, struct kv_row *row, const char *text, size_t length)
{
	kv_row_tokens(row, "prefix_len", text, length, &((struct tracelab *)owner)->kept);
}

static void read_added(void *owner, struct kv_row *row, const char *text, size_t length)
{
	kv_row_tokens(row, "input_len", text, length, &((struct tracelab *)owner)->added);
}

static void read_round(void *owner, struct kv_row *row, const char *text, size_t length)
{
	struct tracelab *self = owner;

	if (kv_number_parse(text, length, 0, INT64_MAX, &self->round) != KV_NUMBER_OK)
		kv_row_fault(row, KV_FAULT_NUMBER, "round_idx: is no whole number from 0 on");
}

static void finish(void *owner, struct kv_row *row)
{
	struct tracelab *self = owner;
	struct kv_session *session = self->session;

	/* All rounds of a session name the session's arrival. */
	if (session->rounds > 0)
		row->arrival = KV_TIME_NONE;
	self->wait = row->think;
	row->think = session->rounds > 0 ? session->last_end : 0;
	if ((uint64_t)self->round != session->rounds)
		kv_row_fault(row, KV_FAULT_REFERENCE,
		             "round_idx: %" PRId64 " in session '%.80s'; allowed: %" PRIu64 ", the next one (is "
		             "the session id used twice?)",
		             self->round, session->name, session->rounds);
	else
		kv_session_fill(session, row, self->kept, self->added);
}

static void take(void *owner, const struct kv_row *row)
{
	struct tracelab *self = owner;

	kv_session_take(self->session, row);
	self->session->last_end = self->wait;
}

static void close_tracelab(void *owner)
{
	kv_sessions_fini(&((struct tracelab *)owner)->sessions);
	free(owner);
}

#define SESSION_FIELDS(id) \
	{.name = id, .read_text = read_session, .required = true}, \
	{.name = "arrival_time", .type = KV_FIELD_TIME, .digits = MILLISECONDS, \
	 .offset = offsetof(struct kv_row, arrival)}, \
	{.name = "round_idx", .read_text = read_round, .required = true}, \
	{.name = "prefix_len", .read_text = read_kept, .required = true}, \
	{.name = "input_len", .read_text = read_added, .required = true}, \
	{.name = "output_len", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens), \
	 .required = true}, \
	{.name = "tool_wait_after_ms", .type = KV_FIELD_TIME, .digits = MILLISECONDS, \
	 .offset = offsetof(struct kv_row, think)}, \
	{0}

static const struct kv_field fields[] = {SESSION_FIELDS("session_id")};
static const struct kv_field canonical_fields[] = {SESSION_FIELDS("id")};

static const struct kv_table table = {.fields = fields, .finish = finish, .taken = take, .close = close_tracelab};
static const struct kv_table canonical_table = {
	.fields = canonical_fields, .finish = finish, .taken = take, .close = close_tracelab
};

static const char *const keys[] = {"session_id", "round_idx", "prefix_len", "input_len", "output_len", NULL};

static bool detect(const struct kv_sniff *sniff)
{
	return kv_sniff_has_field(sniff, "round_idx") && kv_sniff_has_field(sniff, "prefix_len") &&
	       kv_sniff_has_field(sniff, "input_len");
}

static struct kv_reader *open_tracelab(struct kv_trace *trace, const struct kv_sniff *sniff, const void *params,
                                       struct kv_error *err)
{
	(void)params;
	(void)err;
	kv_trace_declare(trace, KV_TRACE_DEPENDENT | KV_TRACE_PREFIX_IDENTITY | KV_TRACE_NAMEABLE_OUTPUTS);
	return kv_csv_open(trace, kv_sniff_has_field(sniff, "session_id") ? &table : &canonical_table,
	                   kv_calloc(1, sizeof(struct tracelab)));
}

const struct kv_format kv_format_tracelab = {
	.name = "tracelab",
	.summary = "TraceLab replay CSV: rounds of sessions with kept and new tokens, closed loop",
	.rules = "arrival_time is in milliseconds and counts for a session's first round (0 where it is absent); "
	         "every other round arrives tool_wait_after_ms of the round before after that one has been answered, "
	         "and has no time of its own for --open-loop. A prompt is the first prefix_len tokens of the round "
	         "before and what it generated, and input_len new ones; where prefix_len is more than there was, the "
	         "rest is content of the session's own. Rounds of a session are numbered from 0 without gaps.",
	.keys = keys,
	.detect = detect,
	.open = open_tracelab
};
