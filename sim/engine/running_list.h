/* Running requests in order of admission. */
#ifndef KV_SIM_ENGINE_RUNNING_LIST_H
#define KV_SIM_ENGINE_RUNNING_LIST_H

#include "sim/engine/engine.h"

void kv_running_append(struct kv_engine *engine, uint32_t live);
/* Leaves a gap, so that the places of the others stay. */
void kv_running_remove(struct kv_engine *engine, uint32_t at);
/* Closes gaps once they are as many as the requests. Moves places. */
void kv_running_compact(struct kv_engine *engine);

#endif
