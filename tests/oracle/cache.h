/* The oracle's memory: blocks with ids, contents compared token by token, and an order of eviction that is searched
 * from end to end whenever a block is wanted. */
#ifndef KV_TESTS_ORACLE_CACHE_H
#define KV_TESTS_ORACLE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/engine_config.h"
#include "sim/request.h"
#include "tests/oracle/list.h"

/* Two tokens are equal when all three agree. */
struct oracle_token {
	uint64_t stream;
	uint32_t kind;
	uint32_t position;
};

/* What must be equal beside the tokens. */
struct oracle_key {
	char *adapter;
	char *salt;
	enum { ORACLE_SALT_GIVEN, ORACLE_SALT_TENANT, ORACLE_SALT_REQUEST } salt_kind;
	uint64_t request;  /* of ORACLE_SALT_REQUEST */
};

bool oracle_equal_keys(const struct oracle_key *a, const struct oracle_key *b);

/* The tokens of one full block after all those of its ancestors. Lives while it or a descendant is registered or
 * remembered. */
struct oracle_content {
	struct oracle_content *parent;
	struct oracle_token *tokens;
	struct oracle_list children;
	struct oracle_list registered[KV_MAX_GROUPS];  /* blocks that hold it, in order of registration */
	uint32_t ghosts;                  /* entries of the ghost list that name it */
};

/* Content that was evicted: what a policy that asks for it may remember. */
struct oracle_ghost {
	struct oracle_content *content;
	uint32_t group;
	uint32_t queue;                   /* that it was evicted from */
};

struct oracle_block {
	uint64_t id;
	uint32_t group, depth;            /* whose table it was last put into, and where */
	struct oracle_list holders;       /* requests, in order of acquisition */
	struct oracle_content *content;   /* NULL = not registered */
	unsigned char entry[KV_ENTRY_STATE_MAX];
	bool released;                    /* since it was registered */
	struct kv_rank rank;
	uint32_t queue;
	uint64_t release;                 /* number of the release call that freed
	                                     it; 0 = unused, or blank at the head */
};

struct oracle_cache {
	const struct kv_engine_config *config;
	struct oracle_block *blocks;      /* usable_blocks of them */
	struct oracle_list roots;         /* struct oracle_root */
	struct kv_release call;           /* the release call that is under way, or the last one */
	struct oracle_list ghosts;        /* struct oracle_ghost, the oldest first */
	uint64_t evicted;                 /* cached blocks handed out again, over the run */
};

void oracle_cache_init(struct oracle_cache *cache, const struct kv_engine_config *config);
void oracle_cache_fini(struct oracle_cache *cache);

/* Blocks that nobody holds: all, and those of them that keep content. */
uint64_t oracle_cache_free(const struct oracle_cache *cache);
uint64_t oracle_cache_cached(const struct oracle_cache *cache);

/* Contents of the first `count` blocks of the tokens under the key, NULL where none is known. */
void oracle_cache_find(const struct oracle_cache *cache, const struct oracle_key *key,
                       const struct oracle_token *tokens, struct oracle_content **contents, uint64_t count);
/* The block to use for a content in a group, or NULL. */
struct oracle_block *oracle_content_block(const struct oracle_content *content, uint32_t group);

/* Takes the next free block for position `depth` of a group's table; there must be one. */
struct oracle_block *oracle_cache_take(struct oracle_cache *cache, void *holder, uint32_t group, uint32_t depth);
/* Adds a holder to a block that a lookup found. */
void oracle_cache_touch(struct oracle_block *block, void *holder);
/* Registers a block as the holder of tokens[depth * block_size ...] after all tokens before. */
void oracle_cache_register(struct oracle_cache *cache, const struct oracle_key *key, const struct oracle_token *tokens,
                           struct oracle_block *block);
/* Tells the eviction policy of an accepted hit. */
void oracle_cache_hit(struct oracle_cache *cache, struct oracle_block *block);

/* One release call: drops the holder from each block, given in order of the table, last one first. call: its time, the
 * request's prompt and the length of its table. */
void oracle_cache_release(struct oracle_cache *cache, void *holder, struct oracle_block **blocks, uint64_t count,
                          const struct kv_release *call);
/* Lets the eviction policy drop and move what is due. Returns how many blocks with content were dropped. */
uint64_t oracle_cache_expire(struct oracle_cache *cache, kv_time now);

#endif
