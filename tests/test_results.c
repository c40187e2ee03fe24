/* Results of a run that is told by hand: blocks of 16 tokens, a pool of 10, steps of 10 ms.
 *
 *	ms       0        5      10              20               30
 *	r0       prefill 32      token 1         token 2          token 3, finish
 *	r1                arrive admit, 16       token 1, finish
 *	pinned   2               4               3
 *	cached   0               0               1
 *
 * r0: TTFT 10, TPOT 10, E2E 30. r1: TTFT 15 = queue 5 + prefill 10, E2E 15, one token and so no TPOT. */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "results/results.h"
#include "sim/base/memory.h"
#include "tests/support.h"

#define MS KV_MILLISECOND

static char folder[64], out[80];
static struct kv_error err;
static struct kv_results_options options;
static struct kv_run_info info;
static struct kv_results *results;
static struct kv_state state;
static json_t *summary;

static char *path_of(const char *name)
{
	static char path[160];

	snprintf(path, sizeof path, "%s/%s", out, name);
	return path;
}

static bool exists(const char *name)
{
	return access(path_of(name), F_OK) == 0;
}

static const char *content_of(const char *path)
{
	static char content[1 << 16];
	FILE *in = fopen(path, "r");
	size_t size;

	ck_assert_msg(in != NULL, "%s cannot be opened", path);
	size = fread(content, 1, sizeof content - 1, in);
	content[size] = '\0';
	fclose(in);
	return content;
}

static void set_up(void)
{
	strcpy(folder, "/tmp/kvsim-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(out, sizeof out, "%s/out", folder);
	kv_results_options_init(&options);
	options.dir = out;
	options.quiet = true;
	state = (struct kv_state){.free_blocks = 10};
	info = (struct kv_run_info){
		.command = "kvsim run",
		.model = "org/llama",
		.engine_profile = "vllm-2026-08",
		.latency = "fixed:10ms",
		.num_gpu_blocks = 11,
		.usable_blocks = 10,
		.block_size = 16,
		.block_bytes = 1000,
		.kv_bytes_per_token = 62,
		.kv_cache_bytes = 11000,
		.trace = "t.csv",
		.trace_format = "kvsim",
		.trace_has_prefixes = true,
		.request_rate = INFINITY,
		.burstiness = 1,
		/* 2026-01-02T03:04:05Z */
		.start_time = 1767323045 * KV_SECOND
	};
}

static void remove_folder(const char *dir)
{
	DIR *entries = opendir(dir);
	struct dirent *entry;
	char path[512];

	while (entries != NULL && (entry = readdir(entries)) != NULL) {
		snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
		unlink(path);
	}
	if (entries != NULL)
		closedir(entries);
	rmdir(dir);
}

static void tear_down(void)
{
	kv_results_free(results);
	results = NULL;
	json_decref(summary);
	summary = NULL;
	remove_folder(out);
	remove_folder(folder);
}

static void open_results(void)
{
	results = kv_results_open(&options, &info, &err);
	ck_assert_msg(results != NULL, "%s", err.text);
}

static void finish_results(kv_time end)
{
	struct kv_run_outcome outcome = {.end = end, .final = state};

	ck_assert_msg(kv_results_finish(results, &outcome, &err) == 0, "%s", err.text);
	if (!exists("summary.json"))
		return;
	summary = json_load_file(path_of("summary.json"), JSON_REJECT_DUPLICATES, NULL);
	ck_assert_ptr_nonnull(summary);
}

static void advance(kv_time time)
{
	struct kv_sink *sink = kv_results_sink(results);

	sink->advance(sink->self, &state, time);
}

static void take_step(uint64_t number, uint64_t scheduled, uint64_t output)
{
	struct kv_sink *sink = kv_results_sink(results);
	struct kv_step step = {
		.number = number, .start = (kv_time)number * 10 * MS, .end = (kv_time)(number + 1) * 10 * MS,
		.scheduled_tokens = scheduled, .output_tokens = output, .pinned_blocks = state.pinned_blocks
	};

	sink->step(sink->self, &step);
}

static void pin(uint64_t pinned, uint64_t cached, uint64_t filled, uint64_t waste)
{
	state.pinned_blocks = pinned;
	state.cached_blocks = cached;
	state.free_blocks = 10 - pinned - cached;
	state.filled_slots = filled;
	state.waste_slots = waste;
}

static const struct kv_request_record r0 = {
	.index = 0, .tenant = "", .status = KV_FINISHED, .reason = KV_REASON_LENGTH, .arrival = 0, .sent = 0,
	.queued = 0,
	.admitted = 0, .first_token = 10 * MS, .finish = 30 * MS, .prompt_tokens = 32, .output_tokens = 3,
	.computed_tokens = 32, .block_ns = 80 * MS, .miss_reason = KV_MISS_NEVER_SEEN
};
static const struct kv_request_record r1 = {
	.index = 1, .id = "chat, 1", .tenant = "acme", .status = KV_FINISHED, .reason = KV_REASON_STOP,
	.arrival = 5 * MS,
	.sent = 5 * MS, .queued = 5 * MS, .admitted = 10 * MS, .first_token = 20 * MS, .finish = 20 * MS,
	.prompt_tokens = 16, .output_tokens = 1, .computed_tokens = 16, .block_ns = 10 * MS,
	.miss_reason = KV_MISS_OTHER_KEY
};

static void record(const struct kv_request_record *request)
{
	struct kv_sink *sink = kv_results_sink(results);

	sink->request(sink->self, request);
}

static void arrive(void)
{
	state.arrivals++;
	state.in_flight++;
}

static void finish(const struct kv_request_record *request)
{
	state.finishes++;
	state.in_flight--;
	record(request);
}

static void tell_first_step(void)
{
	advance(0);
	arrive();
	state.running = 1;
	state.steps = 1;
	state.prefill_tokens = state.queried_tokens = 32;
	pin(2, 0, 32, 0);
	advance(5 * MS);
	arrive();
	state.waiting[KV_WAIT_TOKEN_BUDGET] = 1;
	advance(10 * MS);
	take_step(0, 32, 1);
}

static void tell_second_step(void)
{
	struct kv_sink *sink = kv_results_sink(results);

	state.waiting[KV_WAIT_TOKEN_BUDGET] = 0;
	state.running = 2;
	state.steps = 2;
	state.prefill_tokens = state.queried_tokens = 48;
	state.decode_tokens = 1;
	pin(4, 0, 49, 0);
	advance(20 * MS);
	take_step(1, 17, 2);
	sink->token_gap(sink->self, 10 * MS, 1);
	finish(&r1);
}

static void tell_last_step(void)
{
	struct kv_sink *sink = kv_results_sink(results);

	state.running = 1;
	state.steps = 3;
	state.decode_tokens = 2;
	state.evicted_blocks = 2;
	pin(3, 1, 34, 8);
	advance(30 * MS);
	take_step(2, 1, 1);
	sink->token_gap(sink->self, 10 * MS, 1);
	finish(&r0);
	state.running = 0;
	pin(0, 3, 0, 0);
}

static void tell_run(void)
{
	open_results();
	tell_first_step();
	tell_second_step();
	tell_last_step();
	finish_results(30 * MS);
}

static const json_t *find(const char *path)
{
	char copy[128];
	const json_t *value = summary;

	snprintf(copy, sizeof copy, "%s", path);
	for (char *key = strtok(copy, "/"); key != NULL; key = strtok(NULL, "/"))
		value = json_object_get(value, key);
	ck_assert_msg(value != NULL, "summary.json has no %s", path);
	return value;
}

static double number(const char *path)
{
	const json_t *value = find(path);

	ck_assert_msg(json_is_number(value), "%s is not a number", path);
	return json_number_value(value);
}

struct expected {
	const char *path;
	double value;
};

static void check_numbers(const struct expected *expected, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(fabs(number(expected[i].path) - expected[i].value) <= 1e-9 * fabs(expected[i].value),
		              "%s is %.17g, not %.17g", expected[i].path, number(expected[i].path), expected[i].value);
}
#define CHECK_NUMBERS(table) check_numbers(table, sizeof table / sizeof table[0])

START_TEST(summary_has_the_numbers_of_vllm_bench_serve)
{
	static const struct expected expected[] = {
		{"num_prompts", 2}, {"duration", 0.03}, {"completed", 2}, {"failed", 0}, {"total_input_tokens", 48},
		{"total_output_tokens", 4}, {"request_throughput", 2 / 0.03}, {"output_throughput", 4 / 0.03},
		{"total_token_throughput", 52 / 0.03}, {"max_output_tokens_per_s", 4}, {"max_concurrent_requests", 2},
		{"mean_ttft_ms", 12.5}, {"median_ttft_ms", 12.5}, {"std_ttft_ms", 2.5}, {"p99_ttft_ms", 14.95},
		{"p99.9_ttft_ms", 14.995}, {"mean_tpot_ms", 10}, {"std_tpot_ms", 0}, {"mean_itl_ms", 10},
		{"mean_e2el_ms", 22.5}, {"p90_e2el_ms", 28.5}
	};

	tell_run();
	CHECK_NUMBERS(expected);
	ck_assert(json_is_null(find("request_goodput")));
	ck_assert(json_is_null(find("max_concurrency")));
	ck_assert(json_is_null(find("label")));
	ck_assert_str_eq(json_string_value(find("request_rate")), "inf");
	ck_assert_str_eq(json_string_value(find("date")), "20260102-030405");
	ck_assert_double_eq(json_number_value(json_array_get(find("latencies"), 0)), 0.03);
	ck_assert_double_eq(json_number_value(json_array_get(find("latencies"), 1)), 0.015);
	ck_assert_uint_eq(json_array_size(find("queue_times")), 2);
}
END_TEST

/* conventions: "keys in this order"; those of --save-detailed, ramps, probes and drafts are left out. */
START_TEST(summary_keys_stand_in_vllm_order)
{
	static const char *const keys[] = {
		"date", "endpoint_type", "backend", "label", "model_id", "tokenizer_id", "num_prompts", "request_rate",
		"burstiness", "max_concurrency", "duration", "completed", "failed", "total_input_tokens",
		"total_output_tokens", "request_throughput", "request_goodput", "output_throughput",
		"total_token_throughput", "latencies", "queue_times", "max_output_tokens_per_s",
		"max_concurrent_requests", "rtfx", "mean_ttft_ms", "median_ttft_ms", "std_ttft_ms", "p99_ttft_ms",
		"mean_tpot_ms", "median_tpot_ms", "std_tpot_ms", "p99_tpot_ms", "mean_itl_ms", "median_itl_ms",
		"std_itl_ms", "p99_itl_ms", "mean_e2el_ms", "median_e2el_ms", "std_e2el_ms", "p99_e2el_ms", "kvsim"
	};
	void *member;

	ck_assert_int_eq(kv_results_parse_percentiles("99", &options, &err), 0);
	tell_run();
	member = json_object_iter(summary);
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		ck_assert_ptr_nonnull(member);
		ck_assert_str_eq(json_object_iter_key(member), keys[i]);
		member = json_object_iter_next(summary, member);
	}
	ck_assert_ptr_null(member);
}
END_TEST

START_TEST(summary_has_our_numbers_under_kvsim)
{
	static const struct expected expected[] = {
		{"kvsim/num_gpu_blocks", 11}, {"kvsim/usable_blocks", 10}, {"kvsim/block_size", 16},
		{"kvsim/kv_bytes_per_token", 62}, {"kvsim/kv_cache_bytes", 11000}, {"kvsim/steps", 3},
		{"kvsim/scheduled_tokens", 50}, {"kvsim/queried_tokens", 48}, {"kvsim/hit_tokens", 0},
		{"kvsim/readmission_queried_tokens", 0}, {"kvsim/readmission_hit_tokens", 0},
		{"kvsim/evicted_blocks", 2}, {"kvsim/preemptions", 0}, {"kvsim/peak_pinned_blocks", 4},
		{"kvsim/sum_pinned_blocks", 2 + 4 + 3}, {"kvsim/mean_pinned_blocks", 3},
		{"kvsim/mean_cached_blocks", 1.0 / 3}, {"kvsim/refused", 0}, {"kvsim/dropped", 0},
		{"kvsim/unfinished", 0}, {"kvsim/simulated_s", 0.03}, {"kvsim/ttft_parts/queue/mean_ms", 2.5},
		{"kvsim/ttft_parts/prefill/mean_ms", 10}, {"kvsim/ttft_parts/client_wait/p99_ms", 0},
		{"kvsim/mean_waiting/token_budget", 1.0 / 6}, {"kvsim/mean_filled_blocks", (32 + 49 + 34) / 48.0},
		{"kvsim/mean_waste_blocks", 8 / 48.0}
	};

	tell_run();
	CHECK_NUMBERS(expected);
	ck_assert(json_is_false(find("kvsim/stalled")));
	ck_assert(json_is_false(find("kvsim/partial")));
}
END_TEST

/* 10 blocks of 16 against requests of 35 and 17 tokens; the first has blocks for 30 ms and holds 32 and 33.5 tokens,
 * the other for 10 ms and 16. */
START_TEST(what_division_promises_and_what_ran_differ_by_named_factors)
{
	static const struct expected expected[] = {
		{"kvsim/concurrency/by_mean_length", 160 / 26.0}, {"kvsim/concurrency/pinned_share", 0.3},
		{"kvsim/concurrency/length_by_time", (35 * 30 + 17 * 10) / 40.0},
		{"kvsim/concurrency/held", (32 * 10 + 33.5 * 20 + 16 * 10) / 40.0},
		{"kvsim/concurrency/unequal_lengths", 26 / 30.5}, {"kvsim/concurrency/growth", 30.5 / 28.75},
		{"kvsim/concurrency/sharing", 1}, {"kvsim/concurrency/allocation", 28.75 / 36},
		{"kvsim/concurrency/mean_running", 4 / 3.0}
	};

	tell_run();
	CHECK_NUMBERS(expected);
	ck_assert_double_eq_tol(number("kvsim/concurrency/by_mean_length") * number("kvsim/concurrency/pinned_share") *
	                                number("kvsim/concurrency/unequal_lengths") *
	                                number("kvsim/concurrency/growth") * number("kvsim/concurrency/sharing") *
	                                number("kvsim/concurrency/allocation"),
	                        4 / 3.0, 1e-12);
}
END_TEST

START_TEST(requests_csv_is_exact_and_leaves_out_what_never_came)
{
	struct kv_request_record refused = {
		.index = 2, .tenant = "", .status = KV_REFUSED, .reason = KV_REASON_TOO_LONG, .arrival = 1500000001,
		.sent = 1500000001, .queued = KV_TIME_NONE, .admitted = KV_TIME_NONE, .first_token = KV_TIME_NONE,
		.finish = KV_TIME_NONE, .prompt_tokens = 99, .miss_reason = KV_MISS_REASONS
	};

	options.write = KV_WRITE_REQUESTS;
	open_results();
	record(&r1);
	record(&r0);
	record(&refused);
	finish_results(30 * MS);
	ck_assert_str_eq(content_of(path_of("requests.csv")),
	                 "request_id,tenant,status,reason,arrival_s,sent_s,queued_s,admitted_s,first_token_s,finish_s,"
	                 "prompt_tokens,output_tokens,cached_tokens,external_tokens,computed_tokens,recomputed_tokens,"
	                 "preemptions,swaps,preempted_s,swapped_s,retry_wait_s,client_wait_s,retrieval_s,frontend_s,queue_s,"
	                 "prefill_s,ttft_s,tpot_s,e2e_s,block_seconds,miss_reason\n"
	                 "\"chat, 1\",acme,finished,stop,0.005,0.005,0.005,0.01,0.02,0.02,16,1,0,0,16,0,0,0,0,0,0,0,0,0,0.005,"
	                 "0.01,0.015,,0.015,0.01,other_key\n"
	                 "r0,,finished,length,0,0,0,0,0.01,0.03,32,3,0,0,32,0,0,0,0,0,0,0,0,0,0,0.01,0.01,0.01,0.03,0.08,never_seen\n"
	                 "r2,,refused,too_long,1.500000001,1.500000001,,,,,99,0,0,0,0,0,0,0,0,0,0,0,,,,,,,,0,\n");
}
END_TEST

/* Column `name` of row `row` (from 1) of a CSV text without quotes. */
static double csv_number(const char *text, const char *name, int row)
{
	size_t column = 0;
	const char *p = text;

	for (; strncmp(p, name, strlen(name)) != 0 || (p[strlen(name)] != ',' && p[strlen(name)] != '\n'); column++) {
		p += strcspn(p, ",\n");
		ck_assert_msg(*p == ',', "no column %s", name);
		p++;
	}
	for (p = text; row > 0; row--)
		p = strchr(p, '\n') + 1;
	while (column-- > 0)
		p = strchr(p, ',') + 1;
	return strtod(p, NULL);
}

static int count_lines(const char *text)
{
	int lines = 0;

	for (; *text != '\0'; text++)
		lines += *text == '\n';
	return lines;
}

START_TEST(timeline_weighs_levels_by_time_within_given_intervals)
{
	const char *text;

	options.timeline_interval = 20 * MS;
	tell_run();
	text = content_of(path_of("timeline.csv"));
	ck_assert_int_eq(count_lines(text), 3);
	ck_assert_double_eq(csv_number(text, "start_s", 2), 0.02);
	ck_assert_double_eq(csv_number(text, "end_s", 2), 0.03);
	ck_assert_double_eq(csv_number(text, "pinned_blocks_mean", 1), 3);
	ck_assert_double_eq(csv_number(text, "pinned_blocks_max", 1), 4);
	ck_assert_double_eq(csv_number(text, "pinned_bytes_max", 1), 4000);
	ck_assert_double_eq(csv_number(text, "filled_blocks_mean", 1), 2.53125);
	ck_assert_double_eq(csv_number(text, "waste_blocks_mean", 2), 0.5);
	ck_assert_double_eq(csv_number(text, "reserved_blocks_mean", 2), 0.375);
	ck_assert_double_eq(csv_number(text, "waiting_token_budget_mean", 1), 0.25);
	ck_assert_double_eq(csv_number(text, "waiting_token_budget_max", 1), 1);
	ck_assert_double_eq(csv_number(text, "prefill_tokens", 1), 48);
	ck_assert_double_eq(csv_number(text, "arrivals", 1), 2);
	/* r1 finishes at the boundary: that belongs to what begins there, as does the run's end to what ends there. */
	ck_assert_double_eq(csv_number(text, "finishes", 1), 0);
	ck_assert_double_eq(csv_number(text, "finishes", 2), 2);
	ck_assert_double_eq(csv_number(text, "pinned_block_seconds", 1) + csv_number(text, "pinned_block_seconds", 2),
	                    0.09);
}
END_TEST

START_TEST(timeline_ends_with_the_run_when_that_is_a_boundary)
{
	const char *text;

	options.timeline_interval = 10 * MS;
	tell_run();
	text = content_of(path_of("timeline.csv"));
	ck_assert_int_eq(count_lines(text), 4);
	ck_assert_double_eq(csv_number(text, "finishes", 3), 2);
	ck_assert_double_eq(csv_number(text, "evicted_blocks", 3), 2);
}
END_TEST

/* 8,192 rows of 1 ms last for 8.192 s; an hour needs rows of 1 s. What was recorded before stays exact. */
START_TEST(timeline_without_interval_takes_the_shortest_round_one_that_fits)
{
	const char *text;

	options.write = KV_WRITE_TIMELINE;
	open_results();
	for (int second = 0; second < 60; second++) {
		advance(second * KV_SECOND);
		arrive();
		pin((uint64_t)second % 3, 0, 0, 0);
	}
	advance(3600 * KV_SECOND);
	finish_results(3600 * KV_SECOND);
	text = content_of(path_of("timeline.csv"));
	ck_assert_double_eq(csv_number(text, "end_s", 1), 1);
	ck_assert_double_eq(csv_number(text, "pinned_blocks_mean", 2), 1);
	ck_assert_double_eq(csv_number(text, "pinned_blocks_mean", 3), 2);
	ck_assert_double_eq(csv_number(text, "arrivals", 60), 1);
	ck_assert_double_eq(csv_number(text, "arrivals", 61), 0);
	ck_assert_double_eq(csv_number(text, "pinned_block_seconds", 61), 2);
}
END_TEST

START_TEST(warmup_leaves_out_earlier_requests_and_earlier_counts)
{
	static const struct expected expected[] = {
		{"num_prompts", 1}, {"completed", 1}, {"total_input_tokens", 16}, {"mean_ttft_ms", 15},
		{"duration", 0.026}, {"kvsim/warmup_s", 0.004}, {"kvsim/simulated_s", 0.03},
		/* Steps 1 and 2 began after 4 ms; the pool is measured from there. */
		{"kvsim/steps", 2}, {"kvsim/scheduled_tokens", 18}, {"kvsim/sum_pinned_blocks", 7},
		{"kvsim/queried_tokens", 16}, {"kvsim/mean_pinned_blocks", (2 * 6 + 4 * 10 + 3 * 10) / 26.0}
	};

	options.warmup = 4 * MS;
	tell_run();
	CHECK_NUMBERS(expected);
	ck_assert_uint_eq(json_array_size(find("latencies")), 1);
}
END_TEST

START_TEST(a_warmup_longer_than_the_run_leaves_zeros)
{
	static const struct expected expected[] = {{"num_prompts", 0}, {"request_throughput", 0}, {"kvsim/steps", 0}};

	options.warmup = KV_SECOND;
	tell_run();
	CHECK_NUMBERS(expected);
}
END_TEST

/* r0 meets 12 ms to the first token, r1 does not; one token counts as a time per token of 0. */
START_TEST(goodput_counts_requests_that_meet_every_objective)
{
	ck_assert_int_eq(kv_results_parse_goodput("ttft:12,tpot:10,e2el:30", &options, &err), 0);
	tell_run();
	ck_assert_double_eq_tol(number("request_goodput"), 1 / 0.03, 1e-9);
}
END_TEST

START_TEST(a_request_without_output_has_no_first_token)
{
	struct kv_request_record empty = r0;

	empty.first_token = KV_TIME_NONE;
	empty.output_tokens = 0;
	open_results();
	record(&empty);
	record(&r1);
	finish_results(30 * MS);
	ck_assert_double_eq(number("completed"), 2);
	ck_assert_double_eq(number("total_output_tokens"), 1);
	ck_assert_double_eq_tol(number("mean_ttft_ms"), 15, 1e-9);
	ck_assert_double_eq_tol(number("mean_e2el_ms"), 22.5, 1e-9);
	/* r0 did not wait in the queue and r1 did for 5 ms; no request has two tokens. */
	ck_assert_double_eq_tol(number("kvsim/ttft_parts/queue/mean_ms"), 2.5, 1e-9);
	ck_assert_double_eq_tol(number("kvsim/ttft_parts/prefill/mean_ms"), 10, 1e-9);
	/* vllm/benchmarks/serve.py: the statistics of a single 0. */
	ck_assert_double_eq(number("mean_tpot_ms"), 0);
	ck_assert_double_eq(number("p99.9_tpot_ms"), 0);
	ck_assert_double_eq(number("median_itl_ms"), 0);
	ck_assert_uint_eq(json_array_size(find("kvsim/without_values")), 2);
	ck_assert_str_eq(json_string_value(json_array_get(find("kvsim/without_values"), 0)), "tpot");
	ck_assert_str_eq(json_string_value(json_array_get(find("kvsim/without_values"), 1)), "itl");
}
END_TEST

/* acme: 16 tokens computed of r1, 100 of a prompt that was dropped while it waited; the other tenant: 8 hit and 24 computed
 * of 32. Looked up in all: 48, of which 8 were hit. */
START_TEST(tenants_are_told_by_what_was_looked_up_and_computed)
{
	struct kv_request_record dropped = {
		.index = 2, .tenant = "acme", .status = KV_DROPPED, .reason = KV_REASON_DEADLINE, .queued = 0,
		.admitted = KV_TIME_NONE, .first_token = KV_TIME_NONE, .finish = KV_TIME_NONE, .prompt_tokens = 100
	};
	struct kv_request_record hit = r0;
	static const struct expected first[] = {{"queried_tokens", 32}, {"cached_tokens", 8}, {"computed_tokens", 24}};
	static const struct expected second[] = {
		{"queried_tokens", 16}, {"cached_tokens", 0}, {"computed_tokens", 16}, {"prompt_tokens", 116}
	};
	json_t *whole;

	hit.cached_tokens = 8;
	hit.computed_tokens = 24;
	options.write |= KV_WRITE_REPORT;
	open_results();
	state.queried_tokens = 48;
	record(&hit);
	record(&r1);
	record(&dropped);
	finish_results(30 * MS);
	whole = summary;
	summary = json_array_get(json_object_get(json_object_get(whole, "kvsim"), "tenants"), 0);
	CHECK_NUMBERS(first);
	summary = json_array_get(json_object_get(json_object_get(whole, "kvsim"), "tenants"), 1);
	CHECK_NUMBERS(second);
	summary = whole;
}
END_TEST

/* Request 2 is turned away twice and finishes with its third sending; 3 is turned away three times, which is all that two
 * retries allow; 4 is too long, and another one was never sent for that: 3 of 5 users' requests, with r0 and 2 the answered. */
START_TEST(sendings_and_requests_that_failed_for_good_are_counted_apart)
{
	static const struct {
		uint64_t index;
		enum kv_reason reason;
		uint32_t prompt;
	} refused[] = {
		{2, KV_REASON_QUEUE_FULL, 9}, {3, KV_REASON_QUEUE_FULL, 9}, {2, KV_REASON_QUEUE_FULL, 9},
		{3, KV_REASON_QUEUE_FULL, 9}, {3, KV_REASON_QUEUE_FULL, 9}, {4, KV_REASON_TOO_LONG, 99}
	};
	static const struct expected expected[] = {
		{"completed", 2}, {"failed", 6}, {"kvsim/failed_for_good", 2}, {"kvsim/reasons/queue_full", 5},
		{"kvsim/unanswered/requests", 3}, {"kvsim/unanswered/of", 5}, {"kvsim/unanswered/share", 0.6},
		{"kvsim/unanswered/reasons/queue_full", 1}, {"kvsim/unanswered/reasons/too_long", 1},
		{"kvsim/unanswered/reasons/after_refusal", 1}, {"kvsim/unanswered/longest_too_long_tokens", 99},
		{"kvsim/after_refusal", 1}, {"kvsim/last_arrival_s", 0.006}
	};
	struct kv_request_record last = r0;

	options.retries = 2;
	info.after_refusal = 1;
	open_results();
	record(&r0);
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		struct kv_request_record sending = {
			.index = refused[i].index, .tenant = "", .status = KV_REFUSED, .reason = refused[i].reason,
			.arrival = (kv_time)(i + 1) * MS, .sent = (kv_time)(i + 1) * MS, .queued = KV_TIME_NONE,
			.admitted = KV_TIME_NONE, .first_token = KV_TIME_NONE, .finish = KV_TIME_NONE,
			.prompt_tokens = refused[i].prompt
		};

		record(&sending);
	}
	last.index = 2;
	last.arrival = last.sent = last.queued = last.admitted = 9 * MS;
	record(&last);
	finish_results(30 * MS);
	info.after_refusal = 0;
	CHECK_NUMBERS(expected);
}
END_TEST

/* Request 2 is turned away at 1, 2 and 5 ms and finishes when sent at 9 ms; 3 comes at 6 ms and is cut by the end. After 4 ms:
 * three sendings, one of them followed by another, so two requests; none has failed. */
START_TEST(sendings_before_the_warm_up_and_cut_requests_are_no_failures)
{
	static const struct {
		uint64_t index;
		kv_time arrival;
		enum kv_status status;
		enum kv_reason reason;
	} sendings[] = {
		{2, 1 * MS, KV_REFUSED, KV_REASON_QUEUE_FULL}, {2, 2 * MS, KV_REFUSED, KV_REASON_QUEUE_FULL},
		{2, 5 * MS, KV_REFUSED, KV_REASON_QUEUE_FULL}, {3, 6 * MS, KV_UNFINISHED, KV_REASON_CUT}
	};
	static const struct expected expected[] = {
		{"kvsim/arrived", 3}, {"kvsim/sent_again", 1}, {"kvsim/unanswered/of", 2}, {"kvsim/unanswered/requests", 0},
		{"kvsim/failed_for_good", 0}, {"kvsim/unfinished", 1}
	};
	struct kv_request_record last = r0;

	options.retries = 3;
	options.warmup = 4 * MS;
	open_results();
	for (size_t i = 0; i < sizeof sendings / sizeof sendings[0]; i++) {
		struct kv_request_record sending = {
			.index = sendings[i].index, .tenant = "", .status = sendings[i].status, .reason = sendings[i].reason,
			.arrival = sendings[i].arrival, .sent = sendings[i].arrival, .queued = KV_TIME_NONE,
			.admitted = KV_TIME_NONE, .first_token = KV_TIME_NONE, .finish = KV_TIME_NONE, .prompt_tokens = 9
		};

		record(&sending);
	}
	last.index = 2;
	last.arrival = last.sent = last.queued = last.admitted = 9 * MS;
	record(&last);
	finish_results(30 * MS);
	CHECK_NUMBERS(expected);
}
END_TEST

/* r0 has waited for 7 ms before it was sent, r1 not at all: first tokens 17 and 15 ms after arrival. */
START_TEST(under_a_cap_first_tokens_are_told_from_arrival_too)
{
	struct kv_request_record waited = r0;

	waited.sent = waited.queued = waited.admitted = 7 * MS;
	waited.first_token += 7 * MS;
	waited.finish += 7 * MS;
	options.capped = true;
	open_results();
	record(&waited);
	record(&r1);
	finish_results(30 * MS);
	ck_assert_double_eq_tol(number("kvsim/ttft_from_arrival/mean_ms"), 16, 1e-9);
	ck_assert_double_eq_tol(number("mean_ttft_ms"), 12.5, 1e-9);
}
END_TEST

START_TEST(client_side_metrics_need_a_concurrency_cap)
{
	info.max_concurrency = 4;
	info.request_rate = 12.5;
	tell_run();
	ck_assert_double_eq(number("max_concurrency"), 4);
	ck_assert_double_eq(number("request_rate"), 12.5);
	ck_assert_double_eq(number("mean_client_queue_time_ms"), 0);
	ck_assert_double_eq(number("p99_e2el_including_client_queue_ms"), number("p99_e2el_ms"));
}
END_TEST

START_TEST(save_result_writes_the_same_under_the_dated_name)
{
	char *copy;

	options.save_result = true;
	tell_run();
	copy = kv_strdup(content_of(path_of("summary.json")));
	ck_assert_str_eq(content_of(path_of("kvsim-infqps-llama-20260102-030405.json")), copy);
	free(copy);
}
END_TEST

/* vllm/benchmarks/serve.py prints labels left in 40 columns and values left in 10. */
START_TEST(console_starts_with_the_block_of_vllm_bench_serve)
{
	static const char expected[] =
		"============ Serving Benchmark Result ============\n"
		"Successful requests:                     2         \n"
		"Failed requests:                         0         \n"
		"Benchmark duration (s):                  0.03      \n"
		"Total input tokens:                      48        \n"
		"Total generated tokens:                  4         \n"
		"Request throughput (req/s):              66.67     \n"
		"Output token throughput (tok/s):         133.33    \n"
		"Peak output token throughput (tok/s):    4.00      \n"
		"Peak concurrent requests:                2.00      \n"
		"Total token throughput (tok/s):          1733.33   \n"
		"---------------Time to First Token----------------\n"
		"Mean TTFT (ms):                          12.50     \n"
		"Median TTFT (ms):                        12.50     \n"
		"P99 TTFT (ms):                           14.95     \n"
		"-----Time per Output Token (excl. 1st token)------\n"
		"Mean TPOT (ms):                          10.00     \n"
		"Median TPOT (ms):                        10.00     \n"
		"P99 TPOT (ms):                           10.00     \n"
		"---------------Inter-token Latency----------------\n"
		"Mean ITL (ms):                           10.00     \n"
		"Median ITL (ms):                         10.00     \n"
		"P99 ITL (ms):                            10.00     \n"
		"----------------End-to-end Latency----------------\n"
		"Mean E2EL (ms):                          22.50     \n"
		"Median E2EL (ms):                        22.50     \n"
		"P99 E2EL (ms):                           29.85     \n"
		"==================================================\n";
	int terminal = dup(STDOUT_FILENO);
	char file[96];
	int capture;

	fflush(stdout);
	snprintf(file, sizeof file, "%s/stdout", folder);
	capture = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	dup2(capture, STDOUT_FILENO);
	options.quiet = false;
	tell_run();
	dup2(terminal, STDOUT_FILENO);
	close(capture);
	ck_assert_msg(strncmp(content_of(file), expected, strlen(expected)) == 0, "printed:\n%s", content_of(file));
	ck_assert_ptr_nonnull(strstr(content_of(file), "summary.json, requests.csv, timeline.csv"));
}
END_TEST

START_TEST(a_full_standard_output_is_an_io_error)
{
	int terminal, full = open("/dev/full", O_WRONLY);
	struct kv_run_outcome outcome = {.end = 0, .final = state};
	int failed;

	if (full < 0) {
		printf("# skipped: no /dev/full\n");
		return;
	}
	options.quiet = false;
	open_results();
	fflush(stdout);
	terminal = dup(STDOUT_FILENO);
	dup2(full, STDOUT_FILENO);
	failed = kv_results_finish(results, &outcome, &err);
	dup2(terminal, STDOUT_FILENO);
	close(full);
	ck_assert_int_ne(failed, 0);
	ck_assert_int_eq(err.status, KV_EXIT_IO);
}
END_TEST

START_TEST(files_have_no_final_name_before_the_end)
{
	open_results();
	tell_first_step();
	ck_assert(!exists("summary.json") && !exists("requests.csv") && !exists("timeline.csv") &&
	          !exists("manifest.json"));
	kv_results_free(results);
	results = NULL;
	ck_assert_int_ne(access(out, F_OK), 0);
}
END_TEST

START_TEST(only_what_is_asked_for_and_the_manifest_is_written)
{
	options.write = KV_WRITE_SUMMARY;
	open_results();
	ck_assert_ptr_null(kv_results_sink(results)->event);
	finish_results(0);
	ck_assert(exists("summary.json") && exists("manifest.json"));
	ck_assert(!exists("requests.csv") && !exists("timeline.csv") && !exists("events.csv"));
}
END_TEST

START_TEST(a_later_run_replaces_the_files_of_an_earlier_one)
{
	tell_run();
	kv_results_free(results);
	json_decref(summary);
	options.write = KV_WRITE_SUMMARY;
	open_results();
	finish_results(0);
	ck_assert(exists("summary.json") && !exists("requests.csv"));
}
END_TEST

static void put_file(const char *name)
{
	FILE *file;

	mkdir(out, 0777);
	file = fopen(path_of(name), "w");
	fputs("{}", file);
	fclose(file);
}

START_TEST(a_folder_of_somebody_else_is_refused_unless_forced)
{
	put_file("thesis.tex");
	ck_assert_ptr_null(kv_results_open(&options, &info, &err));
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "thesis.tex"));
	ck_assert(exists("thesis.tex"));
	options.force = true;
	open_results();
	finish_results(0);
	ck_assert(exists("thesis.tex") && exists("summary.json"));
}
END_TEST

START_TEST(leftovers_of_a_killed_run_do_not_matter)
{
	put_file("requests.csv.tmp");
	open_results();
	finish_results(0);
	ck_assert(exists("requests.csv") && !exists("requests.csv.tmp"));
}
END_TEST

START_TEST(events_are_written_in_order_with_quotes_where_needed)
{
	struct kv_event admit = {
		.time = 10 * MS, .step = 1, .kind = KV_EVENT_ADMIT, .request = 1, .request_id = "say \"hi\"",
		.tokens = 16,
		.blocks = 2, .detail = "first"
	};
	struct kv_event evict = {
		.time = 10 * MS, .step = 1, .kind = KV_EVENT_EVICT, .request = 7, .blocks = 3, .detail = ""};
	struct kv_sink *sink;

	options.write = KV_WRITE_EVENTS;
	open_results();
	sink = kv_results_sink(results);
	sink->event(sink->self, &evict);
	sink->event(sink->self, &admit);
	finish_results(10 * MS);
	ck_assert_str_eq(content_of(path_of("events.csv")), "time_s,step,event,request_id,tokens,blocks,detail\n"
	                                                    "0.01,1,evict,r7,0,3,\n"
	                                                    "0.01,1,admit,\"say \"\"hi\"\"\",16,2,first\n");
}
END_TEST

START_TEST(lists_of_options_name_what_is_valid)
{
	unsigned write = KV_WRITE_EVENTS;

	ck_assert_int_eq(kv_results_parse_write("summary,timeline", &write, &err), 0);
	ck_assert_uint_eq(write, KV_WRITE_SUMMARY | KV_WRITE_TIMELINE | KV_WRITE_EVENTS);
	ck_assert_int_ne(kv_results_parse_write("summary,pdf", &write, &err), 0);
	ck_assert_str_eq(err.text, "'pdf' is not one of summary, requests, timeline, manifest, report");
	ck_assert_int_ne(kv_results_parse_percentiles("50,101", &options, &err), 0);
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
	ck_assert_int_ne(kv_results_parse_goodput("itl:3", &options, &err), 0);
	ck_assert_str_eq(err.text, "'itl' is not one of ttft, tpot, e2el");
	ck_assert_int_ne(kv_results_parse_goodput("ttft=3", &options, &err), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("results");
	TCase *tc = tcase_create("run");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, summary_has_the_numbers_of_vllm_bench_serve);
	tcase_add_test(tc, summary_keys_stand_in_vllm_order);
	tcase_add_test(tc, summary_has_our_numbers_under_kvsim);
	tcase_add_test(tc, what_division_promises_and_what_ran_differ_by_named_factors);
	tcase_add_test(tc, requests_csv_is_exact_and_leaves_out_what_never_came);
	tcase_add_test(tc, timeline_weighs_levels_by_time_within_given_intervals);
	tcase_add_test(tc, timeline_ends_with_the_run_when_that_is_a_boundary);
	tcase_add_test(tc, timeline_without_interval_takes_the_shortest_round_one_that_fits);
	tcase_add_test(tc, warmup_leaves_out_earlier_requests_and_earlier_counts);
	tcase_add_test(tc, a_warmup_longer_than_the_run_leaves_zeros);
	tcase_add_test(tc, goodput_counts_requests_that_meet_every_objective);
	tcase_add_test(tc, a_request_without_output_has_no_first_token);
	tcase_add_test(tc, tenants_are_told_by_what_was_looked_up_and_computed);
	tcase_add_test(tc, sendings_and_requests_that_failed_for_good_are_counted_apart);
	tcase_add_test(tc, sendings_before_the_warm_up_and_cut_requests_are_no_failures);
	tcase_add_test(tc, under_a_cap_first_tokens_are_told_from_arrival_too);
	tcase_add_test(tc, client_side_metrics_need_a_concurrency_cap);
	tcase_add_test(tc, save_result_writes_the_same_under_the_dated_name);
	tcase_add_test(tc, console_starts_with_the_block_of_vllm_bench_serve);
	tcase_add_test(tc, a_full_standard_output_is_an_io_error);
	tcase_add_test(tc, files_have_no_final_name_before_the_end);
	tcase_add_test(tc, only_what_is_asked_for_and_the_manifest_is_written);
	tcase_add_test(tc, a_later_run_replaces_the_files_of_an_earlier_one);
	tcase_add_test(tc, a_folder_of_somebody_else_is_refused_unless_forced);
	tcase_add_test(tc, leftovers_of_a_killed_run_do_not_matter);
	tcase_add_test(tc, events_are_written_in_order_with_quotes_where_needed);
	tcase_add_test(tc, lists_of_options_name_what_is_valid);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
