/* SGLang's radix cache: worked cases (scenarios G01 to G07), and production against the plain tree on random
 * operations. */
#include "config.h"

#include <gsl/gsl_rng.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cache/radix.h"
#include "tests/oracle/radix.h"
#include "tests/support.h"

static struct kv_segment segment(uint64_t stream, uint32_t length)
{
	return (struct kv_segment){.stream = stream, .length = length};
}

static struct kv_policy_use eviction;

static void start(struct kv_radix *radix, uint32_t page_size, const char *name)
{
	struct kv_error err;

	ck_assert_int_eq(kv_policy_parse(KV_POLICY_EVICTION, name, &eviction, &err), 0);
	kv_radix_init(radix, page_size, &eviction);
}

static void end(struct kv_radix *radix)
{
	kv_radix_fini(radix);
	kv_policy_use_fini(&eviction);
}

static uint64_t insert(struct kv_radix *radix, int64_t priority, const struct kv_segment *key, uint32_t segments)
{
	uint32_t node;

	return kv_radix_insert(radix, &(struct kv_token_key){.segment = key, .segments = segments}, priority, true,
	                       &node);
}

#define INSERT(radix, priority, ...) \
	insert(radix, priority, (const struct kv_segment[]){__VA_ARGS__}, \
	       sizeof((const struct kv_segment[]){__VA_ARGS__}) / sizeof(struct kv_segment))

static uint64_t match_in(struct kv_radix *radix, uint64_t space, uint64_t stream, uint32_t length)
{
	struct kv_segment key = segment(stream, length);
	uint32_t node;

	return kv_radix_match(radix, &(struct kv_token_key){space, &key, 1}, &node);
}

static uint64_t match(struct kv_radix *radix, uint64_t stream, uint32_t length)
{
	return match_in(radix, 0, stream, length);
}

enum { P = 1, A, B, C };

START_TEST(whole_leaves_go_so_more_than_asked_for)
{
	struct kv_radix radix;

	start(&radix, 1, "lru");
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
	end(&radix);
}
END_TEST

/* a, b, c, d of 10 tokens; a, a, b again; d, c matched. The order in which they go: engine-semantics 2.2. */
static const struct {
	const char *strategy;
	int64_t priority[4];
	const char *order;
} orders[] = {
	{"lru", {0}, "abdc"},
	{"lfu", {0}, "dcba"},
	{"fifo", {0}, "abcd"},
	{"mru", {0}, "cdba"},
	{"filo", {0}, "dcba"},
	{"slru", {0}, "dcab"},
	{"priority", {0}, "abdc"},
	{"priority", {1, 0, 3, 2}, "badc"},
};

START_TEST(strategies_order_equal_leaves)
{
	static const int again[] = {0, 0, 1};
	struct kv_radix radix;
	char order[5] = "";

	start(&radix, 1, orders[_i].strategy);
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
	end(&radix);
}
END_TEST

START_TEST(pages_floor_match_and_insert)
{
	static const uint32_t lengths[][2] = {{15, 0}, {16, 16}, {47, 32}, {48, 48}, {99, 96}, {100, 96}};
	struct kv_segment other[] = {{A, 40, 0}, {B, 60, 0}};
	struct kv_radix radix;
	uint32_t node;

	start(&radix, 16, "lru");
	INSERT(&radix, 0, segment(A, 100));
	ck_assert_uint_eq(radix.evictable, 96);
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
		ck_assert_uint_eq(match(&radix, A, lengths[i][0]), lengths[i][1]);
	ck_assert_uint_eq(insert(&radix, 0, other, 2), 32);
	ck_assert_uint_eq(radix.evictable, 160);
	ck_assert_uint_eq(kv_radix_match(&radix, &(struct kv_token_key){0, other, 2}, &node), 96);
	end(&radix);
}
END_TEST

START_TEST(a_locked_path_stays)
{
	struct kv_segment key = segment(A, 30);
	struct kv_radix radix;
	uint32_t node;

	start(&radix, 1, "lru");
	INSERT(&radix, 0, segment(A, 50));
	ck_assert_uint_eq(kv_radix_match(&radix, &(struct kv_token_key){0, &key, 1}, &node), 30);
	kv_radix_lock(&radix, node, KV_RADIX_ROOT);
	ck_assert_uint_eq(radix.protected, 30);
	ck_assert_uint_eq(kv_radix_evict(&radix, 1000), 20);
	kv_radix_unlock(&radix, node);
	ck_assert_uint_eq(kv_radix_evict(&radix, 1000), 30);
	end(&radix);
}
END_TEST

START_TEST(spaces_share_nothing)
{
	struct kv_segment key = segment(A, 20);
	struct kv_radix radix;
	uint32_t node;

	start(&radix, 1, "lru");
	kv_radix_insert(&radix, &(struct kv_token_key){'x', &key, 1}, 0, true, &node);
	ck_assert_uint_eq(match_in(&radix, 'x', A, 20), 20);
	ck_assert_uint_eq(match_in(&radix, 'y', A, 20), 0);
	ck_assert_uint_eq(match_in(&radix, 0, A, 20), 0);
	end(&radix);
}
END_TEST

/* --- random operations -------------------------------------------------------------------------------------------- */

#define SEGMENTS 3
#define LOCKS 8

struct both {
	struct kv_radix radix;
	struct oracle_radix oracle;
	uint32_t locked[LOCKS];
	struct oracle_radix_node *oracle_locked[LOCKS];
	uint32_t locks;
};

static char plain[] = "", salted[] = "s";
static const struct oracle_key spaces[] = {{.adapter = plain, .salt = plain}, {.adapter = plain, .salt = salted}};

/* The same key for both. */
struct random_key {
	struct kv_segment segment[SEGMENTS];
	struct kv_token_key key;
	struct oracle_radix_text text;
};

static void draw_key(gsl_rng *rng, struct random_key *drawn)
{
	uint32_t segments = 1 + (uint32_t)gsl_rng_uniform_int(rng, SEGMENTS);
	uint64_t space = gsl_rng_uniform_int(rng, 4) == 0;

	for (uint32_t i = 0; i < segments; i++)
		drawn->segment[i] = segment(gsl_rng_uniform_int(rng, 3), 1 + (uint32_t)gsl_rng_uniform_int(rng, 40));
	drawn->key = (struct kv_token_key){space, drawn->segment, segments};
	drawn->text = (struct oracle_radix_text){.key = &spaces[space]};
	drawn->text.tokens = oracle_radix_spell_out(drawn->segment, segments, &drawn->text.count);
}

static void match_both(struct both *both, const struct random_key *drawn, uint32_t *node,
                       struct oracle_radix_node **oracle)
{
	uint64_t free, oracle_free;
	uint64_t found = kv_radix_peek(&both->radix, &drawn->key, &free);

	ck_assert_uint_eq(found, oracle_radix_peek(&both->oracle, &drawn->text, &oracle_free));
	ck_assert_uint_eq(free, oracle_free);
	ck_assert_uint_eq(found, kv_radix_match(&both->radix, &drawn->key, node));
	ck_assert_uint_eq(found, oracle_radix_match(&both->oracle, &drawn->text, oracle));
}

static void insert_both(struct both *both, const struct random_key *drawn, gsl_rng *rng)
{
	int64_t priority = (int64_t)gsl_rng_uniform_int(rng, 4);
	bool counts = gsl_rng_uniform_int(rng, 4) > 0;
	struct oracle_radix_node *oracle;
	uint32_t node;

	ck_assert_uint_eq(kv_radix_insert(&both->radix, &drawn->key, priority, counts, &node),
	                  oracle_radix_insert(&both->oracle, &drawn->text, priority, counts, &oracle));
	ck_assert_uint_eq(both->radix.node[node].tokens, oracle->count);
}

static void lock_both(struct both *both, const struct random_key *drawn)
{
	if (both->locks == LOCKS)
		return;
	match_both(both, drawn, &both->locked[both->locks], &both->oracle_locked[both->locks]);
	kv_radix_lock(&both->radix, both->locked[both->locks], KV_RADIX_ROOT);
	oracle_radix_lock(both->oracle_locked[both->locks]);
	both->locks++;
}

static void unlock_both(struct both *both)
{
	if (both->locks == 0)
		return;
	both->locks--;
	kv_radix_unlock(&both->radix, both->locked[both->locks]);
	oracle_radix_unlock(both->oracle_locked[both->locks]);
}

static void play_random(struct both *both, gsl_rng *rng)
{
	uint64_t tokens = gsl_rng_uniform_int(rng, 100);
	struct random_key drawn;

	draw_key(rng, &drawn);
	switch (gsl_rng_uniform_int(rng, 5)) {
	case 0:
		ck_assert_uint_eq(kv_radix_evict(&both->radix, tokens), oracle_radix_evict(&both->oracle, tokens));
		break;
	case 1:
		unlock_both(both);
		break;
	case 2:
		lock_both(both, &drawn);
		break;
	default:
		insert_both(both, &drawn, rng);
	}
	ck_assert_uint_eq(both->radix.evictable, oracle_radix_count(&both->oracle, false));
	ck_assert_uint_eq(both->radix.protected, oracle_radix_count(&both->oracle, true));
	free((void *)drawn.text.tokens);
}

START_TEST(production_does_what_the_plain_tree_does)
{
	static const char *const names[] = {"lru", "lfu", "fifo", "mru", "filo", "slru,uses=3", "priority"};
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	for (unsigned long seed = 1; seed <= 200; seed++) {
		uint32_t page_size = 1u << seed % 5;
		struct both both = {.locks = 0};

		gsl_rng_set(rng, seed);
		start(&both.radix, page_size, names[seed % (sizeof names / sizeof *names)]);
		oracle_radix_init(&both.oracle, page_size, &eviction);
		for (int i = 0; i < 150; i++)
			play_random(&both, rng);
		oracle_radix_fini(&both.oracle);
		end(&both.radix);
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
	tcase_add_test(tc, spaces_share_nothing);
	tcase_add_test(tc, production_does_what_the_plain_tree_does);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
