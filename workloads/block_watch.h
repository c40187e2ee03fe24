/* Watches block ids for what chain hashes never have: one id for two lengths (partial in one prompt, full in another),
 * or behind two different ids. Neither makes a trace unusable, since prompts share what agrees from their beginning on,
 * but both mean that the block size is wrong or that ids are no hashes of all that precedes them.
 *
 * Memory: 24 bytes for each of the last million ids or so, touched as they come. Ids numbered from 0 on collide only
 * beyond a million; what gave way to a newer id is no longer compared, so counts are at least what there is.
 */
#ifndef KV_WORKLOADS_BLOCK_WATCH_H
#define KV_WORKLOADS_BLOCK_WATCH_H

#include <stdint.h>

#include "workloads/format.h"

struct kv_block_sight;

struct kv_block_watch {
	struct kv_block_sight *sights;   /* NULL until the first block */
	uint64_t uneven;                 /* blocks of another length than the id had before */
	uint64_t misplaced;              /* blocks behind another id than before */
};

void kv_block_watch_row(struct kv_block_watch *watch, const struct kv_row *row);
void kv_block_watch_fini(struct kv_block_watch *watch);

#endif
