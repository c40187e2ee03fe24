/* What a first token waits for: the queue by resource, and a request's own share of the steps of its prefill. Blocks of
 * 16 tokens, steps of a second. */
#include "config.h"

#include <string.h>

#include <gsl/gsl_rng.h>

#include "sim/engine/simulation.h"
#include "sim/record.h"
#include "tests/support.h"
#include "tests/workload.h"

enum { MOST = 8 };

static struct test_workload workload;
static struct kv_request_record records[MOST];

static void set_up(void)
{
	test_workload_init(&workload);
	workload.config.usable_blocks = 100;
	memset(records, 0, sizeof records);
}

static void tear_down(void)
{
	test_workload_fini(&workload);
}

static void on_request(void *self, const struct kv_request_record *record)
{
	kv_time waited = 0;

	(void)self;
	if (record->index < MOST)
		records[record->index] = *record;
	if (record->admitted == KV_TIME_NONE)
		return;
	for (int i = 0; i < KV_WAIT_RESOURCES; i++) {
		ck_assert_int_ge(record->queue_for[i], 0);
		waited += record->queue_for[i];
	}
	ck_assert_int_eq(waited, record->admitted - record->queued);
	if (record->first_token != KV_TIME_NONE)
		ck_assert_int_le(record->prefill_own, record->first_token - record->admitted);
}

static void run(void)
{
	struct kv_sink sink = {.request = on_request};
	struct kv_run_outcome outcome;

	test_workload_set_caps(&workload);
	test_workload_run(&workload, kv_simulate, &sink, &outcome);
}

static void ask(kv_time arrival, uint32_t prompt, uint32_t output)
{
	struct kv_request plain = {
		.arrival = arrival, .deadline = KV_TIME_NONE, .prompt_tokens = 0, .output_tokens = output,
		.max_tokens = KV_TOKENS_UNSET
	};
	struct kv_request *request = test_workload_add(&workload, &plain);
	char name[32];

	snprintf(name, sizeof name, "doc-%llu", (unsigned long long)request->index);
	test_request_append(request, name, prompt);
}

static void check_queue(uint64_t request, kv_time blocks, kv_time slots, kv_time budget)
{
	ck_assert_int_eq(records[request].queue_for[KV_WAIT_BLOCKS], blocks);
	ck_assert_int_eq(records[request].queue_for[KV_WAIT_SEQUENCE_SLOTS], slots);
	ck_assert_int_eq(records[request].queue_for[KV_WAIT_TOKEN_BUDGET], budget);
}

START_TEST(a_full_batch_makes_the_queue_wait_for_slots)
{
	workload.config.max_num_seqs = 1;
	ask(0, 16, 5);
	ask(0, 16, 1);
	run();
	check_queue(0, 0, 0, 0);
	check_queue(1, 0, 5 * KV_SECOND, 0);
}
END_TEST

/* b fits only when a is gone, and c stands behind b although it would fit. */
START_TEST(a_full_pool_makes_the_queue_wait_for_blocks)
{
	workload.config.usable_blocks = 6;
	ask(0, 64, 4);
	ask(0, 64, 1);
	ask(0, 16, 1);
	run();
	check_queue(1, 4 * KV_SECOND, 0, 0);
	check_queue(2, 4 * KV_SECOND, 0, 0);
}
END_TEST

/* 512 tokens a step: a takes two steps, b arrives in the first and starts with the rest of the second. */
START_TEST(a_step_in_flight_makes_an_arrival_wait_for_tokens)
{
	ask(0, 768, 1);
	ask(KV_SECOND / 4, 256, 1);
	run();
	check_queue(1, 0, 0, 3 * KV_SECOND / 4);
	ck_assert_int_eq(records[0].first_token, 2 * KV_SECOND);
	/* All of the first step, half of the second. */
	ck_assert_int_eq(records[0].prefill_own, 3 * KV_SECOND / 2);
	ck_assert_int_eq(records[1].prefill_own, KV_SECOND / 2);
}
END_TEST

/* Blocks of 16, steps of 17 tokens, a's decodes first: b has computed 1 + 16 + 16 tokens when its fourth block is missing.
 * Its two whole blocks are found again: it computes the 33rd token a second time and the other 31 for the first. */
START_TEST(what_is_computed_again_before_the_first_token_is_not_computed_twice)
{
	workload.config.usable_blocks = 5;
	workload.config.max_num_batched_tokens = 17;
	ask(0, 16, 4);
	ask(0, 64, 3);
	run();
	ck_assert_uint_eq(records[1].preemptions, 1);
	ck_assert_int_gt(records[1].preempted_before_first, 0);
	ck_assert_uint_eq(records[1].cached_tokens, 0);
	ck_assert_uint_eq(records[1].computed_tokens, 64);
	ck_assert_uint_eq(records[1].recomputed_tokens, 1);
}
END_TEST

/* on_request checks each. */
START_TEST(the_parts_of_the_queue_sum_to_it)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);

	for (unsigned long seed = 1; seed <= 50; seed++) {
		kv_time arrival = 0;

		gsl_rng_set(rng, seed);
		tear_down();
		set_up();
		workload.config.usable_blocks = 20 + gsl_rng_uniform_int(rng, 40);
		workload.config.max_num_seqs = 1 + (uint32_t)gsl_rng_uniform_int(rng, 6);
		workload.config.max_num_batched_tokens = 64;
		for (int i = 0; i < 60; i++) {
			arrival += (kv_time)gsl_rng_uniform_int(rng, 3000000000u);
			ask(arrival, 1 + (uint32_t)gsl_rng_uniform_int(rng, 200),
			    1 + (uint32_t)gsl_rng_uniform_int(rng, 20));
		}
		run();
	}
	gsl_rng_free(rng);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("first_token");
	TCase *tc = tcase_create("waiting");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_full_batch_makes_the_queue_wait_for_slots);
	tcase_add_test(tc, a_full_pool_makes_the_queue_wait_for_blocks);
	tcase_add_test(tc, a_step_in_flight_makes_an_arrival_wait_for_tokens);
	tcase_add_test(tc, what_is_computed_again_before_the_first_token_is_not_computed_twice);
	tcase_add_test(tc, the_parts_of_the_queue_sum_to_it);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
