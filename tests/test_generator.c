/* Generated loads: arrival processes, what prompts contain, limits, and that one knob leaves the others alone. */
#include "config.h"

#include <math.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include "sim/base/memory.h"
#include "tests/support.h"
#include "tests/trace_file.h"

/* What is kept of a request. */
struct made {
	kv_time arrival;
	uint64_t index;
	uint32_t prompt, output, segments;
	struct kv_segment first[8];
	char id[40], tenant[40], salt[40], adapter[40];
};

static struct made *made;
static size_t count, capacity;
static char remark[300];   /* the first that the load left; "" = none */

static void set_up(void)
{
	made = NULL;
	count = capacity = 0;
}

static void tear_down(void)
{
	free(made);
}

static void keep(const struct kv_request *request)
{
	struct made *m;

	made = kv_grow(made, &capacity, count + 1, sizeof *made);
	m = &made[count++];
	*m = (struct made){
		.arrival = request->arrival, .index = request->index, .prompt = request->prompt_tokens,
		.output = request->output_tokens, .segments = request->prompt_segments
	};
	for (uint32_t i = 0; i < request->prompt_segments && i < 8; i++)
		m->first[i] = request->prompt[i];
	snprintf(m->id, sizeof m->id, "%s", request->id);
	snprintf(m->tenant, sizeof m->tenant, "%s", request->tenant);
	snprintf(m->salt, sizeof m->salt, "%s", request->salt);
	snprintf(m->adapter, sizeof m->adapter, "%s", request->adapter);
}

/* Every request ends `answer` after it arrived. Returns 0, or -1 with err filled. */
static int try(const char *text, uint64_t seed, kv_time answer, struct kv_error *err)
{
	char path[KV_PATH_SIZE];
	struct kv_trace_options options;
	struct kv_request request;
	struct kv_source *source;
	struct kv_trace *trace;
	int status;

	kv_trace_options_init(&options);
	options.format = "generator";
	options.seed = seed;
	count = 0;
	trace = kv_trace_open(kv_write_file(path, text, strlen(text)), &options, err);
	unlink(path);
	if (trace == NULL)
		return -1;
	source = kv_trace_source(trace);
	while ((status = source->next(source, &request, err)) == 1) {
		keep(&request);
		source->ended(source, request.index, KV_END_FINISHED, request.arrival + answer, NULL, false);
	}
	snprintf(remark, sizeof remark, "%s", kv_trace_remark(trace, 0) != NULL ? kv_trace_remark(trace, 0) : "");
	kv_trace_close(trace);
	return status;
}

static void generate(const char *text, uint64_t seed, kv_time answer)
{
	struct kv_error err = {0};

	ck_assert_msg(try(text, seed, answer, &err) == 0, "%s", err.text);
}

static double seconds(kv_time time)
{
	return (double)time / (double)KV_SECOND;
}

/* --- arrivals ----------------------------------------------------------------------------------------------------- */

#define LOAD(requests, arrivals) "requests: " requests "\narrivals: \"" arrivals "\"\nmessage: 10\noutput: 1\n"

static const struct {
	const char *text;
	double mean, cv;
} processes[] = {
	{LOAD("20000", "poisson,rate=4"), 0.25, 1},
	{LOAD("20000", "gamma,rate=10,burstiness=4"), 0.1, 0.5},
	{LOAD("40000", "gamma,rate=2,burstiness=0.25"), 0.5, 2},
	/* Gamma(1 + 2/k) / Gamma(1 + 1/k)^2 - 1 = 5 for k = 1/2. */
	{LOAD("60000", "weibull,rate=5,shape=0.5"), 0.2, 2.2360679},
	{LOAD("1000", "constant,rate=8"), 0.125, 0},
};

static double *gaps(void)
{
	double *gap = kv_calloc(count, sizeof *gap);

	for (size_t i = 0; i < count; i++)
		gap[i] = seconds(made[i].arrival - (i > 0 ? made[i - 1].arrival : 0));
	return gap;
}

START_TEST(arrivals_have_their_rate_and_burstiness)
{
	double *gap;

	generate(processes[_i].text, 11, 0);
	gap = gaps();
	ck_assert_double_eq_tol(gsl_stats_mean(gap, 1, count), processes[_i].mean, 0.015 * processes[_i].mean);
	ck_assert_double_eq_tol(gsl_stats_sd(gap, 1, count) / processes[_i].mean, processes[_i].cv,
	                        0.05 * processes[_i].cv + 1e-6);
	free(gap);
}
END_TEST

START_TEST(poisson_gaps_are_exponential)
{
	double *gap, distance = 0;

	generate(LOAD("20000", "poisson,rate=4"), 12, 0);
	gap = gaps();
	gsl_sort(gap, 1, count);
	for (size_t i = 0; i < count; i++) {
		double p = gsl_cdf_exponential_P(gap[i], 0.25);

		distance = fmax(distance, fmax(p - (double)i / (double)count, (double)(i + 1) / (double)count - p));
	}
	ck_assert_double_lt(distance, 1.628 / sqrt((double)count));
	free(gap);
}
END_TEST

START_TEST(rescaled_arrivals_end_at_requests_over_rate)
{
	generate(LOAD("500", "gamma,rate=4,burstiness=0.3,rescale=true"), 3, 0);
	ck_assert_uint_eq(count, 500);
	ck_assert_double_eq_tol(seconds(made[499].arrival), 125, 1e-6);
}
END_TEST

/* What vLLM's client sends at these rates: requests / rate without a ramp; with one, the sum of the gaps, each 1 / rate
 * of its index. Gaps of a large burstiness hardly vary: 101 requests from 1/s to 3/s take
 * sum 1 / (1 + 2 i / 100) = 55.599 s, or sum 3^(-i/100) = 61.350 s where the ramp is exponential. */
static const struct {
	const char *arrivals;
	double last, tolerance;
} vllm_schedules[] = {
	{"vllm,request_rate=4,burstiness=0.3", 25.25, 1e-6},
	{"vllm,burstiness=1e6,ramp_up_strategy=linear,ramp_up_start_rps=1,ramp_up_end_rps=3", 55.599, 0.05},
	{"vllm,burstiness=1e6,ramp_up_strategy=exponential,ramp_up_start_rps=1,ramp_up_end_rps=3", 61.350, 0.05},
};

START_TEST(vllms_schedule_ramps_by_the_number_of_requests)
{
	char text[300];

	snprintf(text, sizeof text, "requests: 101\narrivals: \"%s\"\n", vllm_schedules[_i].arrivals);
	generate(text, 3, 0);
	ck_assert_uint_eq(count, 101);
	ck_assert_double_eq_tol(seconds(made[100].arrival), vllm_schedules[_i].last, vllm_schedules[_i].tolerance);
}
END_TEST

static size_t count_between(double from, double to)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += seconds(made[i].arrival) >= from && seconds(made[i].arrival) < to;
	return n;
}

START_TEST(curves_change_the_rate_over_time)
{
	generate("duration: 1000s\narrivals: \"constant,rate=10\"\ncurve: \"on-off,on=10s,off=30s\"\n", 1, 0);
	ck_assert_uint_le(count_between(10.01, 40), 1);
	ck_assert_double_eq_tol((double)count_between(40, 50.01), 100, 1.5);
	ck_assert_double_eq_tol((double)count, 2500, 2);
	generate("duration: 200s\narrivals: \"constant,rate=10\"\ncurve: \"ramp-linear,to=3,over=100s\"\n", 1, 0);
	/* Rates 10 to 30 over 100 s, then 30: 2,000 and 3,000. */
	ck_assert_double_eq_tol((double)count_between(0, 100), 2000, 1.5);
	ck_assert_double_eq_tol((double)count_between(100, 200), 3000, 1.5);
	generate("duration: 200s\narrivals: \"constant,rate=10\"\ncurve: \"ramp-exponential,to=4,over=100s\"\n", 1, 0);
	/* 10 * 100 * (4 - 1) / ln 4. */
	ck_assert_double_eq_tol((double)count_between(0, 100), 2164, 1.5);
	ck_assert_double_eq_tol((double)count_between(100, 200), 4000, 1.5);
	generate("duration: 24h\narrivals: \"constant,rate=1\"\ncurve: \"daily,amplitude=0.5,peak=12h\"\n", 1, 0);
	/* Six hours around the peak: 21,600 s at 1 + 0.5 * 2 sqrt(2) / pi on average. */
	ck_assert_double_eq_tol((double)count_between(9 * 3600, 15 * 3600), 21600 * 1.450158, 3);
	ck_assert_double_eq_tol((double)count, 86400, 2);
}
END_TEST

START_TEST(a_closed_loop_keeps_its_clients_busy)
{
	generate("requests: 9\narrivals: \"closed,clients=3\"\npause: 2\nmessage: 10\noutput: 1\n", 1, KV_SECOND);
	ck_assert_uint_eq(count, 9);
	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(made[i].arrival, (kv_time)(i / 3) * 3 * KV_SECOND);
}
END_TEST

START_TEST(the_arrivals_of_a_trace_can_be_taken_at_another_rate)
{
	FILE *file = fopen("arrivals.tmp", "w");

	ck_assert_ptr_nonnull(file);
	fputs("arrival_s,prompt_tokens,output_tokens\n0,1,1\n10,1,1\n40,1,1\n", file);
	fclose(file);
	generate("arrivals: \"trace,file=arrivals.tmp,rate=1\"\nmessage: 10\noutput: 1\n", 1, 0);
	unlink("arrivals.tmp");
	ck_assert_uint_eq(count, 3);
	/* 2 gaps in 40 s: 20 times as fast. */
	ck_assert_double_eq_tol(seconds(made[1].arrival), 0.5, 1e-9);
	ck_assert_double_eq_tol(seconds(made[2].arrival), 2, 1e-9);
}
END_TEST

/* Of a closed loop the starts of sessions are taken, and later turns where their times are recorded, as the
 * second's. */
START_TEST(the_arrivals_of_a_closed_loop_are_its_recorded_times)
{
	FILE *file = fopen("arrivals.tmp", "w");

	ck_assert_ptr_nonnull(file);
	fputs("request_id,arrival_s,prompt_tokens,output_tokens,after,think_s\na,2,1,1,,\nb,,1,1,a,3\nc,5,1,1,,\n"
	      "d,7,1,1,c,1\ne,,1,1,b d,3\n", file);
	fclose(file);
	generate("arrivals: \"trace,file=arrivals.tmp\"\nmessage: 10\noutput: 1\n", 1, 0);
	unlink("arrivals.tmp");
	ck_assert_uint_eq(count, 3);
	ck_assert_int_eq(made[0].arrival, 2 * KV_SECOND);
	ck_assert_int_eq(made[1].arrival, 5 * KV_SECOND);
	ck_assert_int_eq(made[2].arrival, 7 * KV_SECOND);
	ck_assert_str_eq(remark, "stream load: 2 rows of arrivals.tmp follow others and have no time of their own: "
	                         "they are not taken as arrivals");
}
END_TEST

START_TEST(a_trace_without_times_has_no_rate_to_change)
{
	struct kv_error err = {0};
	FILE *file = fopen("arrivals.tmp", "w");

	ck_assert_ptr_nonnull(file);
	fputs("arrival_s,prompt_tokens,output_tokens\n0,1,1\n0,1,1\n", file);
	fclose(file);
	ck_assert_int_eq(try("requests: 2\narrivals: \"trace,file=arrivals.tmp,rate=1\"\n", 1, 0, &err), -1);
	unlink("arrivals.tmp");
	ck_assert_msg(strstr(err.text, "arrivals.tmp: all arrive at the same time") != NULL, "%s", err.text);
}
END_TEST

/* --- content ------------------------------------------------------------------------------------------------------ */

START_TEST(turns_carry_what_came_before_and_follow_the_answer)
{
	generate("requests: 3\nname: c\narrivals: \"constant,rate=1\"\nsystem: {tokens: 100}\nturns: 3\nmessage: 10\n"
	         "output: 7\nthink: 4\n",
	         1, KV_SECOND);
	ck_assert_uint_eq(count, 3);
	ck_assert_int_eq(made[0].arrival, KV_SECOND);
	ck_assert_int_eq(made[1].arrival, 6 * KV_SECOND);
	ck_assert_int_eq(made[2].arrival, 11 * KV_SECOND);
	ck_assert_uint_eq(made[0].prompt, 110);
	ck_assert_uint_eq(made[2].prompt, 100 + 3 * 10 + 2 * 7);
	ck_assert_uint_eq(made[2].segments, 6);
	ck_assert_uint_eq(made[2].first[0].stream, made[0].first[0].stream);
	ck_assert_uint_eq(made[2].first[2].kind, KV_STREAM_OUTPUT);
	ck_assert_uint_eq(made[2].first[2].stream, kv_name_hash("c-0.0", 5));
	ck_assert_uint_eq(made[2].first[2].length, 7);
}
END_TEST

START_TEST(a_revision_keeps_what_lies_before_its_edit)
{
	generate("requests: 4\nname: p\narrivals: \"constant,rate=1\"\ndocuments: {count: 1, tokens: 100}\n"
	         "message: 10\noutput: 1\nrevisions:\n  - {at: 2s, of: document-0, edit_at: 60%}\n"
	         "  - {at: 3s, of: document-0, edit_at: 20%}\n  - {at: 4s, of: document-0, edit_at: 0%}\n",
	         1, 0);
	ck_assert_uint_eq(made[0].segments, 2);
	ck_assert_uint_eq(made[0].first[0].length, 100);
	ck_assert_uint_eq(made[1].first[0].stream, made[0].first[0].stream);
	ck_assert_uint_eq(made[1].first[0].length, 60);
	ck_assert_uint_eq(made[1].first[1].length, 40);
	ck_assert_uint_eq(made[2].first[0].stream, made[0].first[0].stream);
	ck_assert_uint_eq(made[2].first[0].length, 20);
	ck_assert_uint_eq(made[2].first[1].length, 80);
	ck_assert_uint_ne(made[2].first[1].stream, made[1].first[1].stream);
	ck_assert_uint_eq(made[3].first[0].length, 100);
	ck_assert_uint_ne(made[3].first[0].stream, made[0].first[0].stream);
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(made[i].prompt, 110);
}
END_TEST

START_TEST(chunks_stand_behind_what_is_shared_or_before_it)
{
	static const char *const orders[] = {"stable-first", "variable-first"};
	char text[400];

	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof text,
		         "requests: 50\nname: r\narrivals: \"constant,rate=1\"\nsystem: {tokens: 100}\n"
		         "chunks: {count: 40, pick: 3, tokens: 20, popularity: 1, sorted: true}\norder: %s\n"
		         "message: 5\noutput: 1\n",
		         orders[i]);
		generate(text, 1, 0);
		for (size_t k = 0; k < count; k++) {
			ck_assert_uint_eq(made[k].segments, 5);
			ck_assert_uint_eq(made[k].prompt, 165);
			ck_assert_uint_eq(made[k].first[i == 0 ? 0 : 3].length, 100);
		}
	}
}
END_TEST

START_TEST(generated_shared_prefix_has_sglangs_shape)
{
	size_t groups = 0;

	generate("name: g\narrivals: \"poisson,rate=10\"\ngsp_num_groups: 4\ngsp_prompts_per_group: 5\n"
	         "gsp_system_prompt_len: 64\ngsp_question_len: 8\ngsp_output_len: 3\n",
	         1, 0);
	ck_assert_uint_eq(count, 20);
	for (size_t i = 0; i < count; i++) {
		size_t same = 0, before = 0;

		ck_assert_uint_eq(made[i].prompt, 72);
		ck_assert_uint_eq(made[i].output, 3);
		for (size_t k = 0; k < count; k++) {
			same += made[k].first[0].stream == made[i].first[0].stream;
			before += k < i && made[k].first[0].stream == made[i].first[0].stream;
		}
		ck_assert_uint_eq(same, 5);
		groups += before == 0;
	}
	ck_assert_uint_eq(groups, 4);
}
END_TEST

START_TEST(sub_agents_run_beside_and_the_next_turn_waits_for_them)
{
	generate("requests: 4\nname: a\narrivals: \"constant,rate=1\"\nturns: 2\nmessage: 10\noutput: 1\nthink: 1\n"
	         "subagents: {share: 100%, system_tokens: 30, turns: 2, message: 5, output: 2, think: 3}\n", 1,
	         KV_SECOND);
	ck_assert_uint_eq(count, 4);
	ck_assert_str_eq(made[0].id, "a-0.0");
	ck_assert_str_eq(made[1].id, "a-0.0.a0");
	/* 1 s answer, 3 s of thought; then again; the next turn comes 1 s after the sub-agent's last answer. */
	ck_assert_int_eq(made[1].arrival, 5 * KV_SECOND);
	ck_assert_uint_eq(made[1].prompt, 35);
	ck_assert_int_eq(made[2].arrival, 9 * KV_SECOND);
	ck_assert_uint_eq(made[2].prompt, 42);
	ck_assert_str_eq(made[3].id, "a-0.1");
	ck_assert_int_eq(made[3].arrival, 11 * KV_SECOND);
}
END_TEST

START_TEST(tenants_are_skewed_and_enter_the_key)
{
	size_t first = 0;

	generate("requests: 10000\narrivals: \"constant,rate=1\"\nmessage: 10\noutput: 1\n"
	         "tenants: {count: 10, popularity: 1}\nadapters: {count: 2, popularity: 0}\nsalt: tenant\n"
	         "system: {tokens: 10, per: tenant}\n",
	         1, 0);
	for (size_t i = 0; i < count; i++) {
		first += strcmp(made[i].tenant, "tenant-0") == 0;
		ck_assert_str_eq(made[i].salt, made[i].tenant);
		ck_assert(strcmp(made[i].adapter, "adapter-0") == 0 || strcmp(made[i].adapter, "adapter-1") == 0);
	}
	/* 1 / H_10 of them, five standard deviations. */
	ck_assert_double_eq_tol((double)first / (double)count, 1 / 2.928968, 0.024);
}
END_TEST

/* Two tenants: their prompts share what is the stream's, not what is the tenant's. */
START_TEST(a_system_prompt_is_shared_by_the_stream_or_by_each_tenant)
{
	static const char *const names[] = {"load.system", "load.system.tenant-0", "load.system.tenant-1"};
	size_t found[3] = {0};

	for (int per_tenant = 0; per_tenant < 2; per_tenant++) {
		free(made);
		made = NULL;
		capacity = 0;
		generate(per_tenant ? "requests: 50\narrivals: \"constant,rate=1\"\ntenants: {count: 2}\n"
		                      "system: {tokens: 10, per: tenant}\n"
		                    : "requests: 50\narrivals: \"constant,rate=1\"\ntenants: {count: 2}\n"
		                      "system: {tokens: 10, per: stream}\n", 1, 0);
		for (size_t i = 0; i < count; i++)
			for (int n = 0; n < 3; n++)
				found[n] += made[i].first[0].stream ==
				            kv_name_hash(names[n], (uint32_t)strlen(names[n]));
	}
	ck_assert_uint_eq(found[0], 50);
	ck_assert_uint_eq(found[1] + found[2], 50);
	ck_assert_uint_gt(found[1], 10);
	ck_assert_uint_gt(found[2], 10);
}
END_TEST

/* --- randomness --------------------------------------------------------------------------------------------------- */

#define KNOBS(arrivals, turns, message, output) \
	"requests: 300\narrivals: \"" arrivals "\"\nsystem: {tokens: 50}\nturns: " turns \
	"\nmessage: \"" message "\"\noutput: \"" output \
	"\"\ndocuments: {count: 30, tokens: \"uniform,min=100,max=900\", popularity: 1}\n"

START_TEST(the_same_seed_gives_the_same_requests)
{
	static const char text[] = KNOBS("poisson,rate=2", "1", "lognormal,mean=100,cv=1", "lognormal,mean=50,cv=1");
	struct made *before;
	bool different = false;

	generate(text, 5, 0);
	before = made;
	made = NULL;
	capacity = 0;
	generate(text, 5, 0);
	for (size_t i = 0; i < count; i++)
		ck_assert(made[i].arrival == before[i].arrival && made[i].prompt == before[i].prompt &&
		          made[i].output == before[i].output && made[i].first[1].stream == before[i].first[1].stream);
	generate(text, 6, 0);
	for (size_t i = 0; i < count; i++)
		different |= made[i].prompt != before[i].prompt;
	ck_assert(different);
	free(before);
}
END_TEST

START_TEST(changing_one_knob_leaves_the_others_alone)
{
	struct made *before;

	generate(KNOBS("poisson,rate=2", "1", "lognormal,mean=100,cv=1", "lognormal,mean=50,cv=1"), 5, 0);
	before = made;
	made = NULL;
	capacity = 0;
	generate(KNOBS("gamma,rate=9,burstiness=0.4", "1", "lognormal,mean=100,cv=1", "gamma,mean=5000,cv=0.1"), 5, 0);
	for (size_t i = 0; i < count; i++) {
		ck_assert(made[i].arrival != before[i].arrival && made[i].output != before[i].output);
		ck_assert_uint_eq(made[i].prompt, before[i].prompt);
		ck_assert_uint_eq(made[i].first[1].stream, before[i].first[1].stream);
	}
	free(before);
}
END_TEST

static const struct made *find(const struct made *among, size_t among_count, const char *id)
{
	for (size_t i = 0; i < among_count; i++)
		if (strcmp(among[i].id, id) == 0)
			return &among[i];
	return NULL;
}

#define CHATS(turns, subagents) \
	"requests: 400\narrivals: \"poisson,rate=2\"\nturns: " turns "\nretrieval: \"exponential,mean=1\"\n" \
	"chunks: {count: 50, pick: 2, tokens: \"uniform,min=10,max=900\"}\n" subagents

static const struct {
	const char *text, *more;
	size_t least;        /* requests of both */
} longer[] = {
	{CHATS("2", ""), CHATS("\"geometric,mean=4\"", ""), 80},
	{CHATS("2", ""), CHATS("2", "subagents: {share: 50%, turns: \"geometric,mean=3\"}\n"), 80},
	{CHATS("3", "subagents: {share: 50%, turns: 1}\n"), CHATS("3", "subagents: {share: 50%, turns: 4}\n"), 80},
};

START_TEST(longer_sessions_and_more_sub_agents_leave_other_requests_alone)
{
	struct made *before;
	size_t before_count, both = 0;

	generate(longer[_i].text, 5, 0);
	before = made;
	before_count = count;
	made = NULL;
	capacity = 0;
	generate(longer[_i].more, 5, 0);
	for (size_t i = 0; i < count; i++) {
		const struct made *same = find(before, before_count, made[i].id);

		if (same == NULL)
			continue;
		both++;
		ck_assert_uint_eq(made[i].prompt, same->prompt);
		ck_assert_uint_eq(made[i].output, same->output);
		ck_assert_uint_eq(made[i].first[0].stream, same->first[0].stream);
	}
	ck_assert_uint_ge(both, longer[_i].least);
	free(before);
}
END_TEST

START_TEST(one_stream_leaves_the_others_alone)
{
	static const char alone[] = "requests: 100\nstreams:\n  - {name: a, arrivals: \"poisson,rate=1\"}\n";
	static const char both[] = "requests: 100\nstreams:\n  - {name: b, arrivals: \"poisson,rate=1\"}\n"
		"  - {name: a, arrivals: \"poisson,rate=1\"}\n";
	struct made *before;
	size_t k = 0;

	generate(alone, 5, 0);
	before = made;
	made = NULL;
	capacity = 0;
	generate(both, 5, 0);
	ck_assert_uint_eq(count, 200);
	for (size_t i = 0; i < count; i++)
		if (made[i].id[0] == 'a') {
			ck_assert_int_eq(made[i].arrival, before[k].arrival);
			ck_assert_uint_eq(made[i].prompt, before[k].prompt);
			ck_assert_str_eq(made[i].id, before[k++].id);
		}
	ck_assert_uint_eq(k, 100);
	free(before);
}
END_TEST

/* --- errors ------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *text, *message;
} bad[] = {
	{"arrivals: \"poisson,rate=1\"\n", ":1: stream load never ends: give requests or duration"},
	{"requests: 5\n", ":1: stream load needs arrivals"},
	{"requests: 5\narrivals: \"poison,rate=1\"\n",
	 ":2: arrivals: unknown arrival process 'poison': did you mean 'poisson'?"},
	{"requests: 5\narrivals: \"poisson,rate=0\"\n", ":2: arrivals: poisson,rate: "},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nmesage: 5\n", ":3: unknown key 'mesage': did you mean 'message'?"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nmessage: [{share: 50%, of: 3}]\n",
	 ":3: message: the shares sum to 50%; allowed: 100%"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nmessage: \"lognormal,mean=-3\"\n",
	 ":3: message: lognormal,mean: "},
	{"requests: 5\narrivals: \"poisson,rate=1\"\ndocuments: {count: 3}\n", ":3: documents: needs count and tokens"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\ncorrelation: 2\n", ":3: correlation: "},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nchunks: {count: 3, tokens: 9, pick: 6}\n",
	 ":3: pick: 6 is out of range: 1 to 3 is allowed"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nfew_shot: {count: 3, tokens: 9, pick: 4}\n",
	 ":3: pick: 4 is out of range: 1 to 3 is allowed"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nsalt: pepper\n", ":3: salt: 'pepper' is not allowed"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nname: \"a b\"\n", ":3: name: 'a b' is no name"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nrevisions: [{at: 5s, of: chunk-1}]\n",
	 "of: 'chunk-1' cannot be revised"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nrevisions: [{at: 5s, of: system}]\n",
	 "of: 'system' cannot be revised"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\ndocuments: {count: 2, tokens: 9}\n"
	 "revisions: [{at: 5s, of: document-2}]\n",
	 "of: 'document-2' cannot be revised"},
	{"requests: 5\narrivals: \"closed,clients=2\"\ncurve: \"on-off,on=5s\"\n",
	 ":3: curve: a closed loop has no rate"},
	{"duration: 5s\narrivals: \"closed,clients=2\"\n", ":2: arrivals: a closed loop needs requests"},
	{"requests: 5\nstreams: []\n", ":2: streams: has no streams"},
	{"requests: 5\nstreams:\n  - {name: a, arrivals: \"poisson,rate=1\"}\n"
	 "  - {name: a, arrivals: \"poisson,rate=1\"}\n",
	 ":4: two streams are called a"},
	{"requests: 5\narrivals: [1]\n", ":2: arrivals: "},
	/* 0 would be read as 1. */
	{"requests: 5\narrivals: \"poisson,rate=1\"\nturns: 0\n", ":3: turns: is 0; allowed: at least 1"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nmessage: 0\n", ":3: message: is 0; allowed: at least 1"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\ndocuments: {count: 3, tokens: 0}\n",
	 "tokens: is 0; allowed: at least 1"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nmessage: -5\n",
	 ":3: message: constant,value: -5 is out of range: 0 to"},
	/* Larger values would be cut. */
	{"requests: 5\narrivals: \"poisson,rate=1\"\nmessage: 1e15\n",
	 ":3: message: draws 1e+15; allowed: up to 1000000000"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\noutput: \"lognormal,mean=2e9,cv=1\"\n",
	 ":3: output: draws 2e+09; allowed: up to 1000000000"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nturns: \"uniform,min=1,max=2e6\"\n",
	 ":3: turns: draws 2e+06; allowed"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\ndeadline: 2e9\n", ":3: deadline: draws 2e+09; allowed"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nmax_tokens: 0\n", ":3: max_tokens: 0 is out of range"},
	/* Keys that would change nothing. */
	{"requests: 5\narrivals: \"poisson,rate=1\"\nthink: 5\n", ":3: think: changes nothing without turns above 1"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nturns: 1\nthink: 5\n", ":4: think: changes nothing without turns"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\norder: variable-first\n",
	 ":3: order: changes nothing without chunks"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\npause: 5\n",
	 ":3: pause: changes nothing without arrivals: closed"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nsubagents: {share: 5%}\n",
	 ":3: subagents: changes nothing without"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nturns: 3\nsubagents: {turns: 2}\n", ":4: subagents: needs share"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nsystem: {per: tenant}\n", ":3: system: needs tokens"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nsystem: {tokens: 9, per: tenant}\n",
	 "per: changes nothing without tenants"},
	{"requests: 5\narrivals: \"poisson,rate=1\"\nsalt: tenant\n", ":3: salt: changes nothing without a tenant"},
	{"arrivals: \"poisson,rate=1\"\ngsp_num_groups: 2\nmessage: 5\n", ":3: message: gsp_... and message exclude"},
	{"requests: 5\narrivals: \"vllm,ramp_up_start_rps=2\"\n", "need ramp_up_strategy"},
	{"requests: 5\narrivals: \"vllm,ramp_up_strategy=linear,ramp_up_start_rps=2\"\n",
	 "a ramp needs ramp_up_start_rps"},
	{"duration: 5s\narrivals: vllm\n", ":2: arrivals: vllm needs the number of requests"},
	{"requests: 5\narrivals: vllm\ncurve: \"on-off,on=5s\"\n", ":3: curve: vllm has ramps of its own"},
	{"workload: {trace: a.csv}\narrivals: x\n", ":1: workload: has no generate: this scenario replays a trace"},
	{"workload: {generate: {requests: 5}}\n", ":1: generate: stream load needs arrivals"},
};

START_TEST(what_is_wrong_with_a_description_is_told)
{
	struct kv_error err = {0};

	ck_assert_int_eq(try(bad[_i].text, 1, 0, &err), -1);
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
	ck_assert_msg(strstr(err.text, bad[_i].message) != NULL, "expected '%s', got '%s'", bad[_i].message, err.text);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

int main(void)
{
	Suite *suite = suite_create("generator");
	TCase *tc = tcase_create("loads");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, arrivals_have_their_rate_and_burstiness, 0, COUNT(processes));
	tcase_add_test(tc, poisson_gaps_are_exponential);
	tcase_add_test(tc, rescaled_arrivals_end_at_requests_over_rate);
	tcase_add_loop_test(tc, vllms_schedule_ramps_by_the_number_of_requests, 0, COUNT(vllm_schedules));
	tcase_add_test(tc, curves_change_the_rate_over_time);
	tcase_add_test(tc, a_closed_loop_keeps_its_clients_busy);
	tcase_add_test(tc, the_arrivals_of_a_trace_can_be_taken_at_another_rate);
	tcase_add_test(tc, the_arrivals_of_a_closed_loop_are_its_recorded_times);
	tcase_add_test(tc, a_trace_without_times_has_no_rate_to_change);
	tcase_add_test(tc, turns_carry_what_came_before_and_follow_the_answer);
	tcase_add_test(tc, a_revision_keeps_what_lies_before_its_edit);
	tcase_add_test(tc, chunks_stand_behind_what_is_shared_or_before_it);
	tcase_add_test(tc, generated_shared_prefix_has_sglangs_shape);
	tcase_add_test(tc, sub_agents_run_beside_and_the_next_turn_waits_for_them);
	tcase_add_test(tc, tenants_are_skewed_and_enter_the_key);
	tcase_add_test(tc, a_system_prompt_is_shared_by_the_stream_or_by_each_tenant);
	tcase_add_test(tc, the_same_seed_gives_the_same_requests);
	tcase_add_test(tc, changing_one_knob_leaves_the_others_alone);
	tcase_add_loop_test(tc, longer_sessions_and_more_sub_agents_leave_other_requests_alone, 0, COUNT(longer));
	tcase_add_test(tc, one_stream_leaves_the_others_alone);
	tcase_add_loop_test(tc, what_is_wrong_with_a_description_is_told, 0, COUNT(bad));
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
