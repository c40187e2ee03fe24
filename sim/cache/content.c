#include "config.h"

#include "sim/cache/content.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sim/base/memory.h"

uint64_t kv_name_hash(const char *name, uint32_t length)
{
	return XXH3_64bits(name, length);
}

uint64_t kv_content_hash(uint64_t parent_hash, uint32_t start, uint64_t stream, uint32_t kind)
{
	struct {
		uint64_t parent, stream;
		uint32_t start, kind;
	} key = {parent_hash, stream, start, kind};

	return XXH3_64bits(&key, sizeof key);
}

uint64_t kv_request_key_hash(const struct kv_request *request)
{
	uint64_t adapter = kv_name_hash(request->adapter, (uint32_t)strlen(request->adapter));
	uint64_t salt = kv_name_hash(request->salt, (uint32_t)strlen(request->salt));

	return kv_content_hash(adapter, 0, salt, KV_STREAM_KEY);
}

void kv_content_init(struct kv_content *content)
{
	memset(content, 0, sizeof *content);
	content->node = kv_grow(NULL, &content->capacity, 1024, sizeof *content->node);
	content->used = 1;
	content->free_node = content->gone_first = content->gone_last = KV_NONE;
	content->node[KV_CONTENT_ROOT] = (struct kv_node){
		.parent = KV_NONE, .refs = 1, .kind = KV_STREAM_KEY, .owner = KV_NONE, .evicted = KV_TIME_NONE};
	content->slots = 2048;
	content->slot = kv_calloc(content->slots, sizeof *content->slot);
	memset(content->slot, 0xff, content->slots * sizeof *content->slot);
}

void kv_content_fini(struct kv_content *content)
{
	free(content->node);
	free(content->slot);
}

static void index_insert(struct kv_content *content, struct kv_node_slot entry)
{
	uint32_t mask = content->slots - 1;
	uint32_t i = entry.tag & mask;

	while (content->slot[i].node != KV_NONE)
		i = (i + 1) & mask;
	content->slot[i] = entry;
}

static void index_grow(struct kv_content *content)
{
	struct kv_node_slot *old = content->slot;
	uint32_t old_slots = content->slots;

	content->slots *= 2;
	content->slot = kv_calloc(content->slots, sizeof *content->slot);
	memset(content->slot, 0xff, content->slots * sizeof *content->slot);
	for (uint32_t i = 0; i < old_slots; i++)
		if (old[i].node != KV_NONE)
			index_insert(content, old[i]);
	free(old);
}

/* Backward-shift deletion keeps probe sequences whole without tombstones. */
static void index_remove(struct kv_content *content, uint32_t node)
{
	uint32_t mask = content->slots - 1;
	uint32_t hole = (uint32_t)content->node[node].hash & mask;

	while (content->slot[hole].node != node)
		hole = (hole + 1) & mask;
	for (uint32_t i = (hole + 1) & mask; content->slot[i].node != KV_NONE; i = (i + 1) & mask) {
		uint32_t home = content->slot[i].tag & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			content->slot[hole] = content->slot[i];
			hole = i;
		}
	}
	content->slot[hole].node = KV_NONE;
	content->indexed--;
}

static uint32_t node_take(struct kv_content *content)
{
	uint32_t node = content->free_node;

	content->nodes++;
	if (node != KV_NONE) {
		content->free_node = content->node[node].parent;
		return node;
	}
	node = content->used++;
	content->node = kv_grow_raw(content->node, &content->capacity, content->used, sizeof *content->node);
	return node;
}

static uint32_t node_find(const struct kv_content *content, uint64_t hash, uint32_t parent, uint32_t start,
                          uint64_t stream, uint32_t kind)
{
	uint32_t mask = content->slots - 1;

	for (uint32_t i = (uint32_t)hash & mask; content->slot[i].node != KV_NONE; i = (i + 1) & mask) {
		const struct kv_node *node = &content->node[content->slot[i].node];

		if (content->slot[i].tag == (uint32_t)hash && node->hash == hash && node->parent == parent &&
		    node->start == start && node->stream == stream && node->kind == kind)
			return content->slot[i].node;
	}
	return KV_NONE;
}

void kv_content_prefetch(const struct kv_content *content, uint32_t parent, uint32_t start,
                         const struct kv_segment *segments, uint32_t count)
{
	uint32_t mask = content->slots - 1;
	uint32_t place[KV_CONTENT_AHEAD];
	uint64_t hash = content->node[parent].hash;
	uint32_t n = 0;

	for (; n < count && n < KV_CONTENT_AHEAD && segments[n].kind != KV_STREAM_PRIVATE; n++) {
		hash = kv_content_hash(hash, start, segments[n].stream, segments[n].kind);
		start += segments[n].length;
		place[n] = (uint32_t)hash & mask;
		__builtin_prefetch(&content->slot[place[n]]);
	}
	for (uint32_t i = 0; i < n; i++)
		if (content->slot[place[i]].node != KV_NONE)
			__builtin_prefetch(&content->node[content->slot[place[i]].node], 1);
}

bool kv_content_has(const struct kv_content *content, uint64_t hash)
{
	uint32_t mask = content->slots - 1;

	for (uint32_t i = (uint32_t)hash & mask; content->slot[i].node != KV_NONE; i = (i + 1) & mask)
		if (content->slot[i].tag == (uint32_t)hash && content->node[content->slot[i].node].hash == hash)
			return true;
	return false;
}

/* --- nodes that nobody refers to any more ------------------------------------------------------------------------- */

static bool is_remembered(const struct kv_content *content, uint32_t node)
{
	return content->remembers && content->node[node].stored > 0 && content->node[node].kind != KV_STREAM_PRIVATE;
}

/* It keeps its reference to its parent. */
static void lay_aside(struct kv_content *content, uint32_t node)
{
	struct kv_node *gone = &content->node[node];

	gone->admitted = 0;
	gone->gone_next = KV_NONE;
	gone->gone_prev = content->gone_last;
	*(content->gone_last == KV_NONE ? &content->gone_first : &content->node[content->gone_last].gone_next) = node;
	content->gone_last = node;
	content->gone_count++;
}

static void call_back(struct kv_content *content, uint32_t node)
{
	const struct kv_node *gone = &content->node[node];

	*(gone->gone_prev == KV_NONE ? &content->gone_first :
	                               &content->node[gone->gone_prev].gone_next) = gone->gone_next;
	*(gone->gone_next == KV_NONE ? &content->gone_last :
	                               &content->node[gone->gone_next].gone_prev) = gone->gone_prev;
	content->gone_count--;
}

uint32_t kv_content_child(struct kv_content *content, uint32_t parent, uint32_t start, uint64_t stream, uint32_t kind)
{
	uint64_t identity = kind == KV_STREAM_PRIVATE ? ++content->privates : stream;
	uint64_t hash = kv_content_hash(content->node[parent].hash, start, identity, kind);
	uint32_t node = kind == KV_STREAM_PRIVATE ? KV_NONE : node_find(content, hash, parent, start, stream, kind);

	if (node != KV_NONE) {
		if (content->node[node].refs++ == 0)
			call_back(content, node);
		return node;
	}
	node = node_take(content);
	content->node[node] = (struct kv_node){
		.stream = stream, .parent = parent, .start = start, .refs = 1, .kind = (uint8_t)kind, .hash = hash,
		.owner = KV_NONE,
		.evicted = KV_TIME_NONE
	};
	content->node[parent].refs++;
	if (kind != KV_STREAM_PRIVATE) {
		if (content->indexed++ >= content->slots / 2)
			index_grow(content);
		index_insert(content, (struct kv_node_slot){.node = node, .tag = (uint32_t)hash});
	}
	return node;
}

/* Forgets a node without references, and what above it had only this one. */
static void forget(struct kv_content *content, uint32_t node)
{
	for (;;) {
		uint32_t parent = content->node[node].parent;

		if (content->node[node].kind != KV_STREAM_PRIVATE)
			index_remove(content, node);
		content->node[node].parent = content->free_node;
		content->free_node = node;
		content->nodes--;
		node = parent;
		if (--content->node[node].refs > 0)
			return;
		if (is_remembered(content, node)) {
			lay_aside(content, node);
			return;
		}
	}
}

void kv_content_unref(struct kv_content *content, uint32_t node)
{
	if (--content->node[node].refs > 0)
		return;
	if (is_remembered(content, node))
		lay_aside(content, node);
	else
		forget(content, node);
	while (content->nodes > KV_CONTENT_REMEMBERED && content->gone_count > 0) {
		uint32_t oldest = content->gone_first;

		call_back(content, oldest);
		content->forgot = true;
		forget(content, oldest);
	}
}
