/* Sequences of tokens as stretches of streams, which trees of prefixes compare, cut and copy. */
#ifndef KV_SIM_STRETCH_H
#define KV_SIM_STRETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/request.h"

/* Tokens in order. Keys of two spaces (adapter, salt) never share anything. */
struct kv_token_key {
	uint64_t space;
	const struct kv_segment *segment;
	uint32_t segments;
};

/* Tokens [from, from + length) of a stream. */
struct kv_stretch {
	uint64_t stream;
	uint32_t kind;
	uint32_t from, length;
};

struct kv_stretches {
	struct kv_stretch *piece;
	size_t capacity;
};

/* A place in a list of stretches: `offset` tokens into the one `at`. */
struct kv_cursor {
	const struct kv_stretch *piece;
	uint32_t pieces;
	uint32_t at, offset;
};

/* A cursor at the beginning of the key, cut to a multiple of `unit` tokens, in that memory. Returns its tokens. */
uint32_t kv_cursor_load(struct kv_stretches *memory, const struct kv_token_key *key, uint32_t unit,
                        struct kv_cursor *cursor);

static inline bool kv_cursor_at_end(const struct kv_cursor *cursor)
{
	return cursor->at == cursor->pieces;
}

/* What is left of the stretch at the cursor. */
static inline struct kv_stretch kv_cursor_rest(const struct kv_cursor *cursor)
{
	struct kv_stretch piece = cursor->piece[cursor->at];

	piece.from += cursor->offset;
	piece.length -= cursor->offset;
	return piece;
}

/* Moves on by no more than what is left of it. */
static inline void kv_cursor_advance(struct kv_cursor *cursor, uint32_t tokens)
{
	cursor->offset += tokens;
	if (cursor->offset == cursor->piece[cursor->at].length) {
		cursor->at++;
		cursor->offset = 0;
	}
}

void kv_cursor_skip(struct kv_cursor *cursor, uint32_t tokens);
uint32_t kv_cursor_common(struct kv_cursor a, struct kv_cursor b);
/* Stretches that the next `tokens` tokens touch. */
uint32_t kv_cursor_count(struct kv_cursor cursor, uint32_t tokens);
/* Copies these tokens into memory of its own. Returns the number of stretches. */
uint32_t kv_cursor_copy(struct kv_cursor cursor, uint32_t tokens, struct kv_stretch **out);

#endif
