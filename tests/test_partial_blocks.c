/* TensorRT-LLM's reuse with partly filled blocks, and its retention priorities: scenarios T05,
 * T07 and T09, whose numbers its own unit tests assert. */
#include "config.h"

#include "sim/cache/partial_blocks.h"
#include "tests/support.h"

#define PARTS 3

/* A sequence: its prompt's first tokens of streams, and what was appended to it. */
struct request {
	struct kv_partial_sequence sequence;
	struct kv_segment segment[PARTS];
	uint32_t segments, prompt, tokens;
};

static struct kv_token_key key_of(struct kv_segment *memory, const struct request *r, uint32_t tokens)
{
	struct kv_token_key key = {.segment = memory};

	for (; tokens > 0; key.segments++) {
		memory[key.segments] = r->segment[key.segments];
		memory[key.segments].length = (uint32_t)kv_min(memory[key.segments].length, tokens);
		tokens -= memory[key.segments].length;
	}
	return key;
}

static void add(struct request *r, uint64_t stream, uint32_t tokens)
{
	if (tokens == 0)
		return;
	if (r->segments > 0 && r->segment[r->segments - 1].stream == stream)
		r->segment[r->segments - 1].length += tokens;
	else
		r->segment[r->segments++] = (struct kv_segment){.stream = stream, .length = tokens};
	r->tokens += tokens;
}

/* The first `tokens` tokens of a stream, then one of another if `last` is not 0. Returns the position. */
static uint32_t start(struct kv_partial_blocks *pool, struct request *r, uint64_t stream, uint32_t tokens,
                      uint64_t last)
{
	struct kv_segment memory[PARTS];
	struct kv_token_key key;
	uint32_t position;

	*r = (struct request){0};
	add(r, stream, tokens);
	add(r, last, last != 0);
	r->prompt = r->tokens;
	key = key_of(memory, r, r->tokens - 1);
	position = kv_partial_lookup(pool, &key).tokens;
	kv_partial_start(pool, &r->sequence, 0, &key, r->tokens);
	return position;
}

static void append(struct kv_partial_blocks *pool, struct request *r, uint64_t stream, uint32_t tokens)
{
	add(r, stream, tokens);
	while (r->sequence.blocks * pool->block_size < r->tokens)
		kv_partial_take(pool, &r->sequence, 0);
}

static void release(struct kv_partial_blocks *pool, struct request *r, uint8_t context, uint8_t decode)
{
	struct kv_segment memory[PARTS];
	struct kv_token_key key = key_of(memory, r, r->tokens - 1);

	kv_partial_store(pool, &r->sequence, &key, false);
	kv_partial_release(pool, &r->sequence, r->prompt, context, decode);
	kv_partial_sequence_fini(&r->sequence);
}

static void expect_blocks(const struct kv_partial_blocks *pool, const struct request *r, uint32_t count,
                          const uint32_t *ids)
{
	ck_assert_uint_eq(r->sequence.blocks, count);
	for (uint32_t i = 0; i < count; i++)
		ck_assert_uint_eq(kv_partial_hold_at(pool, &r->sequence, i)->block, ids[i]);
}

#define EXPECT(pool, r, ...) \
	expect_blocks(pool, r, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]){__VA_ARGS__})

#define DEFAULT KV_PARTIAL_DEFAULT_PRIORITY

enum { A = 1, B, C, D, E };

START_TEST(partly_filled_blocks_are_matched)
{
	struct kv_partial_blocks pool;
	struct request r[6];

	kv_partial_init(&pool, 8, 4, false);
	ck_assert_uint_eq(start(&pool, &r[0], A, 9, 0), 0);
	EXPECT(&pool, &r[0], 0, 1, 2);
	append(&pool, &r[0], A, 2);
	release(&pool, &r[0], DEFAULT, DEFAULT);

	/* The last token of a prompt is computed, so that nothing of the third block is left to match. */
	ck_assert_uint_eq(start(&pool, &r[1], A, 9, 0), 8);
	EXPECT(&pool, &r[1], 0, 1, 3);
	append(&pool, &r[1], A, 2);
	release(&pool, &r[1], DEFAULT, DEFAULT);

	ck_assert_uint_eq(start(&pool, &r[2], A, 10, 0), 9);
	EXPECT(&pool, &r[2], 0, 1, 2);
	/* The block that would match in part is in use. */
	ck_assert_uint_eq(start(&pool, &r[3], A, 11, 0), 8);
	EXPECT(&pool, &r[3], 0, 1, 4);
	release(&pool, &r[2], DEFAULT, DEFAULT);
	release(&pool, &r[3], DEFAULT, DEFAULT);

	ck_assert_uint_eq(start(&pool, &r[4], A, 5, 0), 4);
	EXPECT(&pool, &r[4], 0, 5);
	ck_assert_uint_eq(start(&pool, &r[5], A, 10, B), 10);
	EXPECT(&pool, &r[5], 0, 1, 4);
	release(&pool, &r[4], DEFAULT, DEFAULT);
	release(&pool, &r[5], DEFAULT, DEFAULT);
	ck_assert_uint_eq(kv_partial_free(&pool), 8);
	kv_partial_fini(&pool);
}
END_TEST

START_TEST(a_part_of_a_block_in_use_is_copied)
{
	struct kv_partial_blocks pool;
	struct request r[3];

	kv_partial_init(&pool, 8, 4, true);
	start(&pool, &r[0], A, 9, 0);
	append(&pool, &r[0], A, 2);
	release(&pool, &r[0], DEFAULT, DEFAULT);
	start(&pool, &r[1], A, 8, B);
	EXPECT(&pool, &r[1], 0, 1, 3);
	/* Block 1 is matched to its third token: it is held, and block 2 follows it. */
	ck_assert_uint_eq(start(&pool, &r[2], A, 7, C), 7);
	EXPECT(&pool, &r[2], 0, 4);
	release(&pool, &r[1], DEFAULT, DEFAULT);
	release(&pool, &r[2], DEFAULT, DEFAULT);
	kv_partial_fini(&pool);
}
END_TEST

START_TEST(leaves_of_low_priority_go_first)
{
	struct kv_partial_blocks pool;
	struct request r[4];

	kv_partial_init(&pool, 8, 4, true);
	start(&pool, &r[0], A, 12, 0);
	append(&pool, &r[0], C, 2);
	start(&pool, &r[1], B, 12, 0);
	append(&pool, &r[1], D, 2);
	EXPECT(&pool, &r[0], 0, 1, 2, 3);
	EXPECT(&pool, &r[1], 4, 5, 6, 7);
	release(&pool, &r[0], 5, 90);
	release(&pool, &r[1], 90, 5);

	ck_assert_uint_eq(start(&pool, &r[2], E, 12, 0), 0);
	EXPECT(&pool, &r[2], 7, 3, 2);
	release(&pool, &r[2], DEFAULT, DEFAULT);
	ck_assert_uint_eq(start(&pool, &r[3], A, 12, 0), 8);
	release(&pool, &r[3], DEFAULT, DEFAULT);
	kv_partial_fini(&pool);
}
END_TEST

/* T09: by priority, then by arrival. */
START_TEST(equal_priorities_go_by_age)
{
	static const uint8_t priority[] = {50, 50, 60, 60, 60, 100, 30, 30, 30, 60, 100, 50};
	static const uint32_t kept_longest_first[] = {5, 10, 2, 3, 4, 9, 0, 1, 11, 6, 7, 8};
	enum { COUNT = sizeof priority / sizeof *priority };
	struct kv_partial_blocks pool;
	struct request r[COUNT], taker;

	kv_partial_init(&pool, COUNT, 4, true);
	for (uint32_t i = 0; i < COUNT; i++)
		start(&pool, &r[i], 100 + i, 4, 0);
	/* What serves the highest first, and of equals the earliest, evicts in the opposite order: released from the
	 * end. */
	for (uint32_t i = COUNT; i-- > 0;)
		release(&pool, &r[i], priority[i], DEFAULT);
	start(&pool, &taker, A, 4 * COUNT, 0);
	for (uint32_t i = 0; i < COUNT; i++)
		ck_assert_uint_eq(kv_partial_hold_at(&pool, &taker.sequence, i)->block,
		                  kept_longest_first[COUNT - 1 - i]);
	release(&pool, &taker, DEFAULT, DEFAULT);
	kv_partial_fini(&pool);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("partial_blocks");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, partly_filled_blocks_are_matched);
	tcase_add_test(tc, a_part_of_a_block_in_use_is_copied);
	tcase_add_test(tc, leaves_of_low_priority_go_first);
	tcase_add_test(tc, equal_priorities_go_by_age);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
