/* Preemption by swap to host memory: a scenario whose times are worked by hand, and what must hold on random ones. */
#include "config.h"

#include <string.h>

#include "tests/random_workload.h"
#include "tests/run_log.h"
#include "tests/support.h"
#include "tests/workload.h"

/* Ten blocks of 16 tokens. Two prompts of 80 tokens take five each in step 0; in step 1 the first needs a sixth, so the
 * second, which has one output, goes. It needs six blocks to go on, which are free when the first has its 30 outputs,
 * behind step 29. A step takes a second, a copied block a tenth of one. */
static void open_scenario(struct test_workload *workload, const char *prefix, uint64_t host_blocks)
{
	test_workload_init(workload);
	workload->config.usable_blocks = 10;
	workload->config.swap = (struct kv_swap_space){.blocks = host_blocks, .block_bytes = 1000, .bandwidth = 10000};
	test_workload_set_caps(workload);
	test_workload_set_policy(workload, KV_POLICY_PREFIX, prefix);
	test_workload_set_policy(workload, KV_POLICY_PREEMPTION, "latest,mode=swap");
}

static void add(struct test_workload *workload, kv_time arrival, const char *stream, uint32_t prompt, uint32_t output)
{
	struct kv_request request = {
		.arrival = arrival, .deadline = KV_TIME_NONE, .output_tokens = output, .max_tokens = KV_TOKENS_UNSET
	};

	test_request_append(test_workload_add(workload, &request), stream, prompt);
}

static void run_pair(struct run_log *log, struct test_workload *workload)
{
	add(workload, 0, "a", 80, 30);
	add(workload, 0, "b", 80, 3);
	workload->options.check = true;
	run_log_make(log, workload, kv_simulate, true);
}

static const struct kv_request_record *record_of(const struct run_log *log, uint64_t index)
{
	for (size_t i = 0; i < log->record_count; i++)
		if (log->records[i].index == index)
			return &log->records[i];
	ck_abort_msg("no record of request %llu", (unsigned long long)index);
}

static const struct logged_event *event_of(const struct run_log *log, enum kv_event_kind kind)
{
	for (size_t i = 0; i < log->event_count; i++)
		if (log->events[i].kind == (uint64_t)kind)
			return &log->events[i];
	return NULL;
}

#define TENTHS(n) ((n) * KV_SECOND / 10)

/* Steps 0 to 29 last 30 s and five blocks out; step 30 a second and five blocks in; then the third output. */
START_TEST(a_victim_keeps_what_it_computed_and_pays_for_two_copies)
{
	struct test_workload workload;
	struct run_log log;
	const struct kv_request_record *victim;
	const struct kv_swap_state *swap;

	open_scenario(&workload, "none", 5);
	run_pair(&log, &workload);
	victim = record_of(&log, 1);
	swap = &log.outcome.final.swap;
	ck_assert_int_eq(record_of(&log, 0)->finish, TENTHS(305));
	ck_assert_int_eq(victim->first_token, TENTHS(10));
	ck_assert_int_eq(victim->finish, TENTHS(330));
	ck_assert_int_eq(victim->preempted, TENTHS(295));
	ck_assert_int_eq(victim->swapped, TENTHS(295));
	ck_assert_uint_eq(victim->swaps, 1);
	ck_assert_uint_eq(victim->recomputed_tokens, 0);
	ck_assert_uint_eq(log.outcome.final.preemptions, 1);
	ck_assert_uint_eq(swap->outs, 1);
	ck_assert_uint_eq(swap->ins, 1);
	ck_assert_uint_eq(swap->blocks_out, 5);
	ck_assert_uint_eq(swap->blocks_in, 5);
	ck_assert_uint_eq(swap->ns, TENTHS(10));
	ck_assert_uint_eq(log.outcome.final.prefill_tokens, 160);
	ck_assert_uint_eq(log.outcome.final.decode_tokens, 29 + 2);
	run_log_fini(&log);
	test_workload_fini(&workload);
}
END_TEST

/* The first takes a block in step 1 and another in step 17: the victim's last two are evicted, three remain. */
START_TEST(what_is_still_cached_at_the_return_is_not_copied_back)
{
	struct test_workload workload;
	struct run_log log;
	const struct kv_swap_state *swap;

	open_scenario(&workload, "block-hash", 5);
	run_pair(&log, &workload);
	swap = &log.outcome.final.swap;
	ck_assert_uint_eq(swap->blocks_out, 5);
	ck_assert_uint_eq(swap->blocks_found, 3);
	ck_assert_uint_eq(swap->blocks_in, 2);
	ck_assert_int_eq(record_of(&log, 1)->finish, TENTHS(327));
	ck_assert_uint_eq(log.outcome.final.readmission_queried_tokens, 0);
	run_log_fini(&log);
	test_workload_fini(&workload);
}
END_TEST

/* As without swap: the victim comes back in step 30 and computes 81 tokens, 80 of them again. */
START_TEST(without_room_for_the_whole_victim_it_is_recomputed_and_counted)
{
	struct test_workload workload;
	struct run_log log;
	const struct kv_swap_state *swap;

	open_scenario(&workload, "none", 4);
	run_pair(&log, &workload);
	swap = &log.outcome.final.swap;
	ck_assert_uint_eq(swap->host_full, 1);
	ck_assert_uint_eq(swap->outs + swap->blocks_out + swap->ns, 0);
	ck_assert_uint_eq(record_of(&log, 1)->recomputed_tokens, 80);
	ck_assert_int_eq(record_of(&log, 1)->swapped, 0);
	ck_assert_int_eq(record_of(&log, 1)->finish, TENTHS(320));
	ck_assert_str_eq(event_of(&log, KV_EVENT_PREEMPT)->detail, "host_full");
	ck_assert_ptr_null(event_of(&log, KV_EVENT_SWAP_OUT));
	run_log_fini(&log);
	test_workload_fini(&workload);
}
END_TEST

/* Four blocks are free from step 1 on, and one would do. */
START_TEST(nobody_is_admitted_while_somebody_is_swapped_out)
{
	struct test_workload workload;
	struct run_log log;

	open_scenario(&workload, "none", 5);
	add(&workload, 0, "a", 80, 30);
	add(&workload, 0, "b", 80, 3);
	add(&workload, 2 * KV_SECOND, "c", 10, 1);
	run_log_make(&log, &workload, kv_simulate, true);
	ck_assert_int_eq(record_of(&log, 2)->admitted, TENTHS(305));
	run_log_fini(&log);
	test_workload_fini(&workload);
}
END_TEST

/* Three prompts of 64 tokens fill twelve blocks in step 0. Each needs a fifth in step 1, so the third goes; a seventh
 * in step 33, so the second goes. Then five blocks are free: enough for the third, but not for the second, which is
 * before it. The first has its 40 outputs behind step 39. */
START_TEST(those_that_are_out_return_in_order_of_arrival)
{
	static const struct {
		enum kv_event_kind kind;
		uint64_t step, request, blocks;
	} expected[] = {
		{KV_EVENT_SWAP_OUT, 1, 2, 4},
		{KV_EVENT_SWAP_OUT, 33, 1, 6},
		{KV_EVENT_SWAP_IN, 40, 1, 6},
		{KV_EVENT_SWAP_IN, 40, 2, 4},
	};
	struct test_workload workload;
	struct run_log log;
	size_t found = 0;

	open_scenario(&workload, "none", 10);
	workload.config.usable_blocks = 12;
	add(&workload, 0, "a", 64, 40);
	add(&workload, 0, "b", 64, 40);
	add(&workload, 0, "c", 64, 10);
	run_log_make(&log, &workload, kv_simulate, true);
	for (size_t i = 0; i < log.event_count; i++) {
		const struct logged_event *event = &log.events[i];

		if (event->kind != KV_EVENT_SWAP_OUT && event->kind != KV_EVENT_SWAP_IN)
			continue;
		ck_assert_uint_lt(found, sizeof expected / sizeof expected[0]);
		ck_assert_uint_eq(event->kind, expected[found].kind);
		ck_assert_uint_eq(event->step, expected[found].step);
		ck_assert_uint_eq(event->request, expected[found].request);
		ck_assert_uint_eq(event->blocks, expected[found++].blocks);
	}
	ck_assert_uint_eq(found, sizeof expected / sizeof expected[0]);
	run_log_fini(&log);
	test_workload_fini(&workload);
}
END_TEST

/* --- random workloads --------------------------------------------------------------------------------------------- */

enum { SEEDS = 3000 };

static bool swaps(const struct test_workload *workload)
{
	return strstr(workload->policy[KV_POLICY_PREEMPTION], "mode=swap") != NULL;
}

START_TEST(with_ample_host_memory_no_token_is_computed_twice)
{
	unsigned seen = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct test_workload workload;
		struct run_log log;

		test_workload_random(&workload, seed);
		workload.config.swap.blocks = 1000000;
		if (swaps(&workload)) {
			run_log_make(&log, &workload, kv_simulate, false);
			for (size_t i = 0; i < log.record_count; i++)
				ck_assert_msg(log.records[i].recomputed_tokens == 0, "seed %llu",
				              (unsigned long long)seed);
			ck_assert_uint_eq(log.outcome.final.swap.host_full, 0);
			ck_assert_uint_eq(log.outcome.final.swap.outs, log.outcome.final.preemptions);
			seen += log.outcome.final.swap.outs > 0;
			run_log_fini(&log);
		}
		test_workload_fini(&workload);
	}
	ck_assert_uint_gt(seen, 50);
}
END_TEST

static void run_mode(struct test_workload *workload, const char *preemption, struct run_log *log)
{
	test_workload_set_policy(workload, KV_POLICY_PREEMPTION, preemption);
	run_log_make(log, workload, kv_simulate, false);
}

static uint64_t computed_tokens(const struct run_log *log)
{
	return log->outcome.final.prefill_tokens + log->outcome.final.decode_tokens;
}

static uint64_t recomputed_tokens(const struct run_log *log)
{
	uint64_t tokens = 0;

	for (size_t i = 0; i < log->record_count; i++)
		tokens += log->records[i].recomputed_tokens;
	return tokens;
}

/* Where any prompt fits a step and copies take no time, a return takes one step either way: requests run in the same
 * steps, and what is not computed again is all that differs. (With fewer tokens a step a return by recompute takes
 * several, others are admitted at other times, and either may end first.) */
START_TEST(over_an_infinite_link_with_tokens_to_spare_only_recomputation_is_saved)
{
	unsigned seen = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct test_workload workload;
		struct run_log swapped, recomputed;

		test_workload_random(&workload, seed);
		workload.config.swap = (struct kv_swap_space){.blocks = 1000000,
		                                              .block_bytes = 1,
		                                              .bandwidth = UINT64_MAX};
		workload.config.max_num_batched_tokens = 1000000;
		workload.config.long_prefill_token_threshold = 0;
		workload.roofline = NULL;
		test_workload_set_policy(&workload, KV_POLICY_SCHEDULING, "fcfs");
		test_workload_set_policy(&workload, KV_POLICY_ADMISSION, "prompt-fits");
		test_workload_set_policy(&workload, KV_POLICY_PREFIX, "none");
		if (swaps(&workload)) {
			run_mode(&workload, "latest,mode=swap", &swapped);
			run_mode(&workload, "latest", &recomputed);
			ck_assert_msg(swapped.outcome.final.steps == recomputed.outcome.final.steps &&
			                      swapped.outcome.final.finishes == recomputed.outcome.final.finishes &&
			                      swapped.outcome.end == recomputed.outcome.end &&
			                      computed_tokens(&swapped) + recomputed_tokens(&recomputed) ==
			                              computed_tokens(&recomputed),
			              "seed %llu: %llu and %llu steps", (unsigned long long)seed,
			              (unsigned long long)swapped.outcome.final.steps,
			              (unsigned long long)recomputed.outcome.final.steps);
			seen += swapped.outcome.final.swap.ins > 0;
			run_log_fini(&swapped);
			run_log_fini(&recomputed);
		}
		test_workload_fini(&workload);
	}
	ck_assert_uint_gt(seen, 50);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("swap");
	TCase *worked = tcase_create("worked by hand");
	TCase *random = tcase_create("random workloads");

	tcase_add_test(worked, a_victim_keeps_what_it_computed_and_pays_for_two_copies);
	tcase_add_test(worked, what_is_still_cached_at_the_return_is_not_copied_back);
	tcase_add_test(worked, without_room_for_the_whole_victim_it_is_recomputed_and_counted);
	tcase_add_test(worked, nobody_is_admitted_while_somebody_is_swapped_out);
	tcase_add_test(worked, those_that_are_out_return_in_order_of_arrival);
	suite_add_tcase(suite, worked);
	tcase_add_test(random, with_ample_host_memory_no_token_is_computed_twice);
	tcase_add_test(random, over_an_infinite_link_with_tokens_to_spare_only_recomputation_is_saved);
	tcase_set_timeout(random, 60);
	suite_add_tcase(suite, random);
	return kv_run_suite(suite);
}
