/* The oracle's scheduler: requests with their block tables, one running list, one waiting queue. A file that has a
 * counterpart in sim/engine/ has its name, so that the two can be read side by side. */
#ifndef KV_TESTS_ORACLE_ENGINE_H
#define KV_TESTS_ORACLE_ENGINE_H

#include "sim/engine_config.h"
#include "sim/record.h"
#include "sim/request.h"
#include "tests/oracle/buddy.h"
#include "tests/oracle/cache.h"
#include "tests/oracle/list.h"
#include "tests/oracle/partial.h"
#include "tests/oracle/radix.h"

/* A block table of one group; NULL = a slot that fell out of the window. */
struct oracle_table {
	struct oracle_list slots;     /* struct oracle_block */
	uint64_t considered;          /* leading blocks whose registration has been decided */
	uint64_t boundary[2];         /* sparse retention: the ends that stay findable, in blocks */
};

struct oracle_request {
	uint64_t index;
	char *id;                     /* NULL = "r" followed by index */
	char *tenant;
	struct oracle_key key;
	kv_time retrieval;
	int64_t priority;
	kv_time deadline;             /* the moment; KV_TIME_MAX = none */
	uint32_t prompt_tokens;
	uint32_t outputs;             /* to be generated */
	uint32_t output_limit;        /* by max_tokens and max_model_len */
	uint32_t max_total_tokens;
	struct oracle_token *tokens;  /* prompt, then outputs */

	uint32_t generated;
	uint32_t generated_before;    /* its last admission */
	bool fresh;                   /* admitted in the step that is being made */
	bool given_up;                /* it goes at the end of the step in flight, for this reason */
	enum kv_reason give_up_reason;
	uint64_t computed;            /* tokens with KV, hits included */
	uint64_t scheduled;           /* in the step that is being made or played */
	uint64_t highest;             /* tokens that it ever had computed */
	bool recomputing;             /* resumed, and no token since */
	bool was_preempted;
	uint64_t swapped_tokens;      /* with KV in host memory; 0 = it is not swapped out */
	unsigned lone_preemptions;    /* of itself while alone, since anyone's last token */
	kv_time last_token;
	kv_time preempted_at;
	struct kv_rank rank;          /* in the waiting queue */
	struct oracle_table table[KV_MAX_GROUPS];
	uint64_t chunk_address, chunk_blocks;  /* contiguous allocation */
	struct oracle_radix_node *end;         /* radix: of the path that it keeps; NULL = it does not run */
	uint64_t shared;                       /* tokens on that path */
	uint64_t pages;                        /* all of its pages, those of the path first; partial: its blocks */
	struct oracle_list parts;              /* partial: struct oracle_part, its blocks */
	struct oracle_part *matched;           /* partial: found in part, not taken yet */
	struct kv_request_record record;
};

struct oracle_engine {
	const struct kv_engine_config *config;
	struct kv_sink *sink;
	struct oracle_cache cache;
	struct oracle_buddy buddy;
	struct oracle_radix radix;
	struct oracle_partial partial;
	struct oracle_list keys;      /* struct oracle_key, of what the tree has */
	struct oracle_list running;   /* in order of admission */
	struct oracle_list waiting;   /* in order of service */
	size_t returned;              /* leading entries of waiting that preemption put at the front: those that are
	                                 swapped out, then the others */
	struct kv_state state;
	bool full;                    /* prefill first: nobody is admitted before a running request leaves */
	enum kv_waiting_reason full_reason;
	uint64_t prefill_left;        /* prefill first: of max_prefill_tokens, in this step */
	uint64_t unit;                /* prompts take of a step's tokens in multiples of this */
	enum kv_waiting_reason reason;  /* why the last scheduling left requests waiting */
	kv_time now;
	kv_time zero;                 /* `now` at time zero of the run: what the sink is told counts from it */
	uint64_t steps_begun;
	bool in_step;
	kv_time step_end;
	uint64_t copied_blocks;       /* to and from host memory in this step */
	struct kv_step step;
	kv_time busy;                 /* time of all steps that have ended */
	struct oracle_request *livelocked;
};

void oracle_engine_init(struct oracle_engine *engine, const struct kv_engine_config *config, struct kv_sink *sink);
void oracle_engine_fini(struct oracle_engine *engine);
/* Now is time zero of the run: all counting begins, with the cache as it is. */
void oracle_engine_begin_run(struct oracle_engine *engine, struct kv_sink *sink);

void oracle_emit(struct oracle_engine *engine, enum kv_event_kind kind, const struct oracle_request *request,
                 uint64_t tokens, uint64_t blocks, const char *detail);
/* Charges the time until `time` to whoever holds blocks, tells the sink, and moves there. */
void oracle_engine_advance(struct oracle_engine *engine, kv_time time);

/* Whether the admission policy lets it into the queue. */
bool oracle_engine_may_enter(const struct oracle_engine *engine, struct oracle_request *request);
/* The request enters the waiting queue. */
void oracle_engine_enqueue(struct oracle_engine *engine, struct oracle_request *request);
/* Takes a request that was dropped out of the queue or the running list. */
void oracle_engine_forget(struct oracle_engine *engine, struct oracle_request *request);
/* One scheduling. A step begins if anything was scheduled or preempted; otherwise false. */
bool oracle_engine_begin_step(struct oracle_engine *engine);
/* Delivers tokens; finished and given up requests are appended to the list. */
void oracle_engine_end_step(struct oracle_engine *engine, struct oracle_list *finished);
/* Brings the levels of engine->state up to date. */
void oracle_engine_count(struct oracle_engine *engine);

/* Blocks that it must be given until it is done, alone and with nothing shared: what a stall reports. */
uint64_t oracle_blocks_whole(const struct oracle_engine *engine, const struct oracle_request *request);
/* No pool state could ever let the request start and run to its end. */
bool oracle_is_impossible(const struct oracle_engine *engine, const struct oracle_request *request);

#endif
