/* The engine as a single server against queueing theory: Poisson arrivals, one request at a time, steps of one length
 * or in proportion to their tokens.
 *
 * A request of n outputs and a prompt of one token takes n steps, and one that finds the engine idle starts at once:
 * steps have no grid of their own. So this is M/G/1 with a service time that takes whole steps, and the mean wait is
 * exactly Pollaczek-Khinchine, rate E[S^2] / (2 (1 - rho)), with the moments of the discrete distribution. M/M/1 has
 * geometric service here, the memoryless one in whole steps; its E[S^2] is 1 - p / 2 times that of the exponential of
 * equal mean. Only arrivals are rounded, to a nanosecond in steps of a second. Where time goes by length, a request is
 * one step over a prompt of n hundred tokens and lasts as long as n steps do otherwise: the same moments hold.
 *
 * Intervals are of 99 %, from batch means (Student's t) after a first batch that is left out because the queue starts
 * empty. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_statistics_double.h>

#include "sim/base/random.h"
#include "sim/latency/latency_linear.h"
#include "tests/support.h"
#include "tests/workload.h"

enum { BATCHES = 40, STEP = KV_SECOND, MEAN = 10, SHORT = 3, LONG = 43, TOKENS_PER_STEP = 100 };

/* Seconds a token. */
static const struct kv_linear by_length = {.coefficient = {0, 1.0 / TOKENS_PER_STEP, 0, 0}};

#define SHARE_OF_LONG 0.1

static uint32_t constant(gsl_rng *rng)
{
	(void)rng;
	return MEAN;
}

static uint32_t geometric(gsl_rng *rng)
{
	return gsl_ran_geometric(rng, 1.0 / MEAN);
}

static uint32_t few_long_among_many_short(gsl_rng *rng)
{
	return gsl_rng_uniform(rng) < SHARE_OF_LONG ? LONG : SHORT;
}

/* Moments in steps: geometric (2 - p) / p^2 at p = 1 / 10; two points .9 * 3 + .1 * 43 and .9 * 9 + .1 * 1849. */
static const struct service {
	const char *name;
	uint32_t (*draw)(gsl_rng *rng);
	double mean, mean_square;
	const struct kv_linear *linear;   /* NULL = steps of one length */
} services[] = {
	{"M/D/1", constant, 10, 100, NULL},
	{"M/M/1", geometric, 10, 190, NULL},
	{"M/G/1", few_long_among_many_short, 7, 193, NULL},
	{"M/M/1, time by length", geometric, 10, 190, &by_length},
	{"M/G/1, time by length", few_long_among_many_short, 7, 193, &by_length},
};

enum { SERVICES = sizeof services / sizeof services[0] };

static const struct load {
	double utilisation;
	uint32_t batch;      /* requests in each; a busier queue needs more for the same width */
	double widest;       /* half width of the interval of the wait, relative: a test that could not fail is none */
} loads[] = {{0.3, 1000, 0.12}, {0.6, 2000, 0.12}, {0.8, 5000, 0.16}};

enum { CASES = SERVICES * (int)(sizeof loads / sizeof loads[0]) };

/* One run: where its requests come from, and the means of each batch. */
static struct queue {
	struct kv_source source;
	const struct service *service;
	gsl_rng *arrivals, *lengths;
	double rate, time;           /* a second; seconds */
	uint64_t drawn, count, batch;
	kv_time idle_from;           /* finish of the last request */
	struct kv_segment prompt;    /* of the request handed out last */
	double wait[BATCHES + 1], delayed[BATCHES + 1];
	uint64_t not_at_once;        /* requests that did not start when they
	                                came or when the one before had finished */
} queue;

static int next_request(struct kv_source *source, struct kv_request *out, struct kv_error *err)
{
	bool linear = queue.service->linear != NULL;
	uint32_t steps;

	(void)source;
	(void)err;
	if (queue.drawn == queue.count)
		return 0;
	queue.time += gsl_ran_exponential(queue.arrivals, 1 / queue.rate);
	steps = queue.service->draw(queue.lengths);
	queue.prompt = (struct kv_segment){.length = linear ? steps * TOKENS_PER_STEP : 1, .kind = KV_STREAM_PRIVATE};
	*out = (struct kv_request){
		.index = queue.drawn++, .arrival = llround(queue.time * 1e9), .deadline = KV_TIME_NONE,
		.prompt = &queue.prompt, .prompt_segments = 1, .prompt_tokens = queue.prompt.length,
		.output_tokens = linear ? 1 : steps,
		.max_tokens = KV_TOKENS_UNSET, .tenant = "", .salt = "", .adapter = ""
	};
	return 1;
}

static void on_request(void *self, const struct kv_request_record *record)
{
	uint64_t batch = record->index / queue.batch;
	kv_time start = record->arrival > queue.idle_from ? record->arrival : queue.idle_from;
	kv_time steps = queue.service->linear != NULL ? record->prompt_tokens / TOKENS_PER_STEP : record->output_tokens;

	(void)self;
	queue.not_at_once += record->admitted != start || record->finish != start + steps * STEP;
	queue.idle_from = record->finish;
	queue.wait[batch] += (double)(record->admitted - record->arrival) / STEP / (double)queue.batch;
	queue.delayed[batch] += (record->admitted > record->arrival) / (double)queue.batch;
}

static int simulate_queue(const struct kv_engine_config *config, struct kv_source *source, struct kv_sink *sink,
                          const struct kv_run_options *options, struct kv_run_outcome *outcome, struct kv_error *err)
{
	(void)source;
	return kv_simulate(config, &queue.source, sink, options, outcome, err);
}

static void run_queue(const struct service *service, const struct load *load, uint64_t seed)
{
	struct kv_sink sink = {.request = on_request};
	struct kv_run_outcome outcome;
	struct test_workload workload;

	queue = (struct queue){
		.source.next = next_request, .service = service, .rate = load->utilisation / service->mean,
		.batch = load->batch, .count = (uint64_t)load->batch * (BATCHES + 1),
		.arrivals = kv_random_create(seed, 0, "arrivals"), .lengths = kv_random_create(seed, 0, "lengths")
	};
	test_workload_init(&workload);
	workload.fixed_step = STEP;
	workload.linear = service->linear;
	workload.config.max_num_batched_tokens = 1000 * TOKENS_PER_STEP;
	workload.config.max_num_seqs = 1;
	workload.config.usable_blocks = 10000;
	test_workload_set_caps(&workload);
	test_workload_run(&workload, simulate_queue, &sink, &outcome);
	ck_assert_uint_eq(outcome.final.finishes, queue.count);
	test_workload_fini(&workload);
	gsl_rng_free(queue.arrivals);
	gsl_rng_free(queue.lengths);
}

/* Half width of the interval around the mean of all batches but the first. */
static double interval(const double *batch, double *mean)
{
	*mean = gsl_stats_mean(batch + 1, 1, BATCHES);
	return gsl_cdf_tdist_Pinv(0.995, BATCHES - 1) * gsl_stats_sd(batch + 1, 1, BATCHES) / sqrt(BATCHES);
}

START_TEST(waits_are_those_of_pollaczek_and_khinchine)
{
	const struct service *service = &services[_i % SERVICES];
	const struct load *load = &loads[_i / SERVICES];
	double rho = load->utilisation;
	double expected = rho / service->mean * service->mean_square / (2 * (1 - rho));
	uint64_t seed = 1 + (uint64_t)_i;
	double wait, delayed, wait_width, delayed_width;

	run_queue(service, load, seed);
	wait_width = interval(queue.wait, &wait);
	delayed_width = interval(queue.delayed, &delayed);
	printf("# %s rho %.1f seed %llu: mean wait %.3f +- %.3f steps, theory %.3f; %.4f +- %.4f wait\n", service->name,
	       rho, (unsigned long long)seed, wait, wait_width, expected, delayed, delayed_width);
	ck_assert_uint_eq(queue.not_at_once, 0);
	ck_assert_double_le(fabs(wait - expected), wait_width);
	ck_assert_double_le(wait_width, load->widest * expected);
	/* Poisson arrivals see time averages: they find the engine busy in that share of cases. */
	ck_assert_double_le(fabs(delayed - rho), delayed_width);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("queueing");
	TCase *tc = tcase_create("single server");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, waits_are_those_of_pollaczek_and_khinchine, 0, CASES);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
