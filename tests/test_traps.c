/* Wrong numbers that comparable tools have printed, each as a case here (numbers in brackets: the list in our reference
 * on traps; the sizes and the command line have theirs elsewhere). Expected values are worked by hand or follow from
 * the workload. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/memory.h"
#include "tests/support.h"
#include "tests/workload.h"

enum { BLOCK = 16, RECORDS = 64 };

/* What one run told: records by index, and sums. */
struct watched {
	struct kv_sink sink;
	struct kv_request_record record[RECORDS];
	struct kv_run_outcome outcome;
	kv_integral pinned_ns, charged_ns;
	kv_time now;
	uint64_t peak_pinned, most_tokens, gaps, tokens_scheduled, outputs;
	unsigned long allocations_at_half, allocations_at_end;
	uint64_t half;
};

static void on_advance(void *self, const struct kv_state *state, kv_time time)
{
	struct watched *watched = self;

	watched->pinned_ns += (kv_integral)state->pinned_blocks * (uint64_t)(time - watched->now);
	watched->now = time;
}

static void on_step(void *self, const struct kv_step *step)
{
	struct watched *watched = self;

	watched->peak_pinned = kv_max(watched->peak_pinned, step->pinned_blocks);
	watched->most_tokens = kv_max(watched->most_tokens, step->scheduled_tokens);
	watched->tokens_scheduled += step->scheduled_tokens;
	watched->outputs += step->output_tokens;
	if (step->number == watched->half)
		watched->allocations_at_half = kv_allocation_count();
	watched->allocations_at_end = kv_allocation_count();
}

static void on_gap(void *self, kv_time gap, uint64_t count)
{
	(void)gap;
	((struct watched *)self)->gaps += count;
}

static void on_request(void *self, const struct kv_request_record *record)
{
	struct watched *watched = self;

	watched->charged_ns += record->block_ns;
	if (record->index < RECORDS)
		watched->record[record->index] = *record;
}

static void watch(const struct test_workload *workload, struct watched *watched)
{
	*watched = (struct watched){.half = watched->half};
	watched->sink = (struct kv_sink){
		.self = watched, .advance = on_advance, .step = on_step, .token_gap = on_gap, .request = on_request
	};
	test_workload_run(workload, kv_simulate, &watched->sink, &watched->outcome);
}

static struct kv_request *add(struct test_workload *workload, double arrival_s, const char *stream, uint32_t prompt,
                              uint32_t output)
{
	struct kv_request request = {
		.arrival = (kv_time)(arrival_s * 1e9), .deadline = KV_TIME_NONE, .output_tokens = output,
		.max_tokens = KV_TOKENS_UNSET
	};
	struct kv_request *added = test_workload_add(workload, &request);

	if (prompt > 0)
		test_request_append(added, stream, prompt);
	return added;
}

/* A pool of so many usable blocks, everything else as vLLM has it. */
static void open_pool(struct test_workload *workload, uint64_t usable)
{
	test_workload_init(workload);
	workload->config.usable_blocks = usable;
	test_workload_set_caps(workload);
}

/* [2] */
START_TEST(a_request_of_exactly_the_pool_is_accepted_and_one_token_more_refused)
{
	for (uint32_t extra = 0; extra < 2; extra++) {
		struct test_workload workload;
		struct watched watched = {0};

		open_pool(&workload, 10);
		workload.config.refuse_impossible = true;
		add(&workload, 0, "a", 10 * BLOCK - 4 + extra, 5);
		watch(&workload, &watched);
		ck_assert_int_eq(watched.record[0].status, extra == 0 ? KV_FINISHED : KV_REFUSED);
		if (extra == 1)
			ck_assert_int_eq(watched.record[0].reason, KV_REASON_CAN_NEVER_FIT);
		test_workload_fini(&workload);
	}
}
END_TEST

/* [2b] The newest token's KV is never computed, so P prompt and G output tokens draw ceil((P + G - 1) / B) blocks. */
START_TEST(what_is_drawn_at_every_page_edge)
{
	for (uint32_t prompt = 1; prompt <= 3 * BLOCK; prompt++)
		for (uint32_t output = 1; output <= 3 * BLOCK; output += 5) {
			struct test_workload workload;
			struct watched watched = {0};

			open_pool(&workload, 20);
			add(&workload, 0, "a", prompt, output);
			watch(&workload, &watched);
			ck_assert_uint_eq(watched.peak_pinned, (prompt + output - 1 + BLOCK - 1) / BLOCK);
			test_workload_fini(&workload);
		}
}
END_TEST

/* [2c, 27, 28] */
START_TEST(around_one_request_s_need_a_pool_finishes_refuses_or_stalls_and_says_so)
{
	for (uint64_t usable = 1; usable < 16; usable++)
		for (int refuse = 0; refuse < 2; refuse++) {
			struct test_workload workload;
			struct watched watched = {0};

			open_pool(&workload, usable);
			workload.config.refuse_impossible = refuse;
			add(&workload, 0, "a", 100, 50);
			add(&workload, 1, "b", 10, 2);
			watch(&workload, &watched);
			/* 149 tokens of KV: ten blocks. */
			if (usable >= 10) {
				ck_assert_uint_eq(watched.outcome.final.finishes, 2);
			} else if (refuse) {
				ck_assert_uint_eq(watched.outcome.final.refusals, 1);
				ck_assert_uint_eq(watched.outcome.final.finishes, 1);
			} else {
				ck_assert(watched.outcome.stalled);
				ck_assert_uint_eq(watched.outcome.stalled_request, 0);
				ck_assert_uint_eq(watched.outcome.stalled_needs_blocks, 10);
				/* The second one is done if it got in before the first grew too large. */
				ck_assert_uint_eq(watched.outcome.unfinished + watched.outcome.final.finishes, 2);
				ck_assert_int_eq(watched.record[0].reason, KV_REASON_STALLED);
			}
			test_workload_fini(&workload);
		}
}
END_TEST

/* [14] */
START_TEST(the_same_block_after_another_prefix_is_no_hit)
{
	struct test_workload workload;
	struct watched watched = {0};

	open_pool(&workload, 100);
	add(&workload, 0, "x", 16, 1);
	test_request_append(&workload.requests[0], "shared", 64);
	add(&workload, 1, "y", 16, 1);
	test_request_append(&workload.requests[1], "shared", 64);
	watch(&workload, &watched);
	ck_assert_uint_eq(watched.outcome.final.hit_tokens, 0);
	test_workload_fini(&workload);
}
END_TEST

/* [15, 31, 49] */
START_TEST(hit_and_computed_make_the_prompt_at_any_chunk_size)
{
	static const uint32_t budgets[] = {1, 7, 16, 33, 100, 1000};
	struct test_workload workload;
	struct watched watched = {0};

	open_pool(&workload, 200);
	workload.config.max_num_batched_tokens = budgets[_i];
	for (int i = 0; i < 6; i++) {
		struct kv_request *request = add(&workload, 40.0 * i, "shared", 100, 3);
		char own[8];

		snprintf(own, sizeof own, "u%d", i);
		test_request_append(request, own, 20);
	}
	watch(&workload, &watched);
	for (int i = 0; i < 6; i++)
		ck_assert_uint_eq(watched.record[i].cached_tokens + watched.record[i].computed_tokens, 120);
	ck_assert_uint_le(watched.most_tokens, budgets[_i]);
	/* Prompts less hits, and every output but the last of each has its KV computed. */
	ck_assert_uint_eq(watched.tokens_scheduled, 6 * 120 - watched.outcome.final.hit_tokens + 6 * 2);
	if (budgets[_i] >= 120)
		ck_assert_uint_eq(watched.outcome.final.hit_tokens, 5 * 96);
	test_workload_fini(&workload);
}
END_TEST

/* [16] */
START_TEST(a_query_is_counted_once_a_request_however_small_the_pool)
{
	static const uint64_t pools[] = {12, 14, 20, 200};
	struct test_workload workload;
	struct watched watched = {0};

	open_pool(&workload, pools[_i]);
	for (int i = 0; i < 8; i++)
		add(&workload, 0, (const char *const[]){"a", "b", "c", "d", "e", "f", "g", "h"}[i], 80, 30);
	watch(&workload, &watched);
	ck_assert_uint_eq(watched.outcome.final.finishes, 8);
	ck_assert_uint_eq(watched.outcome.final.queried_tokens, 8 * 80);
	ck_assert_uint_eq(watched.outcome.final.hit_tokens, 0);
	test_workload_fini(&workload);
}
END_TEST

/* [20] */
START_TEST(without_caching_nothing_is_hit_or_queried)
{
	struct test_workload workload;
	struct watched watched = {0};

	open_pool(&workload, 12);
	test_workload_set_policy(&workload, KV_POLICY_PREFIX, "none");
	for (int i = 0; i < 6; i++)
		add(&workload, i, "same", 80, 30);
	watch(&workload, &watched);
	ck_assert_uint_eq(watched.outcome.final.finishes, 6);
	ck_assert_uint_eq(watched.outcome.final.queried_tokens, 0);
	ck_assert_uint_eq(watched.outcome.final.hit_tokens + watched.outcome.final.readmission_hit_tokens, 0);
	ck_assert_uint_eq(watched.outcome.final.evicted_blocks, 0);
	test_workload_fini(&workload);
}
END_TEST

/* [22] with its control pair. */
START_TEST(two_salts_never_meet_and_one_salt_does)
{
	static const char *const salts[][2] = {{"x", "y"}, {"x", ""}, {"x", "x"}};
	struct test_workload workload;
	struct watched watched = {0};

	open_pool(&workload, 100);
	for (int i = 0; i < 2; i++) {
		struct kv_request request = {
			.arrival = i * KV_SECOND, .deadline = KV_TIME_NONE, .output_tokens = 1,
			.max_tokens = KV_TOKENS_UNSET,
			.salt = salts[_i][i]
		};

		test_request_append(test_workload_add(&workload, &request), "same", 50);
	}
	watch(&workload, &watched);
	ck_assert_uint_eq(watched.outcome.final.hit_tokens, _i == 2 ? 48 : 0);
	test_workload_fini(&workload);
}
END_TEST

/* [26, 29, 33, 34, 38, 40, 41, 46] under heavy preemption. */
START_TEST(sums_hold_while_requests_push_each_other_out)
{
	struct test_workload workload;
	struct watched watched = {0};
	uint64_t outputs = 0;

	open_pool(&workload, 25);
	for (int i = 0; i < 20; i++) {
		char name[8];

		snprintf(name, sizeof name, "n%d", i);
		add(&workload, 0.5 * i, name, 30 + 7 * (uint32_t)i, 40 + (uint32_t)i);
		outputs += 40 + (uint64_t)i;
	}
	watch(&workload, &watched);
	ck_assert_uint_gt(watched.outcome.final.preemptions, 5);
	ck_assert_uint_eq(watched.outcome.final.finishes, 20);
	ck_assert_uint_eq(watched.outputs, outputs);
	ck_assert(watched.pinned_ns == watched.charged_ns);
	for (int i = 0; i < 20; i++) {
		const struct kv_request_record *r = &watched.record[i];

		ck_assert_int_ge(r->admitted, r->queued);
		ck_assert_int_gt(r->first_token, r->admitted);
		ck_assert_int_ge(r->finish, r->first_token);
		ck_assert_int_eq(r->queued, r->arrival);
		ck_assert_int_le(r->preempted_before_first, r->first_token - r->admitted);
		/* Its first token came once, before everything it generated after it. */
		ck_assert_int_le(r->first_token + (kv_time)(r->output_tokens - 1) * KV_SECOND, r->finish);
	}
	test_workload_fini(&workload);
}
END_TEST

/* [32] */
START_TEST(zero_and_one_output_finish_and_have_no_token_gaps)
{
	struct test_workload workload;
	struct watched watched = {0};

	open_pool(&workload, 100);
	add(&workload, 0, "a", 20, 0);
	add(&workload, 0, "b", 20, 1);
	add(&workload, 0, "c", 20, 3);
	watch(&workload, &watched);
	ck_assert_uint_eq(watched.outcome.final.finishes, 3);
	ck_assert_uint_eq(watched.gaps, 2);
	ck_assert_int_eq(watched.record[0].first_token, KV_TIME_NONE);
	ck_assert_int_eq(watched.record[0].finish, KV_SECOND);
	ck_assert_int_eq(watched.record[1].finish, watched.record[1].first_token);
	test_workload_fini(&workload);
}
END_TEST

/* [36] S05: two 80-token prompts in ten blocks; the second is sent away with its 5 blocks when the first wants a
 * sixth. */
START_TEST(a_preemption_frees_exactly_what_only_the_victim_held)
{
	struct test_workload workload;
	struct watched watched = {0};

	open_pool(&workload, 10);
	add(&workload, 0, "a", 80, 30);
	add(&workload, 0, "b", 80, 30);
	watch(&workload, &watched);
	ck_assert_uint_eq(watched.outcome.final.preemptions, 1);
	ck_assert_uint_eq(watched.peak_pinned, 10);
	ck_assert_int_eq(watched.record[0].finish, 30 * KV_SECOND);
	ck_assert_int_eq(watched.record[1].preempted, 29 * KV_SECOND);
	ck_assert_uint_eq(watched.record[1].recomputed_tokens, 32);
	test_workload_fini(&workload);
}
END_TEST

/* [37] */
START_TEST(admission_does_not_see_the_true_output)
{
	static const char *const admissions[] = {"prompt-fits", "greedy", "no-evict"};
	kv_time admitted[2][4];

	for (int variant = 0; variant < 2; variant++) {
		struct test_workload workload;
		struct watched watched = {0};

		open_pool(&workload, 20);
		workload.config.max_model_len = 200;
		test_workload_set_policy(&workload, KV_POLICY_ADMISSION, admissions[_i]);
		for (int i = 0; i < 4; i++)
			add(&workload, 0, (const char *const[]){"a", "b", "c", "d"}[i], 70,
			    (uint32_t)(variant == 0 ? 3 + 20 * i : 63 - 20 * i));
		watch(&workload, &watched);
		for (int i = 0; i < 4; i++)
			admitted[variant][i] = watched.record[i].admitted;
		test_workload_fini(&workload);
	}
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(admitted[0][i] == 0, admitted[1][i] == 0);
}
END_TEST

/* [39, 42] Budget 64: a prompt of 100 takes two steps of a second, its first token comes at the end of the second. */
START_TEST(an_idle_request_takes_the_time_worked_by_hand)
{
	static const struct {
		uint32_t prompt;
		int first_s;
	} table[] = {{64, 1}, {65, 2}, {100, 2}, {128, 2}, {200, 4}};
	struct test_workload workload;
	struct watched watched = {0};

	open_pool(&workload, 100);
	workload.config.max_num_batched_tokens = 64;
	add(&workload, 0, "a", table[_i].prompt, 3);
	watch(&workload, &watched);
	ck_assert_int_eq(watched.record[0].first_token, table[_i].first_s * KV_SECOND);
	ck_assert_int_eq(watched.record[0].finish, (table[_i].first_s + 2) * KV_SECOND);
	test_workload_fini(&workload);
}
END_TEST

/* [35] and the contract that same input gives same output. */
START_TEST(two_runs_tell_the_same)
{
	struct test_workload workload;
	struct watched a = {0};
	struct watched b = {0};

	open_pool(&workload, 25);
	for (int i = 0; i < 12; i++)
		add(&workload, i, i % 2 ? "x" : "y", 90, 20);
	watch(&workload, &a);
	watch(&workload, &b);
	ck_assert_int_eq(memcmp(&a.outcome.final, &b.outcome.final, sizeof a.outcome.final), 0);
	ck_assert(a.pinned_ns == b.pinned_ns);
	test_workload_fini(&workload);
}
END_TEST

/* No allocation inside the step loop once it is warm: the second half of a steady load makes none. */
START_TEST(the_warm_step_loop_allocates_nothing)
{
	struct test_workload workload;
	struct watched watched = {.half = 2000};

	open_pool(&workload, 400);
	for (int i = 0; i < 400; i++) {
		char name[8];

		snprintf(name, sizeof name, "n%d", i % 40);
		add(&workload, 10.0 * i, name, 100 + 3 * (uint32_t)(i % 40), 40);
	}
	watch(&workload, &watched);
	ck_assert_uint_gt(watched.outcome.final.steps, 3000);
	ck_assert_uint_gt(watched.allocations_at_half, 0);
	ck_assert_uint_eq(watched.allocations_at_end, watched.allocations_at_half);
	test_workload_fini(&workload);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("traps");
	TCase *tc = tcase_create("traps");

	tcase_add_test(tc, a_request_of_exactly_the_pool_is_accepted_and_one_token_more_refused);
	tcase_add_test(tc, what_is_drawn_at_every_page_edge);
	tcase_add_test(tc, around_one_request_s_need_a_pool_finishes_refuses_or_stalls_and_says_so);
	tcase_add_test(tc, the_same_block_after_another_prefix_is_no_hit);
	tcase_add_loop_test(tc, hit_and_computed_make_the_prompt_at_any_chunk_size, 0, 6);
	tcase_add_loop_test(tc, a_query_is_counted_once_a_request_however_small_the_pool, 0, 4);
	tcase_add_test(tc, without_caching_nothing_is_hit_or_queried);
	tcase_add_loop_test(tc, two_salts_never_meet_and_one_salt_does, 0, 3);
	tcase_add_test(tc, sums_hold_while_requests_push_each_other_out);
	tcase_add_test(tc, zero_and_one_output_finish_and_have_no_token_gaps);
	tcase_add_test(tc, a_preemption_frees_exactly_what_only_the_victim_held);
	tcase_add_loop_test(tc, admission_does_not_see_the_true_output, 0, 3);
	tcase_add_loop_test(tc, an_idle_request_takes_the_time_worked_by_hand, 0, 5);
	tcase_add_test(tc, two_runs_tell_the_same);
	tcase_add_test(tc, the_warm_step_loop_allocates_nothing);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
