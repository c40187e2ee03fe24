/* Sessions that are told round by round: how much of what came before a round keeps, how much it adds, how much it
 * generates. Their prompts become segments: what a round added, and what earlier rounds generated.
 *
 * Memory: a few segments a round of every session, until it or the file ends.
 */
#ifndef KV_WORKLOADS_SESSIONS_H
#define KV_WORKLOADS_SESSIONS_H

#include "workloads/format.h"
#include "workloads/ids.h"

struct kv_session {
	char *name;
	struct kv_segment *context;   /* of the last round: its prompt and what it generated */
	size_t count, capacity;
	uint64_t tokens;              /* of the context */
	uint64_t rounds;              /* taken so far */
	uint64_t last_index;          /* row of the last round */
	struct kv_root root;
	kv_time clock;                /* for the reader: when the session's own time is 0 */
	kv_time last_end;             /* for the reader: as recorded, or the wait after the last round */
};

struct kv_sessions {
	struct kv_ids numbers;        /* name hash to number in list */
	struct kv_session **list;
	size_t count, capacity;
};

void kv_sessions_fini(struct kv_sessions *sessions);

/* The session of that name, new if there is none. */
struct kv_session *kv_sessions_find(struct kv_sessions *sessions, const char *name, size_t length);

/* Makes the row the session's next round: its id is "name:round", its prompt the first `kept` tokens of the context and
 * `added` new ones, and it depends on the round before. Where more is kept than there is, the rest is content of the
 * session's own. prompt_tokens is set; output_tokens must be. */
void kv_session_fill(const struct kv_session *session, struct kv_row *row, uint32_t kept, uint32_t added);
/* The steps of that, for rows whose new content has names of its own or that do not wait: all but the new content,
 * which is to be added; the new content; what it depends on. */
void kv_session_begin(const struct kv_session *session, struct kv_row *row, uint32_t kept, uint32_t added);
void kv_session_add(const struct kv_session *session, struct kv_row *row, uint32_t added);
void kv_session_follow(const struct kv_session *session, struct kv_row *row);
/* No more rounds will come: what it has said is forgotten, its name and its number of rounds are not. */
void kv_session_end(struct kv_session *session);
/* The row has been taken: it is the session's last round now. */
void kv_session_take(struct kv_session *session, const struct kv_row *row);

#endif
