/* A bounded memory of content that was evicted, for eviction policies that ask for it (ARC, S3-FIFO).
 *
 * What is remembered: (key, block) for key = content path and group, with the queue it was evicted from. Blocks evicted
 * one after the other from the tail of a run are one run here too, so that work grows with runs. Beyond the capacity
 * the block that was evicted first is forgotten; evicting remembered content again makes it the newest. Keys are 64-bit
 * hashes: two of n collide with probability about n^2 / 2^65.
 */
#ifndef KV_SIM_GHOSTS_H
#define KV_SIM_GHOSTS_H

#include <stddef.h>
#include <stdint.h>

#include "sim/cache/hash_index.h"
#include "sim/policy.h"

struct kv_ghost_run {
	uint64_t key;
	uint32_t lo, hi;        /* blocks; the higher ones are older */
	uint32_t queue;
	uint32_t older, newer;  /* newer: of a run that is free, the next of the free list */
};

struct kv_ghosts {
	struct kv_ghost_run *run;
	size_t run_capacity;
	uint32_t used, free_run;
	uint32_t oldest, newest;
	struct kv_hash_index index;  /* runs by key */
	uint64_t capacity;      /* blocks */
	uint64_t total;
	uint64_t blocks[KV_EVICTION_QUEUES];
};

void kv_ghosts_init(struct kv_ghosts *ghosts, uint64_t capacity);
void kv_ghosts_fini(struct kv_ghosts *ghosts);

/* Blocks [lo, hi) have been evicted, the last one first. */
void kv_ghosts_put(struct kv_ghosts *ghosts, uint64_t key, uint32_t lo, uint32_t hi, uint32_t queue);

/* 1 + the queue of block hi - 1, or 0 if it is not remembered; *from = the lowest block >= lo from which on all blocks
 * below hi have the same answer. */
uint32_t kv_ghosts_find(const struct kv_ghosts *ghosts, uint64_t key, uint32_t lo, uint32_t hi, uint32_t *from);

/* Forgets [lo, hi). */
void kv_ghosts_take(struct kv_ghosts *ghosts, uint64_t key, uint32_t lo, uint32_t hi);

#endif
