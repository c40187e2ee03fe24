/* Sessions of coding agents (Apache-2.0, callanjfox/kv-cache-tester; the WEKA and SemiAnalysis releases have the same
 * form): one JSON object a file, or a folder of them.
 *
 * A request arrives its think time after the one before it has been answered. Sub-agents start as long after the
 * request before them as recorded, and run beside; the request after them waits for those that had ended before it
 * began.
 */
#include "config.h"

#include "workloads/formats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "workloads/block_ids.h"
#include "workloads/chains.h"
#include "workloads/document.h"
#include "workloads/ids.h"

struct tester_params {
	uint32_t last;        /* enum kv_last_block */
	kv_time stagger;
};

/* A request that others may follow. */
struct done {
	bool exists;
	uint64_t index;
	struct kv_root root;
	kv_time end;          /* as recorded, from the start of the session; without api_time, when it was sent */
	bool timed;           /* it has an api_time */
};

/* A sequence of requests that follow each other: the session itself, or a sub-agent. */
struct thread {
	struct done last;     /* at first what it starts after */
	bool started;
	kv_time offset;       /* of its clock, from the start of the session */
	struct done *joins;   /* last requests of sub-agents since its own last one */
	size_t join_count, join_capacity;
};

struct session {
	struct kv_chains *chains;
	const char *id;
	kv_time start;        /* on the trace's clock */
	uint64_t line;
	uint32_t requests;    /* so far, for names */
};

struct tester {
	struct kv_trace *trace;
	const struct tester_params *params;
	struct kv_ids sessions;
	uint64_t session_count;
	struct kv_chains shared;   /* of sessions whose ids are global; block 0 until there is one */
};

static const struct kv_field prompt_field = {
	.name = "in", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, prompt_tokens)
};
static const struct kv_field output_field = {
	.name = "out", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens)
};

/* What sessions, requests and sub-agents have. */
static const char *const session_keys[] = {
	"requests", "id", "models", "block_size", "hash_id_scope", "tool_tokens", "system_tokens", "totals", NULL
};
static const char *const request_keys[] = {
	"t", "type", "model", "in", "out", "hash_ids", "input_types", "output_types", "stop", "think_time", "api_time",
	"ttft", NULL
};
static const char *const agent_keys[] = {
	"requests", "t", "type", "agent_id", "subagent_type", "duration_ms", "total_tokens", "tool_use_count", "status",
	"models", "tool_tokens", "system_tokens", NULL
};

static bool has_member(const json_t *object, const char *key)
{
	return !json_is_null(json_object_get(object, key)) && json_object_get(object, key) != NULL;
}

/* A time in seconds, 0 where it is absent. */
static kv_time read_time(struct kv_row *row, const json_t *request, const char *key)
{
	const struct kv_field field = {
		.name = key, .type = KV_FIELD_TIME, .digits = 9, .offset = offsetof(struct kv_row, retrieval)
	};
	kv_time time;

	if (!has_member(request, key))
		return 0;
	kv_field_read_json(&field, NULL, row, json_object_get(request, key));
	time = row->retrieval;
	row->retrieval = 0;
	return time;
}

/* When a request or sub-agent began, by the clock of its thread. */
static kv_time read_start(struct kv_row *row, const json_t *entry)
{
	if (!has_member(entry, "t"))
		kv_row_fault(row, KV_FAULT_MISSING, "t: is missing, and every request and sub-agent needs it");
	return read_time(row, entry, "t");
}

/* --- content ------------------------------------------------------------------------------------------------------ */

static void add_ids(const struct tester *self, struct session *session, struct kv_row *row, const json_t *ids)
{
	uint32_t left = row->prompt_tokens, block = session->chains->block;
	size_t count = json_array_size(ids);
	uint64_t wanted = self->params->last == KV_LAST_CEIL ? kv_ceil_div(left, block) : left / block;
	struct kv_chain_walk walk = {0};

	if (ids != NULL && !json_is_array(ids)) {
		kv_row_fault(row, KV_FAULT_HASH_IDS, "hash_ids: not a list; allowed: a list of block ids");
		return;
	}
	if (count != wanted) {
		kv_row_fault(row, KV_FAULT_HASH_IDS,
		             "hash_ids: %zu ids for in %" PRIu32 "; allowed: %" PRIu64 ", one for every "
		             "%s block of %" PRIu32 " tokens",
		             count, left, wanted, self->params->last == KV_LAST_CEIL ? "whole or partial" : "whole",
		             block);
		return;
	}
	row->named = true;
	for (size_t i = 0; i < count; i++) {
		uint32_t tokens = left < block ? left : block;
		uint64_t id;

		if (!kv_block_id_json(json_array_get(ids, i), &id)) {
			kv_row_fault(row, KV_FAULT_HASH_IDS,
			             "hash_ids: entry %zu is no id; allowed: " KV_BLOCK_ID_ALLOWED, i);
			return;
		}
		if (!kv_chains_append(session->chains, &walk, row, id, tokens)) {
			kv_row_fault(row, KV_FAULT_HASH_IDS,
			             "hash_ids: entry %zu, id %" PRIu64 ", stood behind another id before; allowed: "
			             "ids of a block and everything before it",
			             i, id);
			return;
		}
		left -= tokens;
	}
	if (left > 0)
		kv_row_segment(row, KV_STREAM_PRIVATE, 0, left);
}

static void name_request(const struct session *session, struct kv_row *row)
{
	char name[300];
	int length = snprintf(name, sizeof name, "%.250s:%" PRIu32, session->id, session->requests);

	row->id = kv_row_text(row, name, (size_t)length);
}

/* --- order -------------------------------------------------------------------------------------------------------- */

static kv_time later(kv_time a, kv_time b)
{
	return a > b ? a : b;
}

/* The recorders count think_time from the last answer whose time they knew. After a request without api_time it spans
 * that request too (trace_0048: 185, 193 and 199 s for requests 301, 309 and 315 s from the start), and no more of it
 * is thought than the time since that request was sent. */
static kv_time think_time(struct kv_row *row, const struct done *last, const json_t *request, kv_time t)
{
	kv_time think = read_time(row, request, "think_time"), since = later(0, t - last->end);

	return last->timed || think < since ? think : since;
}

/* The row comes as long after the thread's last request as its think time says, or as recorded where it starts the
 * thread or there is none; t is its own time from the start of the session. A request also waits for sub-agents that
 * had ended when it began. */
static void follow(struct kv_row *row, struct thread *thread, const json_t *request, kv_time t)
{
	kv_time end = thread->last.end;
	bool joined = false;

	kv_row_depend(row, thread->last.index, thread->last.root);
	for (size_t i = 0; i < thread->join_count; i++) {
		if (thread->joins[i].end > t)
			continue;
		kv_row_depend(row, thread->joins[i].index, thread->joins[i].root);
		end = later(end, thread->joins[i].end);
		joined = true;
	}
	thread->join_count = 0;
	if (thread->started && !joined && has_member(request, "think_time"))
		row->think = think_time(row, &thread->last, request, t);
	else
		row->think = later(0, t - end);
}

static int take_request(struct tester *self, struct session *session, struct thread *thread, const json_t *request)
{
	struct kv_row *row = kv_trace_begin(self->trace, session->line);
	kv_time t = thread->offset + read_start(row, request);
	kv_time end = t + read_time(row, request, "api_time");

	kv_trace_unknown_members(self->trace, request, request_keys);
	row->arrival = session->start + t;
	kv_field_read_member(&prompt_field, row, request);
	kv_field_read_member(&output_field, row, request);
	if (thread->last.exists)
		follow(row, thread, request, t);
	name_request(session, row);
	session->requests++;
	if (!row->faulty)
		add_ids(self, session, row, json_object_get(request, "hash_ids"));
	if (kv_trace_accept(self->trace) != 0)
		return -1;
	if (row->faulty)
		return 0;
	thread->last = (struct done){true, row->index, kv_row_root(row), end, has_member(request, "api_time")};
	thread->started = true;
	return 0;
}

static int take_thread(struct tester *self, struct session *session, struct thread *thread, const json_t *requests,
                       int depth);

static int take_subagent(struct tester *self, struct session *session, struct thread *parent, const json_t *entry,
                         int depth)
{
	struct kv_row *row = kv_trace_begin(self->trace, session->line);
	struct thread thread = {.last = parent->last, .offset = parent->offset + read_start(row, entry)};
	const json_t *requests = json_object_get(entry, "requests");
	int status;

	kv_trace_unknown_members(self->trace, entry, agent_keys);
	if (!json_is_array(requests))
		kv_row_fault(row, KV_FAULT_SYNTAX, "requests: not a list; allowed: the requests of a sub-agent");
	if (row->faulty)
		return kv_trace_accept(self->trace);
	if (json_array_size(requests) == 0)
		return kv_trace_leave_out(self->trace, session->line, KV_FAULT_EMPTY_SESSION, NULL);
	status = take_thread(self, session, &thread, requests, depth + 1);
	if (status == 0 && thread.started) {
		parent->joins =
			kv_grow(parent->joins, &parent->join_capacity, parent->join_count + 1, sizeof *parent->joins);
		parent->joins[parent->join_count++] = thread.last;
	}
	free(thread.joins);
	return status;
}

enum { DEPTH_MAX = 32 };

static int refuse_depth(struct tester *self, const struct session *session)
{
	char text[80];

	snprintf(text, sizeof text, "requests: sub-agents nested more than %d deep; allowed: fewer", DEPTH_MAX);
	return kv_trace_leave_out(self->trace, session->line, KV_FAULT_SYNTAX, text);
}

static int take_thread(struct tester *self, struct session *session, struct thread *thread, const json_t *requests,
                       int depth)
{
	int status = 0;

	for (size_t i = 0; i < json_array_size(requests) && status == 0; i++) {
		const json_t *entry = json_array_get(requests, i);

		if (!has_member(entry, "requests"))
			status = take_request(self, session, thread, entry);
		else if (depth < DEPTH_MAX)
			status = take_subagent(self, session, thread, entry, depth);
		else
			status = refuse_depth(self, session);
	}
	return status;
}

/* --- sessions ----------------------------------------------------------------------------------------------------- */

enum { BLOCK_SIZE = 64 };

static uint32_t block_size(const json_t *document)
{
	const json_t *block = json_object_get(document, "block_size");

	return block != NULL ? (uint32_t)json_integer_value(block) : BLOCK_SIZE;
}

static bool has_scope(const json_t *document, const char *name)
{
	const char *scope = json_string_value(json_object_get(document, "hash_id_scope"));

	return scope != NULL && strcmp(scope, name) == 0;
}

/* Marks the row if the document is no session. */
static void check_session(struct tester *self, struct kv_row *row, const json_t *document)
{
	const json_t *id = json_object_get(document, "id");
	const json_t *block = json_object_get(document, "block_size");

	if (!json_is_string(id))
		kv_row_fault(row, KV_FAULT_MISSING, "id: is missing; allowed: a session with an id and requests");
	else if (block != NULL && (!json_is_integer(block) || json_integer_value(block) < 1 ||
	                           json_integer_value(block) > KV_TOKENS_MAX))
		kv_row_fault(row, KV_FAULT_NUMBER, "block_size: is no whole number above 0");
	else if (has_member(document, "hash_id_scope") && !has_scope(document, "local") &&
	         !has_scope(document, "global"))
		kv_row_fault(row, KV_FAULT_SYNTAX, "hash_id_scope: is neither; allowed: \"local\" or \"global\"");
	else if (has_scope(document, "global") && self->shared.block != 0 &&
	         self->shared.block != block_size(document))
		kv_row_fault(row, KV_FAULT_HASH_IDS,
		             "block_size: %" PRIu32 ", but global ids stood for %" PRIu32 " tokens before; allowed: "
		             "one size", block_size(document), self->shared.block);
	else if (!json_is_array(json_object_get(document, "requests")))
		kv_row_fault(row, KV_FAULT_SYNTAX,
		             "requests: is no list; allowed: a session with an id and a list of requests");
	else if (!kv_ids_add(&self->sessions,
	                     kv_name_hash(json_string_value(id), (uint32_t)json_string_length(id)), 0))
		kv_row_fault(row, KV_FAULT_DUPLICATE_ID,
		             "id: '%.80s' is that of an earlier session too; allowed: unique ids",
		             json_string_value(id));
}

static int take_session(struct tester *self, struct session *session, const json_t *document)
{
	const json_t *requests = json_object_get(document, "requests");
	uint64_t uneven = session->chains->uneven;
	struct thread thread = {0};
	int status;

	if (json_array_size(requests) == 0)
		return kv_trace_leave_out(self->trace, session->line, KV_FAULT_EMPTY_SESSION, NULL);
	status = take_thread(self, session, &thread, requests, 0);
	free(thread.joins);
	kv_trace_uneven_blocks(self->trace, session->chains->uneven - uneven);
	return status;
}

/* Local ids are told apart by the session's own; global ones, of whatever session, are of one scope. */
static int expand(void *owner, json_t *document, uint64_t line)
{
	struct tester *self = owner;
	struct kv_chains local;
	struct session session = {.line = line, .chains = &local};
	struct kv_row *row = kv_trace_begin(self->trace, line);
	int status;

	check_session(self, row, document);
	if (row->faulty)
		return kv_trace_accept(self->trace);
	kv_trace_unknown_members(self->trace, document, session_keys);
	session.id = json_string_value(json_object_get(document, "id"));
	session.start = (kv_time)self->session_count++ * self->params->stagger;
	kv_chains_init(&local, kv_name_hash(session.id, (uint32_t)strlen(session.id)), block_size(document));
	if (has_scope(document, "global")) {
		session.chains = &self->shared;
		self->shared.block = local.block;
	}
	status = take_session(self, &session, document);
	kv_chains_fini(&local);
	return status;
}

static void close_tester(void *owner)
{
	struct tester *self = owner;

	kv_chains_fini(&self->shared);
	kv_ids_fini(&self->sessions);
	free(self);
}

static const struct kv_document_table table = {.expand = expand, .close = close_tester};

static const struct kv_param params[] = {
	{"last", KV_PARAM_CHOICE, offsetof(struct tester_params, last), 0, 0, "floor", "ceil|floor",
	 "whether a partial last block has an id"},
	{"stagger", KV_PARAM_TIME, offsetof(struct tester_params, stagger), 0, 1e18, "0s", "",
	 "time between the starts of two sessions of a folder"},
	{0}
};

static const char *const keys[] = {"id", "hash_id_scope", "requests", NULL};

static bool detect(const struct kv_sniff *sniff)
{
	if (sniff->json != NULL)
		return json_object_get(sniff->json, "hash_id_scope") != NULL &&
		       json_object_get(sniff->json, "requests") != NULL;
	return kv_sniff_contains(sniff, "\"hash_id_scope\"") && kv_sniff_contains(sniff, "\"requests\"");
}

static struct kv_reader *open_tester(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                     struct kv_error *err)
{
	struct tester *self = kv_calloc(1, sizeof *self);

	(void)sniff;
	(void)err;
	self->trace = trace;
	self->params = values;
	kv_trace_declare(trace, KV_TRACE_DEPENDENT | KV_TRACE_PREFIX_IDENTITY);
	return kv_document_open(trace, &table, self);
}

const struct kv_format kv_format_kv_cache_tester = {
	.name = "kv-cache-tester",
	.summary = "sessions of coding agents: seconds, hash ids of 64-token blocks, think times, sub-agents; a file "
	           "or a folder",
	.folders = true,
	.rules = "A file is a session, a folder many; they start together, or `stagger` apart in order of file names. "
	         "Times are seconds from the session's start, those of a sub-agent from its own. A request arrives "
	         "think_time after the answer before it; where nothing says when that one came (no api_time), "
	         "think_time counts from an earlier answer, and is cut to the recorded time between the two requests. "
	         "A sub-agent starts as long after the answer before it as recorded, runs beside, and is waited for "
	         "if it had ended when the next request began. With --open-loop all arrive at their recorded times. "
	         "Ids hold inside a session, or in all of them where hash_id_scope is global; there are floor(in / "
	         "block) of them (last=ceil for releases that round up), the rest of a prompt is unique. block_size "
	         "is 64 where a session does not say. Requests are whole: earlier turns are inside. An output of 0 is "
	         "kept. A session or sub-agent without requests is left out and counted as empty_session. With "
	         "--skip-bad-rows a file that cannot be read as sessions is one unusable row.",
	.keys = keys,
	.detect = detect,
	.open = open_tester,
	.params_size = sizeof(struct tester_params),
	.params = params
};
