/* The oracle's radix cache: nodes with their tokens one by one, children and leaves searched from end to end. */
#ifndef KV_TESTS_ORACLE_RADIX_H
#define KV_TESTS_ORACLE_RADIX_H

#include <stdint.h>

#include "sim/request.h"
#include "tests/oracle/cache.h"
#include "tests/oracle/list.h"

struct oracle_radix_node {
	struct oracle_radix_node *parent;
	struct oracle_list children;
	struct oracle_token *tokens;
	uint64_t count;
	uint64_t locks, hits, created, accessed;
	int64_t priority;
};

struct oracle_radix {
	uint64_t page_size;
	const char *strategy;   /* SGLang's name */
	struct oracle_radix_node root;
	uint64_t clock;
};

void oracle_radix_init(struct oracle_radix *radix, uint64_t page_size, const char *strategy);
void oracle_radix_fini(struct oracle_radix *radix);

uint64_t oracle_radix_match(struct oracle_radix *radix, const struct kv_segment *key, uint32_t segments,
                            struct oracle_radix_node **node);
uint64_t oracle_radix_insert(struct oracle_radix *radix, const struct kv_segment *key, uint32_t segments, int64_t priority);
uint64_t oracle_radix_evict(struct oracle_radix *radix, uint64_t tokens);
void oracle_radix_lock(struct oracle_radix_node *node);
void oracle_radix_unlock(struct oracle_radix_node *node);

/* Tokens in nodes that are locked, or that are not. */
uint64_t oracle_radix_count(const struct oracle_radix *radix, bool locked);

#endif
