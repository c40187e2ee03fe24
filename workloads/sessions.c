#include "config.h"

#include "workloads/sessions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

enum { NAME_MAX_BYTES = 300 };

void kv_sessions_fini(struct kv_sessions *sessions)
{
	for (size_t i = 0; i < sessions->count; i++) {
		free(sessions->list[i]->name);
		free(sessions->list[i]->context);
		free(sessions->list[i]);
	}
	free(sessions->list);
	kv_ids_fini(&sessions->numbers);
}

struct kv_session *kv_sessions_find(struct kv_sessions *sessions, const char *name, size_t length)
{
	uint64_t key = kv_name_hash(name, (uint32_t)length);
	const uint32_t *number = kv_ids_find(&sessions->numbers, key);
	struct kv_session *session;

	if (number != NULL)
		return sessions->list[*number];
	session = kv_calloc(1, sizeof *session);
	session->name = kv_calloc(length + 1, 1);
	memcpy(session->name, name, length);
	kv_ids_add(&sessions->numbers, key, (uint32_t)sessions->count);
	sessions->list = kv_grow(sessions->list, &sessions->capacity, sessions->count + 1, sizeof *sessions->list);
	sessions->list[sessions->count++] = session;
	return session;
}

/* "name:round", with a suffix for content that is not what the round generates. */
static size_t print_name(const struct kv_session *session, const char *suffix, char text[NAME_MAX_BYTES])
{
	return (size_t)snprintf(text, NAME_MAX_BYTES, "%.250s:%" PRIu64 "%s", session->name, session->rounds, suffix);
}

static void add_named(const struct kv_session *session, struct kv_row *row, const char *suffix, uint32_t tokens)
{
	char text[NAME_MAX_BYTES];
	size_t length = print_name(session, suffix, text);

	if (tokens > 0)
		kv_row_segment(row, KV_STREAM_NAMED, kv_name_hash(text, (uint32_t)length), tokens);
}

/* Returns how many of the tokens are not in the context. */
static uint32_t keep_context(const struct kv_session *session, struct kv_row *row, uint32_t tokens)
{
	for (size_t i = 0; i < session->count && tokens > 0; i++) {
		struct kv_segment part = session->context[i];

		if (part.length > tokens)
			part.length = tokens;
		kv_row_segment(row, (enum kv_stream_kind)part.kind, part.stream, part.length);
		tokens -= part.length;
	}
	return tokens;
}

void kv_session_begin(const struct kv_session *session, struct kv_row *row, uint32_t kept, uint32_t added)
{
	char text[NAME_MAX_BYTES];
	size_t length = print_name(session, "", text);

	if ((uint64_t)kept + added > KV_TOKENS_MAX) {
		kv_row_fault(row, KV_FAULT_RANGE, "prompt: %" PRIu32 " + %" PRIu32 " tokens; allowed: at most %u", kept,
		             added, KV_TOKENS_MAX);
		return;
	}
	row->id = kv_row_text(row, text, length);
	row->named = true;
	row->prompt_tokens = kept + added;
	add_named(session, row, "/earlier", keep_context(session, row, kept));
}

void kv_session_add(const struct kv_session *session, struct kv_row *row, uint32_t added)
{
	add_named(session, row, "/input", added);
}

void kv_session_follow(const struct kv_session *session, struct kv_row *row)
{
	if (session->rounds > 0)
		kv_row_depend(row, session->last_index, session->root);
}

void kv_session_fill(const struct kv_session *session, struct kv_row *row, uint32_t kept, uint32_t added)
{
	kv_session_begin(session, row, kept, added);
	if (row->faulty)
		return;
	kv_session_add(session, row, added);
	kv_session_follow(session, row);
}

void kv_session_end(struct kv_session *session)
{
	free(session->context);
	session->context = NULL;
	session->count = session->capacity = 0;
}

void kv_session_take(struct kv_session *session, const struct kv_row *row)
{
	size_t need = row->segment_count + 1;

	session->context = kv_grow(session->context, &session->capacity, need, sizeof *session->context);
	memcpy(session->context, row->segments, row->segment_count * sizeof *session->context);
	session->count = row->segment_count;
	if (row->output_tokens > 0)
		session->context[session->count++] = (struct kv_segment){
			.stream = kv_name_hash(kv_row_string(row, row->id), row->id.length),
			.length = row->output_tokens,
			.kind = KV_STREAM_OUTPUT
		};
	session->tokens = (uint64_t)row->prompt_tokens + row->output_tokens;
	session->root = kv_row_root(row);
	session->last_index = row->index;
	session->rounds++;
}
