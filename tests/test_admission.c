/* Admission policies by their hooks: SGLang's arithmetic (scenarios G10 to G20), doors, what is learnt from the
 * past. */
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "sim/policy.h"
#include "tests/support.h"

static struct kv_policy_use use(const char *text)
{
	struct kv_policy_use chosen;
	struct kv_error err;

	ck_assert_msg(kv_policy_parse(KV_POLICY_ADMISSION, text, &chosen, &err) == 0, "%s", err.text);
	return chosen;
}

static bool admits(const struct kv_policy_use *chosen, const struct kv_admission_view *view)
{
	return chosen->policy->hooks.admission.admit(chosen->state, view) == KV_ADMIT;
}

static bool enters(struct kv_policy_use *chosen, const struct kv_arrival_view *view)
{
	return chosen->policy->hooks.admission.arrive(chosen->state, view) == KV_ADMIT;
}

static double reserved_for(const struct kv_policy_use *chosen, uint32_t prompt, uint32_t generated, uint32_t max_new,
                           bool fresh, uint32_t page)
{
	struct kv_request_view view = {
		.prompt_tokens = prompt, .known_tokens = prompt + generated, .max_total_tokens = prompt + max_new,
		.computed_tokens = fresh ? 0 : prompt + generated - 1, .fresh = fresh
	};

	return chosen->policy->hooks.admission.reserve(chosen->state, &view, page);
}

static struct kv_admission_view request(uint32_t input, uint32_t max_new, uint64_t pool, uint64_t free_slots)
{
	return (struct kv_admission_view){
		.request = { .prompt_tokens = input, .known_tokens = input, .max_total_tokens = input + max_new },
		.free_blocks = free_slots, .pool_blocks = pool, .block_tokens = 1, .groups = 1, .need_whole = input
	};
}

static void pass_steps(struct kv_policy_use *chosen, int count)
{
	struct kv_running_view view = { .running = 1 };

	for (int i = 0; i < count; i++)
		chosen->policy->hooks.admission.step(chosen->state, &view);
}

/* Eight running requests of 500 + 24 tokens that may generate 1,024 each, in a pool of 10,000. */
START_TEST(growth_ratio_refuses_beside_a_full_reserve_g10)
{
	struct kv_policy_use chosen = use("growth-ratio");
	struct kv_admission_view view = request(1000, 512, 10000, 5808);

	view.reserved = 8 * reserved_for(&chosen, 500, 24, 1024, false, 1);
	ck_assert_double_eq_tol(view.reserved, 5600, 1e-9);
	ck_assert(!admits(&chosen, &view));
	kv_policy_use_fini(&chosen);
}
END_TEST

START_TEST(growth_ratio_of_a_lower_ratio_admits_two)
{
	struct kv_policy_use chosen = use("growth-ratio,initial=0.3");
	struct kv_admission_view view = request(1000, 512, 10000, 5808);
	int admitted = 0;

	view.reserved = 8 * reserved_for(&chosen, 500, 24, 1024, false, 1);
	ck_assert_double_eq_tol(view.reserved, 2400, 1e-9);
	while (admits(&chosen, &view)) {
		admitted++;
		view.free_blocks -= 1000;
		view.reserved += reserved_for(&chosen, 1000, 0, 512, true, 1);
	}
	ck_assert_int_eq(admitted, 2);
	ck_assert_double_eq_tol((double)view.free_blocks - view.reserved, 382, 1e-9);
	kv_policy_use_fini(&chosen);
}
END_TEST

START_TEST(growth_ratio_needs_strictly_less_than_there_is_g12)
{
	struct kv_policy_use chosen = use("growth-ratio");
	struct kv_admission_view view = request(99, 100, 10000, 200);

	ck_assert(!admits(&chosen, &view));
	view.free_blocks = 201;
	ck_assert(admits(&chosen, &view));
	kv_policy_use_fini(&chosen);
}
END_TEST

/* Page 16, prompt 500, max_new 100: 512 slots are taken, 100 + 16 held back; 10,000 - 628 = 9,372. */
START_TEST(growth_ratio_charges_what_starts_in_full_g14)
{
	struct kv_policy_use chosen = use("growth-ratio");

	ck_assert_double_eq(reserved_for(&chosen, 500, 0, 100, true, 16), 116);
	ck_assert_double_eq(reserved_for(&chosen, 500, 0, 100000, true, 16), 4096 + 16);
	kv_policy_use_fini(&chosen);
}
END_TEST

START_TEST(growth_ratio_decays_and_is_set_anew_by_retraction_g17)
{
	struct kv_policy_use chosen = use("growth-ratio"), careful = use("growth-ratio,conservativeness=2");
	struct kv_running_view retraction = { .running = 4, .preempted = true, .generated = 400, .allowed = 4000 };

	ck_assert_double_eq_tol(reserved_for(&chosen, 1, 1, 1001, false, 1), 700, 1e-9);
	pass_steps(&chosen, 100);
	ck_assert_double_eq_tol(reserved_for(&chosen, 1, 1, 1001, false, 1), 599.67, 0.005);
	pass_steps(&chosen, 499);
	ck_assert_double_gt(reserved_for(&chosen, 1, 1, 1001, false, 1), 98.5);
	pass_steps(&chosen, 1);
	ck_assert_double_eq_tol(reserved_for(&chosen, 1, 1, 1001, false, 1), 98, 1e-6);
	pass_steps(&chosen, 1000);
	ck_assert_double_eq_tol(reserved_for(&chosen, 1, 1, 1001, false, 1), 98, 1e-6);
	chosen.policy->hooks.admission.step(chosen.state, &retraction);
	ck_assert_double_eq_tol(reserved_for(&chosen, 1, 1, 1001, false, 1), 119.97, 0.005);
	ck_assert_double_eq_tol(reserved_for(&careful, 1, 1, 1001, false, 1), 1000, 1e-9);
	kv_policy_use_fini(&chosen);
	kv_policy_use_fini(&careful);
}
END_TEST

/* Pool 1,000, input 900: of 500 outputs 98 are counted, and 900 + 98 + 1 < 1,000. */
START_TEST(growth_ratio_can_admit_every_request_alone_g20)
{
	struct kv_policy_use chosen = use("growth-ratio");
	struct kv_admission_view view = request(900, 500, 1000, 1000);

	ck_assert(admits(&chosen, &view));
	view.free_blocks = 999;
	ck_assert(!admits(&chosen, &view));
	kv_policy_use_fini(&chosen);
}
END_TEST

START_TEST(a_hit_is_not_needed_again_but_leaves_the_free_blocks)
{
	struct kv_policy_use chosen = use("growth-ratio");
	struct kv_admission_view view = request(99, 100, 10000, 201);

	view.hit_tokens = 50;
	view.hit_evictable = 50;
	ck_assert(admits(&chosen, &view));
	view.free_blocks = 200;
	ck_assert(!admits(&chosen, &view));
	view.hit_evictable = 0;
	ck_assert(admits(&chosen, &view));
	kv_policy_use_fini(&chosen);
}
END_TEST

START_TEST(reserve_fraction_learns_from_what_has_finished)
{
	struct kv_policy_use chosen = use("reserve-fraction,fraction=0.5,learn=2");
	struct kv_request_view done = { .prompt_tokens = 10, .known_tokens = 40 };

	ck_assert_double_eq(reserved_for(&chosen, 10, 10, 1010, false, 1), 500);
	chosen.policy->hooks.admission.note(chosen.state, KV_COMPLETED, &done);
	chosen.policy->hooks.admission.note(chosen.state, KV_PREEMPTED, &done);
	ck_assert_double_eq(reserved_for(&chosen, 10, 10, 1010, false, 1), 500);
	done.known_tokens = 60;
	chosen.policy->hooks.admission.note(chosen.state, KV_COMPLETED, &done);
	/* Outputs of 30 and 50: 40 on average, of which 10 are there. */
	ck_assert_double_eq(reserved_for(&chosen, 10, 10, 1010, false, 1), 15);
	ck_assert_double_eq(reserved_for(&chosen, 10, 100, 1010, false, 1), 0);
	ck_assert_double_eq(reserved_for(&chosen, 10, 10, 12, false, 1), 1);
	kv_policy_use_fini(&chosen);
}
END_TEST

START_TEST(a_full_queue_refuses)
{
	struct kv_policy_use chosen = use("queue-limit,requests=3,tokens=100");
	struct kv_arrival_view view = { .request.known_tokens = 40, .waiting = 2, .waiting_tokens = 60 };

	ck_assert(enters(&chosen, &view));
	view.waiting_tokens = 61;
	ck_assert(!enters(&chosen, &view));
	view.waiting_tokens = 0;
	view.waiting = 3;
	ck_assert(!enters(&chosen, &view));
	kv_policy_use_fini(&chosen);
}
END_TEST

START_TEST(a_bucket_a_tenant_fills_with_time)
{
	struct kv_policy_use chosen = use("rate-limit,rate=2,burst=2");
	struct kv_arrival_view view = { .request.tenant = 7 };
	static const struct {
		uint64_t tenant;
		double at;
		bool entered;
	} steps[] = { { 7, 0, true },   { 7, 0, true },    { 7, 0, false },  { 8, 0, true }, { 7, 0.4, false },
		      { 7, 0.5, true }, { 7, 0.9, false }, { 7, 100, true }, { 7, 100, true }, { 7, 100, false } };

	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		view.request.tenant = steps[i].tenant;
		view.now = (kv_time)(steps[i].at * 1e9);
		ck_assert_msg(enters(&chosen, &view) == steps[i].entered, "step %zu", i);
	}
	kv_policy_use_fini(&chosen);
}
END_TEST

/* 1,000 prompt tokens took 2 s; 300 wait before 200 of its own: 1 s is expected. */
START_TEST(what_is_late_at_the_pace_so_far_is_refused)
{
	struct kv_policy_use chosen = use("deadline"), easy = use("deadline,margin=0.5");
	struct kv_arrival_view view = {
		.request = { .known_tokens = 200, .deadline = 10 * KV_SECOND }, .now = 9 * KV_SECOND,
		.waiting_tokens = 300,
		.prefill_tokens = 1000, .busy = 2 * KV_SECOND
	};

	ck_assert(enters(&chosen, &view));
	view.now++;
	ck_assert(!enters(&chosen, &view));
	ck_assert(enters(&easy, &view));
	view.prefill_tokens = 0;
	ck_assert(enters(&chosen, &view));
	view.request.deadline = KV_TIME_MAX;
	view.prefill_tokens = 1;
	ck_assert(enters(&chosen, &view));
	kv_policy_use_fini(&chosen);
	kv_policy_use_fini(&easy);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("admission");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, growth_ratio_refuses_beside_a_full_reserve_g10);
	tcase_add_test(tc, growth_ratio_of_a_lower_ratio_admits_two);
	tcase_add_test(tc, growth_ratio_needs_strictly_less_than_there_is_g12);
	tcase_add_test(tc, growth_ratio_charges_what_starts_in_full_g14);
	tcase_add_test(tc, growth_ratio_decays_and_is_set_anew_by_retraction_g17);
	tcase_add_test(tc, growth_ratio_can_admit_every_request_alone_g20);
	tcase_add_test(tc, a_hit_is_not_needed_again_but_leaves_the_free_blocks);
	tcase_add_test(tc, reserve_fraction_learns_from_what_has_finished);
	tcase_add_test(tc, a_full_queue_refuses);
	tcase_add_test(tc, a_bucket_a_tenant_fills_with_time);
	tcase_add_test(tc, what_is_late_at_the_pace_so_far_is_refused);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
