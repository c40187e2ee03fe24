/* Identity of content: a tree over segments.
 *
 * A node is one segment's stream, continued from a token position of its parent: (parent, start, stream). A token of a
 * prompt is (node, position), a prefix is its last token, and two requests share exactly as many tokens as their paths
 * do. A document of a million tokens is one node. Nodes are counted: paths of live requests, children and cached
 * extents each hold one reference; a node without any is forgotten, at once or, where somebody asks for the reasons of
 * misses and its content had been stored, when many others have come after it.
 *
 * Keys (adapter, salt) are nodes below the root: content under two keys never meets.
 */
#ifndef KV_SIM_CONTENT_H
#define KV_SIM_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/request.h"

#define KV_NONE UINT32_MAX

/* Beside the kinds of streams that requests have. */
enum { KV_STREAM_KEY = 4 };

struct kv_node {
	uint64_t stream;
	uint64_t hash;   /* of the whole path: equal content under equal keys; of its own for private content */
	uint32_t parent;
	uint32_t start;  /* tokens before this node's first */
	uint32_t refs;
	uint32_t owner;  /* live request that generates this stream, KV_NONE = none */

	/* for miss reasons */
	kv_time evicted; /* when last a block of it was or expired, KV_TIME_NONE = never */
	uint32_t gone_next, gone_prev;  /* nodes that are remembered, oldest first; KV_NONE = end */
	uint32_t stored; /* blocks of it, from the start of the prompt, that have ever been registered */
	uint32_t admitted; /* tokens, from the start of the prompt, that admitted requests have had of it; 0 = none */
	uint8_t kind;
	bool expired;    /* it expired when last evicted */
};

/* A place of the index. The tag spares most looks at nodes, each of which is a cache miss. */
struct kv_node_slot {
	uint32_t node;  /* KV_NONE = empty */
	uint32_t tag;   /* low bits of its hash */
};

struct kv_content {
	struct kv_node *node;
	size_t capacity;
	uint32_t used;       /* nodes ever used at once */
	uint32_t nodes;      /* in use now */
	uint32_t free_node;  /* list through parent */
	struct kv_node_slot *slot;  /* open addressing, linear probing */
	uint32_t slots;      /* a power of two */
	uint32_t indexed;
	uint64_t privates;   /* private nodes ever made */
	bool remembers;      /* nodes whose content was stored stay for a while without references */
	bool forgot;         /* ... and some have been forgotten since */
	uint32_t gone_first, gone_last, gone_count;
};

#define KV_CONTENT_ROOT 0u
/* As many nodes as there may be before those without references are forgotten, oldest first. */
#define KV_CONTENT_REMEMBERED (1u << 18)

void kv_content_init(struct kv_content *content);
void kv_content_fini(struct kv_content *content);

/* The child for this stream, made if there is none. The caller gets one reference. Private streams are always made new
 * and cannot be found again. */
uint32_t kv_content_child(struct kv_content *content, uint32_t parent, uint32_t start, uint64_t stream, uint32_t kind);

enum { KV_CONTENT_AHEAD = 64 };

/* Brings what kv_content_child will look at for these segments, one behind the other from `start` under `parent`, into
 * the processor's cache: at most KV_CONTENT_AHEAD of them, up to the first private one. A long prompt is a chain of
 * cache misses otherwise. */
void kv_content_prefetch(const struct kv_content *content, uint32_t parent, uint32_t start,
                         const struct kv_segment *segments, uint32_t count);

static inline void kv_content_ref(struct kv_content *content, uint32_t node)
{
	content->node[node].refs++;
}

void kv_content_unref(struct kv_content *content, uint32_t node);

/* Names the key of a request, adapter and salt (either may be empty), where no scope derives a salt. */
uint64_t kv_request_key_hash(const struct kv_request *request);

/* The hash that a child would have, whether it exists or not. */
uint64_t kv_content_hash(uint64_t parent_hash, uint32_t start, uint64_t stream, uint32_t kind);
/* Whether a node with this hash exists. */
bool kv_content_has(const struct kv_content *content, uint64_t hash);

#endif
