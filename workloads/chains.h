/* Block ids of a prefix chain (an id stands for its block and everything before it) as few segments: ids that always
 * follow each other are one stream, so that a conversation of thousands of blocks is a handful of segments.
 *
 * Memory: about 28 bytes an id, until the chains are ended.
 */
#ifndef KV_WORKLOADS_CHAINS_H
#define KV_WORKLOADS_CHAINS_H

#include "workloads/format.h"
#include "workloads/ids.h"

struct kv_chain_place {
	uint32_t run, offset;  /* the id is block `offset` of that run */
	uint32_t tokens;       /* that it stood for last */
};

struct kv_chains {
	uint64_t scope;                  /* tells ids of one scope from equal ids of another */
	uint32_t block;                  /* tokens an id stands for */
	struct kv_ids numbers;           /* id + 1 to number in places */
	struct kv_chain_place *places;
	size_t count, capacity;
	uint32_t *runs;                  /* length of each, in blocks */
	size_t run_count, run_capacity;
	uint64_t uneven;                 /* ids that stood for another number of tokens than before */
};

void kv_chains_init(struct kv_chains *chains, uint64_t scope, uint32_t block);
void kv_chains_fini(struct kv_chains *chains);

/* A prompt under construction: where its last block lies. */
struct kv_chain_walk {
	bool started;
	struct kv_chain_place last;
};

/* Appends the id's block, of `tokens` tokens, to the row's segments. False if the id was seen behind another one. One
 * that is partial in one row and full in another agrees as far as both go. */
bool kv_chains_append(struct kv_chains *chains, struct kv_chain_walk *walk, struct kv_row *row, uint64_t id,
                      uint32_t tokens);

#endif
