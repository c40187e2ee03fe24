/* The second half of a step: the waiting queue. */
#ifndef KV_SIM_ENGINE_WAITING_PASS_H
#define KV_SIM_ENGINE_WAITING_PASS_H

#include "sim/engine/engine.h"

/* Admits from the head of the queue until something stops it, and keeps why. */
void kv_engine_try_waiting(struct kv_engine *engine);

#endif
