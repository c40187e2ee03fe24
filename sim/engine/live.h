/* Live requests: from what a source gave to the record of their fate. */
#ifndef KV_SIM_ENGINE_LIVE_H
#define KV_SIM_ENGINE_LIVE_H

#include "sim/engine/engine.h"

/* Whether what is scheduled of it is its newest token alone, and no part of a prompt or of what it computes again. */
static inline bool kv_live_decodes(const struct kv_live *live)
{
	return live->generated > 0 && !live->resuming && live->prompt + live->generated - live->computed == 1;
}

/* Its prompt, or what it has to compute again, is not done yet. */
static inline bool kv_live_prefills(const struct kv_live *live)
{
	return !live->steady && !kv_live_decodes(live);
}

/* A live request from what a source gave; it is in no queue yet. */
uint32_t kv_live_create(struct kv_engine *engine, const struct kv_request *request);
/* Resolves its content and puts it into the waiting queue. */
void kv_live_enqueue(struct kv_engine *engine, uint32_t live, kv_time now);
/* Forgets it, after its record. A shell keeps its slot until kv_live_free_shell. */
void kv_live_end(struct kv_engine *engine, uint32_t live);
void kv_live_free_shell(struct kv_engine *engine, uint32_t live);
/* Its client or the engine has given up: tells and records it, and takes it out of queue and running list (not while a
 * step is in flight). What is still referred to by the queue becomes a shell. */
void kv_live_drop(struct kv_engine *engine, uint32_t live, enum kv_reason reason, kv_time now);
void kv_live_record(struct kv_engine *engine, uint32_t live, enum kv_status status, enum kv_reason reason, kv_time now);
void kv_live_requeue(struct kv_engine *engine, uint32_t live);
/* Whether the admission policy lets it into the queue; asked right before. */
bool kv_live_may_enter(struct kv_engine *engine, uint32_t live, kv_time now);
/* Tells policies that learn from it. */
void kv_live_note(struct kv_engine *engine, uint32_t live, enum kv_moment moment);
void kv_live_view(const struct kv_engine *engine, const struct kv_live *live, enum kv_policy_kind kind,
                  struct kv_request_view *view);
struct kv_path kv_live_path(const struct kv_live *live);

#endif
