/* Preemption by swap: what a victim has computed goes to host memory and comes back (policies/preemption/mode.h has the
 * rules and where they come from). */
#ifndef KV_SIM_ENGINE_SWAP_H
#define KV_SIM_ENGINE_SWAP_H

#include "sim/engine/engine.h"

bool kv_swap_has_room(const struct kv_engine *engine, const struct kv_live *live);
/* Copies what a running request has computed; its blocks are still its own. */
void kv_swap_out(struct kv_engine *engine, uint32_t live);
/* Copies back what a request that has its blocks again did not find cached: `found` blocks, in all groups. */
void kv_swap_in(struct kv_engine *engine, uint32_t live, uint64_t found);
/* A request that is swapped out is dropped. */
void kv_swap_forget(struct kv_engine *engine, struct kv_live *live);

/* Recounts what swapped requests hold, and ends the program if it differs. */
void kv_swap_check(const struct kv_engine *engine);

#endif
