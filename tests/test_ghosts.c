/* The bounded memory of evicted content: runs against a plain list of blocks. */
#include "config.h"

#include <gsl/gsl_rng.h>
#include <string.h>

#include "sim/cache/ghosts.h"
#include "tests/support.h"

#define KEYS 5
#define DEPTH 12
#define LIST_MAX (KEYS * DEPTH)

struct plain {
	uint64_t key;
	uint32_t block, queue;
};

/* The oldest first. */
struct list {
	struct plain item[LIST_MAX + 1];
	size_t count, capacity;
};

static uint32_t list_take(struct list *list, uint64_t key, uint32_t block, bool remove)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->item[i].key == key && list->item[i].block == block) {
			uint32_t queue = list->item[i].queue;

			if (remove)
				memmove(&list->item[i], &list->item[i + 1], (--list->count - i) * sizeof *list->item);
			return 1 + queue;
		}
	return 0;
}

static void list_put(struct list *list, uint64_t key, uint32_t block, uint32_t queue)
{
	list_take(list, key, block, true);
	list->item[list->count++] = (struct plain){key, block, queue};
	if (list->count > list->capacity)
		memmove(list->item, list->item + 1, --list->count * sizeof *list->item);
}

static void compare(const struct kv_ghosts *ghosts, struct list *list, unsigned long seed)
{
	ck_assert_uint_eq(ghosts->total, list->count);
	for (uint64_t key = 0; key < KEYS; key++)
		for (uint32_t block = 0; block < DEPTH; block++) {
			uint32_t from;

			ck_assert_msg(kv_ghosts_find(ghosts, key, block, block + 1, &from) ==
			                      list_take(list, key, block, false),
			              "seed %lu, key %lu, block %u", seed, (unsigned long)key, block);
		}
}

START_TEST(runs_remember_what_blocks_one_by_one_would)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	for (unsigned long seed = 1; seed <= 80; seed++) {
		struct list list = {.capacity = seed % (LIST_MAX + 1)};
		struct kv_ghosts ghosts;

		gsl_rng_set(rng, seed);
		kv_ghosts_init(&ghosts, list.capacity);
		for (int i = 0; i < 100; i++) {
			uint64_t key = gsl_rng_uniform_int(rng, KEYS);
			uint32_t lo = (uint32_t)gsl_rng_uniform_int(rng, DEPTH);
			uint32_t hi = lo + 1 + (uint32_t)gsl_rng_uniform_int(rng, DEPTH - lo);
			uint32_t queue = (uint32_t)gsl_rng_uniform_int(rng, 2);
			bool put = gsl_rng_uniform_int(rng, 3) > 0;

			if (put)
				kv_ghosts_put(&ghosts, key, lo, hi, queue);
			else
				kv_ghosts_take(&ghosts, key, lo, hi);
			for (uint32_t block = hi; block-- > lo;)
				put ? list_put(&list, key, block, queue) : (void)list_take(&list, key, block, true);
			compare(&ghosts, &list, seed);
		}
		kv_ghosts_fini(&ghosts);
	}
	gsl_rng_free(rng);
}
END_TEST

START_TEST(an_answer_says_how_far_it_holds)
{
	struct kv_ghosts ghosts;
	uint32_t from;

	kv_ghosts_init(&ghosts, 100);
	kv_ghosts_put(&ghosts, 7, 4, 9, 1);
	ck_assert_uint_eq(kv_ghosts_find(&ghosts, 7, 0, 9, &from), 2);
	ck_assert_uint_eq(from, 4);
	ck_assert_uint_eq(kv_ghosts_find(&ghosts, 7, 6, 8, &from), 2);
	ck_assert_uint_eq(from, 6);
	ck_assert_uint_eq(kv_ghosts_find(&ghosts, 7, 0, 12, &from), 0);
	ck_assert_uint_eq(from, 9);
	ck_assert_uint_eq(kv_ghosts_find(&ghosts, 7, 1, 4, &from), 0);
	ck_assert_uint_eq(from, 1);
	kv_ghosts_fini(&ghosts);
}
END_TEST

/* An extent that is evicted a block at a time stays one run. */
START_TEST(blocks_evicted_one_after_the_other_are_one_run)
{
	struct kv_ghosts ghosts;

	kv_ghosts_init(&ghosts, 1000);
	for (uint32_t block = 500; block-- > 0;)
		kv_ghosts_put(&ghosts, 1, block, block + 1, 0);
	ck_assert_uint_eq(ghosts.index.count, 1);
	ck_assert_uint_eq(ghosts.total, 500);
	kv_ghosts_fini(&ghosts);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ghosts");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, runs_remember_what_blocks_one_by_one_would);
	tcase_add_test(tc, an_answer_says_how_far_it_holds);
	tcase_add_test(tc, blocks_evicted_one_after_the_other_are_one_run);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
