/* Internal to the log checker: readings of what a log says about the KV pool, tried until one brings its numbers about.
 *
 * A reading is a layout with its tokens in flight, and a reason if it is not the one that the settings ask for: another
 * block size or cache type, the minimum over ranks, and so on. It is solved by a number of blocks from which all that
 * is printed follows.
 */
#ifndef KV_SIM_LOG_READINGS_H
#define KV_SIM_LOG_READINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/sizing/log_checker.h"

/* Memory of ranks that start together lies within the first share, of those before V1 within the second. */
#define KV_RANKS_CLOSE 0.05
#define KV_RANKS_APART 0.3

/* What the log says about the pool. */
struct kv_evidence {
	bool has_kv;
	const struct kv_log_value *printed_kv;
	struct kv_span kv;           /* bytes */
	uint64_t blocks, tokens;     /* 0 = not said */
	uint64_t storable;           /* longest request, 0 = not said; likewise */
	const struct kv_log_value *concurrency, *needed;
	uint64_t length;             /* 0 = not said */
	uint32_t context_ranks;      /* ranks that share the tokens of a sequence */
	uint64_t batched_tokens;     /* 0 = not said; likewise */
	uint64_t state_block;        /* the attention block beside recurrent state */
	double most_below;           /* another rank may have this share less memory */
};

/* One way to read it. */
struct kv_reading {
	struct kv_layout layout;
	uint64_t in_flight, block;   /* block: the smallest of the groups */
	const char *why;             /* NULL = as logged */
	double fewest;               /* above 0: the blocks are another rank's than the GiB, by at most this share fewer */
	uint64_t blocks;             /* the solution */
	bool by_concurrency;         /* tokens mean concurrency x length */
};

struct kv_reading_search {
	struct kv_checker *checker;
	const struct kv_model *model;  /* the given one, or the same with other types of recurrent state */
	struct kv_evidence evidence;
	struct kv_layout_options options;
	struct kv_reading found;
	bool solved;
};

struct kv_block_range {
	uint64_t low, high;
};

/* What is too large for any pool is as good as infinite. */
uint64_t kv_whole(double number);
uint64_t kv_smallest_block(const struct kv_layout *layout);

void kv_evidence_set_memory(struct kv_evidence *e, const struct kv_log_value *printed);

/* Blocks of one request. */
double kv_reading_request_blocks(const struct kv_evidence *e, const struct kv_reading *r, uint64_t length);

/* Numbers of blocks that the evidence leaves open, if the tokens mean blocks or concurrency x length. Memory for one
 * request alone says nothing about the pool. */
struct kv_block_range kv_reading_candidates(const struct kv_evidence *e, const struct kv_reading *r,
                                            bool by_concurrency);

/* Sets solved and found. */
void kv_reading_solve(struct kv_reading_search *s);
/* The same by the layout that the settings ask for alone, without other reasons. */
void kv_reading_solve_plainly(struct kv_reading_search *s);

#endif
