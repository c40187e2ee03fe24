/* The pool from the inside: content tree, extents, eviction order, block tables. The queue orders are those of
 * scenarios V01, V03 and V06 of vLLM, read off by eviction instead of by block id. */
#include "config.h"

#include <string.h>

#include "sim/base/memory.h"
#include "sim/cache/block_table.h"
#include "sim/cache/cache.h"
#include "sim/cache/eviction_order.h"
#include "sim/cache/extent.h"
#include "sim/cache/prefix_lookup.h"
#include "tests/support.h"

enum { BLOCK = 16 };

struct pool {
	struct kv_engine_config config;
	struct kv_cache cache;
	struct kv_piece piece[8][4];
	struct kv_path path[8];
};

static void pool_open(struct pool *pool, uint64_t usable, const char *eviction)
{
	struct kv_error err;

	memset(pool, 0, sizeof *pool);
	pool->config = (struct kv_engine_config){
		.block_size = BLOCK, .usable_blocks = usable, .groups = 1, .blank_blocks_first = true,
		.retention_interval = KV_RETAIN_ALL
	};
	pool->config.group[0] = (struct kv_group){.kind = KV_GROUP_FULL, .block_size = BLOCK};
	pool->config.admission_cap[0] = UINT64_MAX;
	ck_assert_int_eq(kv_policy_parse(KV_POLICY_EVICTION, eviction, &pool->config.policy[KV_POLICY_EVICTION], &err),
	                 0);
	kv_cache_init(&pool->cache, &pool->config);
	kv_cache_cover_requests(&pool->cache, 8);
	for (uint32_t r = 0; r < 8; r++)
		kv_table_reset(&pool->cache, r);
}

static void pool_close(struct pool *pool)
{
	kv_cache_fini(&pool->cache);
	free(pool->cache.charge);
	free(pool->cache.table);
	kv_policy_use_fini(&pool->config.policy[KV_POLICY_EVICTION]);
}

/* The path of a request: streams with their lengths, ended by a length of 0. */
static void set_path(struct pool *pool, uint32_t request, const uint32_t (*segments)[2])
{
	uint32_t parent = KV_CONTENT_ROOT;
	uint32_t at = 0;
	uint32_t n = 0;

	for (; segments[n][1] != 0; n++) {
		parent = kv_content_child(&pool->cache.content, parent, at, segments[n][0], KV_STREAM_NAMED);
		at += segments[n][1];
		pool->piece[request][n] = (struct kv_piece){parent, at, at / BLOCK};
	}
	pool->path[request] = (struct kv_path){pool->piece[request], n};
	kv_cache_cover_nodes(&pool->cache);
}

static uint32_t lookup(struct pool *pool, uint32_t request, uint32_t limit)
{
	struct kv_hit hit;

	kv_prefix_lookup(&pool->cache, &pool->config, &pool->path[request], limit, &hit);
	return hit.blocks;
}

/* Admits a request of so many tokens: hits what it can, takes the rest, registers full blocks. Returns the hit. */
static uint32_t take(struct pool *pool, uint32_t request, uint32_t tokens)
{
	struct kv_cache *cache = &pool->cache;
	struct kv_table *table = kv_table_of(cache, request, 0);
	uint32_t hit = lookup(pool, request, (tokens - 1) / BLOCK);
	uint32_t blocks = (tokens + BLOCK - 1) / BLOCK;

	kv_table_hit(cache, request, 0, &pool->path[request], 0, hit);
	kv_cache_allocate(cache, request, blocks - hit);
	table->blocks = blocks;
	cache->filled_slots += tokens - hit * BLOCK;
	if (tokens / BLOCK > hit)
		kv_table_register(cache, request, 0, &pool->path[request], hit, tokens / BLOCK);
	return hit;
}

static void release(struct pool *pool, uint32_t request, uint32_t tokens)
{
	kv_table_release(&pool->cache, request, 0, kv_table_of(&pool->cache, request, 0)->blocks, tokens, tokens);
	kv_table_reset(&pool->cache, request);
}

#define PATH(pool, request, ...) set_path(pool, request, (const uint32_t[][2]){__VA_ARGS__, {0, 0}})

START_TEST(equal_segments_share_a_node_and_others_do_not)
{
	struct pool pool;

	pool_open(&pool, 10, "lru");
	PATH(&pool, 0, {1, 48}, {2, 7});
	PATH(&pool, 1, {1, 48}, {3, 5});
	PATH(&pool, 2, {1, 47}, {3, 5});
	ck_assert_uint_eq(pool.piece[0][0].node, pool.piece[1][0].node);
	ck_assert_uint_ne(pool.piece[0][1].node, pool.piece[1][1].node);
	/* Stream 3 after 47 tokens is other content than after 48. */
	ck_assert_uint_ne(pool.piece[1][1].node, pool.piece[2][1].node);
	pool_close(&pool);
}
END_TEST

START_TEST(a_node_is_forgotten_with_its_last_reference)
{
	struct kv_content content;
	uint32_t a, b;

	kv_content_init(&content);
	a = kv_content_child(&content, KV_CONTENT_ROOT, 0, 1, KV_STREAM_NAMED);
	b = kv_content_child(&content, a, 16, 2, KV_STREAM_NAMED);
	kv_content_unref(&content, a);
	ck_assert_uint_eq(kv_content_child(&content, KV_CONTENT_ROOT, 0, 1, KV_STREAM_NAMED), a);
	kv_content_unref(&content, a);
	kv_content_unref(&content, b);
	ck_assert_uint_eq(content.indexed, 0);
	kv_content_fini(&content);
}
END_TEST

START_TEST(the_index_survives_growth_and_deletion)
{
	struct kv_content content;
	uint32_t *node = kv_calloc(20000, sizeof *node);

	kv_content_init(&content);
	for (uint32_t i = 0; i < 20000; i++)
		node[i] = kv_content_child(&content, KV_CONTENT_ROOT, 0, i, KV_STREAM_NAMED);
	for (uint32_t i = 0; i < 20000; i += 2)
		kv_content_unref(&content, node[i]);
	for (uint32_t i = 1; i < 20000; i += 2) {
		ck_assert_uint_eq(kv_content_child(&content, KV_CONTENT_ROOT, 0, i, KV_STREAM_NAMED), node[i]);
		kv_content_unref(&content, node[i]);
	}
	ck_assert_uint_eq(content.indexed, 10000);
	kv_content_fini(&content);
	free(node);
}
END_TEST

START_TEST(a_million_token_document_is_one_extent)
{
	struct pool pool;

	pool_open(&pool, 70000, "lru");
	PATH(&pool, 0, {1, 1000000});
	take(&pool, 0, 1000000);
	ck_assert_uint_eq(pool.cache.extents, 1);
	release(&pool, 0, 1000000);
	ck_assert_uint_eq(pool.cache.cached, 62500);
	ck_assert_uint_eq(pool.cache.pinned, 0);
	pool_close(&pool);
}
END_TEST

/* V01: the queue is 5,4,6,7,8,9,10,3,2,1: of R0 and R1 only the shared 48 tokens stay, tail first. */
START_TEST(shared_prefix_is_freed_last_to_first)
{
	struct pool pool;

	pool_open(&pool, 10, "lru");
	PATH(&pool, 0, {1, 48}, {2, 7});
	PATH(&pool, 1, {1, 48}, {3, 5});
	ck_assert_uint_eq(take(&pool, 0, 55), 0);
	ck_assert_uint_eq(take(&pool, 1, 53), 3);
	ck_assert_uint_eq(kv_cache_free_blocks(&pool.cache), 5);
	release(&pool, 0, 55);
	ck_assert_uint_eq(pool.cache.cached, 0);
	release(&pool, 1, 53);
	ck_assert_uint_eq(pool.cache.cached, 3);
	ck_assert_uint_eq(pool.cache.blank, 7);
	ck_assert_uint_eq(kv_order_consume(&pool.cache, 8), 1);
	ck_assert_uint_eq(lookup(&pool, 0, 3), 2);
	pool_close(&pool);
}
END_TEST

/* V06: a second copy of the third block is made; the first one is found, and without it the second. */
START_TEST(a_lookup_finds_the_copy_that_was_registered_first)
{
	struct pool pool;
	uint32_t until;
	uint32_t found;

	pool_open(&pool, 10, "lru");
	PATH(&pool, 0, {1, 48});
	PATH(&pool, 1, {1, 48});
	PATH(&pool, 2, {1, 64});
	ck_assert_uint_eq(take(&pool, 0, 48), 0);
	ck_assert_uint_eq(take(&pool, 1, 48), 2);
	release(&pool, 1, 48);
	found = kv_extent_find(&pool.cache, pool.piece[2][0].node, 0, 2, 3, &until);
	ck_assert_uint_ne(pool.cache.extent[found].first_hold, KV_NONE);
	ck_assert_uint_eq(take(&pool, 2, 64), 3);
	release(&pool, 2, 64);
	release(&pool, 0, 48);
	ck_assert_uint_eq(pool.cache.cached, 5);
	/* Released first, so gone first: the second copy and the fourth block. Three of the first copy stay
	 * findable. */
	kv_order_consume(&pool.cache, pool.cache.blank + 2);
	ck_assert_uint_eq(lookup(&pool, 2, 4), 3);
	pool_close(&pool);
}
END_TEST

/* Two requests compute the same document in step: one extent each, not one a block. */
START_TEST(copies_that_grow_in_step_stay_two_extents)
{
	struct pool pool;
	uint32_t until;

	pool_open(&pool, 400, "lru");
	for (uint32_t r = 0; r < 2; r++)
		PATH(&pool, r, {1, 100 * BLOCK});
	for (uint32_t block = 0; block < 100; block++)
		for (uint32_t r = 0; r < 2; r++) {
			kv_cache_allocate(&pool.cache, r, 1);
			kv_table_of(&pool.cache, r, 0)->blocks++;
			pool.cache.filled_slots += BLOCK;
			kv_table_register(&pool.cache, r, 0, &pool.path[r], block, block + 1);
		}
	ck_assert_uint_eq(pool.cache.extents, 2);
	/* The first request's copy is found for all of them. */
	ck_assert_uint_eq(kv_extent_find(&pool.cache, pool.piece[0][0].node, 0, 57, 100, &until),
	                  pool.cache.hold[kv_table_of(&pool.cache, 0, 0)->first_hold].extent);
	ck_assert_uint_eq(until, 100);
	for (uint32_t r = 0; r < 2; r++)
		release(&pool, r, 100 * BLOCK);
	ck_assert_uint_eq(pool.cache.cached, 200);
	pool_close(&pool);
}
END_TEST

START_TEST(a_hit_takes_the_head_of_a_run_and_leaves_the_rest_evictable)
{
	struct pool pool;

	pool_open(&pool, 20, "lru");
	PATH(&pool, 0, {1, 160});
	PATH(&pool, 1, {1, 64}, {2, 16});
	take(&pool, 0, 160);
	release(&pool, 0, 160);
	ck_assert_uint_eq(take(&pool, 1, 80), 4);
	ck_assert_uint_eq(pool.cache.cached, 6);
	ck_assert_uint_eq(pool.cache.pinned, 5);
	/* Nine blank blocks are left: asking for 15 takes the six of the rest, whose holder let go. */
	ck_assert_uint_eq(kv_order_consume(&pool.cache, 15), 6);
	ck_assert_uint_eq(lookup(&pool, 0, 10), 4);
	pool_close(&pool);
}
END_TEST

START_TEST(the_earliest_holder_is_charged_for_what_is_shared)
{
	struct pool pool;

	pool_open(&pool, 20, "lru");
	PATH(&pool, 0, {1, 48});
	PATH(&pool, 1, {1, 48}, {2, 16});
	take(&pool, 0, 48);
	pool.cache.now = 10;
	take(&pool, 1, 64);
	pool.cache.now = 30;
	release(&pool, 0, 48);
	pool.cache.now = 100;
	release(&pool, 1, 64);
	ck_assert_uint_eq((uint64_t)pool.cache.charge[0].sum, 3 * 30);
	/* Its own block from 10, the three shared ones from 30, until 100. */
	ck_assert_uint_eq((uint64_t)pool.cache.charge[1].sum, 90 + 3 * 70);
	pool_close(&pool);
}
END_TEST

/* Content of three requests, 2 blocks each, released 0, 1, 2; then request 0's is hit and released again. */
struct order_case {
	const char *eviction;
	uint32_t first_gone;
};

static const struct order_case order_cases[] = {
	{"lru", 1},   /* 0 was released again, so 1 is the least recent */
	{"fifo", 0},  /* first released first, whatever was hit since */
	{"lfu", 1}    /* 1 and 2 were never hit; 1 was released before 2 */
};

START_TEST(policies_order_what_is_evictable)
{
	const struct order_case *c = &order_cases[_i];
	struct pool pool;

	pool_open(&pool, 8, c->eviction);
	for (uint32_t r = 0; r < 3; r++) {
		PATH(&pool, r, {10 + r, 33});
		take(&pool, r, 32);
		release(&pool, r, 32);
	}
	PATH(&pool, 3, {10, 33});
	ck_assert_uint_eq(take(&pool, 3, 33), 2);
	release(&pool, 3, 33);
	kv_order_consume(&pool.cache, pool.cache.blank + 2);
	for (uint32_t r = 0; r < 3; r++)
		ck_assert_uint_eq(lookup(&pool, r, 2), r == c->first_gone ? 0 : 2);
	pool_close(&pool);
}
END_TEST

START_TEST(older_profiles_queue_blank_blocks_with_the_rest)
{
	struct pool pool;

	pool_open(&pool, 6, "lru");
	pool.cache.blank_first = false;
	PATH(&pool, 0, {1, 40});
	PATH(&pool, 1, {2, 48});
	take(&pool, 0, 40);
	take(&pool, 1, 48);
	release(&pool, 0, 40);
	release(&pool, 1, 48);
	/* The partly filled block of 0 stands first, then its two full ones, then those of 1: three blocks cost two. */
	ck_assert_uint_eq(kv_order_consume(&pool.cache, 3), 2);
	ck_assert_uint_eq(lookup(&pool, 1, 3), 3);
	pool_close(&pool);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pool");
	TCase *content = tcase_create("content");
	TCase *extents = tcase_create("extents");

	tcase_add_test(content, equal_segments_share_a_node_and_others_do_not);
	tcase_add_test(content, a_node_is_forgotten_with_its_last_reference);
	tcase_add_test(content, the_index_survives_growth_and_deletion);
	tcase_add_test(extents, a_million_token_document_is_one_extent);
	tcase_add_test(extents, shared_prefix_is_freed_last_to_first);
	tcase_add_test(extents, a_lookup_finds_the_copy_that_was_registered_first);
	tcase_add_test(extents, copies_that_grow_in_step_stay_two_extents);
	tcase_add_test(extents, a_hit_takes_the_head_of_a_run_and_leaves_the_rest_evictable);
	tcase_add_test(extents, the_earliest_holder_is_charged_for_what_is_shared);
	tcase_add_loop_test(extents, policies_order_what_is_evictable, 0, sizeof order_cases / sizeof *order_cases);
	tcase_add_test(extents, older_profiles_queue_blank_blocks_with_the_rest);
	suite_add_tcase(suite, content);
	suite_add_tcase(suite, extents);
	return kv_run_suite(suite);
}
