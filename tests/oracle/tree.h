/* The oracle's pools under trees of prefixes, SGLang's and TensorRT-LLM's: what is kept is counted by looking at the
 * tree and at every request. */
#ifndef KV_TESTS_ORACLE_TREE_H
#define KV_TESTS_ORACLE_TREE_H

#include "tests/oracle/engine.h"

bool oracle_has_tree(const struct oracle_engine *engine);
void oracle_tree_init(struct oracle_engine *engine);
void oracle_tree_fini(struct oracle_engine *engine);

/* Pages that nobody keeps: all, and those of them that the tree has. */
uint64_t oracle_tree_free(const struct oracle_engine *engine);
uint64_t oracle_tree_cached(const struct oracle_engine *engine);
/* Tokens in the pages that somebody keeps. */
uint64_t oracle_tree_filled(const struct oracle_engine *engine);

/* What a request would hit. */
struct oracle_tree_hit {
	uint64_t tokens;
	uint64_t pages;      /* whole ones */
	uint64_t evictable;  /* of these: nobody keeps them */
};
struct oracle_tree_hit oracle_tree_peek(const struct oracle_engine *engine, const struct oracle_request *request);
/* The look at the head of the queue, which refreshes what it finds. */
void oracle_tree_consider(struct oracle_engine *engine, struct oracle_request *request);
/* The request starts with so many pages of the tree. */
void oracle_tree_keep(struct oracle_engine *engine, struct oracle_request *request, uint64_t pages);
/* Pages of its own, so that it has so many in all. Returns how many were evicted for them. */
uint64_t oracle_tree_take(struct oracle_engine *engine, struct oracle_request *request, uint64_t pages);
/* A part of its prompt has been computed, or the last one. */
void oracle_tree_delivered(struct oracle_engine *engine, struct oracle_request *request, bool last);
void oracle_tree_release(struct oracle_engine *engine, struct oracle_request *request, bool ended);
/* What the pages cost whom in that time. */
void oracle_tree_charge(struct oracle_engine *engine, kv_time duration);

#endif
