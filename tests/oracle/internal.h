/* What the files of the oracle's engine take from one another; the rest of the oracle sees engine.h. Tokens and blocks
 * are counts, times are in ns of the engine's clock. */
#ifndef KV_TESTS_ORACLE_INTERNAL_H
#define KV_TESTS_ORACLE_INTERNAL_H

#include "tests/oracle/engine.h"

/* request.c: what the configuration makes of requests and groups */
bool oracle_is_contiguous(const struct oracle_engine *engine);
bool oracle_caches(const struct oracle_engine *engine);
bool oracle_prompts_go_first(const struct oracle_engine *engine);
uint64_t oracle_below_threshold(const struct oracle_engine *engine, uint64_t tokens);
bool oracle_is_windowed(const struct oracle_engine *engine, uint32_t group);
/* Whole blocks that no token after the first `computed` ones looks at. */
uint64_t oracle_skipped_blocks(const struct oracle_engine *engine, uint32_t group, uint64_t computed);
/* Blocks before a token that it looks at, besides its own. */
uint64_t oracle_window_blocks(const struct oracle_engine *engine, uint32_t group);
uint64_t oracle_known_tokens(const struct oracle_request *request);
/* With KV when it is done. */
uint64_t oracle_final_tokens(const struct oracle_request *request);
/* With KV when the step that is being made has ended. */
uint64_t oracle_scheduled_end(const struct oracle_request *request);
bool oracle_is_decode(const struct oracle_request *request);
bool oracle_emits_token(const struct oracle_request *request);
bool oracle_anybody_scheduled(const struct oracle_engine *engine);
struct kv_request_view oracle_view_of(const struct oracle_request *request, const struct kv_policy *policy);
/* Tells the policies of admission and scheduling. */
void oracle_note(const struct oracle_engine *engine, const struct oracle_request *request, enum kv_moment moment);

/* lookup.c: what the prefix cache has of a request. */
struct oracle_lookup {
	uint64_t hit_blocks;
	uint64_t hit_tokens;   /* more than these blocks only where a block may be found in part */
	uint64_t full_blocks;  /* what the full groups alone would have given */
	struct oracle_block **slots[KV_MAX_GROUPS];  /* hit_blocks a group, NULL where it does not need the block */
	uint64_t evictable;    /* of a tree: pages of the hit that nobody keeps */
};
void oracle_look_up(const struct oracle_engine *engine, const struct oracle_request *request,
                    struct oracle_lookup *lookup);
void oracle_lookup_fini(struct oracle_lookup *lookup);

/* store.c: the blocks that requests have, need, take and give back */
uint64_t oracle_live_blocks(const struct oracle_table *table);
uint64_t oracle_held_blocks(const struct oracle_engine *engine, const struct oracle_request *request);
uint64_t oracle_free_blocks(const struct oracle_engine *engine);
/* Contiguous allocation: blocks of the chunk that the request is given. */
uint64_t oracle_reserved_chunk(const struct oracle_engine *engine, const struct oracle_request *request);
/* Blocks of the hit that nobody holds: to take them is to take free blocks. */
uint64_t oracle_evictable_hits(const struct oracle_lookup *lookup, uint32_t group);
/* Free blocks that a request without a table takes to have `required` blocks of a group. */
uint64_t oracle_admission_need(const struct oracle_engine *engine, const struct oracle_lookup *lookup, uint32_t group,
                               uint64_t required);
/* Blocks that it takes beside those that it has, for all tokens up to `total`. */
uint64_t oracle_missing_blocks(const struct oracle_engine *engine, const struct oracle_request *request,
                               uint64_t total);
/* Drops what fell out of the windows, group by group. */
void oracle_trim(struct oracle_engine *engine, struct oracle_request *request);
/* Room for `tokens` more of a running request, or nothing but the trim is changed. */
bool oracle_grow(struct oracle_engine *engine, struct oracle_request *request, uint64_t tokens);
/* Room to start a request with all tokens up to `total`. */
bool oracle_has_room(const struct oracle_engine *engine, const struct oracle_request *request,
                     const struct oracle_lookup *lookup, uint64_t total, uint64_t watermark);
void oracle_take_room(struct oracle_engine *engine, struct oracle_request *request, const struct oracle_lookup *lookup,
                      uint64_t total);
/* `ended`: for good. */
void oracle_free_request(struct oracle_engine *engine, struct oracle_request *request, bool ended);

/* admission.c: what the admission policy is asked and told */
const struct kv_policy_use *oracle_admission_policy(const struct oracle_engine *engine);
/* Blocks that running requests may still need. */
uint64_t oracle_growth_of_running(const struct oracle_engine *engine);
enum kv_verdict oracle_ask_admission(const struct oracle_engine *engine, const struct oracle_request *request,
                                     const struct oracle_lookup *lookup, uint64_t free, uint64_t watermark,
                                     uint64_t growth, uint32_t running);
/* preempted: somebody was, in this step. */
void oracle_tell_running(const struct oracle_engine *engine, bool preempted);

/* swap.c: host memory */
bool oracle_host_has_room(const struct oracle_engine *engine, const struct oracle_request *request);
void oracle_swap_out(struct oracle_engine *engine, struct oracle_request *request);
/* found: blocks that the request has on the device already. */
void oracle_swap_in(struct oracle_engine *engine, struct oracle_request *request, uint64_t found);
/* Of a request that does not come back. */
void oracle_lose_swapped(struct oracle_engine *engine, struct oracle_request *request);

/* queue.c: the order of those that wait */
/* Behind those that preemption put at the front. */
void oracle_insert_by_rank(struct oracle_engine *engine, struct oracle_request *request, uint32_t cached_tokens,
                           uint32_t shared_tokens);
/* By arrival among those that are swapped out, before all others. */
void oracle_insert_swapped(struct oracle_engine *engine, struct oracle_request *request);
/* Ranks all waiting requests anew, but for those that preemption put at the front. */
void oracle_reorder(struct oracle_engine *engine);

/* running_pass.c, with preemption; *budget is what is left of the step's tokens */
struct oracle_request *oracle_choose_victim(const struct oracle_engine *engine);
void oracle_preempt(struct oracle_engine *engine, struct oracle_request *victim);
/* Makes room by preempting until the request has its blocks; false if it had to go itself. */
bool oracle_grow_or_preempt(struct oracle_engine *engine, struct oracle_request *request, uint64_t tokens,
                            uint64_t *budget);
void oracle_schedule(struct oracle_engine *engine, struct oracle_request *request, uint64_t tokens, uint64_t *budget);
void oracle_schedule_running(struct oracle_engine *engine, uint64_t *budget);

/* waiting_pass.c: from the head of the queue until one may not start; engine->reason says why */
void oracle_schedule_waiting(struct oracle_engine *engine, uint64_t *budget);

/* prefill_first.c: a step of prompts alone or, if there is none to compute, of decodes alone */
void oracle_schedule_prefill_first(struct oracle_engine *engine);

#endif
