/* What a simulation tells the outside world. Recorders (results/, tests/) implement struct kv_sink; the simulation
 * never reads back. Every hook may be NULL. Production and the oracle produce the same stream of calls. */
#ifndef KV_SIM_RECORD_H
#define KV_SIM_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/units.h"

/* --- events: one a decision; the order of calls is the order of decisions ----------------------------------------- */

/* Within a step: evict, preempt, admit as decided; then one schedule a request in scheduling order (running requests in
 * list order, then the newly admitted; a victim that had been scheduled is left out); at the end of the step, for each
 * request in running order, first_token and finish. */
enum kv_event_kind {
	KV_EVENT_ARRIVE,       /* tokens = prompt; at the trace's arrival time */
	KV_EVENT_REFUSE,       /* tokens = prompt, detail = reason */
	KV_EVENT_DROP,         /* tokens = prompt, detail = reason */
	KV_EVENT_ADMIT,        /* tokens = hit, or what swap_in brings back; blocks = held after admission (all groups),
	                          detail = first, resume or swap_in */
	KV_EVENT_SCHEDULE,     /* tokens = scheduled, blocks = held after */
	KV_EVENT_PREEMPT,      /* tokens = computed tokens, blocks = held before; both are given up unless
	                          swap_out follows; detail = host_full if it would, but for want of host memory */
	KV_EVENT_SWAP_OUT,     /* tokens = computed tokens that are kept, blocks = copied to host memory */
	KV_EVENT_SWAP_IN,      /* behind its admit; tokens = kept, blocks =
	                          copied back: those that were not found cached */
	KV_EVENT_FIRST_TOKEN,
	KV_EVENT_FINISH,       /* tokens = generated, blocks = held before, detail = stop or length */
	KV_EVENT_EVICT,        /* blocks = cached blocks that this request's allocating call evicted */
	KV_EVENT_EXPIRE,       /* blocks = cached blocks that the eviction policy's clock dropped; no request */
	KV_EVENT_DELETE,
	KV_EVENT_STALL,        /* tokens = known tokens, blocks = blocks it needs
	                          to be computed whole, detail = "usable=N" */
	KV_EVENT_LIVELOCK,     /* the same */
	KV_EVENT_KINDS
};

const char *kv_event_name(enum kv_event_kind kind);

#define KV_NO_REQUEST UINT64_MAX

struct kv_event {
	kv_time time;
	uint64_t step;         /* steps that began before this instant; during a step, its own number from 0 */
	enum kv_event_kind kind;
	uint64_t request;      /* index, or KV_NO_REQUEST */
	const char *request_id;/* NULL = "r" followed by index; "" for none */
	uint64_t tokens;
	uint64_t blocks;
	const char *detail;    /* "" = none */
};

/* --- state: what holds from one instant to the next --------------------------------------------------------------- */

enum kv_waiting_reason {
	KV_WAIT_BLOCKS,          /* the head of the queue does not fit the pool now */
	KV_WAIT_SEQUENCE_SLOTS,  /* max_num_seqs requests are running: all of the queue */
	KV_WAIT_TOKEN_BUDGET,    /* the step's tokens are used up: all of the queue */
	KV_WAIT_HEAD_OF_LINE,    /* behind a head that waits for blocks */
	KV_WAIT_CLIENT,          /* held back by the client's own concurrency cap */
	KV_WAIT_REASONS
};
/* The first of these reasons are the resources that the head of the queue, and so all of it, can wait for. */
#define KV_WAIT_RESOURCES KV_WAIT_HEAD_OF_LINE

const char *kv_waiting_reason_name(enum kv_waiting_reason reason);

/* Preemption by swap, in requests and in blocks. At any time
 * blocks_out = blocks_in + blocks_found + blocks_lost + blocks. */
struct kv_swap_state {
	/* levels */
	uint64_t requests;      /* swapped out: of those that wait */
	uint64_t blocks;        /* of host memory that they hold */
	/* counters from the start of the run */
	uint64_t outs, ins;     /* preemptions by swap, and returns from it */
	uint64_t host_full;     /* preemptions by recompute because host memory did not suffice */
	uint64_t blocks_out, blocks_in;
	uint64_t blocks_found;  /* still cached on the device at a return, so not copied back */
	uint64_t blocks_lost;   /* of requests that were dropped while swapped out */
	uint64_t ns;            /* that steps took longer for the copies */
};

/* Levels and cumulative counters, kept current by the simulation. Slots are token positions of pinned blocks.
 * pinned + cached + free = usable blocks; filled + reserved + waste = pinned * block size. */
struct kv_state {
	/* levels */
	uint64_t pinned_blocks, cached_blocks, free_blocks;
	uint64_t filled_slots, waste_slots;  /* reserved = pinned * block size - filled - waste */
	uint64_t running;
	uint64_t waiting[KV_WAIT_REASONS];
	uint64_t in_flight;                  /* sent and not finished, refused or dropped */
	/* counters from the start of the run */
	uint64_t arrivals, finishes, refusals, drops, preemptions;
	uint64_t steps;                      /* that scheduled something */
	uint64_t prefill_tokens, decode_tokens;
	uint64_t evicted_blocks;
	uint64_t queried_tokens, hit_tokens;                          /* first admissions */
	uint64_t readmission_queried_tokens, readmission_hit_tokens;  /* after preemptions, but for returns from swap */
	struct kv_swap_state swap;
};

/* One engine step, told when it ends. Fields of the state are those after scheduling and before finishes. */
struct kv_step {
	uint64_t number;
	kv_time start, end;
	uint64_t scheduled_tokens;  /* 0: it only preempted */
	uint64_t prefill_tokens;
	uint64_t output_tokens;     /* tokens emitted at its end */
	uint64_t pinned_blocks;
	uint64_t cached_blocks;
	uint64_t evicted_blocks;    /* cumulative */
	uint64_t running;
};

/* --- misses: why prompt tokens were not reused -------------------------------------------------------------------- */

enum kv_miss_reason {
	KV_MISS_NEVER_SEEN,      /* nobody had it before */
	KV_MISS_EVICTED,         /* it was stored, and its blocks or some before them were evicted */
	KV_MISS_EXPIRED,
	KV_MISS_DELETED,
	KV_MISS_OTHER_KEY,       /* it was stored under another adapter or salt */
	KV_MISS_DIVERGED,        /* the segment was seen, but behind a different beginning */
	KV_MISS_PARTIAL_BLOCK,   /* equal tokens in a block that is not equal as a whole */
	KV_MISS_RECOMPUTE_RULE,  /* it is there, but the last token of a prompt is always computed */
	KV_MISS_TOO_LATE,        /* somebody with the same content has been admitted and has not stored it yet */
	KV_MISS_WINDOW,          /* it is there for full attention, but not for the window before it */
	KV_MISS_BEYOND_HORIZON,  /* not seen as far back as is remembered */
	KV_MISS_REASONS          /* also: no miss */
};

/* "" for KV_MISS_REASONS. */
const char *kv_miss_reason_name(enum kv_miss_reason reason);

/* Told at a first admission with prefix caching on, if not all of the prompt was hit. */
struct kv_miss {
	uint64_t request;
	const char *request_id;          /* NULL = "r" followed by index */
	uint32_t prompt_tokens, hit_tokens;
	uint32_t tokens[KV_MISS_REASONS];/* sums to prompt - hit */
	kv_time evicted_ago;             /* since the eviction of the first evicted part; KV_TIME_NONE = none */
	uint32_t new_segment, new_token; /* the first segment of the prompt that was not known to its end
	                                    at its place, and where what is new begins; UINT32_MAX = none */
};

/* --- requests: one record each, when its fate is known ------------------------------------------------------------ */

enum kv_status { KV_FINISHED, KV_REFUSED, KV_DROPPED, KV_UNFINISHED };
enum kv_reason {
	KV_REASON_STOP, KV_REASON_LENGTH, KV_REASON_TOO_LONG, KV_REASON_CAN_NEVER_FIT, KV_REASON_QUEUE_FULL,
	KV_REASON_RATE, KV_REASON_DEADLINE, KV_REASON_STALLED, KV_REASON_CUT, KV_REASONS
};

const char *kv_status_name(enum kv_status status);
const char *kv_reason_name(enum kv_reason reason);

/* Times that never came are KV_TIME_NONE. */
struct kv_request_record {
	uint64_t index;
	const char *id;       /* NULL = "r" followed by index */
	const char *tenant;   /* "" = none */
	enum kv_status status;
	enum kv_reason reason;
	kv_time arrival, sent, queued, admitted, first_token, finish;
	kv_time retrieval, frontend;         /* parts of ttft between sent and queued */
	kv_time queue_for[KV_WAIT_RESOURCES];/* admitted - queued by what the queue waited for */
	kv_time prefill_own;                 /* of first_token - admitted: its share, by
	                                        tokens, of the steps that computed it */
	kv_time preempted;                   /* total time between preemptions and resumptions */
	kv_time preempted_before_first;      /* the part of it that lies before the first token */
	kv_time swapped;                     /* the part of preempted that it was swapped out */
	uint32_t prompt_tokens;
	uint32_t output_tokens;              /* generated */
	uint32_t cached_tokens;              /* hit at first admission */
	uint64_t external_tokens;
	uint64_t computed_tokens;            /* of the prompt, computed before the first token, each counted once */
	uint64_t recomputed_tokens;          /* tokens computed again after preemptions, before and after the first token */
	uint32_t preemptions;
	uint32_t swaps;                      /* of these by swap */
	kv_integral block_ns;                /* block nanoseconds charged to it */
	enum kv_miss_reason miss_reason;     /* of most of the tokens that its first admission missed */
};

/* --- the sink ----------------------------------------------------------------------------------------------------- */

struct kv_sink {
	void *self;
	/* The state as it is now has held since the last call and holds until `time`; it changes after this call. */
	void (*advance)(void *self, const struct kv_state *state, kv_time time);
	/* NULL lets the engine take steps without looking at single requests. */
	void (*event)(void *self, const struct kv_event *event);
	void (*step)(void *self, const struct kv_step *step);
	/* count requests got a token `gap` after their last one (never their first). */
	void (*token_gap)(void *self, kv_time gap, uint64_t count);
	void (*request)(void *self, const struct kv_request_record *record);
	/* NULL saves the engine from remembering what was evicted. Production alone tells it. */
	void (*miss)(void *self, const struct kv_miss *miss);
};

#endif
