/* The oracle's pool of blocks that may be matched in part (TensorRT-LLM): every search looks at all blocks and all
 * tokens. */
#ifndef KV_TESTS_ORACLE_PARTIAL_H
#define KV_TESTS_ORACLE_PARTIAL_H

#include "sim/engine_config.h"
#include "tests/oracle/cache.h"
#include "tests/oracle/list.h"

struct oracle_part {
	const struct oracle_key *key;     /* the caller keeps it */
	struct oracle_token *tokens;
	uint64_t count;
	struct oracle_part *parent;       /* NULL = the root of the tree */
	bool stored;
	struct oracle_list holders;       /* in order of acquisition */
	uint64_t priority, freed;
};

struct oracle_partial {
	struct oracle_part *parts;
	uint64_t count, block_size, frees, evicted;
	struct kv_partial_reuse policy;
};

void oracle_partial_init(struct oracle_partial *pool, const struct kv_engine_config *config);
void oracle_partial_fini(struct oracle_partial *pool);

uint64_t oracle_partial_free(const struct oracle_partial *pool);
uint64_t oracle_partial_cached(const struct oracle_partial *pool);

/* Whole blocks that match go to the list; *part = the one that matches behind them in part, or NULL. Returns the
 * tokens. */
uint64_t oracle_partial_match(const struct oracle_partial *pool, const struct oracle_key *key,
                              const struct oracle_token *tokens, uint64_t count, struct oracle_list *whole,
                              struct oracle_part **part);
void oracle_partial_hold(struct oracle_part *part, void *holder, struct oracle_list *table);
/* A free block for the holder's table: the one that was matched in part if it can be taken over, else the next. */
void oracle_partial_take(struct oracle_partial *pool, struct oracle_part *matched, void *holder,
                         struct oracle_list *table);
void oracle_partial_store(struct oracle_partial *pool, const struct oracle_key *key, const struct oracle_token *tokens,
                          uint64_t count, const struct oracle_list *table);
void oracle_partial_release(struct oracle_partial *pool, void *holder, struct oracle_list *table, uint64_t prompt);

#endif
