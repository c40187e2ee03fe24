/* The simulated engine: vLLM V1's scheduler and cache manager, one step at a time (engine-semantics 1.1 to 1.10).
 *
 * Two kinds of running requests. *Special* ones are looked at in every step: they prefill, lag behind, have windowed
 * groups, or generate content that others refer to. *Steady* ones decode one token in each tick of the decode clock and
 * are only looked at when they enter, finish or lose their blocks; what they need and add in a step follows from sums
 * (growth by block boundary, contexts, the clock). A step in which all running requests are steady and there is room
 * for all of them costs O(1).
 */
#ifndef KV_SIM_ENGINE_H
#define KV_SIM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/heap.h"
#include "sim/cache/cache.h"
#include "sim/engine/miss.h"
#include "sim/engine/step_wheel.h"
#include "sim/engine_config.h"
#include "sim/record.h"
#include "sim/request.h"

/* Primary ranks in the queue that come before what any policy gives: of requests that are swapped out, and of those
 * that preemption puts at the front. */
#define KV_RANK_SWAPPED INT64_MIN
#define KV_RANK_RETURNED (INT64_MIN + 1)

enum { KV_PHASE_SPECIAL = UINT32_MAX, KV_PHASE_GAP = UINT32_MAX - 1 };

/* What a step computed of a request's prompt, or of what it computes again after a preemption: nothing (it decoded), a
 * part, or the last one. */
enum kv_part { KV_PART_NONE, KV_PART_CHUNK, KV_PART_LAST };

/* A request between sending and its fate. What steps look at stands first: many live at once, and memory is read by
 * lines. */
struct kv_live {
	uint32_t prompt;            /* tokens */
	uint32_t target;            /* outputs that it will generate */
	uint32_t final;             /* tokens whose KV it computes until it finishes */
	uint32_t computed;          /* before the current step; at `entered` while it is steady */
	uint32_t scheduled;         /* tokens in the current step, special requests only */
	uint32_t generated;         /* likewise at `entered` */
	uint32_t high_water;        /* most tokens ever computed */
	uint32_t place;             /* in the running list; KV_NONE = it does not run */
	enum kv_part part;          /* of the step that ends */
	bool steady;
	bool alarm_set;             /* it has an entry in the wheel */
	bool waste_counted;         /* holds its last block */
	bool resuming;              /* recomputes after a preemption */
	bool given_up;              /* while it runs: it goes at the end of the step, for give_up_reason */
	bool eager;                 /* others refer to its output: its blocks are
	                               registered in the step that fills them */
	bool length_limited;        /* max_tokens or max_model_len ends it */
	bool in_use;
	bool shell;                 /* dropped, but a queue still refers to the slot */
	uint32_t steady_phase;      /* clock phase at which its last block is full */
	uint64_t entered;           /* clock when it became steady */
	kv_time first_token, last_token;
	kv_time prefill_own;
	uint64_t computed_tokens, recomputed_tokens;
	uint64_t growth_steps;      /* of its phase, when it became steady */
	kv_integral growth_time;

	uint64_t index;
	char *id;                   /* "" = "r" followed by index */
	size_t id_capacity;
	char *tenant;
	size_t tenant_capacity;
	kv_time arrival, sent, queued, admitted;
	kv_time retrieval;
	kv_time preempted_at;       /* KV_TIME_NONE unless it waits after a preemption */
	kv_time preempted, preempted_before_first, swapped;
	kv_time queue_for[KV_WAIT_RESOURCES];  /* what reason_time had when it was
	                                          queued; what it waited, once admitted */
	kv_time deadline;           /* when its client gives up without a first token; KV_TIME_MAX = never */
	int64_t priority;
	uint64_t tenant_key;        /* hash of the tenant's name; 0 = none */

	struct kv_piece *piece;     /* its content: prompt and output */
	size_t piece_capacity;
	uint32_t pieces;
	uint32_t output_node;       /* whose owner it is; KV_NONE = none */

	uint32_t max_total;         /* prompt + max_tokens, cut at max_model_len */
	uint32_t generated_before;  /* when it was last admitted */
	uint64_t admission_step;    /* number of that step */
	uint32_t swapped_tokens;    /* with KV in host memory; 0 = it is not swapped out */
	uint32_t junction;          /* blocks: retention boundary (b), 0 = none */

	uint64_t chunk;             /* contiguous allocation: address and blocks */
	uint64_t chunk_blocks;

	uint32_t hit_tokens;        /* first admission */
	enum kv_miss_reason miss_reason;
	uint32_t preemptions, swaps;
	uint64_t lone_preemption_tokens;  /* tokens_emitted + 1 when it last preempted itself while alone; 0 = never */
	enum kv_reason give_up_reason;
	uint32_t next_free;
};

/* Requests that became steady in steps without decodes: so many with their last token at this time. */
struct kv_cohort {
	kv_time last_token;
	uint32_t count;
};

/* Tokens of a content node, from the start of the prompt, that a waiting request is going to compute. */
struct kv_claim {
	uint64_t round;             /* of ranking: of others it is void */
	uint32_t end;
};

struct kv_engine {
	const struct kv_engine_config *config;
	struct kv_sink *sink;
	const struct kv_store *store;
	void *store_state;           /* what it keeps beside the cache */
	struct kv_cache cache;
	struct kv_misses misses;     /* in use if the sink asks for them */
	struct kv_state state;
	bool caching, windowed;
	bool swaps;                  /* preemption copies to host memory */
	uint32_t token_slots;        /* that a token takes */
	bool verdicts_change;        /* the head, or what admission says of it, may change from step to step */
	uint32_t window;             /* of the first windowed group, UINT32_MAX if there is none */

	struct kv_live *live;
	size_t live_capacity;
	uint32_t lives, free_live;

	uint32_t *running;           /* in order of admission; KV_NONE = gap, the last entry is none */
	uint32_t *phase;             /* beside it: steady_phase, KV_PHASE_SPECIAL or KV_PHASE_GAP */
	size_t running_capacity, phase_capacity;
	uint32_t running_length;     /* with gaps */
	uint32_t running_count;      /* without */
	struct kv_heap waiting;
	struct kv_claim *claim;      /* by content node */
	size_t claim_capacity;
	uint64_t claim_round;
	uint64_t waiting_shells;     /* entries of it that were dropped */
	uint64_t waiting_tokens;     /* known tokens of waiting requests */
	int64_t requeues;
	bool head_may_lose;          /* some of what it would hit is evictable ... */
	uint64_t head_evicted;       /* ... and this much had been evicted then */
	bool full;                   /* prefill first: the head lacked blocks or a slot (full_reason), and no running
	                                request has left since */
	enum kv_waiting_reason full_reason;
	bool head_blocked;           /* the head lacks blocks or a slot, and
	                                nothing that could help has happened since */
	enum kv_waiting_reason waiting_reason;  /* one of the resources */
	kv_time reason_since;
	kv_time reason_time[KV_WAIT_RESOURCES];  /* how long each has been the reason, up to reason_since */
	uint32_t *eager;             /* to be taken out of the steady ones before the next step */
	size_t eager_capacity;
	uint32_t eager_count;

	/* the decode clock */
	uint64_t clock;
	uint32_t clock_phase;        /* clock mod block size */
	uint32_t steady_count;
	int64_t steady_offset;       /* sum of computed - clock */
	uint32_t *phase_count;       /* steady requests by steady_phase */
	uint64_t *growth_steps;      /* ticks by phase so far, and the sum of their times */
	kv_integral *growth_time;
	struct kv_wheel wheel;       /* last blocks and finishes of steady requests */
	struct kv_cohort *cohort;    /* steady requests whose last token came after last_delivery */
	size_t cohort_capacity;
	uint32_t cohorts;

	/* the current step */
	uint64_t steps_begun;
	kv_time step_start;
	bool decoding;               /* steady requests take part in it */
	uint64_t budget;
	uint64_t token_limit;        /* what the budget was */
	uint64_t prefill_left;       /* of max_prefill_tokens */
	uint64_t step_tokens, step_prefill_tokens;
	bool preempted_in_step;
	uint64_t copied_blocks;      /* to and from host memory in this step */
	uint32_t fresh;              /* requests admitted in this step */
	kv_time busy;                /* time of all steps that have ended */
	kv_time zero;                /* the clock at time zero of the run, behind
	                                a warm-up; the sink's times count from it */
	struct kv_step_work work;
	uint32_t *scheduled;         /* special requests, in scheduling order;
	                                those preempted since have scheduled == 0 */
	size_t scheduled_capacity;
	uint32_t scheduled_count;
	uint32_t *ended;             /* requests of which the end of this step has more to say than a token */
	size_t ended_capacity;
	uint32_t ended_count;
	kv_time last_delivery;       /* end of the last step that steady requests took part in */

	uint64_t committed_blocks;   /* running requests to max_total, groups without window */
	uint64_t table_blocks;       /* what they have of it */
	uint64_t tokens_emitted;
	uint32_t livelocked;         /* that request, once it did so twice; else KV_NONE */
	/* A request finished, or was dropped while it ran: its slot ends after the call. */
	void (*fate)(void *context, uint32_t live, bool finished);
	void *fate_context;
};

void kv_engine_init(struct kv_engine *engine, const struct kv_engine_config *config, struct kv_sink *sink);
void kv_engine_fini(struct kv_engine *engine);

/* `now` is time zero of the run from here on: counters start anew and are told to this sink; what is cached stays.
 * Nothing may run or wait. */
void kv_engine_begin_run(struct kv_engine *engine, struct kv_sink *sink, kv_time now);

/* A time as sinks are told it. */
static inline kv_time kv_engine_told_time(const struct kv_engine *engine, kv_time time)
{
	return time == KV_TIME_NONE ? time : time - engine->zero;
}

/* The admission policy's look at those that run, once they have had their turn. */
void kv_engine_tell_running(struct kv_engine *engine);
/* Keeps the levels of kv_state in step with the pool. */
void kv_engine_update_levels(struct kv_engine *engine);
void kv_engine_tell(struct kv_engine *engine, enum kv_event_kind kind, uint32_t live, kv_time time, uint64_t tokens,
                    uint64_t blocks, const char *detail);

static inline void kv_engine_event(struct kv_engine *engine, enum kv_event_kind kind, uint32_t live, kv_time time,
                                   uint64_t tokens, uint64_t blocks, const char *detail)
{
	if (engine->sink->event != NULL)
		kv_engine_tell(engine, kind, live, time, tokens, blocks, detail);
}

/* Schedules a step at `now`. False: nothing was scheduled or preempted, so there is no step. Otherwise *duration says
 * how long it takes, and kv_engine_deliver must be called at its end. */
bool kv_engine_schedule(struct kv_engine *engine, kv_time now, kv_time *duration);
void kv_engine_deliver(struct kv_engine *engine, kv_time now);
/* A request that runs in the step in flight is to be dropped at its end, without the token that this would give it. */
void kv_engine_give_up(struct kv_engine *engine, uint32_t live, enum kv_reason reason);
/* Requests in the queue. */
static inline uint64_t kv_engine_waiting(const struct kv_engine *engine)
{
	return engine->waiting.count - engine->waiting_shells;
}

/* The first of them; there must be one. */
uint32_t kv_engine_head(struct kv_engine *engine);

/* Splits the waiting queue by reason, given what stopped its head. */
void kv_engine_set_waiting(struct kv_engine *engine, enum kv_waiting_reason reason);
/* Brings reason_time up to now. */
void kv_engine_settle_waiting(struct kv_engine *engine);

/* Recounts everything from the extents and tables and ends the program if it differs: sim/engine/invariants.c. */
void kv_engine_check(struct kv_engine *engine);

#endif
