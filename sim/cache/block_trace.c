#include "config.h"

#include "sim/cache/block_trace.h"

#include <stdbool.h>
#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/cache/content.h"

enum { FIRST_SLOTS = 1 << 16 };

void kv_block_trace_fini(struct kv_block_trace *trace)
{
	free(trace->prompt);
	free(trace->run);
	free(trace->parent);
	free(trace->piece_tokens);
	free(trace->key);
	free(trace->node);
}

/* --- the index ---------------------------------------------------------------------------------------------------- */

static size_t slot_of(const struct kv_block_trace *trace, uint64_t key)
{
	size_t i = key & (trace->slots - 1);

	while (trace->key[i] != 0 && trace->key[i] != key)
		i = (i + 1) & (trace->slots - 1);
	return i;
}

static void grow_index(struct kv_block_trace *trace)
{
	uint64_t *key = trace->key;
	uint32_t *node = trace->node;
	size_t slots = trace->slots;

	trace->slots = slots == 0 ? FIRST_SLOTS : 2 * slots;
	trace->key = kv_calloc(trace->slots, sizeof *trace->key);
	trace->node = kv_calloc(trace->slots, sizeof *trace->node);
	for (size_t i = 0; i < slots; i++)
		if (key[i] != 0) {
			size_t at = slot_of(trace, key[i]);

			trace->key[at] = key[i];
			trace->node[at] = node[i];
		}
	free(key);
	free(node);
}

static uint32_t add_node(struct kv_block_trace *trace, uint32_t parent)
{
	trace->parent = kv_grow(trace->parent, &trace->parent_capacity, trace->nodes + 1, sizeof *trace->parent);
	trace->parent[trace->nodes] = parent;
	return trace->nodes++;
}

static uint32_t find_or_add(struct kv_block_trace *trace, uint64_t hash, uint32_t parent)
{
	uint64_t key = hash != 0 ? hash : 1;
	size_t at;

	if (2 * (size_t)(trace->nodes + 1) >= trace->slots)
		grow_index(trace);
	at = slot_of(trace, key);
	if (trace->key[at] == 0) {
		trace->key[at] = key;
		trace->node[at] = add_node(trace, parent);
	}
	return trace->node[at];
}

/* --- prompts ------------------------------------------------------------------------------------------------------ */

/* The prompt that is being read. */
struct path {
	struct kv_block_trace *trace;
	struct kv_block_prompt *prompt;
	uint64_t hash;     /* of all content so far */
	uint32_t last;     /* node */
	bool is_private;   /* nothing from here on can be met again */
};

static void append(struct path *path)
{
	struct kv_block_trace *trace = path->trace;
	struct kv_block_run *run = path->prompt->runs > 0 ? &trace->run[trace->runs - 1] : NULL;
	uint32_t node = path->is_private ? add_node(trace, path->last) : find_or_add(trace, path->hash, path->last);

	path->last = node;
	path->prompt->blocks++;
	if (run != NULL && run->first + run->count == node) {
		run->count++;
		return;
	}
	trace->run = kv_grow(trace->run, &trace->run_capacity, trace->runs + 1, sizeof *trace->run);
	trace->run[trace->runs++] = (struct kv_block_run){node, 1};
	path->prompt->runs++;
}

/* `length` tokens of a stream from its token `at` on. */
static void add_content(struct path *path, const struct kv_segment *segment, uint32_t at, uint32_t length)
{
	if (segment->kind == KV_STREAM_PRIVATE)
		path->is_private = true;
	path->hash = kv_content_hash(path->hash, at, segment->stream, segment->kind);
	path->hash = kv_content_hash(path->hash, length, 0, 0);
}

/* Whether the prompt is a list of block ids; a rest without one may follow. */
static bool has_block_ids(const struct kv_request *request)
{
	uint32_t count = request->prompt_segments;
	const struct kv_segment *segment = request->prompt;

	if (count > 1 && segment[count - 1].kind == KV_STREAM_PRIVATE && segment[count - 1].length < segment[0].length)
		count--;
	for (uint32_t i = 0; i < count; i++)
		if (segment[i].kind != KV_STREAM_BLOCK
		    || (i + 1 < count ? segment[i].length != segment[0].length : segment[i].length > segment[0].length))
			return false;
	return count > 0;
}

static void read_ids(struct path *path, const struct kv_request *request)
{
	for (uint32_t i = 0; i < request->prompt_segments && request->prompt[i].kind == KV_STREAM_BLOCK; i++) {
		/* An id that is partial here and whole there is one block. */
		add_content(path, &request->prompt[i], 0, 0);
		append(path);
		path->prompt->last_tokens = request->prompt[i].length;
	}
	path->prompt->block_tokens = request->prompt[0].length;
}

static void cut(struct path *path, const struct kv_request *request, uint32_t size)
{
	uint32_t filled = 0;

	for (uint32_t i = 0; i < request->prompt_segments; i++) {
		const struct kv_segment *segment = &request->prompt[i];
		uint32_t at = 0;

		while (at < segment->length) {
			uint32_t length = (uint32_t)kv_min(segment->length - at, size - filled);

			add_content(path, segment, at, length);
			at += length;
			filled += length;
			if (filled == size) {
				append(path);
				filled = 0;
			}
		}
	}
	path->prompt->block_tokens = path->prompt->last_tokens = size;
}

/* One piece, known by its content and length alone under the prompt's key. */
static void append_piece(struct path *path, uint64_t key, const struct kv_segment *segment, uint32_t at,
                         uint32_t length)
{
	struct kv_block_trace *trace = path->trace;

	path->hash = key;
	path->last = KV_NO_BLOCK;
	path->is_private = false;
	add_content(path, segment, at, length);
	append(path);
	trace->piece_tokens = kv_grow(trace->piece_tokens, &trace->piece_capacity, trace->nodes,
	                              sizeof *trace->piece_tokens);
	trace->piece_tokens[path->last] = length;
}

static void cut_into_pieces(struct path *path, const struct kv_request *request)
{
	uint64_t key = path->hash;

	for (uint32_t i = 0; i < request->prompt_segments; i++) {
		const struct kv_segment *segment = &request->prompt[i];
		uint32_t size = path->trace->block_size;

		if (size == 0)
			size = segment->kind == KV_STREAM_BLOCK ? segment->length : KV_BLOCK_TRACE_TOKENS;
		for (uint32_t at = 0; at < segment->length; at += size)
			append_piece(path, key, segment, at, (uint32_t)kv_min(size, segment->length - at));
		path->prompt->block_tokens = (uint32_t)kv_max(path->prompt->block_tokens, size);
	}
}

int kv_block_trace_add(struct kv_block_trace *trace, const struct kv_request *request, struct kv_error *err)
{
	struct path path = {.trace = trace, .hash = kv_request_key_hash(request), .last = KV_NO_BLOCK};

	if (request->prompt_tokens > UINT32_MAX - 1 - trace->nodes)
		return kv_fail(err, KV_EXIT_DATA, "the trace may have more than %u different blocks", UINT32_MAX - 1);
	trace->prompt = kv_grow(trace->prompt, &trace->prompt_capacity, trace->prompts + 1, sizeof *trace->prompt);
	path.prompt = &trace->prompt[trace->prompts++];
	*path.prompt = (struct kv_block_prompt){
		.arrival = request->arrival, .run = trace->runs, .tokens = request->prompt_tokens
	};
	if (trace->anywhere)
		cut_into_pieces(&path, request);
	else if (trace->block_size == 0 && has_block_ids(request))
		read_ids(&path, request);
	else
		cut(&path, request, trace->block_size != 0 ? trace->block_size : KV_BLOCK_TRACE_TOKENS);
	trace->longest = (uint32_t)kv_max(trace->longest, path.prompt->blocks);
	return 0;
}
