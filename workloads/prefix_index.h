/* Which beginning of a prompt has been seen before, in a cache without end: a tree over the segments of all prompts
 * under one key (adapter and salt): content under two keys never meets.
 *
 * A node is a run of one stream's tokens; it is split where two prompts part. Memory follows the distinct content,
 * about 100 bytes a node.
 */
#ifndef KV_WORKLOADS_PREFIX_INDEX_H
#define KV_WORKLOADS_PREFIX_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "sim/request.h"

struct kv_prefix_node;

struct kv_prefix_index {
	struct kv_prefix_node *nodes;   /* 0 is the root */
	size_t count, capacity;
	uint32_t *slots;                /* open addressing by parent and content; 0 = vacant */
	size_t slot_capacity;
};

/* What walking a prompt met: a run of tokens seen before, last at that time. */
struct kv_prefix_hit {
	uint32_t tokens;
	kv_time last;
};

struct kv_prefix_match {
	uint64_t tokens;            /* of the prompt's beginning that have been seen before */
	uint64_t segments;          /* of these, segments that were met whole */
	struct kv_prefix_hit *hits; /* one a node; they sum to tokens */
	size_t hit_count, hit_capacity;
};

void kv_prefix_index_init(struct kv_prefix_index *index);
void kv_prefix_index_fini(struct kv_prefix_index *index);

/* Matches the prompt and then remembers it, with what follows it (output, may have length 0), as seen at that time. The
 * match is the caller's, zeroed at first and used again and again. */
void kv_prefix_index_visit(struct kv_prefix_index *index, const struct kv_request *request, struct kv_segment output,
                           struct kv_prefix_match *match);
void kv_prefix_match_fini(struct kv_prefix_match *match);

#endif
