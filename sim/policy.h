/* Policies: one const descriptor each, found through the registry by kind and name.
 *
 * The core allocates a policy's state from state_size (zeroed), fills its parameters through the table, and calls the
 * hooks of its kind. Hooks see a read-only view and return decisions; the core acts. They do not print, read clocks,
 * allocate or draw random numbers. The true output length is visible only to policies flagged KV_POLICY_ORACLE (to the
 * others it reads as 0), and reports mark them.
 */
#ifndef KV_SIM_POLICY_H
#define KV_SIM_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/units.h"
#include "sim/record.h"

enum kv_policy_kind {
	KV_POLICY_ALLOCATION,
	KV_POLICY_ADMISSION,
	KV_POLICY_SCHEDULING,
	KV_POLICY_PREEMPTION,
	KV_POLICY_PREFIX,
	KV_POLICY_EVICTION,
	KV_POLICY_KINDS
};

/* A request as policies may see it. Token counts; times in ns. */
struct kv_request_view {
	uint64_t index;
	kv_time queued;              /* when it entered the engine's queue: the engine's idea of arrival */
	uint32_t prompt_tokens;
	uint32_t known_tokens;       /* prompt + generated so far */
	uint32_t max_total_tokens;   /* prompt + max_tokens, cut at max_model_len */
	uint32_t oracle_total_tokens;/* prompt + true output, cut likewise; 0 unless the policy is an oracle */
	int64_t priority;
	uint64_t tenant;             /* hash of its name; 0 = none */
	kv_time deadline;            /* when its client gives up without a first token; KV_TIME_MAX = never */
	uint32_t computed_tokens;    /* with KV before this step; 0 unless it runs */
	uint32_t generated_since;    /* outputs since it was last admitted; 0 unless it runs or has just stopped */
	bool fresh;                  /* admitted in the step that is being scheduled, or among the
	                                prompts that it goes on with where steps hold prompts alone */
	uint32_t cached_tokens;      /* that it would hit now; only in ranks of a queue that is ranked by hits */
	uint32_t shared_tokens;      /* from its first on, with one that came before it and claims
	                                its content; likewise, and only where the policy has claims */
};

/* What can happen to a request, told to policies that learn from it. The view is that of the moment. */
enum kv_moment {
	KV_QUEUED,     /* entered the queue, for the first time */
	KV_ADMITTED,   /* for the first time or after a preemption */
	KV_PREEMPTED,  /* loses its blocks, about to be queued again */
	KV_COMPLETED,  /* finished */
	KV_GIVEN_UP    /* dropped */
};

/* Smaller comes first: lexicographic, then the core's own tie-break as documented at each use. */
struct kv_rank {
	int64_t primary;
	int64_t secondary;
};

static inline bool kv_rank_less(struct kv_rank a, struct kv_rank b)
{
	return a.primary != b.primary ? a.primary < b.primary : a.secondary < b.secondary;
}

/* How many tokens of contiguous room a request takes when it is admitted. Both hooks are pure. */
struct kv_allocation_hooks {
	bool contiguous;  /* false: blocks on demand, one by one; reserve_tokens is not called */
	uint32_t (*reserve_tokens)(const void *state, const struct kv_request_view *request, uint32_t max_model_len);
};

enum kv_verdict { KV_ADMIT, KV_WAIT, KV_REFUSE };

/* What the head of the queue would need, in blocks of the pool, and what there is. */
struct kv_admission_view {
	struct kv_request_view request;
	uint64_t need_whole;      /* all known tokens, hits subtracted, hit blocks that are evictable added */
	uint64_t need_full;       /* the same for max_total_tokens, and of windows all that
	                             they can take: what others hold of them goes on being held */
	uint64_t free_blocks;     /* blank + cached */
	uint64_t watermark;       /* blocks to keep free; 0 when nothing runs */
	uint64_t running_growth;  /* blocks that running requests may still take to reach max_total_tokens */
	uint32_t running;         /* requests running now */
	uint32_t fresh;           /* of these admitted in this step */
	uint64_t pool_blocks;     /* all there are */
	uint32_t block_tokens;    /* tokens that a block of every group holds, so many groups a token needs: */
	uint32_t groups;
	uint32_t hit_tokens;      /* of the request's known tokens */
	uint64_t hit_evictable;   /* blocks of the hit that leave the free ones when it is admitted */
	double reserved;          /* sum of the reserve hook over running requests, in tokens */
};

/* A request at the door of the queue, and what is before it. */
struct kv_arrival_view {
	struct kv_request_view request;
	kv_time now;
	uint64_t waiting;         /* requests in the queue */
	uint64_t waiting_tokens;  /* known tokens of these */
	uint32_t running;
	uint64_t prefill_tokens;  /* computed for prompts since the run began, and the time of all steps so far */
	kv_time busy;
};

/* Running requests when they have had their turn in a step. */
struct kv_running_view {
	uint32_t running;
	bool preempted;           /* somebody lost its blocks in this step: only then the sums below are filled */
	uint64_t generated;       /* outputs so far of those that still run */
	uint64_t allowed;         /* what they may generate at most */
};

/* admit is called for the head of the queue only, after the slot and budget checks and before the engine's own capacity
 * check for this step's tokens, which always applies; it says KV_ADMIT or KV_WAIT. Without a reserve hook its verdict
 * may change from step to step only with the rest of the view. The other hooks may be NULL. */
struct kv_admission_hooks {
	enum kv_verdict (*admit)(const void *state, const struct kv_admission_view *view);
	/* When a request reaches the queue: KV_ADMIT lets it in, KV_REFUSE turns it away with `refusal`. */
	enum kv_verdict (*arrive)(void *state, const struct kv_arrival_view *view);
	enum kv_reason refusal;
	/* Tokens of room to hold back for a running request, beside the blocks it has. */
	double (*reserve)(const void *state, const struct kv_request_view *running, uint32_t block_tokens);
	/* In every step in which requests decode, or may: before waiting ones are tried in mixed steps, and not in
	 * steps of prompts alone. */
	void (*step)(void *state, const struct kv_running_view *view);
	void (*note)(void *state, enum kv_moment moment, const struct kv_request_view *request);
};

/* When the whole queue is ranked anew, beside the rank that each request gets when it enters it. */
enum kv_reorder { KV_REORDER_NEVER, KV_REORDER_STEP, KV_REORDER_ADMISSION };

/* Order of the waiting queue; ties by index. A preempted request goes before all others (last preempted first) if
 * requeue_front, by rank otherwise.
 *
 * With KV_REORDER_STEP all but those at the front are ranked anew in each step in which somebody could be admitted,
 * before the first is tried; with KV_REORDER_ADMISSION after each admission of that step, too. First begin is called,
 * then running for each running request, then rank for each waiting one. That costs time with every one of them. */
struct kv_scheduling_hooks {
	struct kv_rank (*rank)(const void *state, const struct kv_request_view *request);
	bool requeue_front;
	enum kv_reorder reorder;
	/* True: ranks want to know what each request would hit. May be NULL, as may be the rest. */
	bool (*begin)(void *state, uint64_t waiting);
	void (*running)(void *state, const struct kv_request_view *request);
	/* Asked right before its rank, in order of arrival: whether others may wait for what the request is going to
	 * compute. */
	bool (*claims)(const void *state, const struct kv_request_view *request);
	void (*note)(void *state, enum kv_moment moment, const struct kv_request_view *request);
};

struct kv_preemption_hooks {
	/* The running request with the largest rank is the victim; ties: the larger index. NULL: the latest
	 * admitted. */
	struct kv_rank (*victim_rank)(const void *state, const struct kv_request_view *request);
	/* Its blocks are copied to host memory, while that has room, instead of being computed again. NULL: never. */
	bool (*swaps)(const void *state);
};

enum kv_prefix_form {
	KV_PREFIX_NONE,
	KV_PREFIX_CHAIN,  /* full blocks are registered when they are scheduled, and looked up by their hash chain */
	KV_PREFIX_RADIX,  /* pages of computed tokens lie in a tree of token
	                     sequences, and leaves of it go as a whole */
	KV_PREFIX_PARTIAL,/* blocks lie in a tree, may be matched in part, and go from its leaves */
	KV_PREFIX_ANYWHERE/* equal pieces are found wherever they stand, which no run can have */
};

struct kv_partial_reuse {
	uint8_t context_priority, decode_priority;  /* 0 to 100, larger is kept longer */
	bool copies;                                /* what is matched in part of a block in use */
};

struct kv_prefix_hooks {
	enum kv_prefix_form form;
	/* Tokens of a block that the policy wants, 0 = the engine's. May be NULL. */
	uint32_t (*block_tokens)(const void *state);
	struct kv_partial_reuse (*partial_reuse)(const void *state);  /* KV_PREFIX_PARTIAL only */
};

/* Most orders that an eviction policy may keep apart, and most places at which it may have a release call cut. */
#define KV_EVICTION_QUEUES 4
#define KV_EVICTION_CUTS 2

/* One release call: blocks of one request and group that are given up together. */
struct kv_release {
	uint64_t call;           /* 1, 2, ... over the run */
	kv_time now;
	uint64_t pool;           /* usable blocks */
	uint32_t block_size;     /* tokens */
	uint32_t prompt_tokens;  /* of the request */
	uint32_t blocks;         /* the request's whole length in this group, in blocks */
	uint64_t ghosts[KV_EVICTION_QUEUES];  /* blocks remembered when the call began,
	                                         by the queue they were evicted from */

	/* the entry */
	uint32_t depth;          /* place of its first block in the sequence: to be
	                            compared with cuts, nothing else, except by an oracle */
	uint32_t weight;         /* blocks */
	uint64_t next_use;       /* number of the next request that uses it, from 1; 0 = none: told to oracles only */
	uint32_t ghost;          /* at its first release: 1 + the queue that its
	                            content was last evicted from; 0 = none known */
};

/* A leaf of a tree of token sequences. Times are readings of a logical clock, no two leaves have the same. */
struct kv_leaf_view {
	uint64_t created, accessed;
	uint64_t hits;     /* requests that stored it or something behind it */
	int64_t priority;  /* the largest of these; larger is kept longer */
};

enum kv_due { KV_DUE_NOT, KV_DUE_DROP, KV_DUE_MOVE };

/* Order among evictable blocks: the smallest rank goes first; ties: the release call that came first, then the deeper
 * block. An entry is a block, or consecutive blocks of one chain with equal state (the core copies it at a split).
 * Entry state starts zeroed when content is registered, and changes only in these hooks. Registration has no time of
 * its own (an engine may do it late), so insert sees none: what depends on the run waits for the first release. A call
 * for an entry of n blocks must do what n calls for its blocks would, the last block first. */
struct kv_eviction_hooks {
	void (*insert)(void *state, void *entry);  /* registered; may be NULL */
	void (*hit)(void *state, void *entry);     /* an admission hit it; may be NULL */
	/* It has become evictable, or blank where blank blocks stand in the order too. */
	struct kv_rank (*release)(void *state, void *entry, const struct kv_release *release);
	bool release_order;  /* rank is always (release call, 0): the core may keep plain lists */

	/* The rest may be NULL or 0. */

	/* Depths that separate blocks of this call which release treats differently. Returns how many. */
	unsigned (*cut)(const void *state, const struct kv_release *release, uint32_t at[KV_EVICTION_CUTS]);
	/* The order is kept in `queues` parts (0 = 1); queue says where an entry stands, after release, reach and
	 * due. */
	unsigned queues;
	unsigned (*queue)(const void *entry);
	/* Which queue that is not empty gives the next block, and for how many blocks at most (at least 1) that holds.
	 * Without it the smallest rank of all queues goes. */
	unsigned (*pick)(const void *state, const uint64_t blocks[], uint64_t pool, uint64_t *most);
	/* The entry is first and a block is wanted. False = it stays, with a rank that must be larger. `calls` = the
	 * latest release call. */
	bool (*reach)(void *state, void *entry, uint64_t calls, struct kv_rank *rank);
	/* Asked of the first entry of each queue before each scheduling, until it answers KV_DUE_NOT: it may be dropped
	 * (its blocks are blank then), or stand elsewhere from now on. */
	enum kv_due (*due)(void *state, void *entry, kv_time now, struct kv_rank *rank);
	/* Content evicted from these queues (bits) is remembered; the oldest is forgotten beyond ghost_blocks. */
	unsigned ghost_queues;
	uint64_t (*ghost_blocks)(const void *state, uint64_t pool);
	/* Order among leaves that go as a whole, the smallest first, in place of all other hooks. NULL: it does not go
	 * with prefix policies that evict so. */
	struct kv_rank (*leaf)(const void *state, const struct kv_leaf_view *leaf);
	bool leaf_takes_none;  /* parameters do not matter to it */
	/* Content that would be the first to go is not stored. Of oracles, which only a replay of the cache alone can
	 * serve. */
	bool refuses;
};

/* ORACLE: is told the true output length. TAKES_ALLOWED: sets aside all that a request is allowed to generate. BY_...:
 * what requests must say of themselves for it to make a difference. */
enum {
	KV_POLICY_ORACLE = 1,
	KV_POLICY_TAKES_ALLOWED = 2,
	KV_POLICY_BY_PRIORITY = 4,
	KV_POLICY_BY_DEADLINE = 8,
	KV_POLICY_BY_TENANT = 16
};

struct kv_policy {
	enum kv_policy_kind kind;
	const char *name;
	const char *summary;  /* one line, no full stop */
	const char *source;   /* engine, paper or document that fixes the behaviour */
	unsigned flags;
	size_t state_size;
	size_t entry_size;    /* eviction only, at most KV_ENTRY_STATE_MAX */
	const struct kv_param *params;  /* ends with a NULL name; may be NULL */
	union {
		struct kv_allocation_hooks allocation;
		struct kv_admission_hooks admission;
		struct kv_scheduling_hooks scheduling;
		struct kv_preemption_hooks preemption;
		struct kv_prefix_hooks prefix;
		struct kv_eviction_hooks eviction;
	} hooks;
};

#define KV_ENTRY_STATE_MAX 16

/* A chosen policy with its parameters filled. */
struct kv_policy_use {
	const struct kv_policy *policy;
	void *state;
};

/* Whether this preemption policy copies to host memory. */
static inline bool kv_policy_swaps(const struct kv_policy_use *preemption)
{
	const struct kv_preemption_hooks *hooks = &preemption->policy->hooks.preemption;

	return hooks->swaps != NULL && hooks->swaps(preemption->state);
}

/* The one list, ended by NULL: policies/registry.c. */
extern const struct kv_policy *const kv_policy_registry[];

const char *kv_policy_kind_name(enum kv_policy_kind kind);
/* NULL if there is none. */
const struct kv_policy *kv_policy_find(enum kv_policy_kind kind, const char *name);

/* Parses "name" or "name,param=value,..." into use; unknown names and parameters and values out of range are
 * KV_EXIT_USAGE errors that list what is allowed. */
int kv_policy_parse(enum kv_policy_kind kind, const char *text, struct kv_policy_use *use, struct kv_error *err);
void kv_policy_use_fini(struct kv_policy_use *use);

/* A copy of its state, and back: the copy is released then. */
void *kv_policy_state_save(const struct kv_policy_use *use);
void kv_policy_state_restore(const struct kv_policy_use *use, void *saved);

#endif
