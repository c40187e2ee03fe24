/* What is wrong with a trace and what the user is told: file, line, field, what was found, what is allowed. */
#include "config.h"

#include "tests/support.h"
#include "tests/trace_file.h"

#define TEXT(literal) literal, sizeof literal - 1
#define H3 "arrival_s,prompt_tokens,output_tokens\n"
#define HP "arrival_s,prompt,output_tokens\n"
#define HA "request_id,arrival_s,prompt_tokens,output_tokens,after,think_s\n"
#define HI "request_id,arrival_s,prompt,output_tokens\n"

struct bad {
	const char *text;
	size_t length;
	const char *reason;   /* under --skip-bad-rows; NULL = the file as a whole cannot be used */
	const char *message;  /* what follows the file's name */
};

static const struct bad table[] = {
	/* files */
	{TEXT(""), NULL, ": the file is empty; allowed: a trace with at least one request"},
	{TEXT("\xef\xbb\xbf"), NULL, ": the file is empty"},
	{TEXT(H3), NULL, ": no request in it: 0 rows read, 0 left out"},
	{TEXT("a,b,c\n1,2,3\n"), NULL, ": its first line is of no format that is known (kvsim, "},
	/* Slips in the headers of public files. */
	{TEXT("TIMESTAMP,ContextTokens,generated_tokens\n1,2,3\n"), NULL,
	 ": its first line is of no format that is known; it comes near to azure, but misses 'GeneratedTokens' (there "
	 "is 'generated_tokens'); name one with --format"},
	{TEXT("Timestamp,Model,Request tokens\n1,2,3\n"), NULL,
	 ": its first line is of no format that is known; it comes near to burstgpt, but misses 'Response tokens'; "},
	{TEXT("{\"timestamp\":0,\"input_lenght\":5,\"output_length\":1,\"hash_ids\":[1]}\n"), NULL,
	 ": its first line is of no format that is known; it comes near to mooncake, but misses 'input_length' (there "
	 "is 'input_lenght'); "},
	{TEXT("{\"arrival_time_ns\":0,\"sub_requests\":5}\n"), NULL,
	 ": its first line is of no format that is known; it comes near to llmservingsim-sessions, but what stands "
	 "there is of another type; "},
	{TEXT("arrival_s,output_tokens\n0,1\n"), NULL, ":1: the header has neither prompt nor prompt_tokens"},
	{TEXT("prompt_tokens,output_tokens\n0,1\n"), NULL,
	 ":1: column arrival_s: is missing, and this format requires it"},
	{TEXT("arrival_s,arrival_s,prompt_tokens,output_tokens\n0,0,1,1\n"), NULL,
	 ":1: column arrival_s: stands twice in the header"},
	{TEXT("arrival_s,prompt_token,output_tokens\n0,1,1\n"), NULL,
	 ":1: unknown column 'prompt_token': did you mean 'prompt_tokens'?"},
	/* All that work, and none that does not. */
	{TEXT("arrival_s,colour,prompt_tokens,output_tokens\n0,1,1,1\n"), NULL,
	 ":1: unknown column 'colour': valid are arrival_s, prompt, content, prompt_tokens, output_tokens, max_tokens, "
	 "request_id, tenant, salt, adapter, priority, retrieval_s, after, think_s, deadline_s"},
	{TEXT("arrival_s,\033[31mprompt,output_tokens\n0,a:1,1\n"), NULL, ":1: unknown column '?[31mprompt'"},
	{TEXT("arrival_s,prompt_tokens,output_tokens,no_store\n0,1,1,5\n"), NULL,
	 ":1: column no_store: is not built: leave it out; a salt of its own keeps"},
	{TEXT("arrival_s,prompt_tokens,output_tokens,ttl_s\n0,1,1,5\n"), NULL,
	 ":1: column ttl_s: is not built: leave it out; --eviction ttl,ttl=300s"},
	{TEXT("arrival_s,prompt,content,output_tokens\n0,a:1,b:1,5\n"), NULL,
	 ":1: the header has both prompt and content"},
	{TEXT(H3 "0,1,1\n1,\"1,1\n2,1,1\n"), NULL, ":3: malformed quotes"},
	{TEXT(H3 "0,1,1\n1,a\"b,1\n"), NULL, ":3: malformed quotes"},
	/* CSV rows */
	{TEXT(H3 "0,1,1\n1,1\n"), "columns", ":3: 2 fields; allowed: 3, as in the header"},
	{TEXT(H3 "0,1,1\n\n1,1,1,1\n"), "columns", ":4: 4 fields; allowed: 3, as in the header"},
	{TEXT(H3 "0,1,1\n1,,1\n"), "missing_field", ":3: prompt: neither prompt nor prompt_tokens is given"},
	{TEXT(H3 "0,1,1\n,1,1\n"), "missing_field",
	 ":3: arrival_s: is missing, and every row that does not depend on another needs it"},
	{TEXT(H3 "0,1,1\n1,1,\n"), "missing_field", ":3: output_tokens: is empty"},
	{TEXT(H3 "0,1,1\nabc,1,1\n"), "not_a_number",
	 ":3: arrival_s: 'abc' is not a number; allowed: a decimal number from"},
	{TEXT(H3 "0,1,1\nNaN,1,1\n"), "not_a_number", ":3: arrival_s: 'NaN' is not a number"},
	{TEXT(H3 "0,1,1\n1,inf,1\n"), "not_a_number", ":3: prompt_tokens: 'inf' is not a number"},
	{TEXT(H3 "0,1,1\n1,1.5,1\n"), "not_a_number", ":3: prompt_tokens: '1.5' is not a whole number"},
	{TEXT(H3 "0,1,1\n-1,1,1\n"), "negative", ":3: arrival_s: '-1' is negative"},
	{TEXT(H3 "0,1,1\n1,-5,1\n"), "negative",
	 ":3: prompt_tokens: '-5' is negative; allowed: a whole number of tokens from 0 to 1000000000"},
	{TEXT(H3 "0,1,1\n1,1,99999999999999999999\n"), "out_of_range",
	 ":3: output_tokens: '99999999999999999999' is too large"},
	{TEXT(H3 "0,1,1\n1e30,1,1\n"), "out_of_range", ":3: arrival_s: '1e30' is too large"},
	{TEXT(H3 "0,1,1\n1,0,1\n"), "zero_prompt", ":3: prompt: has 0 tokens; allowed: at least 1"},
	{TEXT(H3 "0,1,1\n1,1\0" "2,1\n"), "bad_text", ":3: prompt_tokens: contains a NUL byte"},
	{TEXT(H3 "9000,1,1\n0,1,1\n"), "out_of_order", ":3: arrival: 9000 s before a row that precedes it"},
	{TEXT("arrival_s,prompt_tokens,output_tokens,priority\n0,1,1,0\n1,1,1,high\n"), "not_a_number",
	 ":3: priority: 'high' is not a number; allowed: a whole number"},
	{TEXT("arrival_s,prompt_tokens,output_tokens,tenant\n0,1,1,a\n1,1,1,b\xc3\n"), "bad_text",
	 ":3: tenant: contains bytes that are not UTF-8"},
	{TEXT("arrival_s,prompt_tokens,output_tokens,tenant\n0,1,1,\"a\n\nb\"\n1,1,x,b\n"), "not_a_number",
	 ":5: output_tokens"},
	{TEXT("arrival_s,prompt_tokens,output_tokens,max_tokens\n0,1,0,1\n1,1,0,0\n"), "out_of_range",
	 ":3: max_tokens: 0 is refused by servers; allowed: at least 1, or empty"},
	/* prompts */
	{TEXT(HP "0,a:5,1\n1,a,1\n"), "bad_prompt", ":3: prompt: 'a' is no segment; allowed: name:length segments"},
	{TEXT(HP "0,a:5,1\n1,:5,1\n"), "bad_prompt", ":3: prompt: ':5' is no segment"},
	{TEXT(HP "0,a:5,1\n1,@:5,1\n"), "bad_prompt", ":3: prompt: '@:5' is no segment"},
	{TEXT(HP "0,a:5,1\n1,a:0,1\n"), "bad_prompt", ":3: prompt: 'a:0' is no segment"},
	{TEXT(HP "0,a:5,1\n1,a:x,1\n"), "not_a_number", ":3: prompt: 'x' is not a number"},
	{TEXT(HP "0,a:5,1\n1,a:-1,1\n"), "negative", ":3: prompt: '-1' is negative"},
	{TEXT(HP "0,a:5,1\n1,a:1000000000 b:1,1\n"), "out_of_range", ":3: prompt: 1000000001 tokens in all"},
	{TEXT(HP "0,a:5,1\n1,a\xff:5,1\n"), "bad_text", ":3: prompt: contains bytes that are not UTF-8"},
	{TEXT("arrival_s,prompt,prompt_tokens,output_tokens\n0,a:5,5,1\n1,a:5 b:2,8,1\n"), "prompt_sum",
	 ":3: prompt_tokens: 8, but the segments of prompt sum to 7; allowed: the same, or prompt alone"},
	/* ids and references */
	{TEXT("arrival_s,content,output_tokens\n0,a:5,9\n1,@r0:1,1\n"), "bad_reference",
	 ":3: content: @r0: what requests generate can be named in prompt only"},
	{TEXT(HI "x,0,a:5,1\nx,1,a:5,1\n"), "duplicate_id", ":3: request_id: 'x' is that of an earlier row too"},
	{TEXT(HI "r1,0,a:5,1\n,1,a:5,1\n"), "duplicate_id", ":3: request_id: 'r1' is that of an earlier row too"},
	{TEXT(HI "x,0,a:5,1\ny,1,@z:1,1\n"), "bad_reference",
	 ":3: prompt: @z: no request of that id stands earlier in the file"},
	{TEXT(HI "x,0,a:5,1\ny,1,@y:1,1\n"), "bad_reference", ":3: prompt: @y: no request of that id stands earlier"},
	{TEXT(HI "x,0,a:5,4\ny,1,@x:5,1\n"), "bad_reference", ":3: prompt: @x:5: that request generates 4 tokens"},
	{TEXT(HP "0,a:5,1\n1,@r1:1,1\n"), "bad_reference", ":3: prompt: @r1: no request of that id stands earlier"},
	{TEXT(HP "0,a:5,1\n1,@other:1,1\n"), "bad_reference",
	 ":3: prompt: @other: no request of that id stands earlier"},
	/* rows that depend on others */
	{TEXT(HA "a,0,5,1,,\nb,,5,1,c,1\n"), "bad_reference", ":3: after: 'c': no request of that id stands earlier"},
	{TEXT(HA "a,0,5,1,,\nb,,5,1,b,1\n"), "bad_reference", ":3: after: 'b': no request of that id stands earlier"},
	/* A cycle has to name a row that comes later. */
	{TEXT(HA "a,,5,1,b,1\nb,,5,1,a,1\n"), NULL, ":2: after: 'b': no request of that id stands earlier in the file"},
	{TEXT(HA "a,0,5,1,,\nb,,5,1,,\n"), "missing_field",
	 ":3: arrival_s: is missing, and every row that does not depend on another needs it"},
	{TEXT(HA "a,0,5,1,,\nb,1,5,1,,2\n"), "bad_reference",
	 ":3: think_s: is given without after; allowed: both or neither"},
	{TEXT(HA "a,0,5,1,,\nb,,5,1,a,-1\n"), "negative", ":3: think_s: '-1' is negative"},
	/* JSON lines */
	{TEXT("{\"arrival_s\":0,\"prompt_tokens\":5,\"output_tokens\":1}\n{\"arrival_s\":\n"), "syntax", ":2: column "},
	{TEXT("{\"arrival_s\":0,\"prompt_tokens\":5,\"output_tokens\":1}\n[1]\n"), "syntax",
	 ":2: the line is no JSON object; allowed: one JSON object a line"},
	{TEXT("{\"arrival_s\":0,\"prompt_tokens\":5,\"output_tokens\":1}\n{\"a\":1,\"a\":2}\n"), "syntax",
	 ":2: column 10: duplicate object key"},
	{TEXT("{\"arrival_s\":0,\"prompt_tokens\":5,\"output_tokens\":1}\n{\"arrival_s\":0,\"prompt_tokens\":5}\n"),
	 "missing_field", ":2: output_tokens: is missing, and every row needs it"},
	{TEXT("{\"arrival_s\":0,\"prompt_tokens\":5,\"output_tokens\":1}\n"
	      "{\"arrival_s\":0,\"prompt_tokens\":5,\"output_tokens\":1,\"tenent\":\"a\"}\n"),
	 "unknown_key", ":2: unknown key 'tenent': did you mean 'tenant'?"},
	{TEXT("{\"arrival_s\":0,\"prompt_tokens\":5,\"output_tokens\":1}\n"
	      "{\"arrival_s\":0,\"prompt_tokens\":5,\"output_tokens\":1,\"ttl_s\":5}\n"),
	 "not_built", ":2: ttl_s: is not built: leave it out; --eviction ttl"},
	{TEXT("{\"arrival_s\":0,\"prompt_tokens\":5,\"output_tokens\":1}\n"
	      "{\"arrival_s\":\"1\",\"prompt_tokens\":5,\"output_tokens\":1}\n"),
	 "not_a_number", ":2: arrival_s: '\"1\"' is not a number"},
	{TEXT("{\"arrival_s\":0,\"prompt\":[[\"a\",5]],\"output_tokens\":1}\n"
	      "{\"arrival_s\":0,\"prompt\":[[\"a\"]],\"output_tokens\":1}\n"),
	 "bad_prompt", ":2: prompt: entry 0 is no segment; allowed: [\"name\", length]"},
	{TEXT("{\"arrival_s\":0,\"prompt\":[[\"a\",5]],\"output_tokens\":1}\n"
	      "{\"arrival_s\":0,\"prompt\":\"a:5\",\"output_tokens\":1}\n"),
	 "bad_prompt", ":2: prompt: not a list"},
	{TEXT("{\"arrival_s\":0,\"prompt_tokens\":5,\"output_tokens\":1}\n{\"arrival_s\":0,\0}\n"), "bad_text",
	 ":2: the line contains a NUL byte"},
	{TEXT("{\"arrival_s\":0,\"prompt_tokens\":5,\"output_tokens\":1}\n"
	      "{\"arrival_s\":0,\"prompt_tokens\":5,\"output_tokens\":1,\"salt\":\"\xc3\"}\n"), "syntax",
	      ":2: column "},
	/* Mooncake */
	{TEXT("{\"timestamp\":0,\"input_length\":600,\"output_length\":1,\"hash_ids\":[1,2]}\n"
	      "{\"timestamp\":0,\"input_length\":600,\"output_length\":1,\"hash_ids\":[1]}\n"),
	 "hash_ids",
	 ":2: hash_ids: 1 ids for input_length 600; allowed: 2, one for every 512 tokens and one for the rest"},
	{TEXT("{\"timestamp\":0,\"input_length\":512,\"output_length\":1,\"hash_ids\":[1]}\n"
	      "{\"timestamp\":0,\"input_length\":512,\"output_length\":1,\"hash_ids\":[1,2]}\n"),
	 "hash_ids", ":2: hash_ids: 2 ids for input_length 512; allowed: 1"},
	{TEXT("{\"timestamp\":0,\"input_length\":512,\"output_length\":1,\"hash_ids\":[1]}\n"
	      "{\"timestamp\":0,\"input_length\":512,\"output_length\":1,\"hash_ids\":[-1]}\n"),
	 "hash_ids", ":2: hash_ids: entry 0 is no id; allowed: a whole number from 0 on"},
	{TEXT("{\"timestamp\":0,\"input_length\":512,\"output_length\":1,\"hash_ids\":[1]}\n"
	      "{\"timestamp\":0,\"input_length\":512,\"output_length\":1,\"hash_ids\":{}}\n"),
	 "hash_ids", ":2: hash_ids: not a list"},
	{TEXT("{\"timestamp\":0,\"input_length\":512,\"output_length\":1,\"hash_ids\":[1]}\n"
	      "{\"timestamp\":-1,\"input_length\":512,\"output_length\":1,\"hash_ids\":[1]}\n"),
	 "negative", ":2: timestamp: '-1' is negative"},
	{TEXT("{\"timestamp\":0,\"input_length\":512,\"output_length\":1,\"hash_ids\":[1]}\n"
	      "{\"timestamp\":0,\"input_length\":0,\"output_length\":1,\"hash_ids\":[]}\n"),
	 "zero_prompt", ":2: prompt: has 0 tokens"},
	/* Azure */
	{TEXT("TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n16.11.2023 18:17,5,5"),
	 "not_a_number", ":3: TIMESTAMP: "},
	{TEXT("TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n"
	      "2023-11-16 18:17:04.0319600,0,5"),
	 "zero_prompt", ":3: prompt: has 0 tokens"},
};

START_TEST(a_bad_trace_says_where_and_what)
{
	const struct bad *bad = &table[_i];
	char path[KV_PATH_SIZE];
	struct kv_trace_options options;
	struct kv_trace *trace;
	struct kv_error err;
	int status;

	kv_trace_options_init(&options);
	status = kv_read_all(kv_write_file(path, bad->text, bad->length), &options, &trace, &err);
	unlink(path);
	kv_trace_close(trace);
	ck_assert_msg(status == -1, "accepted: %s", bad->text);
	ck_assert_int_eq(err.status, KV_EXIT_DATA);
	ck_assert_msg(strncmp(err.text, path, strlen(path)) == 0 &&
	              strncmp(err.text + strlen(path), bad->message, strlen(bad->message)) == 0,
	              "expected '%s', got '%s'", bad->message, err.text);
}
END_TEST

START_TEST(a_bad_row_is_counted_by_reason_when_rows_may_be_skipped)
{
	const struct bad *bad = &table[_i];
	char path[KV_PATH_SIZE];
	struct kv_trace_options options;
	struct kv_trace *trace;
	struct kv_error err;
	int status;

	kv_trace_options_init(&options);
	options.skip_bad_rows = true;
	status = kv_read_all(kv_write_file(path, bad->text, bad->length), &options, &trace, &err);
	unlink(path);
	ck_assert_int_eq(status, bad->reason == NULL ? -1 : 0);
	for (int i = 0; i < KV_FAULTS && bad->reason != NULL; i++)
		ck_assert_msg(kv_trace_counts(trace)->left_out[i] ==
		              (strcmp(bad->reason, kv_fault_name((enum kv_fault)i)) == 0), "%s: %s", bad->message,
		              kv_fault_name((enum kv_fault)i));
	if (bad->reason != NULL) {
		ck_assert_uint_eq(kv_trace_counts(trace)->rows, 2);
		ck_assert_uint_eq(kv_trace_counts(trace)->emitted, 1);
	}
	kv_trace_close(trace);
}
END_TEST

START_TEST(an_unknown_format_lists_those_that_there_are)
{
	char path[KV_PATH_SIZE];
	struct kv_trace_options options;
	struct kv_error err;

	kv_trace_options_init(&options);
	options.format = "vllm";
	ck_assert_ptr_null(kv_trace_open(kv_write_file(path, H3, strlen(H3)), &options, &err));
	unlink(path);
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
	ck_assert_msg(strstr(err.text, "unknown trace format 'vllm'") != NULL && strstr(err.text, "mooncake") != NULL,
	              "%s", err.text);
}
END_TEST

START_TEST(a_file_of_unusable_rows_alone_is_an_error_even_if_rows_may_be_skipped)
{
	char path[KV_PATH_SIZE];
	struct kv_trace_options options;
	struct kv_error err;

	kv_trace_options_init(&options);
	options.skip_bad_rows = true;
	ck_assert_ptr_null(kv_trace_open(kv_write_file(path, TEXT(H3 "0,0,1\n1,x,1\n")), &options, &err));
	unlink(path);
	ck_assert_msg(strstr(err.text, "no request in it: 2 rows read, 2 left out") != NULL, "%s", err.text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace errors");
	TCase *tc = tcase_create("messages");
	int count = (int)(sizeof table / sizeof *table);

	tcase_add_loop_test(tc, a_bad_trace_says_where_and_what, 0, count);
	tcase_add_loop_test(tc, a_bad_row_is_counted_by_reason_when_rows_may_be_skipped, 0, count);
	tcase_add_test(tc, an_unknown_format_lists_those_that_there_are);
	tcase_add_test(tc, a_file_of_unusable_rows_alone_is_an_error_even_if_rows_may_be_skipped);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
