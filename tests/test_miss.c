/* Why prompt tokens are not hit. Blocks of 16 tokens; a request a step unless said otherwise, one output each. The last
 * token of a prompt is never looked up (engine-semantics 1.4). */
#include "config.h"

#include <string.h>

#include <gsl/gsl_rng.h>

#include "sim/engine/simulation.h"
#include "sim/record.h"
#include "tests/support.h"
#include "tests/workload.h"

enum { MOST = 64 };

static struct test_workload workload;
static struct kv_miss miss[MOST];
static enum kv_miss_reason main_reason[MOST];
static struct kv_state final;

static void set_up(void)
{
	test_workload_init(&workload);
	workload.config.usable_blocks = 100;
	memset(miss, 0, sizeof miss);
}

static void tear_down(void)
{
	test_workload_fini(&workload);
}

static void on_miss(void *self, const struct kv_miss *told)
{
	uint64_t sum = told->hit_tokens;

	(void)self;
	for (int i = 0; i < KV_MISS_REASONS; i++)
		sum += told->tokens[i];
	ck_assert_uint_eq(sum, told->prompt_tokens);
	if (told->request < MOST)
		miss[told->request] = *told;
}

static void on_request(void *self, const struct kv_request_record *record)
{
	(void)self;
	if (record->index < MOST)
		main_reason[record->index] = record->miss_reason;
}

static void run(void)
{
	struct kv_sink sink = {.miss = on_miss, .request = on_request};
	struct kv_run_outcome outcome;

	test_workload_set_caps(&workload);
	test_workload_run(&workload, kv_simulate, &sink, &outcome);
	final = outcome.final;
}

/* "doc:32 question:20" under a salt, at its step. */
static struct kv_request *ask_at(uint64_t step, const char *salt, const char *prompt)
{
	struct kv_request plain = {
		.arrival = (kv_time)step * KV_SECOND, .deadline = KV_TIME_NONE, .output_tokens = 1,
		.max_tokens = KV_TOKENS_UNSET, .salt = salt
	};
	struct kv_request *request = test_workload_add(&workload, &plain);
	char copy[128];

	snprintf(copy, sizeof copy, "%s", prompt);
	for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
		char *colon = strrchr(word, ':');

		*colon = '\0';
		test_request_append(request, word, (uint32_t)atoi(colon + 1));
	}
	return request;
}

static void ask(const char *prompt)
{
	ask_at(workload.count, "", prompt);
}

static void check(uint64_t request, uint32_t hit, const char *expected)
{
	char found[200] = "";
	size_t used = 0;

	for (int i = 0; i < KV_MISS_REASONS; i++)
		if (miss[request].tokens[i] > 0)
			used += (size_t)snprintf(found + used, sizeof found - used, "%s%s %u", used > 0 ? ", " : "",
			                         kv_miss_reason_name(i), miss[request].tokens[i]);
	ck_assert_str_eq(found, expected);
	ck_assert_uint_eq(miss[request].hit_tokens, hit);
}

START_TEST(what_nobody_had_was_never_seen)
{
	ask("a:40");
	run();
	check(0, 0, "never_seen 40");
	ck_assert_int_eq(main_reason[0], KV_MISS_NEVER_SEEN);
	ck_assert_uint_eq(miss[0].new_segment, 0);
}
END_TEST

START_TEST(the_last_block_of_an_aligned_prompt_is_recomputed_by_rule)
{
	ask("a:64");
	ask("a:64");
	run();
	check(1, 48, "recompute_rule 16");
}
END_TEST

START_TEST(an_equal_rest_of_less_than_a_block_is_a_partial_block)
{
	ask("a:50");
	ask("a:50");
	run();
	check(1, 48, "partial_block 2");
}
END_TEST

/* Tokens 32..39 of the shared segment stand in a block with the question. */
START_TEST(a_shared_segment_that_ends_inside_a_block_loses_its_last_tokens)
{
	ask("s:40 u:24");
	ask("s:40 v:24");
	run();
	check(1, 32, "never_seen 24, partial_block 8");
	ck_assert_uint_eq(miss[1].new_segment, 1);
	ck_assert_uint_eq(miss[1].new_token, 40);
}
END_TEST

START_TEST(what_had_to_make_room_was_evicted)
{
	workload.config.usable_blocks = 4;
	ask("a:64");
	ask("b:64");
	ask("a:64");
	run();
	check(2, 0, "evicted 64");
	/* b took its blocks in step 1. */
	ck_assert_int_eq(miss[2].evicted_ago, KV_SECOND);
	ck_assert_int_eq(main_reason[2], KV_MISS_EVICTED);
}
END_TEST

/* Eviction takes the tail first: two of the four blocks of a remain. */
START_TEST(what_is_left_of_evicted_content_is_hit)
{
	workload.config.usable_blocks = 6;
	ask("a:64");
	ask("b:50");
	ask("a:64");
	run();
	check(2, 32, "evicted 32");
}
END_TEST

START_TEST(another_salt_or_none_is_another_key)
{
	ask_at(0, "x", "a:64");
	ask_at(1, "y", "a:64");
	ask_at(2, "", "a:64");
	ask_at(3, "x", "a:64");
	ask_at(4, "", "b:64");
	ask_at(5, "x", "b:64");
	run();
	check(0, 0, "never_seen 64");
	check(1, 0, "other_key 64");
	check(2, 0, "other_key 64");
	check(3, 48, "recompute_rule 16");
	check(5, 0, "other_key 64");
}
END_TEST

/* Prompts that fill no block, and last segments that do not, are the same content at the same place all the same. */
START_TEST(a_repeated_short_piece_is_a_partial_block)
{
	ask("a:10");
	ask("a:10");
	ask("a:12");
	ask("doc:32 q:5");
	ask("doc:32 q:5");
	ask("doc:32 q:7");
	ask("doc:33 q:5");
	run();
	check(0, 0, "never_seen 10");
	check(1, 0, "partial_block 10");
	check(2, 0, "never_seen 2, partial_block 10");
	check(3, 0, "never_seen 37");
	check(4, 32, "partial_block 5");
	check(5, 32, "never_seen 2, partial_block 5");
	check(6, 32, "never_seen 1, diverged 5");
}
END_TEST

START_TEST(a_document_behind_a_changed_beginning_has_diverged)
{
	ask("policy@v1:32 doc:64");
	ask("policy@v2:32 doc:80");
	run();
	check(1, 0, "never_seen 48, diverged 64");
	ck_assert_uint_eq(miss[1].new_segment, 0);
	ck_assert_uint_eq(miss[1].new_token, 0);
}
END_TEST

/* a computes 16 tokens a step; b finds the first 16 in the same step, the rest is on its way. */
START_TEST(content_that_is_still_being_computed_comes_too_late)
{
	workload.config.long_prefill_token_threshold = 16;
	ask_at(0, "", "a:64");
	ask_at(0, "", "a:64");
	run();
	check(1, 16, "too_late 48");
}
END_TEST

/* 40 tokens of the document were there before: two blocks, and 8 tokens of a third that was never whole. */
START_TEST(what_a_longer_document_adds_was_never_seen)
{
	ask("doc:40");
	ask("doc:100");
	ask("doc:110");
	run();
	check(1, 32, "never_seen 60, partial_block 8");
	ck_assert_int_eq(main_reason[1], KV_MISS_NEVER_SEEN);
	ck_assert_uint_eq(miss[1].new_segment, 0);
	ck_assert_uint_eq(miss[1].new_token, 40);
	check(2, 96, "never_seen 10, partial_block 4");
}
END_TEST

/* Of the first 64 tokens, which the other request computes 16 a step, one block is there. */
START_TEST(what_a_longer_document_adds_does_not_come_too_late)
{
	workload.config.long_prefill_token_threshold = 16;
	ask_at(0, "", "doc:64");
	ask_at(0, "", "doc:128");
	run();
	check(1, 16, "never_seen 64, too_late 48");
}
END_TEST

START_TEST(a_second_turn_reuses_what_the_first_generated)
{
	ask_at(0, "", "a:40")->output_tokens = 30;
	workload.requests[0].output_nameable = true;
	workload.requests[0].id = strdup("first");
	ask_at(40, "", "a:40 @first:30 b:10");
	run();
	/* 69 of 70 tokens were computed: 4 blocks. */
	check(1, 64, "never_seen 10, partial_block 6");
}
END_TEST

START_TEST(a_window_that_lost_its_blocks_limits_full_attention)
{
	workload.config.groups = 2;
	workload.config.group[1] = (struct kv_group){.kind = KV_GROUP_SLIDING_WINDOW, .window = 32, .block_size = 16};
	ask("a:128");
	ask("a:96 b:32");
	run();
	/* The window keeps what leads to the end of the prompt only; the first 96 tokens are there for full
	 * attention. */
	check(1, 0, "never_seen 32, window 96");
}
END_TEST

START_TEST(nothing_is_told_without_prefix_caching)
{
	test_workload_set_policy(&workload, KV_POLICY_PREFIX, "none");
	ask("a:40");
	run();
	ck_assert_uint_eq(miss[0].prompt_tokens, 0);
	ck_assert_int_eq(main_reason[0], KV_MISS_REASONS);
}
END_TEST

/* on_miss checks each sum; the pool is small enough to evict and preempt all the time. */
START_TEST(tokens_by_reason_sum_to_queried_minus_hit)
{
	static const char *const salts[] = {"", "", "x", "y"};
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);

	for (unsigned long seed = 1; seed <= 50; seed++) {
		gsl_rng_set(rng, seed);
		tear_down();
		set_up();
		workload.config.usable_blocks = 12 + gsl_rng_uniform_int(rng, 30);
		for (int i = 0; i < 40; i++) {
			char prompt[128];

			snprintf(prompt, sizeof prompt, "s%lu:%lu d%lu:%lu u%lu:%lu", gsl_rng_uniform_int(rng, 2),
			         1 + gsl_rng_uniform_int(rng, 40), gsl_rng_uniform_int(rng, 4),
			         1 + gsl_rng_uniform_int(rng, 60), gsl_rng_uniform_int(rng, 9),
			         1 + gsl_rng_uniform_int(rng, 30));
			ask_at((uint64_t)i / 2, salts[gsl_rng_uniform_int(rng, 4)], prompt)->output_tokens =
				1 + (uint32_t)gsl_rng_uniform_int(rng, 20);
		}
		run();
		ck_assert_uint_eq(final.arrivals, 40);
	}
	gsl_rng_free(rng);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("miss");
	TCase *tc = tcase_create("reasons");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, what_nobody_had_was_never_seen);
	tcase_add_test(tc, the_last_block_of_an_aligned_prompt_is_recomputed_by_rule);
	tcase_add_test(tc, an_equal_rest_of_less_than_a_block_is_a_partial_block);
	tcase_add_test(tc, a_shared_segment_that_ends_inside_a_block_loses_its_last_tokens);
	tcase_add_test(tc, what_had_to_make_room_was_evicted);
	tcase_add_test(tc, what_is_left_of_evicted_content_is_hit);
	tcase_add_test(tc, another_salt_or_none_is_another_key);
	tcase_add_test(tc, a_repeated_short_piece_is_a_partial_block);
	tcase_add_test(tc, a_document_behind_a_changed_beginning_has_diverged);
	tcase_add_test(tc, content_that_is_still_being_computed_comes_too_late);
	tcase_add_test(tc, what_a_longer_document_adds_was_never_seen);
	tcase_add_test(tc, what_a_longer_document_adds_does_not_come_too_late);
	tcase_add_test(tc, a_second_turn_reuses_what_the_first_generated);
	tcase_add_test(tc, a_window_that_lost_its_blocks_limits_full_attention);
	tcase_add_test(tc, nothing_is_told_without_prefix_caching);
	tcase_add_test(tc, tokens_by_reason_sum_to_queried_minus_hit);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
