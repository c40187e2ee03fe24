/* The first half of a step: running requests. */
#ifndef KV_SIM_ENGINE_RUNNING_PASS_H
#define KV_SIM_ENGINE_RUNNING_PASS_H

#include "sim/engine/engine.h"

/* Those whose output somebody refers to since the last step stop being steady. */
void kv_engine_take_out_eager(struct kv_engine *engine);
/* Gives running requests their tokens in list order, while there are tokens; preempts where blocks are missing. */
void kv_engine_run_running(struct kv_engine *engine);

/* So many uncomputed tokens, cut at the long-prefill threshold. */
uint32_t kv_engine_tokens_wanted(const struct kv_engine *engine, uint32_t uncomputed);
/* A special request computes so many tokens in this step. */
void kv_engine_note_scheduled(struct kv_engine *engine, uint32_t live, uint32_t tokens);

#endif
