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

void kv_content_init(struct kv_content *content)
{
	memset(content, 0, sizeof *content);
	content->node = kv_grow(NULL, &content->capacity, 1024, sizeof *content->node);
	content->used = 1;
	content->free_node = KV_NONE;
	content->node[KV_CONTENT_ROOT] = (struct kv_node){.parent = KV_NONE, .refs = 1, .kind = KV_STREAM_KEY, .owner = KV_NONE,
	                                                   .evicted = KV_TIME_NONE};
	content->slots = 2048;
	content->slot = kv_calloc(content->slots, sizeof *content->slot);
	memset(content->slot, 0xff, content->slots * sizeof *content->slot);
}

void kv_content_fini(struct kv_content *content)
{
	free(content->node);
	free(content->slot);
}

static void index_insert(struct kv_content *content, uint32_t node)
{
	uint32_t mask = content->slots - 1;
	uint32_t i = (uint32_t)content->node[node].hash & mask;

	while (content->slot[i] != KV_NONE)
		i = (i + 1) & mask;
	content->slot[i] = node;
}

static void index_grow(struct kv_content *content)
{
	uint32_t *old = content->slot;
	uint32_t old_slots = content->slots;

	content->slots *= 2;
	content->slot = kv_calloc(content->slots, sizeof *content->slot);
	memset(content->slot, 0xff, content->slots * sizeof *content->slot);
	for (uint32_t i = 0; i < old_slots; i++)
		if (old[i] != KV_NONE)
			index_insert(content, old[i]);
	free(old);
}

/* Backward-shift deletion keeps probe sequences whole without tombstones. */
static void index_remove(struct kv_content *content, uint32_t node)
{
	uint32_t mask = content->slots - 1;
	uint32_t hole = (uint32_t)content->node[node].hash & mask;

	while (content->slot[hole] != node)
		hole = (hole + 1) & mask;
	for (uint32_t i = (hole + 1) & mask; content->slot[i] != KV_NONE; i = (i + 1) & mask) {
		uint32_t home = (uint32_t)content->node[content->slot[i]].hash & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			content->slot[hole] = content->slot[i];
			hole = i;
		}
	}
	content->slot[hole] = KV_NONE;
	content->indexed--;
}

static uint32_t node_take(struct kv_content *content)
{
	uint32_t node = content->free_node;

	if (node != KV_NONE) {
		content->free_node = content->node[node].parent;
		return node;
	}
	node = content->used++;
	content->node = kv_grow(content->node, &content->capacity, content->used, sizeof *content->node);
	return node;
}

static uint32_t node_find(const struct kv_content *content, uint64_t hash, uint32_t parent, uint32_t start,
                          uint64_t stream, uint32_t kind)
{
	uint32_t mask = content->slots - 1;

	for (uint32_t i = (uint32_t)hash & mask; content->slot[i] != KV_NONE; i = (i + 1) & mask) {
		const struct kv_node *node = &content->node[content->slot[i]];

		if (node->hash == hash && node->parent == parent && node->start == start && node->stream == stream
		    && node->kind == kind)
			return content->slot[i];
	}
	return KV_NONE;
}

bool kv_content_has(const struct kv_content *content, uint64_t hash)
{
	uint32_t mask = content->slots - 1;

	for (uint32_t i = (uint32_t)hash & mask; content->slot[i] != KV_NONE; i = (i + 1) & mask)
		if (content->node[content->slot[i]].hash == hash)
			return true;
	return false;
}

uint32_t kv_content_child(struct kv_content *content, uint32_t parent, uint32_t start, uint64_t stream, uint32_t kind)
{
	uint64_t identity = kind == KV_STREAM_PRIVATE ? ++content->privates : stream;
	uint64_t hash = kv_content_hash(content->node[parent].hash, start, identity, kind);
	uint32_t node = kind == KV_STREAM_PRIVATE ? KV_NONE : node_find(content, hash, parent, start, stream, kind);

	if (node != KV_NONE) {
		content->node[node].refs++;
		return node;
	}
	node = node_take(content);
	content->node[node] = (struct kv_node){
		.stream = stream, .parent = parent, .start = start, .refs = 1, .kind = kind, .hash = hash, .owner = KV_NONE,
		.evicted = KV_TIME_NONE
	};
	content->node[parent].refs++;
	if (kind != KV_STREAM_PRIVATE) {
		if (content->indexed++ >= content->slots / 2)
			index_grow(content);
		index_insert(content, node);
	}
	return node;
}

static void remember(struct kv_content *content, const struct kv_node *node)
{
	if (content->gone != NULL && node->stored > 0)
		kv_seen_put(content->gone, node->hash, node->stored, node->evicted, node->expired);
}

void kv_content_unref(struct kv_content *content, uint32_t node)
{
	while (--content->node[node].refs == 0) {
		uint32_t parent = content->node[node].parent;

		if (content->node[node].kind != KV_STREAM_PRIVATE) {
			remember(content, &content->node[node]);
			index_remove(content, node);
		}
		content->node[node].parent = content->free_node;
		content->free_node = node;
		node = parent;
	}
}
