#include "config.h"

#include "workloads/prefix_index.h"

#include <stdbool.h>
#include <stdlib.h>

#include <xxhash.h>

#include "sim/base/memory.h"
#include "sim/cache/content.h"

struct kv_prefix_node {
	uint64_t stream;
	kv_time last;      /* when a prompt passed through it last */
	uint32_t kind;
	uint32_t start;    /* of its tokens, in the stream */
	uint32_t length;
	uint32_t parent;
};

enum { ROOT, FIRST_SLOTS = 1024 };

void kv_prefix_index_init(struct kv_prefix_index *index)
{
	*index = (struct kv_prefix_index){.count = 1, .slot_capacity = FIRST_SLOTS};
	index->nodes = kv_grow(NULL, &index->capacity, 1, sizeof *index->nodes);
	index->slots = kv_calloc(index->slot_capacity, sizeof *index->slots);
}

void kv_prefix_index_fini(struct kv_prefix_index *index)
{
	free(index->nodes);
	free(index->slots);
}

void kv_prefix_match_fini(struct kv_prefix_match *match)
{
	free(match->hits);
}

/* --- children by parent, stream and start ------------------------------------------------------------------------- */

static size_t home_of(const struct kv_prefix_index *index, uint32_t parent, uint64_t stream, uint32_t kind,
                      uint32_t start)
{
	const uint64_t key[] = {stream, (uint64_t)parent << 32 | start};

	return (size_t)XXH3_64bits_withSeed(key, sizeof key, kind) & (index->slot_capacity - 1);
}

static bool is_child(const struct kv_prefix_node *node, uint32_t parent, uint64_t stream, uint32_t kind, uint32_t start)
{
	return node->parent == parent && node->stream == stream && node->kind == kind && node->start == start;
}

/* The child's slot, or the vacant one where it belongs. */
static uint32_t *find_slot(const struct kv_prefix_index *index, uint32_t parent, uint64_t stream, uint32_t kind,
                           uint32_t start)
{
	size_t at = home_of(index, parent, stream, kind, start);

	while (index->slots[at] != 0 && !is_child(&index->nodes[index->slots[at]], parent, stream, kind, start))
		at = (at + 1) & (index->slot_capacity - 1);
	return &index->slots[at];
}

static void enlarge(struct kv_prefix_index *index)
{
	free(index->slots);
	index->slot_capacity *= 2;
	index->slots = kv_calloc(index->slot_capacity, sizeof *index->slots);
	for (size_t i = 1; i < index->count; i++) {
		const struct kv_prefix_node *node = &index->nodes[i];

		*find_slot(index, node->parent, node->stream, node->kind, node->start) = (uint32_t)i;
	}
}

static uint32_t add_node(struct kv_prefix_index *index, struct kv_prefix_node node)
{
	uint32_t number = (uint32_t)index->count;

	if (index->count >= index->slot_capacity / 2)
		enlarge(index);
	index->nodes = kv_grow(index->nodes, &index->capacity, index->count + 1, sizeof *index->nodes);
	index->nodes[index->count++] = node;
	*find_slot(index, node.parent, node.stream, node.kind, node.start) = number;
	return number;
}

/* Cuts the node after `length` tokens. A new node takes the upper part and its place in the table; the old one, whose
 * number its children know, keeps the lower part under it. Returns the new one. */
static uint32_t split(struct kv_prefix_index *index, uint32_t number, uint32_t length)
{
	struct kv_prefix_node upper = index->nodes[number];
	uint32_t *slot = find_slot(index, upper.parent, upper.stream, upper.kind, upper.start);
	uint32_t added = (uint32_t)index->count;
	struct kv_prefix_node *lower;

	upper.length = length;
	*slot = added;
	index->nodes = kv_grow(index->nodes, &index->capacity, index->count + 1, sizeof *index->nodes);
	index->nodes[index->count++] = upper;
	lower = &index->nodes[number];
	lower->parent = added;
	lower->start += length;
	lower->length -= length;
	if (index->count >= index->slot_capacity / 2)
		enlarge(index);
	else
		*find_slot(index, added, lower->stream, lower->kind, lower->start) = number;
	return added;
}

/* --- prompts ------------------------------------------------------------------------------------------------------ */

struct walk {
	struct kv_prefix_index *index;
	struct kv_prefix_match *match;
	kv_time now;
	uint32_t node;
	bool parted;    /* from everything seen before */
};

static void count_hit(struct kv_prefix_match *match, uint32_t tokens, kv_time last)
{
	match->hits = kv_grow(match->hits, &match->hit_capacity, match->hit_count + 1, sizeof *match->hits);
	match->hits[match->hit_count++] = (struct kv_prefix_hit){tokens, last};
	match->tokens += tokens;
}

static void extend(struct walk *walk, const struct kv_segment *segment, uint32_t start)
{
	walk->node = add_node(walk->index, (struct kv_prefix_node){
		.stream = segment->stream, .last = walk->now, .kind = segment->kind, .start = start,
		.length = segment->length - start, .parent = walk->node
	});
	walk->parted = true;
}

/* Walks on through one segment; what is new is added. */
static void walk_segment(struct walk *walk, const struct kv_segment *segment, bool counts)
{
	for (uint32_t at = 0; at < segment->length;) {
		uint32_t child = *find_slot(walk->index, walk->node, segment->stream, segment->kind, at);
		struct kv_prefix_node *node;

		if (child == 0) {
			extend(walk, segment, at);
			return;
		}
		if (walk->index->nodes[child].length > segment->length - at)
			child = split(walk->index, child, segment->length - at);
		node = &walk->index->nodes[child];
		if (counts && !walk->parted)
			count_hit(walk->match, node->length, node->last);
		node->last = walk->now;
		walk->node = child;
		at += node->length;
	}
	if (counts && !walk->parted)
		walk->match->segments++;
}

/* Under which all content of one key lies. It has no tokens. */
static uint32_t key_node(struct kv_prefix_index *index, uint64_t key)
{
	uint32_t child = *find_slot(index, ROOT, key, KV_STREAM_KEY, 0);

	if (child != 0)
		return child;
	return add_node(index, (struct kv_prefix_node){.stream = key, .kind = KV_STREAM_KEY, .parent = ROOT});
}

void kv_prefix_index_visit(struct kv_prefix_index *index, const struct kv_request *request, struct kv_segment output,
                           struct kv_prefix_match *match)
{
	struct walk walk = {.index = index, .match = match, .now = request->arrival};

	match->tokens = match->segments = 0;
	match->hit_count = 0;
	walk.node = key_node(index, kv_request_key_hash(request));
	for (uint32_t i = 0; i < request->prompt_segments; i++) {
		/* Nothing can be behind what nobody else can name. */
		if (request->prompt[i].kind == KV_STREAM_PRIVATE)
			return;
		walk_segment(&walk, &request->prompt[i], true);
	}
	if (output.length > 0)
		walk_segment(&walk, &output, false);
}
