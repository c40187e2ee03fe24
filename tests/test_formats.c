/* The rules of each foreign format, on a few rows of each; and what kind each of the public files is found to be. */
#include "config.h"

#include <sys/stat.h>

#include "tests/support.h"
#include "tests/trace_file.h"

struct expected {
	double arrival;            /* s */
	uint32_t prompt, output;
	uint32_t segments;         /* 0 = one private segment */
};

#define BLIS \
	"request_id,client_id,tenant_id,slo_class,session_id,round_index,prefix_group,prefix_length,streaming," \
	"input_tokens,output_tokens,text_tokens,image_tokens,audio_tokens,video_tokens,reason_ratio,model," \
	"deadline_us,server_input_tokens,arrival_time_us,send_time_us,first_chunk_time_us,last_chunk_time_us," \
	"num_chunks,status,error_message,finish_reason\n"

#define CALL(second, ms, prompt, completion, cached, status) \
	"{\"timestamp\": \"2026-05-01T10:00:" second "Z\", \"duration_ms\": " #ms ", \"status_code\": " #status \
	", \"tokens\": {\"prompt\": " #prompt ", \"completion\": " #completion ", \"cached\": " #cached "}}"

static const struct sample {
	const char *format;        /* to name, or NULL for detection */
	const char *found;
	const char *text;
	struct expected rows[4];   /* in order of arrival; the end has no prompt */
	enum kv_fault fault;       /* of rows that are left out by the format's rules */
	unsigned left_out;
} samples[] = {
	{NULL, "bailian",
	 "{\"chat_id\": 1, \"parent_chat_id\": -1, \"timestamp\": 61.114, \"input_length\": 33, \"output_length\": 9, "
	 "\"type\": \"text\", \"turn\": 1, \"hash_ids\": [5, 6, 7]}\n"
	 "{\"chat_id\": 2, \"parent_chat_id\": 99, \"timestamp\": 62.5, \"input_length\": 16, \"output_length\": 3, "
	 "\"type\": \"text\", \"turn\": 2, \"hash_ids\": [5]}\n",
	 {{61.114, 33, 9, 3}, {62.5, 16, 3, 1}}, 0, 0},
	{"vllm-timed", "vllm-timed",
	 "{\"timestamp\": 2, \"input_length\": 20, \"output_length\": 5, \"hash_ids\": [1, 2]}\n",
	 {{2, 20, 5, 2}}, 0, 0},
	{"mooncake,block=4,unit=us,last=floor", "mooncake",
	 "{\"timestamp\": 7, \"input_length\": 10, \"output_length\": 5, \"hash_ids\": [1, 2]}\n",
	 {{7e-6, 10, 5, 3}}, 0, 0},
	{"mooncake,time_key=t,input_key=in,output_key=out,ids_key=h,block=16", "mooncake",
	 "{\"t\": 1500, \"in\": 10, \"out\": 5, \"h\": [3]}\n", {{1.5, 10, 5, 1}}, 0, 0},
	{NULL, "aiperf", "{\"input_length\": 10, \"hash_ids\": [123]}\n{\"input_length\": 9, \"output_length\": 4}\n",
	 {{0, 10, 1, 1}, {0, 9, 4, 0}}, 0, 0},
	/* A turn with a delay waits for the answer, which ends as it arrives here, and has it in its prompt. */
	{NULL, "aiperf",
	 "{\"session_id\": \"s\", \"timestamp\": 500, \"input_length\": 600, \"output_length\": 7, "
	 "\"hash_ids\": [1, 2]}\n"
	 "{\"session_id\": \"s\", \"delay\": 250, \"input_length\": 30, \"output_length\": 5, \"hash_ids\": [3]}\n"
	 "{\"session_id\": \"t\", \"timestamp\": 2000, \"input_length\": 8, \"output_length\": 5}\n",
	 {{0.5, 600, 7, 2}, {0.75, 637, 5, 4}, {2, 8, 5, 1}}, 0, 0},
	{"aiperf,turns=whole,block=16", "aiperf",
	 "{\"session_id\": \"s\", \"timestamp\": 500, \"input_length\": 20, \"output_length\": 7, "
	 "\"hash_ids\": [1, 2]}\n"
	 "{\"session_id\": \"s\", \"timestamp\": 900, \"input_length\": 33, \"output_length\": 5, "
	 "\"hash_ids\": [1, 3, 4]}\n",
	 {{0.5, 20, 7, 2}, {0.9, 33, 5, 3}}, 0, 0},
	{NULL, "blis",
	 BLIS "0,c1,t1,standard,s1,0,policy,1000,false,10,5,10,0,0,0,0.0,,1500000,1100,250000,250000,0,0,0,ok,,stop\n"
	 "1,c1,,standard,,0,,0,true,10,5,10,0,0,0,0.0,,0,17,100000,100000,0,0,0,ok,,\n"
	 "2,c1,,standard,,0,,0,true,10,0,10,0,0,0,0.0,,0,0,100000,100000,0,0,0,timeout,\"no, late\",\n",
	 {{0.1, 17, 5, 0}, {0.25, 1010, 5, 2}}, KV_FAULT_FAILED, 1},
	/* What a failed request says of itself need not make sense. */
	{NULL, "blis",
	 BLIS "0,c1,,standard,,0,,0,true,-1,-1,10,0,0,0,0.0,,0,0,x,100000,0,0,0,error,gone,\n"
	 "1,c1,,standard,,0,,0,true,10,5,10,0,0,0,0.0,,0,17,100000,100000,0,0,0,ok,,\n",
	 {{0.1, 17, 5, 0}}, KV_FAULT_FAILED, 1},
	{NULL, "aibrix",
	 "{\"timestamp\": 1500, \"requests\": [{\"prompt\": \"a b\", \"prompt_length\": 20, \"output_length\": 3}, "
	 "{\"prompt\": \"a\", \"prompt_length\": 8, \"output_length\": 4, \"session_id\": \"s\"}]}\n"
	 "{\"timestamp\": 2000, \"requests\": []}\n"
	 "{\"timestamp\": 2500, \"requests\": [{\"prompt_length\": 9, \"output_length\": 0}]}\n",
	 {{1.5, 20, 3, 0}, {1.5, 8, 4, 0}, {2.5, 9, 0, 0}}, 0, 0},
	/* The second prompt is the first, its answer and 24 tokens; the third is shorter than all that. */
	{NULL, "llmservingsim-sessions",
	 "{\"session_id\": \"s\", \"arrival_time_ns\": 1000000000, \"sub_requests\": ["
	 "{\"input_toks\": 100, \"output_toks\": 6, \"tool_duration_ns\": 500000000}, "
	 "{\"input_toks\": 130, \"output_toks\": 5, \"tool_duration_ns\": 250000000}, "
	 "{\"input_toks\": 104, \"output_toks\": 5}]}\n"
	 "{\"arrival_time_ns\": 5000000000, \"input_toks\": 7, \"output_toks\": 1}\n"
	 "{\"session_id\": \"t\", \"arrival_time_ns\": 1, \"sub_requests\": []}\n",
	 {{1, 100, 6, 1}, {1.5, 130, 5, 3}, {1.75, 104, 5, 2}, {5, 7, 1, 1}}, KV_FAULT_EMPTY_SESSION, 1},
	{NULL, "copilot",
	 "{\"session_id\": \"s\", \"date\": \"2026-05-01\", \"turns\": [{\"turn_id\": 0, \"llm_calls\": ["
	 CALL("10.000", 2000, 100, 8, 0, 200) ", " CALL("13.500", 1000, 120, 5, 104, 200) "]}, {\"llm_calls\": ["
	 CALL("15.000", 10, 9, 5, 0, 500) "]}]}\n{\"session_id\": \"t\", \"turns\": []}\n"
	 "{\"session_id\": \"u\", \"turns\": [{\"llm_calls\": [" CALL("40.000", 2000, 100, 8, 0, 200) "]}]}\n",
	 {{0, 100, 8, 1}, {1.5, 120, 5, 3}, {30, 100, 8, 1}}, KV_FAULT_EMPTY_SESSION, 1},
	{NULL, "kv-cache-tester",
	 "{\"id\":\"s\",\"hash_id_scope\":\"local\",\"requests\":[{\"t\":0,\"in\":64,\"out\":1,\"hash_ids\":[1]}]}\n"
	 "{\"id\":\"t\",\"hash_id_scope\":\"local\",\"requests\":[]}\n", {{0, 64, 1, 1}}, KV_FAULT_EMPTY_SESSION, 1},
	{NULL, "kv-cache-tester",
	 "{\"id\":\"s\",\"hash_id_scope\":\"local\",\"requests\":[{\"t\":0,\"in\":64,\"out\":1,\"hash_ids\":[1]},"
	 "{\"t\":1,\"type\":\"subagent\",\"requests\":[]}]}\n", {{0, 64, 1, 1}}, KV_FAULT_EMPTY_SESSION, 1},
	{NULL, "servegen-offline",
	 "{\"request_id\": 0, \"type\": \"text\", \"input_length\": 17, \"hash_ids\": [0, 1], \"img_ids\": []}\n"
	 "{\"request_id\": 1, \"type\": \"text\", \"input_length\": 5, \"output_length\": 2, \"duration\": 30}\n",
	 {{0, 17, 0, 2}, {0, 5, 2, 0}}, 0, 0},
	{NULL, "azure",
	 "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n"
	 "2024-05-10 00:00:01+00:00,2,3\n"
	 "2024-05-10 01:00:01.5+01:00,3,4\n",
	 {{0, 2162, 5, 0}, {0.99007, 2, 3, 0}, {1.49007, 3, 4, 0}}, 0, 0},
	{NULL, "azure",
	 "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-10-15T12:00:00.269Z,0,770,491\n"
	 "2024-10-15T12:00:05.819Z,1,949,126\n",
	 {{0, 770, 491, 0}, {5.55, 949, 126, 0}}, 0, 0},
	{NULL, "burstgpt",
	 "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n"
	 "45,GPT-4,0,0,0,API log\n50,GPT-4,10,1,11,API log\n",
	 {{0, 472, 18, 0}, {45, 10, 1, 0}}, KV_FAULT_FAILED, 1},
	{"burstgpt,model=GPT-4", "burstgpt",
	 "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
	 "19440110.0,1722ac82-0a46-4bf0-aa08-89794e7a2b3f,43,GPT-4,906,446,1352,Conversation log\n"
	 "19440161.0,,2,ChatGPT,36,29,65,Conversation log\n19440170.0,,2,GPT-4,7,2,9,API log\n",
	 {{0, 906, 446, 0}, {60, 7, 2, 0}}, KV_FAULT_FILTERED, 1},
	{NULL, "splitwise",
	 "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n"
	 "0,2,0,1,1,4096,32\n"
	 "1,2,0,3,1,2048,8\n",
	 {{1, 4096, 32, 0}, {3, 2048, 8, 0}}, 0, 0},
	{NULL, "vidur", "arrived_at,num_prefill_tokens,num_decode_tokens\n0.052000000000000005,3180,8\n",
	 {{0.052, 3180, 8, 0}}, 0, 0},
	{NULL, "vidur",
	 "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n7564.0,192.0,7756.0,39.395833333333336\n",
	 {{0, 7564, 192, 0}}, 0, 0},
	{NULL, "vidur", "arrived_at,num_prefill_tokens,num_decode_tokens,session_id,block_hash_ids\n0.0,32,2,7,11|22\n"
	 "1.0,20,2,7,11|23\n",
	 {{0, 32, 2, 2}, {1, 20, 2, 2}}, 0, 0},
	{NULL, "vllm-bench",
	 "{\"date\": \"20260101\", \"request_throughput\": 2.0, \"input_lens\": [10, 20, 30], \"output_lens\": [1, 0, "
	 "3],\n"
	 "\"start_times\": [100.5, 101, 102.25], \"errors\": [\"\", \"timed out\", \"\"]}\n",
	 {{0, 10, 1, 0}, {1.75, 30, 3, 0}}, KV_FAULT_FAILED, 1},
	/* --append-result: the second result on the same clock, whose failed request has neither time nor length; the
	 * third after a restart, behind the 5 s that the second lasted. */
	{NULL, "vllm-bench",
	 "{\"duration\": 2.0, \"input_lens\": [10, 20], \"output_lens\": [1, 2], \"start_times\": [100.5, 100.25]}\n"
	 "{\"duration\": 5.0, \"input_lens\": [-1, 30], \"output_lens\": [0, 3], \"start_times\": [0.0, 110.0], "
	 "\"errors\": [\"refused\", \"\"]}\n"
	 "{\"duration\": 1.0, \"input_lens\": [40], \"output_lens\": [4], \"start_times\": [7.0]}\n",
	 {{0, 20, 2, 0}, {0.25, 10, 1, 0}, {9.75, 30, 3, 0}, {14.75, 40, 4, 0}}, KV_FAULT_FAILED, 1},
	/* Batches, without times. */
	{NULL, "vllm-bench",
	 "{\"duration\": 2.5, \"input_lens\": [10], \"output_lens\": [1]}\n"
	 "{\"duration\": 2.5, \"input_lens\": [20], \"output_lens\": [1]}\n", {{0, 10, 1, 0}, {2.5, 20, 1, 0}}, 0, 0},
	/* 2^64 - 2 is too much for JSON integers, and written as text here. */
	{NULL, "mooncake",
	 "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 1, "
	 "\"hash_ids\": [\"18446744073709551614\", 9]}\n", {{0, 600, 1, 2}}, 0, 0},
	{NULL, "llmservingsim",
	 "{\"request_id\": \"b0\", \"arrival_time_ns\": 46926808, \"input_toks\": 35, \"output_toks\": 5, "
	 "\"prompt_full_block_ids\": [0, 1], \"later_full_block_ids\": []}\n",
	 {{0.046926808, 35, 5, 3}}, 0, 0},
	{NULL, "llmservingsim",
	 "{\"request_id\": \"b0\", \"input_toks\": 35, \"output_toks\": 5, \"arrival_time\": 1777142838.338653, "
	 "\"queued_ts\": 479748.340626232}\n"
	 "{\"request_id\": \"b1\", \"input_toks\": 3, \"output_toks\": 5, \"arrival_time\": 1777142838.6237123, "
	 "\"queued_ts\": 479748.625554681}\n",
	 {{0, 35, 5, 0}, {0.284928449, 3, 5, 0}}, 0, 0},
	{"llmservingsim,clock=arrival", "llmservingsim",
	 "{\"request_id\": \"b0\", \"input_toks\": 35, \"output_toks\": 5, \"arrival_time\": 1777142838.338653, "
	 "\"queued_ts\": 1}\n"
	 "{\"request_id\": \"b1\", \"input_toks\": 3, \"output_toks\": 5, \"arrival_time\": 1777142838.6237123, "
	 "\"queued_ts\": 1}\n",
	 {{0, 35, 5, 0}, {0.2850593, 3, 5, 0}}, 0, 0},
	{"llmservingsim,block=2", "llmservingsim",
	 "{\"input_toks\": 5, \"output_toks\": 1, \"arrival_time_ns\": 10, \"input_tok_ids\": [7, 8, 9, 10, 11], "
	 "\"output_tok_ids\": [1]}\n",
	 {{1e-8, 5, 1, 3}}, 0, 0},
	{NULL, "lengths", "100,5\n200,6\n", {{0, 100, 5, 0}, {0, 200, 6, 0}}, 0, 0},
	{NULL, "lengths", "input_tokens,output_tokens\n100,5\n", {{0, 100, 5, 0}}, 0, 0},
	{NULL, "kv-cache-tester",
	 "{\"id\": \"s\", \"block_size\": 64, \"hash_id_scope\": \"local\", \"requests\": [\n"
	 " {\"t\": 0.0, \"in\": 130, \"out\": 7, \"hash_ids\": [1, 2], \"api_time\": 2.0, \"think_time\": 0.0},\n"
	 " {\"t\": 5.0, \"in\": 192, \"out\": 0, \"hash_ids\": [1, 2, 3], \"api_time\": 1.0, \"think_time\": 2.5}]}",
	 {{0, 130, 7, 2}, {2.5, 192, 0, 1}}, 0, 0},
	/* The third request's 193 s count from 116 s, when the first was answered: nobody knows when the second was. */
	{NULL, "kv-cache-tester",
	 "{\"id\": \"s\", \"block_size\": 64, \"hash_id_scope\": \"local\", \"requests\": [\n"
	 " {\"t\": 111, \"in\": 64, \"out\": 1, \"hash_ids\": [1], \"api_time\": 4.67},\n"
	 " {\"t\": 301, \"in\": 64, \"out\": 2, \"hash_ids\": [1], \"think_time\": 185},\n"
	 " {\"t\": 309, \"in\": 64, \"out\": 3, \"hash_ids\": [1], \"think_time\": 193, \"api_time\": 1},\n"
	 " {\"t\": 312, \"in\": 64, \"out\": 4, \"hash_ids\": [1], \"think_time\": 2}]}",
	 {{111, 64, 1, 1}, {296, 64, 2, 1}, {304, 64, 3, 1}, {306, 64, 4, 1}}, 0, 0},
	{NULL, "tracelab",
	 "session_id,arrival_time,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n"
	 "0,250,0,0,512,64,100\n0,250,1,576,128,64,100\n",
	 {{0.25, 512, 64, 1}, {0.35, 704, 64, 3}}, 0, 0},
	{NULL, "tracelab",
	 "id,input_len,output_len,arrival_time,round_idx,tool_wait_after_ms,prefix_len\na,512,64,0,0,100,100\n",
	 {{0, 612, 64, 2}}, 0, 0},
	{NULL, "tracelab-rounds",
	 "{\"session_id\": \"a\", \"round_index\": 0, \"input_tokens_total\": 100, \"prefix_tokens\": 30, "
	 "\"output_tokens\": 9, "
	 "\"timing_events\": [{\"event_type\": \"user_message\", \"timestamp\": \"2026-06-01T05:40:20.151Z\"}, "
	 "{\"event_type\": \"text\", \"timestamp\": \"2026-06-01T05:40:29.887Z\"}]}\n"
	 "{\"session_id\": \"a\", \"round_index\": 1, \"input_tokens_total\": 120, \"prefix_tokens\": 109, "
	 "\"output_tokens\": 9, "
	 "\"timing_events\": [{\"event_type\": \"tool_result\", \"timestamp\": \"2026-06-01T05:40:31.887Z\"}]}\n",
	 {{0, 100, 9, 2}, {2, 120, 9, 4}}, 0, 0},
};

START_TEST(each_format_reads_its_rows_by_its_rules)
{
	const struct sample *sample = &samples[_i];
	char path[KV_PATH_SIZE];
	struct kv_trace_options options;
	struct kv_request request;
	struct kv_source *source;
	struct kv_trace *trace;
	struct kv_error err = {0};

	kv_trace_options_init(&options);
	options.format = sample->format;
	trace = kv_trace_open(kv_write_file(path, sample->text, strlen(sample->text)), &options, &err);
	unlink(path);
	ck_assert_msg(trace != NULL, "%s", err.text);
	ck_assert_str_eq(kv_trace_format(trace)->name, sample->found);
	source = kv_trace_source(trace);
	for (const struct expected *row = sample->rows; row->prompt > 0; row++) {
		ck_assert_msg(source->next(source, &request, &err) == 1, "%s", err.text);
		ck_assert_double_eq_tol((double)request.arrival / 1e9, row->arrival, 1e-12);
		ck_assert_uint_eq(request.prompt_tokens, row->prompt);
		ck_assert_uint_eq(request.output_tokens, row->output);
		ck_assert_uint_eq(request.prompt_segments, row->segments ? row->segments : 1);
		ck_assert_int_eq(request.prompt[0].kind == KV_STREAM_PRIVATE, row->segments == 0);
		source->ended(source, request.index, KV_END_FINISHED, request.arrival, NULL, false);
	}
	ck_assert_int_eq(source->next(source, &request, &err), 0);
	ck_assert_uint_eq(kv_trace_counts(trace)->left_out[sample->fault], sample->left_out);
	kv_trace_close(trace);
}
END_TEST

/* A prompt of a million tokens in blocks of 16. */
START_TEST(a_format_is_detected_by_a_first_line_of_half_a_megabyte)
{
	enum { IDS = 65536, ID_TEXT = 8 };
	char *text = calloc(IDS * ID_TEXT + 200, 1), *end = text;
	char path[KV_PATH_SIZE];
	struct kv_trace_options options;
	struct kv_trace *trace;
	struct kv_error err = {0};

	ck_assert_ptr_nonnull(text);
	end += sprintf(end, "{\"chat_id\":1,\"timestamp\":0,\"input_length\":%d,\"output_length\":1,\"hash_ids\":[",
	               IDS * 16);
	for (int i = 0; i < IDS; i++)
		end += sprintf(end, "%s%d", i > 0 ? "," : "", 100000 + i);
	end += sprintf(end, "],\"type\":\"text\",\"turn\":1,\"parent_chat_id\":-1}\n");
	kv_trace_options_init(&options);
	ck_assert_int_eq(kv_read_all(kv_write_file(path, text, (size_t)(end - text)), &options, &trace, &err), 0);
	unlink(path);
	ck_assert_str_eq(kv_trace_format(trace)->name, "bailian");
	kv_trace_close(trace);
	free(text);
}
END_TEST

/* Keys that a format does not know are counted wherever they stand, and nothing else happens. */
static const struct {
	const char *format, *text;
	uint64_t unknown;
} extras[] = {
	{"mooncake", "{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[1],\"a\":1,\"b\":2}\n", 2},
	{"azure", "TIMESTAMP,ContextTokens,GeneratedTokens,Extra\n2024-05-10 00:00:00,1,5,x\n", 1},
	{"kv-cache-tester", "{\"id\":\"s\",\"a\":1,\"requests\":[{\"t\":0,\"in\":8,\"out\":1,\"b\":1,\"hash_ids\":[]},"
	 "{\"t\":1,\"c\":1,\"requests\":[{\"t\":0,\"in\":8,\"out\":1,\"d\":1,\"hash_ids\":[]}]}]}", 4},
	{"aibrix", "{\"timestamp\":1,\"a\":1,\"requests\":[{\"prompt_length\":2,\"output_length\":2,\"b\":1}]}\n", 2},
	{"llmservingsim-sessions",
	 "{\"arrival_time_ns\":1,\"a\":1,\"sub_requests\":[{\"input_toks\":1,\"output_toks\":1,\"b\":1}]}\n",
	 2},
	{"copilot",
	 "{\"session_id\":\"s\",\"a\":1,\"turns\":[{\"b\":1,\"llm_calls\":[" CALL("10", 1, 8, 1, 0, 200) "]}]}\n",
	 2},
	{"aiperf", "{\"input_length\":9,\"extra\":{}}\n", 1},
	{"ragpulse,tables=.",
	 "{\"timestamp\":\"1\",\"input_length\":5,\"output_length\":1,\"hash_ids\":{\"more\":[]},\"a\":1}\n", 2},
	{"tracelab", "session_id,round_idx,prefix_len,input_len,output_len,more\n0,0,0,5,1,1\n", 1},
};

START_TEST(unknown_keys_are_counted_and_do_no_harm)
{
	char path[KV_PATH_SIZE];
	struct kv_trace_options options;
	struct kv_trace *trace;
	struct kv_error err = {0};
	int status;

	kv_trace_options_init(&options);
	options.format = extras[_i].format;
	status = kv_read_all(kv_write_file(path, extras[_i].text, strlen(extras[_i].text)), &options, &trace, &err);
	unlink(path);
	ck_assert_msg(status == 0, "%s", err.text);
	ck_assert_uint_eq(kv_trace_counts(trace)->unknown_keys, extras[_i].unknown);
	kv_trace_close(trace);
}
END_TEST

static const struct bad {
	const char *format;
	const char *text;
	const char *message;
} bads[] = {
	{"mooncake", "{\"timestamp\":0,\"input_length\":100,\"output_length\":1,\"hash_ids\":[1,2,3,4,5,6,7]}\n",
	 ":1: hash_ids: 7 ids for input_length 100; allowed: 1, "
	 "one for every 512 tokens and one for the rest (7 would be right with block=16)"},
	{"mooncake,block=16", "{\"timestamp\":0,\"input_length\":1000,\"output_length\":1,\"hash_ids\":[1,2]}\n",
	 ":1: hash_ids: 2 ids for input_length 1000; allowed: 63, "
	 "one for every 16 tokens and one for the rest (2 would be right with block=512)"},
	{"mooncake", "{\"timestamp\":0,\"input_length\":10,\"hash_ids\":[1]}\n",
	 ":1: output_length: is missing, and every row needs it"},
	{"aiperf", "{\"text_input\":\"What is it?\",\"output_length\":2}\n",
	 ":1: text_input: is text, whose tokens only a tokenizer could count; allowed: rows with input_length"},
	{"aiperf", "{\"timestamp\":1,\"delay\":1,\"input_length\":2}\n", ":1: delay: is given beside timestamp"},
	{"aiperf", "{\"input_length\":655,\"hash_ids\":[0,1,2]}\n",
	 ":1: hash_ids: 3 ids for input_length 655; allowed: 2"},
	{"aiperf", "{\"input_length\":655,\"session_id\":7}\n", ":1: session_id: not a string"},
	{"blis", BLIS "0,c,,,,0,,0,false,10,5,10,0,0,0,0.0,,5,0,250000,0,0,0,0,ok,,\n",
	 ":2: deadline_us: before arrival_time_us"},
	{"aibrix", "{\"timestamp\":1,\"requests\":[{\"prompt\":\"a b\",\"output_length\":2}]}\n",
	 ":1: prompt_length: is missing, and every request needs it"},
	{"aibrix", "{\"timestamp\":1,\"requests\":5}\n", ":1: requests: not a list"},
	{"llmservingsim-sessions", "{\"sub_requests\":[{\"input_toks\":1,\"output_toks\":1}]}\n",
	 ":1: arrival_time_ns: is missing"},
	{"llmservingsim-sessions",
	 "{\"session_id\":1,\"arrival_time_ns\":1,\"input_toks\":1,\"output_toks\":1}\n"
	 "{\"session_id\":1,\"arrival_time_ns\":1,\"input_toks\":1,\"output_toks\":1}\n",
	 ":2: session_id: is that of an earlier session too"},
	{"copilot", "{\"session_id\":\"s\",\"turns\":[{\"llm_calls\":[" CALL("10", 1, 8, 1, 9, 200) "]}]}\n",
	 ":1: cached: 9 of prompt 8; allowed: at most these"},
	{"copilot", "{\"session_id\":\"s\",\"turns\":[{\"llm_calls\":[{\"timestamp\":5}]}]}\n",
	 ":1: timestamp: not a date in quotes"},
	{"copilot", "{\"session_id\":\"s\",\"turns\":{}}\n", ":1: turns: is no list"},
	{"copilot", "{\"session_id\":\"s\",\"turns\":[{\"llm_calls\":\"\"}]}\n", ":1: llm_calls: is no list"},
	{"copilot", "{\"session_id\":\"s\",\"turns\":[{\"llm_calls\":[" CALL("10", 1, 8, 1, 0, "500") "]}]}\n",
	 ":1: status_code: is no whole number"},
	{"aibrix", "{\"timestamp\":-1,\"requests\":[]}\n", ":1: timestamp: '-1' is negative"},
	{"llmservingsim-sessions", "{\"arrival_time_ns\":1,\"sub_requests\":{}}\n", ":1: sub_requests: is no list"},
	{"llmservingsim",
	 "{\"input_toks\":1,\"output_toks\":1,\"arrival_time_ns\":5}\n{\"input_toks\":1,\"output_toks\":1}\n",
	 ":2: arrival_time_ns: is missing, and every row needs it as the first has it"},
	/* Without this the second would arrive 56 years after the first, on the other clock. */
	{"llmservingsim",
	 "{\"input_toks\":1,\"output_toks\":1,\"arrival_time\":1777142838.3,\"queued_ts\":479748.3}\n"
	 "{\"input_toks\":1,\"output_toks\":1,\"arrival_time\":1777142838.6}\n",
	 ":2: queued_ts: is missing, and every row needs it as the first has it"},
	{"vidur", "arrived_at,num_prefill_tokens,num_decode_tokens\n1,5,1\n,5,1\n",
	 ":3: arrived_at: is empty, and every row needs it"},
	{"kv-cache-tester", "{\"id\":\"s\",\"hash_id_scope\":\"galactic\",\"requests\":[]}",
	 ":1: hash_id_scope: is neither; allowed: \"local\" or \"global\""},
	{"kv-cache-tester",
	 "{\"id\":\"s\",\"hash_id_scope\":\"global\",\"requests\":[]}\n"
	 "{\"id\":\"t\",\"block_size\":16,\"hash_id_scope\":\"global\",\"requests\":[]}\n",
	 ":2: block_size: 16, but global ids stood for 64 tokens before; allowed: one size"},
	{"mooncake", "{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[9223372036854775808]}\n",
	 ":1: column 81: too big integer near '9223372036854775808'; allowed: up to 9223372036854775807, and block ids above "
	 "that as text in quotes"},
	{"mooncake",
	 "{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[\"18446744073709551615\"]}\n",
	 ":1: hash_ids: entry 0 is no id; allowed: a whole number from 0 on, or its digits in quotes, below "
	 "18446744073709551615"},
	{"vidur", "num_prefill_tokens,num_decode_tokens\n7564.5,1\n",
	 ":2: num_prefill_tokens: '7564.5' is not a whole number"},
	{"vidur", "num_prefill_tokens,num_decode_tokens,block_hash_ids\n32,1,1\n",
	 ":2: block_hash_ids: 1 ids for num_prefill_tokens 32; allowed: 2"},
	{"llmservingsim", "{\"input_toks\":3,\"output_toks\":1,\"input_tok_ids\":[1,2]}\n",
	 ":1: input_tok_ids: 2 ids for input_toks 3; allowed: as many"},
	{"lengths", "100,5\nabc,1\n", ":2: prompt tokens: 'abc' is not a number"},
	{"lengths", "100\n200\n", ":1: column output tokens: is missing"},
	{"kv-cache-tester", "{\"id\":\"s\",\"requests\":[{\"t\":0,\"in\":130,\"out\":1,\"hash_ids\":[1,2,3]}]}",
	 ":1: hash_ids: 3 ids for in 130; allowed: 2, one for every whole block of 64 tokens"},
	{"kv-cache-tester", "{\"id\":\"s\",\"requests\":[{\"t\":0,\"in\":128,\"out\":1,\"hash_ids\":[1,2]},"
	 "{\"t\":1,\"in\":128,\"out\":1,\"hash_ids\":[3,2]}]}",
	 ":1: request 2: hash_ids: entry 1, id 2, stood behind another id before"},
	{"kv-cache-tester", "{\"id\":\"s\",\"requests\":[{\"in\":8,\"out\":1,\"hash_ids\":[]}]}",
	 ":1: t: is missing, and every request and sub-agent needs it"},
	{"kv-cache-tester", "{\"id\":\"s\",\"requests\":[{\"t\":0,\"in\":8,\"out\":1,\"hash_ids\":\"\"}]}",
	 ":1: hash_ids: not a list; allowed: a list of block ids"},
	{"kv-cache-tester", "{\"id\":\"s\",\"requests\":[{\"t\":0,\"in\":8,\"out\":1,\"hash_ids\":[]},"
	 "{\"t\":-1,\"requests\":[{\"t\":0,\"in\":8,\"out\":1,\"hash_ids\":[]}]}]}",
	 ":1: request 2: t: '-1' is negative"},
	{"kv-cache-tester", "{\"id\":\"s\",\"requests\":[{\"t\":0,\"in\":8,\"out\":1,\"hash_ids\":[]},"
	 "{\"t\":1,\"requests\":{}}]}",
	 ":1: request 2: requests: not a list; allowed: the requests of a sub-agent"},
	{"kv-cache-tester", "{\"id\":\"s\",\"requests\":5}", ":1: requests: is no list"},
	{"kv-cache-tester", "{\"id\":\"s\",\"requests\":[{\"t\":0,\"in\":8,\"out\":1,\"hash_ids\":[]}]}\n"
	 "{\"id\":\"s\",\"requests\":[]}", ":2: id: 's' is that of an earlier session too"},
	{"kv-cache-tester", "{\"requests\":[]}", ":1: id: is missing"},
	{"kv-cache-tester", "{\"id\":\"s\",\"requests\":[]}", ": no request in it: 1 rows read, 1 left out"},
	{"kv-cache-tester", "{\"id\":\"s\",\n\"requests\":[}", ":2: column "},
	{"tracelab", "session_id,round_idx,prefix_len,input_len,output_len\n0,0,0,5,1\n0,2,6,5,1\n",
	 ":3: round_idx: 2 in session '0'; allowed: 1, the next one (is the session id used twice?)"},
	{"tracelab", "session_id,round_idx,prefix_len,input_len,output_len\n0,0,0,5,1\n0,0,0,5,1\n",
	 ":3: round_idx: 0 in session '0'; allowed: 1, the next one (is the session id used twice?)"},
	{"tracelab-rounds",
	 "{\"session_id\":\"a\",\"round_index\":0,\"input_tokens_total\":9,\"prefix_tokens\":0,\"output_tokens\":1,"
	 "\"timing_events\":[{\"event_type\":\"text\",\"timestamp\":\"2026-06-01T05:40:29.887Z\"}]}\n"
	 "{\"session_id\":\"a\",\"round_index\":0,\"input_tokens_total\":9,\"prefix_tokens\":0,\"output_tokens\":1,"
	 "\"timing_events\":[{\"event_type\":\"text\",\"timestamp\":\"2026-06-01T05:40:39.887Z\"}]}\n",
	 ":2: round_index: 0 in session 'a'; allowed: 1, the next one (is the session id used twice?)"},
	{"vllm-bench", "{\"input_lens\":[1,2],\"output_lens\":[1]}",
	 ":1: output_lens: 1 entries; allowed: 2, as in input_lens"},
	{"vllm-bench", "{\"input_lens\":[1,2,3],\"output_lens\":[1,-1,3]}",
	 ":1: request 2: output_lens: '-1' is negative"},
	{"burstgpt", "Timestamp,Model,Request tokens,Response tokens\n1,ChatGPT,x,5\n",
	 ":2: Request tokens: 'x' is not a number"},
	{"ragpulse,tables=.",
	 "{\"timestamp\":\"1\",\"input_length\":5,\"output_length\":1,\"hash_ids\":{\"history\":[1]}}\n",
	 ":1: hash_ids: a chunk of history has no length; allowed: ids of a table with history_id and token_length"},
	{"ragpulse,tables=.",
	 "{\"timestamp\":\"1\",\"input_length\":5,\"output_length\":1,\"hash_ids\":{\"history\":\"7\"}}\n",
	 ":1: hash_ids: history is no list; allowed: a list of chunk ids"},
	{"ragpulse,tables=.", "{\"timestamp\":1,\"input_length\":5,\"output_length\":1,\"hash_ids\":{}}\n",
	 ":1: timestamp: not seconds in quotes"},
	{"azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.0099301234,1,5\n", ":2: TIMESTAMP: "},
};

START_TEST(each_rule_that_is_broken_is_told)
{
	char path[KV_PATH_SIZE];
	struct kv_trace_options options;
	struct kv_trace *trace;
	struct kv_error err = {0};
	int status;

	kv_trace_options_init(&options);
	options.format = bads[_i].format;
	status = kv_read_all(kv_write_file(path, bads[_i].text, strlen(bads[_i].text)), &options, &trace, &err);
	unlink(path);
	kv_trace_close(trace);
	ck_assert_int_eq(status, -1);
	ck_assert_msg(strncmp(err.text, path, strlen(path)) == 0 &&
	              strncmp(err.text + strlen(path), bads[_i].message, strlen(bads[_i].message)) == 0,
	              "expected '%s', got '%s'", bads[_i].message, err.text);
}
END_TEST

START_TEST(parameters_of_formats_are_checked)
{
	static const char *const formats[] = {
		"mooncake,block=0", "mooncake,blok=16", "mooncake,unit=h", "lengths,block=16", "mooncake,block",
		"mooncake,block=16,unit=s,block=512"
	};
	static const char *const messages[] = {
		"mooncake,block: ", "mooncake: unknown parameter 'blok': did you mean 'block'?",
		"mooncake,unit: 'h' is none of s|ms|us|ns",
		"lengths takes no parameters",
		"mooncake: write parameters as name=value, found 'block'",
		"mooncake: block is given twice; allowed: once"
	};
	char path[KV_PATH_SIZE];
	struct kv_trace_options options;
	struct kv_error err = {0};

	kv_trace_options_init(&options);
	options.format = formats[_i];
	ck_assert_ptr_null(kv_trace_open(kv_write_file(path, "1,2\n", 4), &options, &err));
	unlink(path);
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
	ck_assert_msg(strncmp(err.text, messages[_i], strlen(messages[_i])) == 0, "%s", err.text);
}
END_TEST

/* Two sub-agents between two requests; the second one is still busy when the next request begins. */
START_TEST(sub_agents_run_beside_and_are_waited_for_if_they_had_ended)
{
	static const char text[] =
		"{\"id\":\"s\",\"requests\":[{\"t\":0,\"in\":10,\"out\":1,\"hash_ids\":[],\"api_time\":1},"
		"{\"t\":3,\"type\":\"subagent\",\"requests\":["
		"{\"t\":0,\"in\":20,\"out\":1,\"hash_ids\":[],\"api_time\":4}]},"
		"{\"t\":4,\"type\":\"subagent\",\"requests\":["
		"{\"t\":0,\"in\":30,\"out\":1,\"hash_ids\":[],\"api_time\":9}]},"
		"{\"t\":8,\"in\":40,\"out\":1,\"hash_ids\":[],\"api_time\":1,\"think_time\":7}]}";
	/* Ends are a tenth of a second after arrivals: the sub-agents start 2 and 3 s after the first end, the last
	 * request comes 1 s after the first sub-agent has ended. */
	static const struct expected rows[] = {{0, 10, 1, 0}, {2.1, 20, 1, 0}, {3.1, 30, 1, 0}, {3.2, 40, 1, 0}};
	char path[KV_PATH_SIZE];
	struct kv_trace_options options;
	struct kv_request request;
	struct kv_source *source;
	struct kv_error err = {0};
	struct kv_trace *trace;

	kv_trace_options_init(&options);
	options.format = "kv-cache-tester";
	trace = kv_trace_open(kv_write_file(path, text, sizeof text - 1), &options, &err);
	unlink(path);
	ck_assert_msg(trace != NULL, "%s", err.text);
	source = kv_trace_source(trace);
	for (int i = 0; i < 4; i++) {
		ck_assert_msg(source->next(source, &request, &err) == 1, "%s", err.text);
		ck_assert_double_eq_tol((double)request.arrival / 1e9, rows[i].arrival, 1e-9);
		ck_assert_uint_eq(request.prompt_tokens, rows[i].prompt);
		source->ended(source, request.index, KV_END_FINISHED, request.arrival + KV_SECOND / 10, NULL, false);
	}
	kv_trace_close(trace);
}
END_TEST

/* As far as their ids agree, and no further: 128 tokens of the first and third, none of the second. */
START_TEST(sessions_of_global_ids_share_what_their_ids_say)
{
	static const char text[] =
		"{\"id\":\"a\",\"hash_id_scope\":\"global\",\"requests\":[{\"t\":0,\"in\":128,\"out\":1,\"hash_ids\":[1,2]}]}\n"
		"{\"id\":\"b\",\"hash_id_scope\":\"global\",\"requests\":[{\"t\":1,\"in\":128,\"out\":1,\"hash_ids\":[5,6]}]}\n"
		"{\"id\":\"c\",\"hash_id_scope\":\"global\",\"requests\":[{\"t\":2,\"in\":192,\"out\":1,\"hash_ids\":[1,2,3]}]}\n";
	char path[KV_PATH_SIZE];
	struct kv_trace_options options;
	struct kv_request request;
	struct kv_source *source;
	struct kv_error err = {0};
	struct kv_trace *trace;
	uint64_t stream[3];

	kv_trace_options_init(&options);
	trace = kv_trace_open(kv_write_file(path, text, sizeof text - 1), &options, &err);
	unlink(path);
	ck_assert_msg(trace != NULL, "%s", err.text);
	source = kv_trace_source(trace);
	for (int i = 0; i < 3; i++) {
		ck_assert_msg(source->next(source, &request, &err) == 1, "%s", err.text);
		stream[i] = request.prompt[0].stream;
	}
	kv_trace_close(trace);
	ck_assert_uint_eq(stream[0], stream[2]);
	ck_assert_uint_ne(stream[0], stream[1]);
}
END_TEST

START_TEST(a_folder_of_sessions_is_one_trace_in_order_of_names)
{
	static const char *const sessions[] = {
		"{\"id\":\"b\",\"requests\":[{\"t\":0,\"in\":64,\"out\":1,\"hash_ids\":[1]}]}",
		"{\"id\":\"a\",\"requests\":[{\"t\":0,\"in\":70,\"out\":1,\"hash_ids\":[1]}]}"
	};
	struct kv_trace_options options;
	struct kv_request first, second;
	struct kv_source *source;
	struct kv_error err = {0};
	struct kv_trace *trace;
	char folder[] = "sessions-XXXXXX", path[64];
	uint64_t stream;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	for (int i = 0; i < 2; i++) {
		FILE *file;

		snprintf(path, sizeof path, "%s/%d.json", folder, i);
		file = fopen(path, "w");
		ck_assert_ptr_nonnull(file);
		fputs(sessions[i], file);
		fclose(file);
	}
	kv_trace_options_init(&options);
	options.format = "kv-cache-tester,stagger=10s";
	trace = kv_trace_open(folder, &options, &err);
	ck_assert_msg(trace != NULL, "%s", err.text);
	source = kv_trace_source(trace);
	ck_assert_int_eq(source->next(source, &first, &err), 1);
	ck_assert_str_eq(first.id, "b:0");
	stream = first.prompt[0].stream;
	ck_assert_int_eq(source->next(source, &second, &err), 1);
	ck_assert_int_eq(second.arrival, 10 * KV_SECOND);
	ck_assert_uint_ne(stream, second.prompt[0].stream);
	kv_trace_close(trace);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/%d.json", folder, i);
		unlink(path);
	}
	rmdir(folder);
}
END_TEST

/* Files of a folder of sessions: the first is good, and the others can give no session. */
static const struct {
	const char *text, *message;
	enum kv_fault fault;
} broken_files[] = {
	{"{\"id\":\"a\",\"requests\":[{\"t\":0,\"in\":64,\"out\":1,\"hash_ids\":[1]}]}", NULL, 0},
	{" \n", ":1: the file is empty; allowed: JSON", KV_FAULT_SYNTAX},
	{"{\"id\":\"b\",\n\"requests\":[{\"t\":0,", ":2: column ", KV_FAULT_SYNTAX},
	{"{\"id\":\"c\",\"requests\":[]}\n]", ":2: column 1: ", KV_FAULT_SYNTAX},
	{"{\"id\":\"d\",\"requests\":[{\"t\":9223372036854775808}]}", ":1: column ", KV_FAULT_RANGE},
	{"{\"requests\":[]}", ":1: id: is missing", KV_FAULT_MISSING},
	{"{\"id\":\"e\",\"requests\":{}}", ":1: requests: is no list", KV_FAULT_SYNTAX},
	{"{\"id\":\"f\",\"block_size\":0,\"requests\":[]}", ":1: block_size: is no whole number above 0",
	 KV_FAULT_NUMBER},
	{"{\"id\":\"a\",\"requests\":[]}", ":1: id: 'a' is that of an earlier session too", KV_FAULT_DUPLICATE_ID},
	{"{\"id\":\"z\",\"requests\":[{\"t\":1,\"in\":64,\"out\":1,\"hash_ids\":[1]}]}", NULL, 0}
};

enum { BROKEN_FILES = sizeof broken_files / sizeof *broken_files };

/* Writes those of the files whose numbers are among these, in their order. */
static void write_folder(const char *folder, const int *numbers, int count)
{
	for (int i = 0; i < count; i++) {
		char path[64];
		FILE *file;

		snprintf(path, sizeof path, "%s/%02d.json", folder, numbers[i]);
		file = fopen(path, "w");
		ck_assert_ptr_nonnull(file);
		fputs(broken_files[numbers[i]].text, file);
		fclose(file);
	}
}

static void remove_folder(const char *folder)
{
	for (int i = 0; i < BROKEN_FILES; i++) {
		char path[64];

		snprintf(path, sizeof path, "%s/%02d.json", folder, i);
		unlink(path);
	}
	rmdir(folder);
}

START_TEST(a_broken_file_among_sessions_is_told)
{
	struct kv_trace_options options;
	struct kv_error err = {0};
	struct kv_trace *trace;
	char folder[] = "sessions-XXXXXX";

	if (broken_files[_i].message == NULL)
		return;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	write_folder(folder, (const int[]){0, _i}, 2);
	kv_trace_options_init(&options);
	options.format = "kv-cache-tester";
	ck_assert_int_eq(kv_read_all(folder, &options, &trace, &err), -1);
	kv_trace_close(trace);
	remove_folder(folder);
	ck_assert_msg(strstr(err.text, broken_files[_i].message) != NULL, "%s", err.text);
}
END_TEST

/* Each counts as one row, but for the one that has an empty session in front of what is broken. */
START_TEST(broken_files_among_sessions_can_be_skipped)
{
	struct kv_trace_options options;
	const struct kv_trace_counts *counts;
	struct kv_error err = {0};
	struct kv_trace *trace;
	uint64_t left_out[KV_FAULTS] = {[KV_FAULT_EMPTY_SESSION] = 1};
	char folder[] = "sessions-XXXXXX";
	int all[BROKEN_FILES];

	for (int i = 0; i < BROKEN_FILES; i++) {
		all[i] = i;
		left_out[broken_files[i].fault] += broken_files[i].message != NULL;
	}
	ck_assert_ptr_nonnull(mkdtemp(folder));
	write_folder(folder, all, BROKEN_FILES);
	kv_trace_options_init(&options);
	options.format = "kv-cache-tester";
	options.skip_bad_rows = true;
	ck_assert_msg(kv_read_all(folder, &options, &trace, &err) == 0, "%s", err.text);
	remove_folder(folder);
	counts = kv_trace_counts(trace);
	ck_assert_uint_eq(counts->emitted, 2);
	ck_assert_uint_eq(counts->rows, BROKEN_FILES + 1);
	for (int i = 0; i < KV_FAULTS; i++)
		ck_assert_msg(counts->left_out[i] == left_out[i], "%s", kv_fault_name((enum kv_fault)i));
	kv_trace_close(trace);
}
END_TEST

/* Every public file, as what it is found to be and how many requests it gives. */
static const struct {
	const char *path, *format;
	uint64_t requests;
} files[] = {
	{"azure2023/azure2023_code.last20_no_final_newline.csv", "azure", 20},
	{"burstgpt/burstgpt_1.first400.csv", "burstgpt", 383},
	{"burstgpt/burstgpt_3.first60_transcribed.csv", "burstgpt", 60},
	{"kv-cache-tester", "kv-cache-tester", 1119},
	{"kv-cache-tester/kvct_trace_0291_with_subagent.json", "kv-cache-tester", 32},
	{"lengths/inference_perf_azure_trace.csv", "azure", 20},
	{"lengths/splitwise_sim_test_trace.csv", "splitwise", 3},
	{"lengths/vattention_arxiv_long_offline.csv", "vidur", 427},
	{"lengths/vattention_arxiv_long_online.first2000.csv", "vidur", 2000},
	{"lengths/vattention_arxiv_sample_floats.first500.csv", "vidur", 500},
	{"lengths/vidur_arxiv_summarization.first2000.csv", "vidur", 2000},
	{"lengths/vidur_splitwise_conv.first2000.csv", "vidur", 2000},
	{"ragpulse/ragpulse_trace.first600.jsonl", "ragpulse", 600},
	/* 600 s windows times their rates. */
	{"servegen/servegen_deepseek-r1_chunk-17-trace.csv", "servegen", 7888},
	{"servegen/servegen_mm-image_chunk-2-trace.csv", "servegen", 4326},
	{"servegen/servegen_offline_trace_a.first93_transcribed.jsonl", "servegen-offline", 93},
	{"tracelab/tracelab_multi_session_example.csv", "tracelab", 8},
	{"tracelab/tracelab_multi_session_large.csv", "tracelab", 303},
	{"tracelab/tracelab_session_workload_example.csv", "tracelab", 11},
	{"tracelab/tracelab_sanitized_round_trace.jsonl", "tracelab-rounds", 19},
	{"vllm-measured/sharegpt-llama-3.1-8b-300-sps10.blk16.jsonl", "llmservingsim", 300},
	{"vllm-measured/vllm_measured_RTX4090_Llama-3.1-8B_requests.jsonl", "llmservingsim", 300},
	{"vllm-measured/vllm_measured_RTXPRO6000_Llama-3.1-8B_requests.jsonl", "llmservingsim", 300},
};

START_TEST(public_files_are_detected_and_read_in_full)
{
	const char *shared = getenv("KVSIM_SHARED");
	struct kv_trace_options options;
	struct kv_trace *trace;
	struct kv_error err = {0};
	char path[4096];

	snprintf(path, sizeof path, "%s/traces/%s", shared ? shared : "", files[_i].path);
	if (shared == NULL || *shared == '\0' || access(path, R_OK) != 0) {
		printf("# skipped: %s is not here\n", files[_i].path);
		return;
	}
	kv_trace_options_init(&options);
	ck_assert_msg(kv_read_all(path, &options, &trace, &err) == 0, "%s", err.text);
	ck_assert_str_eq(kv_trace_format(trace)->name, files[_i].format);
	ck_assert_uint_eq(kv_trace_counts(trace)->emitted, files[_i].requests);
	ck_assert_ptr_null(kv_trace_remark(trace, 0));
	kv_trace_close(trace);
}
END_TEST

START_TEST(what_lies_beside_traces_is_told_apart)
{
	static const char *const paths[] = {
		"ragpulse/ragpulse_2_passages.referenced.jsonl", "servegen/servegen_mm-image_chunk-2-dataset.json",
		"vllm-measured/vllm_measured_RTX4090_Llama-3.1-8B_meta.json",
		"vllm-measured/vllm_measured_RTX4090_Llama-3.1-8B_timeseries.csv"
	};
	const char *shared = getenv("KVSIM_SHARED");
	struct kv_trace_options options;
	struct kv_error err = {0};
	char path[4096];

	snprintf(path, sizeof path, "%s/traces/%s", shared ? shared : "", paths[_i]);
	if (shared == NULL || *shared == '\0' || access(path, R_OK) != 0) {
		printf("# skipped: %s is not here\n", paths[_i]);
		return;
	}
	kv_trace_options_init(&options);
	ck_assert_ptr_null(kv_trace_open(path, &options, &err));
	ck_assert_msg(strstr(err.text, "not a trace, but ") != NULL, "%s", err.text);
}
END_TEST

/* LMCache's agent traces, a custom data set of vllm bench, ShareGPT. */
START_TEST(text_without_token_counts_is_told_apart)
{
	static const char *const texts[] = {
		"{\"timestamp\": 1753780607550317, \"input\": \"What?\", \"output\": \"That.\", "
		"\"session_id\": \"s\"}\n",
		"{\"prompt\": \"What?\", \"output_tokens_wanted\": 10}\n",
		"[\n {\"id\": \"a\", \"conversations\": [{\"from\": \"human\", \"value\": \"What?\"}]}]\n"
	};
	char path[KV_PATH_SIZE];
	struct kv_trace_options options;
	struct kv_error err = {0};

	kv_trace_options_init(&options);
	ck_assert_ptr_null(kv_trace_open(kv_write_file(path, texts[_i], strlen(texts[_i])), &options, &err));
	unlink(path);
	ck_assert_msg(strstr(err.text, "not a trace, but text without token counts") != NULL, "%s", err.text);
}
END_TEST

/* What users have at hand when a download or an export was not what they thought. */
static const struct {
	const char *begins;
	size_t zeros;          /* in front of it */
	const char *told;
} others[] = {
	{"ustar", 257, "a tar archive"}, {"PK\3\4", 0, "a zip archive"}, {"BZh91AY", 0, "compressed by bzip2"},
	{"\xfd" "7zXZ", 0, "compressed by xz"}, {"PAR1", 0, "a Parquet file"}, {"\xff\xfe", 0, "text in UTF-16"},
	{"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", 0, "a pointer of Git LFS"},
	{"<!DOCTYPE html>\n<html>", 0, "a web page"},
	{"[{\"timestamp\": 0, \"input_length\": 5}]\n", 0, "a JSON array"},
	{"{\n \"timestamp\": 0,\n \"input_length\": 5\n}\n", 0, "JSON whose first line is no whole object"},
};

START_TEST(what_is_another_kind_of_file_is_told)
{
	char text[600] = {0}, path[KV_PATH_SIZE];
	struct kv_trace_options options;
	struct kv_error err = {0};

	kv_trace_options_init(&options);
	strcpy(text + others[_i].zeros, others[_i].begins);
	ck_assert_ptr_null(kv_trace_open(kv_write_file(path, text, sizeof text), &options, &err));
	unlink(path);
	ck_assert_msg(strstr(err.text, ": not a trace, but ") != NULL && strstr(err.text, others[_i].told) != NULL, "%s",
	              err.text);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

int main(void)
{
	Suite *suite = suite_create("formats");
	TCase *tc = tcase_create("rules");

	tcase_add_loop_test(tc, each_format_reads_its_rows_by_its_rules, 0, COUNT(samples));
	tcase_add_loop_test(tc, unknown_keys_are_counted_and_do_no_harm, 0, COUNT(extras));
	tcase_add_test(tc, a_format_is_detected_by_a_first_line_of_half_a_megabyte);
	tcase_add_loop_test(tc, each_rule_that_is_broken_is_told, 0, COUNT(bads));
	tcase_add_loop_test(tc, parameters_of_formats_are_checked, 0, 6);
	tcase_add_test(tc, sub_agents_run_beside_and_are_waited_for_if_they_had_ended);
	tcase_add_test(tc, sessions_of_global_ids_share_what_their_ids_say);
	tcase_add_test(tc, a_folder_of_sessions_is_one_trace_in_order_of_names);
	tcase_add_loop_test(tc, a_broken_file_among_sessions_is_told, 0, BROKEN_FILES);
	tcase_add_test(tc, broken_files_among_sessions_can_be_skipped);
	tcase_add_loop_test(tc, public_files_are_detected_and_read_in_full, 0, COUNT(files));
	tcase_add_loop_test(tc, text_without_token_counts_is_told_apart, 0, 3);
	tcase_add_loop_test(tc, what_is_another_kind_of_file_is_told, 0, COUNT(others));
	tcase_add_loop_test(tc, what_lies_beside_traces_is_told_apart, 0, 4);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
