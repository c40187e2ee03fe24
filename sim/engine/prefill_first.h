/* Steps of prompts before steps of decodes. */
#ifndef KV_SIM_ENGINE_PREFILL_FIRST_H
#define KV_SIM_ENGINE_PREFILL_FIRST_H

#include "sim/engine/engine.h"

/* Schedules one step of this order (enum kv_step_order). */
void kv_engine_schedule_prefill_first(struct kv_engine *engine);

#endif
