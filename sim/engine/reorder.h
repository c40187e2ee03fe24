/* Ranks that change while requests wait. */
#ifndef KV_SIM_ENGINE_REORDER_H
#define KV_SIM_ENGINE_REORDER_H

#include "sim/engine/engine.h"

/* Ranks the waiting queue anew, but for those that preemption put at its front. */
void kv_engine_reorder(struct kv_engine *engine);

#endif
