/* The oracle's radix cache: nodes with their tokens one by one, children and leaves searched from end to end. */
#ifndef KV_TESTS_ORACLE_RADIX_H
#define KV_TESTS_ORACLE_RADIX_H

#include <stdint.h>

#include "sim/request.h"
#include "tests/oracle/cache.h"
#include "tests/oracle/list.h"

/* Tokens in order, under what must be equal beside them (NULL = nothing). */
struct oracle_radix_text {
	const struct oracle_key *key;
	const struct oracle_token *tokens;
	uint64_t count;
};

struct oracle_radix_node {
	const struct oracle_key *key;  /* of nodes below the root; the caller keeps it while there is a tree */
	struct oracle_radix_node *parent;
	struct oracle_list children;
	struct oracle_token *tokens;
	uint64_t count;
	uint64_t locks, hits, created, accessed;
	int64_t priority;
};

struct oracle_radix {
	uint64_t page_size;
	const struct kv_policy_use *eviction;
	struct oracle_radix_node root;
	uint64_t clock;
};

void oracle_radix_init(struct oracle_radix *radix, uint64_t page_size, const struct kv_policy_use *eviction);
void oracle_radix_fini(struct oracle_radix *radix);

/* The tokens of segments, to be freed. */
struct oracle_token *oracle_radix_spell_out(const struct kv_segment *segment, uint32_t segments, uint64_t *count);

/* What a match would find; *unlocked = how many tokens of it nobody holds. Nothing changes. */
uint64_t oracle_radix_peek(const struct oracle_radix *radix, const struct oracle_radix_text *text, uint64_t *unlocked);
uint64_t oracle_radix_match(struct oracle_radix *radix, const struct oracle_radix_text *text,
                            struct oracle_radix_node **node);
uint64_t oracle_radix_insert(struct oracle_radix *radix, const struct oracle_radix_text *text, int64_t priority,
                             bool counts, struct oracle_radix_node **node);
uint64_t oracle_radix_evict(struct oracle_radix *radix, uint64_t tokens);
void oracle_radix_lock(struct oracle_radix_node *node);
void oracle_radix_unlock(struct oracle_radix_node *node);

/* Tokens in nodes that are locked, or that are not. */
uint64_t oracle_radix_count(const struct oracle_radix *radix, bool locked);

#endif
