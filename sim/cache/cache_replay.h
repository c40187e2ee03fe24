/* Cache-only replay: a trace's prompts one after the other through a pool of blocks and an eviction policy, without
 * time.
 *
 * A prompt's leading blocks that are in the pool are its hits; then the missing ones are stored in order. What a
 * request generates is not stored, unless a later prompt contains it; blocks of prompts alone. The policy's hooks are
 * called with entries of one block:
 *
 * - unit leaf: only blocks that nothing stored follows may go, and none of the current prompt. If there is none, the
 *   rest of the prompt is not stored. All its blocks are released at its end, as one release call, the last block
 *   first. For lru this is a prefix tree whose least recently used leaf goes.
 * - unit block: any block may go, of the current prompt too, and what followed it stays. A hit is released at once, a
 *   new block when it is stored (release calls in the order of the prompt), and all of them again at the end, the last
 *   block first: policies of first release see the order of storing, those of last release a prefix that outlives its
 *   rest. Of a prompt longer than the pool the beginning is stored.
 *
 * Of a trace whose pieces are found anywhere, all that are in the pool are hits, and those that stand in the prompt
 * twice; any may go (unit block).
 *
 * A policy that knows the future (KV_POLICY_ORACLE) is told each block's next use and may refuse to store.
 */
#ifndef KV_SIM_CACHE_REPLAY_H
#define KV_SIM_CACHE_REPLAY_H

#include <stdint.h>

#include "sim/cache/block_trace.h"
#include "sim/policy.h"

enum kv_replay_unit { KV_REPLAY_BLOCK, KV_REPLAY_LEAF };

/* Over some of the prompts. */
struct kv_replay_sums {
	uint64_t prompts;
	uint64_t blocks, tokens;            /* asked for: all of the prompts, in tokens what is never stored too */
	uint64_t hit_blocks, hit_tokens;
	uint64_t evicted_blocks, evicted_tokens;
	uint64_t expired_blocks;            /* dropped by the policy's clock */
};

struct kv_replay_result {
	struct kv_replay_sums whole;
	struct kv_replay_sums second_half;  /* of the prompts: the first floor(n / 2) warm the pool */
	uint64_t resident_blocks;           /* at the end */
};

void kv_replay_add(struct kv_replay_sums *to, const struct kv_replay_sums *from);

/* Plays the trace once, with a policy that was not used before. */
void kv_cache_replay(const struct kv_block_trace *trace, const struct kv_policy_use *policy, enum kv_replay_unit unit,
                     uint64_t blocks, struct kv_replay_result *result);

#endif
