#include "config.h"

#include "sim/cache/stretch.h"

#include "sim/base/memory.h"
#include "sim/base/units.h"

uint32_t kv_cursor_load(struct kv_stretches *memory, const struct kv_token_key *key, uint32_t unit,
                        struct kv_cursor *cursor)
{
	uint64_t tokens = 0;
	uint64_t taken = 0;

	for (uint32_t i = 0; i < key->segments; i++)
		tokens += key->segment[i].length;
	tokens -= tokens % unit;
	memory->piece = kv_grow(memory->piece, &memory->capacity, key->segments, sizeof *memory->piece);
	*cursor = (struct kv_cursor){.piece = memory->piece};
	for (uint32_t i = 0; taken < tokens; i++) {
		const struct kv_segment *segment = &key->segment[i];
		uint32_t length = (uint32_t)kv_min(segment->length, tokens - taken);

		memory->piece[cursor->pieces++] = (struct kv_stretch){segment->stream, segment->kind, 0, length};
		taken += length;
	}
	return (uint32_t)tokens;
}

void kv_cursor_skip(struct kv_cursor *cursor, uint32_t tokens)
{
	while (tokens > 0) {
		uint32_t step = (uint32_t)kv_min(tokens, kv_cursor_rest(cursor).length);

		kv_cursor_advance(cursor, step);
		tokens -= step;
	}
}

uint32_t kv_cursor_common(struct kv_cursor a, struct kv_cursor b)
{
	uint32_t tokens = 0;

	while (!kv_cursor_at_end(&a) && !kv_cursor_at_end(&b)) {
		struct kv_stretch x = kv_cursor_rest(&a), y = kv_cursor_rest(&b);
		uint32_t step = (uint32_t)kv_min(x.length, y.length);

		if (x.stream != y.stream || x.kind != y.kind || x.from != y.from)
			break;
		kv_cursor_advance(&a, step);
		kv_cursor_advance(&b, step);
		tokens += step;
	}
	return tokens;
}

uint32_t kv_cursor_count(struct kv_cursor cursor, uint32_t tokens)
{
	uint32_t first = cursor.at;

	kv_cursor_skip(&cursor, tokens);
	return cursor.at - first + (cursor.offset > 0);
}

uint32_t kv_cursor_copy(struct kv_cursor cursor, uint32_t tokens, struct kv_stretch **out)
{
	struct kv_stretch *piece = kv_calloc(kv_cursor_count(cursor, tokens), sizeof *piece);
	uint32_t pieces = 0;

	while (tokens > 0) {
		struct kv_stretch rest = kv_cursor_rest(&cursor);

		rest.length = (uint32_t)kv_min(rest.length, tokens);
		piece[pieces++] = rest;
		kv_cursor_advance(&cursor, rest.length);
		tokens -= rest.length;
	}
	*out = piece;
	return pieces;
}
