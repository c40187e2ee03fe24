/* The first half of a step: running requests. */
#ifndef KV_SIM_ENGINE_RUNNING_PASS_H
#define KV_SIM_ENGINE_RUNNING_PASS_H

#include "sim/engine/engine.h"

/* Those whose output somebody refers to since the last step stop being steady. */
void kv_engine_take_out_eager(struct kv_engine *engine);
/* Gives running requests their tokens in list order, while there are tokens; preempts where blocks are missing. */
void kv_engine_run_running(struct kv_engine *engine);
/* The same for those whose prompt is not done yet, and only for them. */
void kv_engine_run_prefills(struct kv_engine *engine);
/* Makes room for a step in which every running request decodes: as long as blocks are missing, the preemption policy's
 * victim loses its own. The last one is given up instead (SGLang's retraction, engine-semantics 2.5). */
void kv_engine_retract(struct kv_engine *engine);

/* So many uncomputed tokens, cut at the long-prefill threshold. */
uint32_t kv_engine_tokens_wanted(const struct kv_engine *engine, uint32_t uncomputed);
/* What so many tokens take of the budget: in a step of prompts whole blocks. */
uint64_t kv_engine_charge(const struct kv_engine *engine, uint64_t tokens);
/* A special request computes so many tokens in this step. */
void kv_engine_note_scheduled(struct kv_engine *engine, uint32_t live, uint32_t tokens);

#endif
