/* SGLang's radix cache: worked cases (scenarios G01 to G04), and production against the plain tree on random operations. */
#include "config.h"

#include <gsl/gsl_rng.h>
#include <string.h>

#include "sim/cache/radix.h"
#include "tests/oracle/radix.h"
#include "tests/support.h"

static const char *const strategies[KV_RADIX_STRATEGIES] = {"lru", "lfu", "fifo", "mru", "filo", "slru", "priority"};

static struct kv_segment segment(uint64_t stream, uint32_t length)
{
	return (struct kv_segment){.stream = stream, .length = length};
}

#define INSERT(radix, priority, ...) \
	kv_radix_insert(radix, (const struct kv_segment[]){__VA_ARGS__}, \
	                sizeof((const struct kv_segment[]){__VA_ARGS__}) / sizeof(struct kv_segment), priority)

static uint64_t match(struct kv_radix *radix, uint64_t stream, uint32_t length)
{
	struct kv_segment key = segment(stream, length);
	uint32_t node;

	return kv_radix_match(radix, &key, 1, &node);
}

enum { P = 1, A, B, C };

START_TEST(whole_leaves_go_so_more_than_asked_for)
{
	struct kv_radix radix;

	kv_radix_init(&radix, 1, KV_RADIX_LRU);
	ck_assert_uint_eq(INSERT(&radix, 0, segment(P, 60), segment(A, 40)), 0);
	ck_assert_uint_eq(radix.evictable, 100);
	ck_assert_uint_eq(INSERT(&radix, 0, segment(P, 60), segment(B, 40)), 60);
	ck_assert_uint_eq(radix.evictable, 140);
	INSERT(&radix, 0, segment(C, 50));
	ck_assert_uint_eq(radix.evictable, 190);
	ck_assert_uint_eq(kv_radix_evict(&radix, 10), 40);
	ck_assert_uint_eq(kv_radix_evict(&radix, 41), 100);
	ck_assert_uint_eq(radix.evictable, 50);
	ck_assert_uint_eq(match(&radix, C, 50), 50);
	kv_radix_fini(&radix);
}
END_TEST

/* a, b, c, d of 10 tokens; a, a, b again; d, c matched. The order in which they go: engine-semantics 2.2. */
static const struct {
	enum kv_radix_strategy strategy;
	int64_t priority[4];
	const char *order;
} orders[] = {
	{KV_RADIX_LRU, {0}, "abdc"},
	{KV_RADIX_LFU, {0}, "dcba"},
	{KV_RADIX_FIFO, {0}, "abcd"},
	{KV_RADIX_MRU, {0}, "cdba"},
	{KV_RADIX_FILO, {0}, "dcba"},
	{KV_RADIX_SLRU, {0}, "dcab"},
	{KV_RADIX_PRIORITY, {0}, "abdc"},
	{KV_RADIX_PRIORITY, {1, 0, 3, 2}, "badc"},
};

START_TEST(strategies_order_equal_leaves)
{
	static const int again[] = {0, 0, 1};
	struct kv_radix radix;
	char order[5] = "";

	kv_radix_init(&radix, 1, orders[_i].strategy);
	for (int i = 0; i < 4; i++)
		INSERT(&radix, orders[_i].priority[i], segment('a' + (uint64_t)i, 10));
	for (size_t i = 0; i < 3; i++)
		INSERT(&radix, 0, segment('a' + (uint64_t)again[i], 10));
	match(&radix, 'd', 10);
	match(&radix, 'c', 10);
	for (int i = 0; i < 4; i++) {
		ck_assert_uint_eq(kv_radix_evict(&radix, 1), 10);
		for (uint32_t n = 'a'; n <= 'd'; n++) {
			bool there = false;

			for (uint32_t k = 1; k < radix.used; k++)
				there |= radix.node[k].tokens > 0 && radix.node[k].piece[0].stream == n;
			if (!there && strchr(order, (int)n) == NULL)
				order[strlen(order)] = (char)n;
		}
	}
	ck_assert_str_eq(order, orders[_i].order);
	kv_radix_fini(&radix);
}
END_TEST

START_TEST(pages_floor_match_and_insert)
{
	static const uint32_t lengths[][2] = {{15, 0}, {16, 16}, {47, 32}, {48, 48}, {99, 96}, {100, 96}};
	struct kv_segment other[] = {{A, 40, 0}, {B, 60, 0}};
	struct kv_radix radix;
	uint32_t node;

	kv_radix_init(&radix, 16, KV_RADIX_LRU);
	INSERT(&radix, 0, segment(A, 100));
	ck_assert_uint_eq(radix.evictable, 96);
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
		ck_assert_uint_eq(match(&radix, A, lengths[i][0]), lengths[i][1]);
	ck_assert_uint_eq(kv_radix_insert(&radix, other, 2, 0), 32);
	ck_assert_uint_eq(radix.evictable, 160);
	ck_assert_uint_eq(kv_radix_match(&radix, other, 2, &node), 96);
	kv_radix_fini(&radix);
}
END_TEST

START_TEST(a_locked_path_stays)
{
	struct kv_segment key = segment(A, 30);
	struct kv_radix radix;
	uint32_t node;

	kv_radix_init(&radix, 1, KV_RADIX_LRU);
	INSERT(&radix, 0, segment(A, 50));
	ck_assert_uint_eq(kv_radix_match(&radix, &key, 1, &node), 30);
	kv_radix_lock(&radix, node);
	ck_assert_uint_eq(radix.protected, 30);
	ck_assert_uint_eq(kv_radix_evict(&radix, 1000), 20);
	kv_radix_unlock(&radix, node);
	ck_assert_uint_eq(kv_radix_evict(&radix, 1000), 30);
	kv_radix_fini(&radix);
}
END_TEST

/* --- random operations ---------------------------------------------------------------------------------------------------- */

#define SEGMENTS 3
#define LOCKS 8

struct both {
	struct kv_radix radix;
	struct oracle_radix oracle;
	uint32_t locked[LOCKS];
	struct oracle_radix_node *oracle_locked[LOCKS];
	uint32_t locks;
};

static void random_key(gsl_rng *rng, struct kv_segment key[SEGMENTS])
{
	for (int i = 0; i < SEGMENTS; i++)
		key[i] = segment(gsl_rng_uniform_int(rng, 3), 1 + (uint32_t)gsl_rng_uniform_int(rng, 40));
}

static void play_random(struct both *both, gsl_rng *rng)
{
	struct kv_segment key[SEGMENTS];
	uint32_t segments = 1 + (uint32_t)gsl_rng_uniform_int(rng, SEGMENTS);
	int64_t priority = (int64_t)gsl_rng_uniform_int(rng, 4);
	uint64_t tokens = gsl_rng_uniform_int(rng, 100);
	uint32_t lock = both->locks < LOCKS ? both->locks : LOCKS - 1;

	random_key(rng, key);
	switch (gsl_rng_uniform_int(rng, 5)) {
	case 0:
		ck_assert_uint_eq(kv_radix_evict(&both->radix, tokens), oracle_radix_evict(&both->oracle, tokens));
		break;
	case 1:
		if (both->locks == 0)
			break;
		both->locks--;
		kv_radix_unlock(&both->radix, both->locked[both->locks]);
		oracle_radix_unlock(both->oracle_locked[both->locks]);
		break;
	case 2:
		if (both->locks == LOCKS)
			break;
		ck_assert_uint_eq(kv_radix_match(&both->radix, key, segments, &both->locked[lock]),
		                  oracle_radix_match(&both->oracle, key, segments, &both->oracle_locked[lock]));
		kv_radix_lock(&both->radix, both->locked[lock]);
		oracle_radix_lock(both->oracle_locked[lock]);
		both->locks++;
		break;
	default:
		ck_assert_uint_eq(kv_radix_insert(&both->radix, key, segments, priority),
		                  oracle_radix_insert(&both->oracle, key, segments, priority));
	}
	ck_assert_uint_eq(both->radix.evictable, oracle_radix_count(&both->oracle, false));
	ck_assert_uint_eq(both->radix.protected, oracle_radix_count(&both->oracle, true));
}

START_TEST(production_does_what_the_plain_tree_does)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	for (unsigned long seed = 1; seed <= 200; seed++) {
		int strategy = (int)(seed % KV_RADIX_STRATEGIES);
		uint32_t page_size = 1u << seed % 5;
		struct both both = {.locks = 0};

		gsl_rng_set(rng, seed);
		kv_radix_init(&both.radix, page_size, (enum kv_radix_strategy)strategy);
		oracle_radix_init(&both.oracle, page_size, strategies[strategy]);
		for (int i = 0; i < 150; i++)
			play_random(&both, rng);
		kv_radix_fini(&both.radix);
		oracle_radix_fini(&both.oracle);
	}
	gsl_rng_free(rng);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("radix");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, whole_leaves_go_so_more_than_asked_for);
	tcase_add_loop_test(tc, strategies_order_equal_leaves, 0, sizeof orders / sizeof *orders);
	tcase_add_test(tc, pages_floor_match_and_insert);
	tcase_add_test(tc, a_locked_path_stays);
	tcase_add_test(tc, production_does_what_the_plain_tree_does);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
