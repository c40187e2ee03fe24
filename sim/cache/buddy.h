/* Buddy allocator over the blocks of a pool: contiguous pieces whose sizes are powers of two.
 *
 * A pool that is not a power of two starts as its largest aligned chunks from address 0 (983 = 512 + 256 + 128 + ...).
 * The smallest fitting chunk at the lowest address is taken, halves are split off above it, buddies merge when freed.
 */
#ifndef KV_SIM_BUDDY_H
#define KV_SIM_BUDDY_H

#include <stdbool.h>
#include <stdint.h>

struct kv_buddy;

struct kv_buddy *kv_buddy_create(uint64_t blocks);
void kv_buddy_free(struct kv_buddy *buddy);

/* Size of the chunk that a request for `blocks` >= 1 takes. */
uint64_t kv_buddy_chunk(uint64_t blocks);
/* Whether it could be taken now. */
bool kv_buddy_fits(const struct kv_buddy *buddy, uint64_t blocks);
/* Address of the chunk; the caller has asked kv_buddy_fits. */
uint64_t kv_buddy_take(struct kv_buddy *buddy, uint64_t blocks);
void kv_buddy_give(struct kv_buddy *buddy, uint64_t address, uint64_t blocks);

#endif
