/* What to look at, from facts made by hand. */
#include "config.h"

#include <string.h>

#include <jansson.h>

#include "results/explain.h"
#include "results/facts.h"
#include "tests/support.h"

static json_t *facts;

static void set_up(void)
{
	facts = json_pack("{s {s {s f s f s f} s i s i s i s f s f s []}}", "kvsim", "queue_waits_for", "blocks", 0.5,
	                  "sequence_slots", 0.0,
	                  "token_budget", 0.4, "max_num_seqs", 256, "max_num_batched_tokens", 2048,
	                  "usable_blocks", 100, "simulated_s", 950.0, "last_arrival_s", 100.0, "ttft_bands");
	ck_assert_ptr_nonnull(facts);
}

static void tear_down(void)
{
	json_decref(facts);
}

static void set_fact(const char *key, json_t *value)
{
	json_object_set_new(json_object_get(facts, "kvsim"), key, value);
}

static const json_t *finding(size_t number)
{
	kv_explain_add(facts);
	return json_array_get(kv_facts_at(facts, "kvsim/what_to_look_at"), number);
}

/* How many lines of the list hold the text. */
static int lines_with(const json_t *list, const char *text)
{
	const json_t *line;
	size_t i;
	int count = 0;

	json_array_foreach(list, i, line)
		count += strstr(json_string_value(line), text) != NULL;
	return count;
}

#define CHECK_HOLDS(text, part) ck_assert_msg(strstr(text, part) != NULL, "not in: %s", text)

START_TEST(an_overloaded_run_says_how_many_times_the_capacity)
{
	const char *verdict = kv_facts_text(finding(0), "verdict");

	CHECK_HOLDS(verdict, "100 s of arrivals took 16 min to serve");
	CHECK_HOLDS(verdict, "about 9.5 times");
}
END_TEST

/* 930 of 1,000 got none: 1,000 in 100 s are 10 a second, 70 in 120 s 0.583, which is 17.1 times less. Two that are too long
 * are no load. */
START_TEST(requests_without_an_answer_are_load_too)
{
	json_object_set_new(facts, "completed", json_integer(70));
	set_fact("simulated_s", json_real(120));
	set_fact("unanswered", json_pack("{si si s{si si si}}", "requests", 932, "of", 1002, "reasons", "queue_full", 130,
	                                 "deadline", 800, "too_long", 2));
	CHECK_HOLDS(kv_facts_text(finding(1), "verdict"),
	            "10 requests a second came in and 0.583 were served, so the load is about 17.1 times");
}
END_TEST

/* 20 s of warm-up: 80 s of arrivals took 930 s, 11.6 times as long. */
START_TEST(the_warm_up_is_no_time_of_arrivals)
{
	set_fact("warmup_s", json_real(20));
	CHECK_HOLDS(kv_facts_text(finding(0), "verdict"), "80 s of arrivals took 16 min to serve, so the load is about 11.6 times");
}
END_TEST

START_TEST(a_long_last_request_is_no_overload)
{
	set_fact("queue_waits_for", json_pack("{s f s f}", "blocks", 0.2, "token_budget", 0.1));
	ck_assert_ptr_null(strstr(kv_facts_text(finding(0), "verdict"), "Overloaded"));
}
END_TEST

START_TEST(settings_stand_where_they_are_named)
{
	CHECK_HOLDS(kv_facts_text(finding(0), "verdict"), "max_num_batched_tokens (here 2048)");
	ck_assert_int_eq(lines_with(kv_facts_at(finding(0), "change"), "--max-num-batched-tokens (here 2048)"), 1);
}
END_TEST

/* Compute during 60 % of the time, blocks during the share below. */
START_TEST(more_cache_is_no_use_only_where_nothing_waited_for_blocks)
{
	static const struct {
		double blocks;
		const char *verdict, *advice;
	} cases[] = {
		{0.2, "Two things: the queue waited for compute", "waits for blocks, during 20.0 % of the time, not those for compute"},
		{0.05, "The queue waited for compute", "waits for blocks, during 5.0 % of the time, not those for compute"},
		{0.005, "The queue waited for compute", "Waits for compute do not get shorter with more KV cache."}
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const json_t *change;

		set_fact("queue_waits_for", json_pack("{s f s f}", "blocks", cases[i].blocks, "token_budget", 0.6));
		CHECK_HOLDS(kv_facts_text(finding(0), "verdict"), cases[i].verdict);
		change = kv_facts_at(finding(0), "change");
		ck_assert_msg(lines_with(change, cases[i].advice) == 1, "case %zu: %s", i, json_dumps(change, 0));
		ck_assert_int_eq(lines_with(change, "do not get shorter"), i == 2);
	}
}
END_TEST

START_TEST(larger_steps_are_not_more_compute)
{
	const json_t *change = kv_facts_at(finding(0), "change");

	ck_assert_int_eq(lines_with(change, "More compute: more or faster GPUs."), 1);
	ck_assert_int_eq(lines_with(change, "--max-concurrency) moves the wait to the client"), 1);
}
END_TEST

static json_t *crowd(const char *name, int requests, double block_seconds, int tokens)
{
	return json_pack("{ss si sf si si}", "name", name, "requests", requests, "block_seconds", block_seconds,
	                 "computed_tokens", tokens, "prompt_tokens", 0);
}

/* 90 requests hold 540 block-seconds, 6 each; 10 hold 460, 46 each: 4.6 times the mean of 10. */
START_TEST(the_heaviest_class_by_request_is_named_beside_the_largest)
{
	const json_t *evidence;

	set_fact("length_classes",
	         json_pack("[oo]", crowd("1k to 2k", 90, 540, 900), crowd("8k to 16k", 10, 460, 100)));
	evidence = kv_facts_at(finding(0), "evidence");
	ck_assert_int_eq(lines_with(evidence, "Most went to prompts of 1k to 2k: 54 % of all block-seconds and 90 % "
	                                      "of all prompt tokens that had to be computed, with 90 % of the "
	                                      "requests."),
	                 1);
	ck_assert_int_eq(lines_with(evidence, "among prompts of 8k to 16k: 4.6 times the block-seconds of the mean "
	                                      "request; 10 % of the requests, 46 % of all block-seconds."),
	                 1);
	ck_assert_int_eq(lines_with(kv_facts_at(finding(0), "change"), "prompts of 8k to 16k weigh most each"), 1);
}
END_TEST

START_TEST(different_takers_of_two_things_have_a_line_each)
{
	set_fact("length_classes",
	         json_pack("[oo]", crowd("1k to 2k", 50, 600, 100), crowd("8k to 16k", 50, 400, 900)));
	ck_assert_int_eq(lines_with(kv_facts_at(finding(0), "evidence"), "Most went to prompts of 1k to 2k: 60 %"), 1);
	ck_assert_int_eq(lines_with(kv_facts_at(finding(0), "evidence"),
	                            "Most prompt tokens that had to be computed went to prompts of 8k to 16k: 90 %"), 1);
}
END_TEST

/* 100 blocks, 950 evicted in 950 s: a turnover of 100 s. Gone for `tenth` and `half` seconds: 1 + that / 100 pools. */
static const json_t *evicted_finding(double tenth, double half)
{
	set_fact("evicted_blocks", json_integer(950));
	set_fact("queried_tokens", json_integer(1000));
	set_fact("miss_tokens", json_pack("{si si}", "never_seen", 500, "evicted", 400));
	set_fact("evicted_before_s", json_pack("{si sf sf}", "requests", 9, "p10", tenth, "p50", half));
	return finding(1);
}

START_TEST(evicted_content_is_told_with_the_turnover_of_the_pool)
{
	const json_t *evidence = kv_facts_at(evicted_finding(50, 240), "evidence");

	ck_assert_int_eq(lines_with(evidence, "within 50 s of its eviction, half within 4 min; the pool turns over "
	                                      "once in 100 s"),
	                 1);
}
END_TEST

START_TEST(a_larger_pool_is_advised_only_where_it_is_in_reach)
{
	static const struct {
		double tenth, half;
		const char *advice;
	} cases[] = {
		{10, 90, "evicted: A larger pool keeps them longer, about 1.9 times"},
		{100, 2300, "A larger pool helps few: about 2.0 times this one keeps content long enough for a tenth of these requests, 24"},
		{700, 2300, "No pool in reach helps: about 8 times this one"}
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const json_t *change = kv_facts_at(evicted_finding(cases[i].tenth, cases[i].half), "change");

		ck_assert_msg(lines_with(change, cases[i].advice) == 1, "case %zu: %s", i, json_dumps(change, 0));
	}
}
END_TEST

START_TEST(no_cache_is_advised_for_what_was_never_seen)
{
	ck_assert_int_eq(lines_with(kv_facts_at(evicted_finding(1, 2), "change"), "never_seen: No cache, however "
	                                                                          "large"),
	                 1);
}
END_TEST

START_TEST(what_prompts_share_is_not_told_from_a_trace_that_does_not_say_it)
{
	const json_t *misses;

	set_fact("queried_tokens", json_integer(1000));
	set_fact("miss_tokens", json_pack("{si}", "never_seen", 1000));
	set_fact("trace_has_prefixes", json_false());
	misses = finding(1);
	ck_assert_str_eq(kv_facts_text(misses, "verdict"),
	                 "0.0 % of prompt tokens were hit. 100.0 % of the missed ones: counted as unique, as the trace does "
	                 "not say what prompts share (never_seen). What a cache would hit of them cannot be told from this "
	                 "trace.");
	ck_assert_int_eq(lines_with(kv_facts_at(misses, "change"), "No cache, however large"), 0);
	ck_assert_int_eq(lines_with(kv_facts_at(misses, "change"), "cannot be told from this trace"), 1);
	ck_assert_int_eq(lines_with(kv_facts_at(misses, "evidence"), "nobody had sent"), 0);
}
END_TEST

/* 3 of 10: two that are too long, one that follows one of them. */
START_TEST(requests_without_an_answer_come_first)
{
	const char *verdict;

	json_object_set_new(facts, "completed", json_integer(7));
	set_fact("max_model_len", json_integer(4096));
	set_fact("unanswered", json_pack("{si si si s{si si}}", "requests", 3, "of", 10, "longest_too_long_tokens", 5000,
	                                 "reasons", "too_long", 2, "after_refusal", 1));
	ck_assert_str_eq(kv_facts_text(finding(0), "topic"), "Who got no answer?");
	verdict = kv_facts_text(finding(0), "verdict");
	CHECK_HOLDS(verdict, "3 of 10 requests (30.0 %).");
	CHECK_HOLDS(verdict, "2 too long for max_model_len (max_model_len is 4096, the longest prompt has 5000 tokens).");
	CHECK_HOLDS(verdict, "1 never sent");
	CHECK_HOLDS(verdict, "All latencies are of the 7 that finished.");
	ck_assert_int_eq(lines_with(kv_facts_at(finding(0), "change"), "--max-model-len"), 1);
	ck_assert_str_eq(kv_facts_text(finding(1), "topic"), "What was exhausted?");
}
END_TEST

START_TEST(a_run_that_lost_all_requests_is_not_advised_to_take_more)
{
	set_fact("queue_waits_for", json_pack("{s f}", "blocks", 0.0));
	set_fact("unanswered", json_pack("{si si s{si}}", "requests", 8, "of", 8, "reasons", "deadline", 8));
	CHECK_HOLDS(kv_facts_text(finding(0), "verdict"), "8 of 8 requests (100.0 %). 8 without a first token by the deadline. "
	            "No request finished, so there are no latencies.");
	CHECK_HOLDS(kv_facts_text(finding(1), "verdict"), "Nothing that requests wait for: the queue was empty for 100.0 %");
	ck_assert_int_eq(lines_with(kv_facts_at(finding(1), "change"), "raise the rate"), 0);
}
END_TEST

/* Half an hour at the client, two seconds in the engine, whose queue is all but empty. */
START_TEST(a_cap_that_clients_wait_for_is_what_was_exhausted)
{
	const json_t *change;

	json_object_set_new(facts, "max_concurrency", json_integer(8));
	json_object_set_new(facts, "mean_e2el_ms", json_real(2000));
	set_fact("queue_waits_for", json_pack("{s f s f}", "blocks", 0.001, "token_budget", 0.003));
	set_fact("mean_waiting", json_pack("{s f}", "client", 300.0));
	set_fact("ttft_parts", json_pack("{s{s f}}", "client_wait", "mean_ms", 1794556.0));
	CHECK_HOLDS(kv_facts_text(finding(0), "verdict"), "The client's own cap, --max-concurrency (here 8): requests waited for it "
	            "30 min on average before they were sent");
	CHECK_HOLDS(kv_facts_text(finding(0), "verdict"), "The queue was empty for 99.6 % of the time.");
	CHECK_HOLDS(kv_facts_text(finding(0), "verdict"), "about 9.5 times what this deployment serves under this cap.");
	change = kv_facts_at(finding(0), "change");
	ck_assert_int_eq(lines_with(change, "A higher --max-concurrency (here 8)"), 1);
	ck_assert_int_eq(lines_with(change, "raise the rate"), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("explain");
	TCase *tc = tcase_create("findings");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, an_overloaded_run_says_how_many_times_the_capacity);
	tcase_add_test(tc, requests_without_an_answer_are_load_too);
	tcase_add_test(tc, the_warm_up_is_no_time_of_arrivals);
	tcase_add_test(tc, a_long_last_request_is_no_overload);
	tcase_add_test(tc, settings_stand_where_they_are_named);
	tcase_add_test(tc, more_cache_is_no_use_only_where_nothing_waited_for_blocks);
	tcase_add_test(tc, larger_steps_are_not_more_compute);
	tcase_add_test(tc, the_heaviest_class_by_request_is_named_beside_the_largest);
	tcase_add_test(tc, different_takers_of_two_things_have_a_line_each);
	tcase_add_test(tc, evicted_content_is_told_with_the_turnover_of_the_pool);
	tcase_add_test(tc, a_larger_pool_is_advised_only_where_it_is_in_reach);
	tcase_add_test(tc, no_cache_is_advised_for_what_was_never_seen);
	tcase_add_test(tc, what_prompts_share_is_not_told_from_a_trace_that_does_not_say_it);
	tcase_add_test(tc, requests_without_an_answer_come_first);
	tcase_add_test(tc, a_run_that_lost_all_requests_is_not_advised_to_take_more);
	tcase_add_test(tc, a_cap_that_clients_wait_for_is_what_was_exhausted);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
