/* The decode clock: requests that compute one token in every step without being looked at. */
#ifndef KV_SIM_ENGINE_STEADY_H
#define KV_SIM_ENGINE_STEADY_H

#include "sim/engine/engine.h"

/* A request that computes one token a step from the next tick on. `at` = its place in the running list. */
void kv_steady_enter(struct kv_engine *engine, uint32_t at);
/* Back to a special request with its own numbers. `ticked`: it takes part in the current tick, which has not been
 * counted yet. */
void kv_steady_leave(struct kv_engine *engine, uint32_t at, bool ticked);
/* Counts a step in which every steady request computed a token; those that finish go to `ended`. */
void kv_steady_tick(struct kv_engine *engine);
/* Tells the time since the last token of each, at the end of a step that they took part in. */
void kv_steady_deliver(struct kv_engine *engine, kv_time now);
/* Blocks that steady requests need in this step. */
uint64_t kv_steady_growth(const struct kv_engine *engine);

#endif
