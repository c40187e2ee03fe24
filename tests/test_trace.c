/* What a trace yields. */
#include "config.h"

#include <math.h>

#include "tests/support.h"
#include "tests/trace_file.h"

#define TEXT(literal) literal, sizeof literal - 1
#define H3 "arrival_s,prompt_tokens,output_tokens\n"

static struct kv_trace_options options;
static struct kv_trace *trace;
static struct kv_request request;
static char path[KV_PATH_SIZE];

static void set_up(void)
{
	kv_trace_options_init(&options);
	trace = NULL;
}

static void tear_down(void)
{
	kv_trace_close(trace);
	unlink(path);
}

static void open_text(const void *text, size_t length)
{
	struct kv_error err = {0};

	trace = kv_trace_open(kv_write_file(path, text, length), &options, &err);
	ck_assert_msg(trace != NULL, "%s", err.text);
}

static void expect_next(kv_time arrival, uint32_t prompt_tokens, uint32_t output_tokens)
{
	struct kv_error err = {0};
	int status = kv_trace_source(trace)->next(kv_trace_source(trace), &request, &err);

	ck_assert_msg(status == 1, "%s", err.text);
	ck_assert_int_eq(request.arrival, arrival);
	ck_assert_uint_eq(request.prompt_tokens, prompt_tokens);
	ck_assert_uint_eq(request.output_tokens, output_tokens);
}

static void expect_end(void)
{
	struct kv_error err = {0};

	ck_assert_int_eq(kv_trace_source(trace)->next(kv_trace_source(trace), &request, &err), 0);
	ck_assert_int_eq(kv_trace_source(trace)->next(kv_trace_source(trace), &request, &err), 0);
}

static void expect_segment(uint32_t at, enum kv_stream_kind kind, const char *name, uint32_t length)
{
	ck_assert_uint_lt(at, request.prompt_segments);
	ck_assert_uint_eq(request.prompt[at].kind, kind);
	ck_assert_uint_eq(request.prompt[at].length, length);
	ck_assert_uint_eq(request.prompt[at].stream, kv_name_hash(name, (uint32_t)strlen(name)));
}

/* --- legal forms of one and the same trace ------------------------------------------------------------------------ */

static const struct {
	const char *text;
	size_t length;
} forms[] = {
	{TEXT(H3 "0,10,1\n0.25,20,0\n0.25,30,3\n")},
	{TEXT("arrival_s,prompt_tokens,output_tokens\r\n0,10,1\r\n0.25,20,0\r\n0.25,30,3\r\n")},
	{TEXT(H3 "0,10,1\n0.25,20,0\n0.25,30,3")},
	{TEXT("\xef\xbb\xbf" H3 "0,10,1\n0.25,20,0\n0.25,30,3\n")},
	{TEXT("\"arrival_s\",\"prompt_tokens\",\"output_tokens\"\n\"0\",\"10\",\"1\"\n\"0.25\",20,0\n0.25,30,\"3\"\n")},
	{TEXT(H3 "\n0,10,1\n\n  \n0.25,20,0\n0.25,30,3\n\n\n")},
	{TEXT("output_tokens,arrival_s,prompt_tokens\n1,0,10\n0,0.25,20\n3,0.25,30\n")},
	{TEXT("arrival_s,prompt_tokens,output_tokens\r0,10,1\r0.25,20,0\r0.25,30,3\r")},
	{TEXT(" arrival_s , prompt_tokens,output_tokens\n0 , 10,\t1\n0.25, 20 ,0\n0.25,30,3\n")},
	{TEXT(H3 "0.250000000,20,0\n0,10,1\n25e-2,30,3\n")},
	{TEXT("\xef\xbb\xbf{\"arrival_s\": 0, \"prompt_tokens\": 10, \"output_tokens\": 1}\r\n"
	      "{\"arrival_s\": 0.25, \"prompt_tokens\": 20, \"output_tokens\": 0}\r\n"
	      "{\"output_tokens\": 3, \"prompt_tokens\": 30, \"arrival_s\": 0.25}")},
	{TEXT("{\"arrival_s\": 0, \"prompt_tokens\": 10, \"output_tokens\": 1}\n"
	      "{\"arrival_s\": 0.25, \"prompt_tokens\": 20, \"output_tokens\": 0}\r\n\n"
	      "  {\"output_tokens\": 3, \"prompt_tokens\": 30, \"arrival_s\": 25e-2, \"tenant\": null}")},
};

START_TEST(legal_forms_give_the_same_requests)
{
	open_text(forms[_i].text, forms[_i].length);
	expect_next(0, 10, 1);
	expect_next(KV_SECOND / 4, 20, 0);
	expect_next(KV_SECOND / 4, 30, 3);
	ck_assert_ptr_null(request.id);
	ck_assert_str_eq(request.tenant, "");
	ck_assert_uint_eq(request.max_tokens, KV_TOKENS_UNSET);
	expect_end();
	ck_assert_uint_eq(kv_trace_counts(trace)->rows, 3);
	ck_assert_uint_eq(kv_trace_counts(trace)->emitted, 3);
	ck_assert_uint_eq(kv_trace_counts(trace)->equal_times, 1);
	ck_assert_uint_eq(kv_trace_counts(trace)->zero_outputs, 1);
	ck_assert_uint_eq(kv_trace_counts(trace)->with_tenant, 0);
	ck_assert_int_eq(kv_trace_counts(trace)->first, 0);
	ck_assert_int_eq(kv_trace_counts(trace)->last, KV_SECOND / 4);
	ck_assert_uint_eq(kv_trace_counts(trace)->prompt_tokens, 60);
	ck_assert_uint_eq(kv_trace_counts(trace)->output_tokens, 4);
}
END_TEST

/* --- content ------------------------------------------------------------------------------------------------------ */

START_TEST(prompts_without_names_are_private_and_outputs_cannot_be_named)
{
	open_text(TEXT(H3 "0,10,1\n"));
	expect_next(0, 10, 1);
	ck_assert_uint_eq(request.prompt_segments, 1);
	ck_assert_uint_eq(request.prompt[0].kind, KV_STREAM_PRIVATE);
	ck_assert_uint_eq(request.prompt[0].length, 10);
	ck_assert(!request.output_nameable);
	ck_assert(!kv_trace_has_prefix_identity(trace));
}
END_TEST

START_TEST(prompts_are_lists_of_segments)
{
	open_text(TEXT("arrival_s,prompt,output_tokens,prompt_tokens\n0,policy@v2:1200 a:b:30,4,\n1,@r0:4  u:55,1,59\n"
	               "2,,1,7\n"));
	expect_next(0, 1230, 4);
	ck_assert_uint_eq(request.prompt_segments, 2);
	expect_segment(0, KV_STREAM_NAMED, "policy@v2", 1200);
	expect_segment(1, KV_STREAM_NAMED, "a:b", 30);
	ck_assert(request.output_nameable);
	expect_next(KV_SECOND, 59, 1);
	expect_segment(0, KV_STREAM_OUTPUT, "r0", 4);
	expect_segment(1, KV_STREAM_NAMED, "u", 55);
	expect_next(2 * KV_SECOND, 7, 1);
	ck_assert_uint_eq(request.prompt[0].kind, KV_STREAM_PRIVATE);
	ck_assert(kv_trace_has_prefix_identity(trace));
	expect_end();
	ck_assert_uint_eq(kv_trace_counts(trace)->named_rows, 2);
}
END_TEST

START_TEST(every_column_reaches_the_request)
{
	open_text(TEXT("request_id,arrival_s,prompt,output_tokens,max_tokens,tenant,salt,adapter,priority,retrieval_s,"
	               "deadline_s\na,1,doc:30,2,9,acme,s1,lora,-3,0.5,2.25\n\"b,c\",1.5,doc:30 @a:2,1,,,,,,,\n"));
	expect_next(KV_SECOND, 30, 2);
	ck_assert_str_eq(request.id, "a");
	ck_assert_str_eq(request.tenant, "acme");
	ck_assert_str_eq(request.salt, "s1");
	ck_assert_str_eq(request.adapter, "lora");
	ck_assert_int_eq(request.priority, -3);
	ck_assert_int_eq(request.retrieval, KV_SECOND / 2);
	ck_assert_uint_eq(request.max_tokens, 9);
	ck_assert_int_eq(request.deadline, 9 * KV_SECOND / 4);
	expect_next(3 * KV_SECOND / 2, 32, 1);
	ck_assert_str_eq(request.id, "b,c");
	ck_assert_str_eq(request.tenant, "");
	ck_assert_int_eq(request.deadline, KV_TIME_NONE);
	expect_segment(1, KV_STREAM_OUTPUT, "a", 2);
	expect_end();
}
END_TEST

START_TEST(blocks_of_hash_ids_and_content_of_ones_own_can_be_written)
{
	open_text(TEXT("arrival_s,prompt,output_tokens\n0,#9223372036854775807:512 #12:30 #x:2 *:7,1\n"));
	expect_next(0, 551, 1);
	ck_assert_uint_eq(request.prompt[0].kind, KV_STREAM_BLOCK);
	ck_assert_uint_eq(request.prompt[0].stream, INT64_MAX);
	ck_assert_uint_eq(request.prompt[1].kind, KV_STREAM_BLOCK);
	ck_assert_uint_eq(request.prompt[1].stream, 12);
	expect_segment(2, KV_STREAM_NAMED, "#x", 2);
	ck_assert_uint_eq(request.prompt[3].kind, KV_STREAM_PRIVATE);
	ck_assert_uint_eq(request.prompt[3].length, 7);
}
END_TEST

START_TEST(json_prompts_are_pairs)
{
	open_text(TEXT("{\"arrival_s\":1,\"prompt\":[[\"doc 1\",30]],\"output_tokens\":2,"
	               "\"request_id\":\"a\",\"priority\":-3}\n"
	               "{\"arrival_s\":0.1,\"prompt\":[[\"doc 1\",30],[\"@a\",2]],"
	               "\"output_tokens\":1,\"request_id\":\"b\"}\n"));
	expect_next(KV_SECOND / 10, 32, 1);
	ck_assert_str_eq(request.id, "b");
	ck_assert_uint_eq(request.index, 1);
	expect_segment(0, KV_STREAM_NAMED, "doc 1", 30);
	expect_segment(1, KV_STREAM_OUTPUT, "a", 2);
	expect_next(KV_SECOND, 30, 2);
	ck_assert_int_eq(request.priority, -3);
	expect_end();
	ck_assert_uint_eq(kv_trace_counts(trace)->out_of_order, 1);
}
END_TEST

START_TEST(mooncake_ids_are_blocks_of_512_and_keep_64_bits)
{
	open_text(TEXT(
		"{\"timestamp\": 3052, \"input_length\": 1030, \"output_length\": 5, \"hash_ids\": [7, 4294967303, "
		"9223372036854775807], \"extra\": 1}\n"));
	expect_next(3052 * KV_MILLISECOND, 1030, 5);
	ck_assert_uint_eq(request.prompt_segments, 3);
	ck_assert_uint_eq(request.prompt[0].kind, KV_STREAM_BLOCK);
	ck_assert_uint_eq(request.prompt[0].stream, 7);
	ck_assert_uint_eq(request.prompt[0].length, 512);
	ck_assert_uint_eq(request.prompt[1].stream, 4294967303);
	ck_assert_uint_eq(request.prompt[2].stream, INT64_MAX);
	ck_assert_uint_eq(request.prompt[2].length, 6);
	ck_assert(!request.output_nameable);
	expect_end();
	ck_assert_uint_eq(kv_trace_counts(trace)->unknown_keys, 1);
}
END_TEST

/* Blocks of 4 tokens. What two rows share is what their segments agree on, so the shorter length is what counts. */
static const struct {
	const char *rows;
	uint64_t uneven, misplaced;
	const char *remark;      /* beginning of the first one */
} odd_ids[] = {
	{"{\"timestamp\":0,\"input_length\":6,\"output_length\":1,\"hash_ids\":[1,2]}\n"
	 "{\"timestamp\":0,\"input_length\":6,\"output_length\":1,\"hash_ids\":[1,2]}\n", 0, 0, NULL},
	{"{\"timestamp\":0,\"input_length\":6,\"output_length\":1,\"hash_ids\":[1,2]}\n"
	 "{\"timestamp\":0,\"input_length\":9,\"output_length\":1,\"hash_ids\":[1,2,3]}\n", 1, 0,
	 "block ids that stand for two lengths"},
	{"{\"timestamp\":0,\"input_length\":9,\"output_length\":1,\"hash_ids\":[1,2,3]}\n"
	 "{\"timestamp\":0,\"input_length\":6,\"output_length\":1,\"hash_ids\":[1,2]}\n", 1, 0,
	 "block ids that stand for two lengths"},
	{"{\"timestamp\":0,\"input_length\":6,\"output_length\":1,\"hash_ids\":[1,2]}\n"
	 "{\"timestamp\":0,\"input_length\":5,\"output_length\":1,\"hash_ids\":[1,2]}\n", 1, 0,
	 "block ids that stand for two lengths"},
	{"{\"timestamp\":0,\"input_length\":8,\"output_length\":1,\"hash_ids\":[1,2]}\n"
	 "{\"timestamp\":0,\"input_length\":8,\"output_length\":1,\"hash_ids\":[3,2]}\n", 0, 1,
	 "block ids behind two different ones"},
	{"{\"timestamp\":0,\"input_length\":8,\"output_length\":1,\"hash_ids\":[1,2]}\n"
	 "{\"timestamp\":0,\"input_length\":7,\"output_length\":1,\"hash_ids\":[2,1]}\n", 1, 2,
	 "block ids that stand for two lengths"},
};

START_TEST(ids_that_are_no_chain_hashes_of_their_size_are_counted_and_told)
{
	struct kv_error err = {0};
	const char *remark;

	options.format = "mooncake,block=4";
	open_text(odd_ids[_i].rows, strlen(odd_ids[_i].rows));
	while (kv_trace_source(trace)->next(kv_trace_source(trace), &request, &err) == 1)
		;
	ck_assert_uint_eq(kv_trace_counts(trace)->emitted, 2);
	ck_assert_uint_eq(kv_trace_counts(trace)->uneven_blocks, odd_ids[_i].uneven);
	ck_assert_uint_eq(kv_trace_counts(trace)->misplaced_blocks, odd_ids[_i].misplaced);
	remark = kv_trace_remark(trace, 0);
	if (odd_ids[_i].remark == NULL)
		ck_assert_ptr_null(remark);
	else
		ck_assert_msg(strstr(remark, odd_ids[_i].remark) != NULL, "%s", remark);
	ck_assert_int_eq(kv_trace_remark(trace, 1) != NULL, odd_ids[_i].uneven && odd_ids[_i].misplaced);
	ck_assert_ptr_null(kv_trace_remark(trace, 2));
}
END_TEST

/* Sixty requests at the same instants, three seconds apart. */
START_TEST(coarse_times_can_be_spread_and_that_is_told)
{
	char text[60 * 90];
	size_t length = 0;
	struct kv_error err = {0};
	kv_time last = 0;
	unsigned equal = 0;

	for (int i = 0; i < 60; i++)
		length += (size_t)sprintf(text + length, "{\"timestamp\":%d,\"input_length\":%d,\"output_length\":1,"
		                          "\"hash_ids\":[%d]}\n", i / 20 * 3000, i + 1, i);
	options.format = "mooncake,spread=3s";
	open_text(text, length);
	ck_assert_str_eq(kv_trace_remark(trace, 0),
	                 "arrivals are spread at random over 3 s after the recorded times, as asked");
	while (kv_trace_source(trace)->next(kv_trace_source(trace), &request, &err) == 1) {
		kv_time recorded = (request.prompt_tokens - 1) / 20 * 3 * KV_SECOND;

		ck_assert_int_ge(request.arrival, recorded);
		ck_assert_int_lt(request.arrival, recorded + 3 * KV_SECOND);
		equal += request.arrival == last;
		last = request.arrival;
	}
	ck_assert_uint_le(equal, 1);
	ck_assert_uint_eq(kv_trace_counts(trace)->emitted, 60);
	ck_assert_uint_eq(kv_trace_counts(trace)->out_of_order, 0);
}
END_TEST

START_TEST(azure_times_keep_seven_digits_and_count_from_the_first_row)
{
	open_text(TEXT("TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799601,4808,10\r\n"
	               "2023-11-16 18:17:04.0319600,3180,8\r\n2023-11-16 18:18:04,110,27"));
	expect_next(0, 4808, 10);
	expect_next(51999900, 3180, 8);
	expect_next(60020039900, 110, 27);
	expect_end();
}
END_TEST

START_TEST(a_line_may_be_longer_than_any_buffer)
{
	enum { IDS = 200000 };
	char *text = malloc(IDS * 8 + 200);
	size_t length = (size_t)sprintf(
		text, "{\"timestamp\":0,\"input_length\":%d,\"output_length\":1,\"hash_ids\":[1", IDS * 512);

	ck_assert_ptr_nonnull(text);
	for (int i = 1; i < IDS; i++)
		length += (size_t)sprintf(text + length, ",%d", i + 1);
	length += (size_t)sprintf(text + length, "]}\n");
	options.format = "mooncake";
	open_text(text, length);
	free(text);
	expect_next(0, IDS * 512, 1);
	ck_assert_uint_eq(request.prompt_segments, IDS);
	ck_assert_uint_eq(request.prompt[IDS - 1].stream, IDS);
	expect_end();
}
END_TEST

/* --- rows that depend on others ----------------------------------------------------------------------------------- */

#define HA "request_id,arrival_s,prompt_tokens,output_tokens,after,think_s\n"

static bool end(uint64_t index, kv_time time)
{
	return kv_trace_source(trace)->ended(kv_trace_source(trace), index, KV_END_FINISHED, time, &request, true);
}

START_TEST(a_dependent_row_arrives_a_think_time_after_the_end_of_another)
{
	open_text(TEXT(HA "a,0,1,1,,\nb,,2,1,a,2.5\nc,10,3,1,,\nd,5,4,1,b,\n"));
	expect_next(0, 1, 1);
	expect_next(10 * KV_SECOND, 3, 1);
	ck_assert(end(0, 4 * KV_SECOND));
	ck_assert_int_eq(request.arrival, 6500 * KV_MILLISECOND);
	ck_assert_uint_eq(request.index, 1);
	expect_next(10 * KV_SECOND, 3, 1);
	ck_assert(!end(1, 12 * KV_SECOND));
	expect_next(12 * KV_SECOND, 4, 1);
	expect_end();
	ck_assert_uint_eq(kv_trace_counts(trace)->emitted, 4);
	ck_assert_uint_eq(kv_trace_counts(trace)->dependent_rows, 2);
}
END_TEST

START_TEST(a_row_can_wait_for_several_others)
{
	open_text(TEXT(HA "a,0,1,1,,\nb,0,2,1,,\nc,,3,1,a b,1\n"));
	expect_next(0, 1, 1);
	expect_next(0, 2, 1);
	ck_assert(!end(1, 9 * KV_SECOND));
	ck_assert(!kv_trace_source(trace)->ended(kv_trace_source(trace), 0, KV_END_FINISHED, 4 * KV_SECOND, NULL,
	                                         false));
	expect_next(10 * KV_SECOND, 3, 1);
	expect_end();
}
END_TEST

START_TEST(nothing_follows_what_was_refused_unless_asked_for)
{
	for (int go_on = 0; go_on < 2; go_on++) {
		options.go_on_after_refusal = go_on == 1;
		kv_trace_close(trace);
		open_text(TEXT(HA "a,0,1,1,,\nb,,2,1,a,1\nc,,3,1,b,1\n"));
		expect_next(0, 1, 1);
		ck_assert(!kv_trace_source(trace)->ended(kv_trace_source(trace), 0, KV_END_REFUSED, 0, NULL, false));
		if (go_on)
			expect_next(KV_SECOND, 2, 1);
		else
			expect_end();
		ck_assert_uint_eq(kv_trace_counts(trace)->left_out[KV_FAULT_ABANDONED], go_on ? 0 : 2);
		ck_assert_uint_eq(kv_trace_counts(trace)->waiting, go_on ? 1 : 0);
	}
}
END_TEST

static bool turn_away(uint64_t index, kv_time time)
{
	return kv_trace_source(trace)->ended(kv_trace_source(trace), index, KV_END_TURNED_AWAY, time, NULL, false);
}

START_TEST(a_request_that_is_turned_away_comes_again_twice_as_late_each_time)
{
	options.retries = 2;
	options.backoff = 3 * KV_SECOND;
	open_text(TEXT(HA "a,0,1,1,,\nb,,2,1,a,1\nc,20,3,1,,\n"));
	expect_next(0, 1, 1);
	ck_assert(!turn_away(0, 0));
	expect_next(3 * KV_SECOND, 1, 1);
	ck_assert_str_eq(request.id, "a");
	ck_assert(!turn_away(0, 3 * KV_SECOND));
	expect_next(9 * KV_SECOND, 1, 1);
	expect_next(20 * KV_SECOND, 3, 1);
	ck_assert(end(0, 15 * KV_SECOND));
	ck_assert_int_eq(request.arrival, 16 * KV_SECOND);
	ck_assert_str_eq(request.id, "b");
	expect_next(20 * KV_SECOND, 3, 1);
	expect_end();
	ck_assert_uint_eq(kv_trace_counts(trace)->retried, 2);
	ck_assert_uint_eq(kv_trace_counts(trace)->emitted, 3);
}
END_TEST

START_TEST(after_its_last_retry_a_request_is_refused)
{
	options.retries = 1;
	open_text(TEXT(HA "a,0,1,1,,\nb,,2,1,a,1\n"));
	expect_next(0, 1, 1);
	turn_away(0, 0);
	expect_next(KV_SECOND, 1, 1);
	turn_away(0, KV_SECOND);
	expect_end();
	ck_assert_uint_eq(kv_trace_counts(trace)->left_out[KV_FAULT_ABANDONED], 1);
	ck_assert_uint_eq(kv_trace_counts(trace)->emitted, 1);
}
END_TEST

START_TEST(an_open_loop_takes_recorded_times)
{
	options.open_loop = true;
	open_text(TEXT(HA "a,0,1,1,,\nb,7,2,1,a,1\n"));
	expect_next(0, 1, 1);
	expect_next(7 * KV_SECOND, 2, 1);
	expect_end();
	ck_assert_uint_eq(kv_trace_counts(trace)->dependent_rows, 0);
}
END_TEST

START_TEST(a_row_too_far_behind_what_it_depends_on_is_an_error)
{
	struct kv_error err = {0};

	options.reorder_rows = 1;
	trace = kv_trace_open(kv_write_file(path, TEXT(HA "a,0,1,1,,\nb,1,1,1,,\nc,2,1,1,,\nd,,2,1,a,1\n")), &options,
	                      &err);
	ck_assert_ptr_null(trace);
	ck_assert_msg(strstr(err.text, ":5: after: what it depends on lies further back than rows are put in order")
	              != NULL,
	              "%s", err.text);
}
END_TEST

/* --- what public traces do to their readers ----------------------------------------------------------------------- */

START_TEST(commas_quotes_and_line_ends_inside_quotes_are_text)
{
	open_text(TEXT("request_id,arrival_s,prompt,output_tokens,tenant\r\n"
	               "\"a,b\",0,\"s,1:20 s2:3\",1,\"say \"\"hi\"\"\"\r\n\"c\r\nd\",1,s:4,1,\r\n"));
	expect_next(0, 23, 1);
	ck_assert_str_eq(request.id, "a,b");
	ck_assert_str_eq(request.tenant, "say \"hi\"");
	expect_segment(0, KV_STREAM_NAMED, "s,1", 20);
	expect_next(KV_SECOND, 4, 1);
	ck_assert_str_eq(request.id, "c\r\nd");
	expect_end();
}
END_TEST

/* Each form of Azure's dates, before and after the first row's instant, which is 2024-05-10 00:00:01.5 UTC. */
static const struct {
	const char *date;
	kv_time after;
} dates[] = {
	{"2024-05-10 00:00:02", KV_SECOND / 2},
	{"2024-05-10 00:00:02.5", KV_SECOND},
	{"2024-05-10 00:00:01.5000001", 100},
	{"2024-05-10 00:00:01.500001+00:00", 1000},
	{"2024-05-10 00:00:02+00:00", KV_SECOND / 2},
	{"2024-05-10T00:00:01.501Z", KV_MILLISECOND},
	{"2024-05-10 01:30:02+01:30", KV_SECOND / 2},
	{"2024-05-09 19:00:02-05:00", KV_SECOND / 2},
	{"2024-05-09T19:00:02.123456789-05:00", 623456789},
};

START_TEST(dates_with_any_fraction_and_zone_mean_the_same_instants)
{
	char text[300];

	open_text(text, (size_t)snprintf(text, sizeof text,
	                                 "\xef\xbb\xbfTIMESTAMP,ContextTokens,GeneratedTokens\r\n"
	                                 "2024-05-10 00:00:01.5,1,1\r\n%s,2,1\r\n", dates[_i].date));
	expect_next(0, 1, 1);
	expect_next(dates[_i].after, 2, 1);
}
END_TEST

/* Rows that are a second or a tenth of one apart in milliseconds, read in that unit and in others. */
static const struct {
	const char *format, *remark;
	int step;
} clocks[] = {
	{"mooncake,unit=s", "are milliseconds taken for seconds?", 1000},
	{"mooncake,unit=ms", NULL, 1000},
	{"mooncake,unit=us", "are seconds taken for milliseconds?", 100},
	{"mooncake,unit=ms", NULL, 100},
};

START_TEST(a_trace_a_thousand_times_too_long_or_too_short_is_doubted)
{
	char text[60 * 90];
	size_t length = 0;
	struct kv_error err = {0};
	const char *remark;

	for (int i = 0; i < 60; i++)
		length += (size_t)sprintf(text + length, "{\"timestamp\":%d,\"input_length\":5,\"output_length\":1,"
		                          "\"hash_ids\":[%d]}\n", i * clocks[_i].step, i);
	options.format = clocks[_i].format;
	open_text(text, length);
	while (kv_trace_source(trace)->next(kv_trace_source(trace), &request, &err) == 1)
		;
	remark = kv_trace_remark(trace, 0);
	if (clocks[_i].remark == NULL)
		ck_assert_ptr_null(remark);
	else
		ck_assert_msg(remark != NULL && strstr(remark, clocks[_i].remark) != NULL, "%s", remark);
}
END_TEST

START_TEST(rows_out_of_order_are_refused_where_none_may_wait)
{
	struct kv_error err = {0};
	int status = 0;

	options.reorder_time = _i == 0 ? 0 : options.reorder_time;
	options.reorder_rows = _i == 1 ? 0 : options.reorder_rows;
	kv_write_file(path, TEXT(H3 "5,1,1\n7,2,1\n6,3,1\n8,4,1\n"));
	trace = kv_trace_open(path, &options, &err);
	while (trace != NULL && (status = kv_trace_source(trace)->next(kv_trace_source(trace), &request, &err)) == 1)
		;
	ck_assert(trace == NULL || status == -1);
	ck_assert_msg(strstr(err.text, ":4: arrival: 1 s before a row that precedes it") != NULL, "%s", err.text);
}
END_TEST

/* The first two rows of the file, not the two that come first. */
START_TEST(a_range_counts_rows_before_they_are_put_in_order)
{
	options.end_row = 2;
	open_text(TEXT(H3 "5,1,1\n7,2,1\n6,3,1\n"));
	expect_next(5 * KV_SECOND, 1, 1);
	expect_next(7 * KV_SECOND, 2, 1);
	expect_end();
}
END_TEST

/* --- options ------------------------------------------------------------------------------------------------------ */

START_TEST(a_range_of_rows_starts_its_own_clock_and_keeps_names)
{
	open_text(TEXT(H3 "10,1,1\n20,2,1\n30,3,1\n40,4,1\n"));
	expect_next(10 * KV_SECOND, 1, 1);
	kv_trace_close(trace);
	options.first_row = 1;
	options.end_row = 3;
	open_text(TEXT(H3 "10,1,1\n20,2,1\n30,3,1\n40,4,1\n"));
	expect_next(0, 2, 1);
	ck_assert_uint_eq(request.index, 1);
	expect_next(10 * KV_SECOND, 3, 1);
	expect_end();
	ck_assert_uint_eq(kv_trace_counts(trace)->rows, 2);
}
END_TEST

START_TEST(ranges_are_written_like_slices)
{
	struct kv_error err;

	ck_assert_int_eq(kv_trace_parse_rows("5:9", &options, &err), 0);
	ck_assert_uint_eq(options.first_row, 5);
	ck_assert_uint_eq(options.end_row, 9);
	ck_assert_int_eq(kv_trace_parse_rows(":9", &options, &err), 0);
	ck_assert_uint_eq(options.first_row, 0);
	ck_assert_int_eq(kv_trace_parse_rows("5:", &options, &err), 0);
	ck_assert_uint_eq(options.end_row, UINT64_MAX);
	ck_assert_int_eq(kv_trace_parse_rows("5", &options, &err), -1);
	ck_assert_int_eq(kv_trace_parse_rows("9:5", &options, &err), -1);
	ck_assert_int_eq(kv_trace_parse_rows("-1:5", &options, &err), -1);
	ck_assert_int_eq(kv_trace_parse_rows("1:99999999999999999999999", &options, &err), -1);
}
END_TEST

START_TEST(time_scale_multiplies_arrivals)
{
	options.time_scale = 0.5;
	open_text(TEXT(H3 "10,1,1\n20,2,1\n"));
	expect_next(5 * KV_SECOND, 1, 1);
	expect_next(10 * KV_SECOND, 2, 1);
}
END_TEST

static char *many_rows(size_t rows, size_t *length)
{
	char *text = malloc(rows * 16 + 100);

	ck_assert_ptr_nonnull(text);
	*length = (size_t)sprintf(text, H3);
	for (size_t i = 0; i < rows; i++)
		*length += (size_t)sprintf(text + *length, "%zu,1,1\n", i);
	return text;
}

/* Mean and coefficient of variation of 20,000 generated gaps. */
static void gap_statistics(double *mean, double *cv)
{
	enum { ROWS = 20000 };
	double sum = 0, squares = 0;
	kv_time last = 0;
	struct kv_error err;
	size_t length;
	char *text = many_rows(ROWS, &length);

	open_text(text, length);
	free(text);
	while (kv_trace_source(trace)->next(kv_trace_source(trace), &request, &err) == 1) {
		double gap = (double)(request.arrival - last) / (double)KV_SECOND;

		sum += gap;
		squares += gap * gap;
		last = request.arrival;
	}
	*mean = sum / ROWS;
	*cv = sqrt(squares / ROWS - *mean * *mean) / *mean;
}

START_TEST(a_request_rate_draws_gamma_gaps)
{
	static const struct {
		double rate, burstiness, cv;
	} cases[] = {{10, 1, 1}, {4, 0.25, 2}, {2.5, 4, 0.5}, {8, INFINITY, 0}};
	double mean, cv;

	options.request_rate = cases[_i].rate;
	options.burstiness = cases[_i].burstiness;
	gap_statistics(&mean, &cv);
	ck_assert_double_eq_tol(mean, 1 / cases[_i].rate, 0.04 / cases[_i].rate);
	ck_assert_double_eq_tol(cv, cases[_i].cv, 0.06 * cases[_i].cv + 1e-6);
}
END_TEST

START_TEST(an_infinite_rate_sends_everything_at_once)
{
	options.request_rate = INFINITY;
	open_text(TEXT(H3 "10,1,1\n20,2,1\n"));
	expect_next(0, 1, 1);
	expect_next(0, 2, 1);
	expect_end();
}
END_TEST

START_TEST(generated_arrivals_follow_the_seed)
{
	static const uint64_t seeds[] = {1, 1, 2};
	kv_time first[3];
	struct kv_error err;

	options.request_rate = 1;
	for (int i = 0; i < 3; i++) {
		options.seed = seeds[i];
		kv_trace_close(trace);
		open_text(TEXT(H3 "0,1,1\n"));
		ck_assert_int_eq(kv_trace_source(trace)->next(kv_trace_source(trace), &request, &err), 1);
		first[i] = request.arrival;
	}
	ck_assert_int_eq(first[0], first[1]);
	ck_assert_int_ne(first[0], first[2]);
}
END_TEST

START_TEST(options_out_of_range_are_usage_errors)
{
	static const double bad[][3] = {{0, 0, 1}, {-1, 0, 1}, {NAN, 0, 1}, {INFINITY, 0, 1}, {1, -1, 1}, {1, NAN, 1},
	                                {1, 1, 0}, {1, 1, NAN}};
	struct kv_error err;

	options.time_scale = bad[_i][0];
	options.request_rate = bad[_i][1];
	options.burstiness = bad[_i][2];
	ck_assert_ptr_null(kv_trace_open(kv_write_file(path, H3, strlen(H3)), &options, &err));
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
}
END_TEST

/* --- public traces, against the figures published with them ------------------------------------------------------- */

static const struct {
	const char *file;
	const char *format;
	uint64_t rows, prompt_tokens, blocks, equal_times;
	kv_time last;
} public_traces[] = {
	{"azure2023/AzureLLMInferenceTrace_code.csv", "azure", 8819, 18059974, 0, 0, 3435948056000},
	{"azure2023/AzureLLMInferenceTrace_conv.csv", "azure", 19366, 22361870, 0, 0, 3501721937000},
	{"mooncake/conversation_trace.jsonl", "mooncake", 12031, 144793823, 288500, 10851, 3536999000000},
	{"mooncake/synthetic_trace.jsonl", "mooncake", 3993, 61194628, 121877, 11, 1022025000000},
};

START_TEST(public_traces_give_their_published_figures)
{
	const char *shared = getenv("KVSIM_SHARED");
	char file[4096];
	uint64_t blocks = 0;
	struct kv_error err = {0};

	snprintf(file, sizeof file, "%s/traces/%s", shared ? shared : "", public_traces[_i].file);
	if (shared == NULL || *shared == '\0' || access(file, R_OK) != 0) {
		printf("# skipped: %s is not here\n", public_traces[_i].file);
		return;
	}
	trace = kv_trace_open(file, &options, &err);
	ck_assert_msg(trace != NULL, "%s", err.text);
	ck_assert_str_eq(kv_trace_format(trace)->name, public_traces[_i].format);
	while (kv_trace_source(trace)->next(kv_trace_source(trace), &request, &err) == 1)
		blocks += request.prompt[0].kind == KV_STREAM_BLOCK ? request.prompt_segments : 0;
	ck_assert_uint_eq(kv_trace_counts(trace)->emitted, public_traces[_i].rows);
	ck_assert_uint_eq(kv_trace_counts(trace)->prompt_tokens, public_traces[_i].prompt_tokens);
	ck_assert_uint_eq(kv_trace_counts(trace)->equal_times, public_traces[_i].equal_times);
	ck_assert_int_eq(kv_trace_counts(trace)->last, public_traces[_i].last);
	ck_assert_uint_eq(blocks, public_traces[_i].blocks);
	ck_assert_ptr_null(kv_trace_remark(trace, 0));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace");
	TCase *tc = tcase_create("rows");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, legal_forms_give_the_same_requests, 0, (int)(sizeof forms / sizeof *forms));
	tcase_add_test(tc, prompts_without_names_are_private_and_outputs_cannot_be_named);
	tcase_add_test(tc, prompts_are_lists_of_segments);
	tcase_add_test(tc, every_column_reaches_the_request);
	tcase_add_test(tc, blocks_of_hash_ids_and_content_of_ones_own_can_be_written);
	tcase_add_test(tc, json_prompts_are_pairs);
	tcase_add_test(tc, mooncake_ids_are_blocks_of_512_and_keep_64_bits);
	tcase_add_loop_test(tc, ids_that_are_no_chain_hashes_of_their_size_are_counted_and_told, 0,
	                    (int)(sizeof odd_ids / sizeof *odd_ids));
	tcase_add_test(tc, coarse_times_can_be_spread_and_that_is_told);
	tcase_add_test(tc, azure_times_keep_seven_digits_and_count_from_the_first_row);
	tcase_add_test(tc, a_line_may_be_longer_than_any_buffer);
	tcase_add_test(tc, a_dependent_row_arrives_a_think_time_after_the_end_of_another);
	tcase_add_test(tc, a_row_can_wait_for_several_others);
	tcase_add_test(tc, nothing_follows_what_was_refused_unless_asked_for);
	tcase_add_test(tc, a_request_that_is_turned_away_comes_again_twice_as_late_each_time);
	tcase_add_test(tc, after_its_last_retry_a_request_is_refused);
	tcase_add_test(tc, an_open_loop_takes_recorded_times);
	tcase_add_test(tc, a_row_too_far_behind_what_it_depends_on_is_an_error);
	tcase_add_test(tc, commas_quotes_and_line_ends_inside_quotes_are_text);
	tcase_add_loop_test(tc, dates_with_any_fraction_and_zone_mean_the_same_instants, 0,
	                    (int)(sizeof dates / sizeof *dates));
	tcase_add_loop_test(tc, a_trace_a_thousand_times_too_long_or_too_short_is_doubted, 0,
	                    (int)(sizeof clocks / sizeof *clocks));
	tcase_add_loop_test(tc, rows_out_of_order_are_refused_where_none_may_wait, 0, 2);
	tcase_add_test(tc, a_range_counts_rows_before_they_are_put_in_order);
	tcase_add_test(tc, a_range_of_rows_starts_its_own_clock_and_keeps_names);
	tcase_add_test(tc, ranges_are_written_like_slices);
	tcase_add_test(tc, time_scale_multiplies_arrivals);
	tcase_add_loop_test(tc, a_request_rate_draws_gamma_gaps, 0, 4);
	tcase_add_test(tc, an_infinite_rate_sends_everything_at_once);
	tcase_add_test(tc, generated_arrivals_follow_the_seed);
	tcase_add_loop_test(tc, options_out_of_range_are_usage_errors, 0, 8);
	tcase_add_loop_test(tc, public_traces_give_their_published_figures, 0,
	                    (int)(sizeof public_traces / sizeof *public_traces));
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
