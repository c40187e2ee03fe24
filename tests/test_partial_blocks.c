/* TensorRT-LLM's reuse with partly filled blocks, and its retention priorities: scenarios T05 and T07, whose numbers its own unit
 * tests assert. */
#include "config.h"

#include "sim/cache/partial_blocks.h"
#include "tests/support.h"

#define TOKENS_MAX 16

/* Tokens first, first + 1, ..., the last one replaced where `last` is given. */
static uint32_t start(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, uint64_t first, uint32_t tokens,
                      uint64_t last)
{
	uint64_t prompt[TOKENS_MAX];

	for (uint32_t i = 0; i < tokens; i++)
		prompt[i] = first + i;
	if (last != 0)
		prompt[tokens - 1] = last;
	*sequence = (struct kv_partial_sequence){0};
	return kv_partial_start(pool, sequence, prompt, tokens);
}

static void append(struct kv_partial_blocks *pool, struct kv_partial_sequence *sequence, uint64_t first, uint32_t tokens)
{
	for (uint32_t i = 0; i < tokens; i++)
		ck_assert(kv_partial_append(pool, sequence, first + i));
}

static void expect_blocks(const struct kv_partial_sequence *sequence, uint32_t count, const uint32_t *ids)
{
	ck_assert_uint_eq(sequence->blocks, count);
	for (uint32_t i = 0; i < count; i++)
		ck_assert_uint_eq(sequence->block[i], ids[i]);
}

#define EXPECT(sequence, ...) \
	expect_blocks(sequence, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]){__VA_ARGS__})

#define DEFAULT KV_PARTIAL_DEFAULT_PRIORITY

START_TEST(partly_filled_blocks_are_matched)
{
	struct kv_partial_sequence r[6];
	struct kv_partial_blocks pool;

	kv_partial_init(&pool, 8, 4);
	ck_assert_uint_eq(start(&pool, &r[0], 0, 9, 0), 0);
	EXPECT(&r[0], 0, 1, 2);
	append(&pool, &r[0], 9, 2);
	kv_partial_release(&pool, &r[0], DEFAULT, DEFAULT);

	/* The last token of a prompt is computed, so that nothing of the third block is left to match. */
	ck_assert_uint_eq(start(&pool, &r[1], 0, 9, 0), 8);
	EXPECT(&r[1], 0, 1, 3);
	append(&pool, &r[1], 9, 2);
	kv_partial_release(&pool, &r[1], DEFAULT, DEFAULT);

	ck_assert_uint_eq(start(&pool, &r[2], 0, 10, 0), 9);
	EXPECT(&r[2], 0, 1, 2);
	/* The block that would match in part is in use. */
	ck_assert_uint_eq(start(&pool, &r[3], 0, 11, 0), 8);
	EXPECT(&r[3], 0, 1, 4);
	kv_partial_release(&pool, &r[2], DEFAULT, DEFAULT);
	kv_partial_release(&pool, &r[3], DEFAULT, DEFAULT);

	ck_assert_uint_eq(start(&pool, &r[4], 0, 5, 0), 4);
	EXPECT(&r[4], 0, 5);
	ck_assert_uint_eq(start(&pool, &r[5], 0, 11, 11), 10);
	EXPECT(&r[5], 0, 1, 4);
	kv_partial_release(&pool, &r[4], DEFAULT, DEFAULT);
	kv_partial_release(&pool, &r[5], DEFAULT, DEFAULT);
	ck_assert_uint_eq(kv_partial_free(&pool), 8);
	kv_partial_fini(&pool);
}
END_TEST

START_TEST(leaves_of_low_priority_go_first)
{
	struct kv_partial_sequence r[4];
	struct kv_partial_blocks pool;

	kv_partial_init(&pool, 8, 4);
	start(&pool, &r[0], 0, 12, 0);
	append(&pool, &r[0], 1000, 2);
	start(&pool, &r[1], 12, 12, 0);
	append(&pool, &r[1], 2000, 2);
	EXPECT(&r[0], 0, 1, 2, 3);
	EXPECT(&r[1], 4, 5, 6, 7);
	kv_partial_release(&pool, &r[0], 5, 90);
	kv_partial_release(&pool, &r[1], 90, 5);

	ck_assert_uint_eq(start(&pool, &r[2], 24, 12, 0), 0);
	EXPECT(&r[2], 7, 3, 2);
	kv_partial_release(&pool, &r[2], DEFAULT, DEFAULT);
	ck_assert_uint_eq(start(&pool, &r[3], 0, 12, 0), 8);
	kv_partial_release(&pool, &r[3], DEFAULT, DEFAULT);
	kv_partial_fini(&pool);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("partial_blocks");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, partly_filled_blocks_are_matched);
	tcase_add_test(tc, leaves_of_low_priority_go_first);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
