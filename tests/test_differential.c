/* Production against the oracle on random workloads: the same events, steps, states, gaps, request records and outcome,
 * bit for bit; and production without events the same as with them. TAP on stdout.
 *
 *     test_differential [--seeds FIRST:LAST] [--keep INDEX,INDEX,...] [--print [--events]]
 *
 * A failing seed is made smaller by leaving requests out, and the line that repeats it is printed. */
#include "config.h"

#include <argp.h>
#include <gsl/gsl_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/memory.h"
#include "tests/oracle/oracle.h"
#include "tests/random_workload.h"
#include "tests/run_log.h"
#include "tests/token_balance.h"

#define SEEDS_A_PROCESS 50
#define SECONDS_A_PROCESS 60
#define KEEP_MAX 256

struct arguments {
	uint64_t first, last;
	uint64_t keep[KEEP_MAX];
	size_t keep_count;
	bool keeps, print, print_events;
	bool oracle_alone;
};

/* How often the oracle met what the test is meant to meet; shared by all processes. */
struct coverage {
	uint64_t runs, events, finished, refused, dropped, given_up, cut, preempted, swapped, host_full, swap_lost,
		swap_found, evicted, hit, stalled, livelocked, cached_again, warm;
};

static struct coverage *coverage;

/* The last running request could not go on. */
static bool has_given_up(const struct run_log *log)
{
	for (size_t i = 0; i < log->record_count; i++)
		if (log->records[i].status == KV_DROPPED && log->records[i].reason == KV_REASON_CAN_NEVER_FIT)
			return true;
	return false;
}

static void count_coverage(const struct run_log *log)
{
	const struct kv_state *final = &log->outcome.final;

	coverage->runs++;
	coverage->events += log->event_count;
	coverage->finished += final->finishes;
	coverage->refused += final->refusals;
	coverage->dropped += final->drops;
	coverage->given_up += has_given_up(log);
	coverage->cut += !log->outcome.stalled && log->outcome.unfinished > 0;
	coverage->preempted += final->preemptions > 0;
	coverage->swapped += final->swap.ins > 0;
	coverage->host_full += final->swap.host_full > 0;
	coverage->swap_lost += final->swap.blocks_lost > 0;
	coverage->swap_found += final->swap.blocks_found > 0;
	coverage->evicted += final->evicted_blocks > 0;
	coverage->hit += final->hit_tokens > 0;
	coverage->cached_again += final->readmission_hit_tokens > 0;
	coverage->stalled += log->outcome.stalled && !log->outcome.livelocked;
	coverage->livelocked += log->outcome.livelocked;
	coverage->warm += log->workload->warm_before > 0 && log->record_count > 0 && log->records[0].cached_tokens > 0;
}

static bool compare_engines(const struct test_workload *workload, bool oracle_alone, char *text, size_t size)
{
	struct run_log oracle, production, silent;
	bool equal;

	run_log_make(&oracle, workload, kv_oracle_simulate, true);
	count_coverage(&oracle);
	equal = run_log_consistent(&oracle, text, size) && token_balance_holds(&oracle, text, size);
	if (equal && !oracle_alone) {
		run_log_make(&production, workload, kv_simulate, true);
		run_log_make(&silent, workload, kv_simulate, false);
		equal = run_log_equal(&oracle, &production, true, text, size);
		if (equal && !run_log_equal(&production, &silent, false, text, size)) {
			equal = false;
			memmove(text + strlen("without events, "), text, size - strlen("without events, "));
			memcpy(text, "without events, ", strlen("without events, "));
			text[size - 1] = '\0';
		}
		run_log_fini(&production);
		run_log_fini(&silent);
	}
	run_log_fini(&oracle);
	return equal;
}

static void print_workload(const struct test_workload *workload)
{
	const struct kv_engine_config *c = &workload->config;

	printf("# block_size %u, usable %llu, watermark %llu, seqs %u, budget %llu, max_model_len %u, threshold %u, "
	       "chunked %d, blank first %d, retention %lld, refuse %d, scope %d, clients %u, frontend %lld, "
	       "default_max_tokens %u%s, duration %lld, step %lld%s, warm before %llu%s, max_prefill_tokens %llu\n#",
	       c->block_size,
	       (unsigned long long)c->usable_blocks, (unsigned long long)c->watermark_blocks, c->max_num_seqs,
	       (unsigned long long)c->max_num_batched_tokens, c->max_model_len, c->long_prefill_token_threshold,
	       c->enable_chunked_prefill, c->blank_blocks_first, (long long)c->retention_interval, c->refuse_impossible,
	       (int)c->cache_scope, c->max_concurrency, (long long)c->frontend, c->default_max_tokens,
	       c->default_max_tokens_is_output ? " (output)" : "", (long long)workload->options.duration,
	       (long long)workload->fixed_step, workload->roofline != NULL ? " (roofline)" : "",
	       (unsigned long long)workload->warm_before,
	       c->step_order == KV_STEPS_PREFILL_FIRST ? ", prefill first" : "",
	       (unsigned long long)c->max_prefill_tokens);
	for (uint32_t g = 0; g < c->groups; g++)
		printf(" group %d window %u cap %lld;", (int)c->group[g].kind, c->group[g].window,
		       (long long)c->admission_cap[g]);
	for (int kind = 0; kind < KV_POLICY_KINDS; kind++)
		if (workload->policy[kind] != NULL)
			printf(" %s", workload->policy[kind]);
	putchar('\n');
	for (size_t i = 0; i < workload->count; i++) {
		const struct kv_request *r = &workload->requests[i];

		printf("# %llu id=%s t=%lld retrieval=%lld prompt=%u out=%u max=%d priority=%lld tenant=%s salt=%s "
		       "adapter=%s nameable=%d:",
		       (unsigned long long)r->index, r->id != NULL ? r->id : "-", (long long)r->arrival,
		       (long long)r->retrieval, r->prompt_tokens, r->output_tokens, (int)r->max_tokens,
		       (long long)r->priority, r->tenant, r->salt, r->adapter, r->output_nameable);
		for (uint32_t s = 0; s < r->prompt_segments; s++)
			printf(" %u/%04llx:%u", r->prompt[s].kind, (unsigned long long)r->prompt[s].stream & 0xffff,
			       r->prompt[s].length);
		putchar('\n');
	}
}

/* --- processes: a crash or an endless loop of production is a difference like any other --------------------------- */

static bool run_seeds(const struct arguments *args, uint64_t first, uint64_t last, char *text, size_t size)
{
	bool equal = true;

	for (uint64_t seed = first; seed <= last && equal; seed++) {
		struct test_workload workload;

		test_workload_random(&workload, seed);
		workload.options.check = seed % 4 == 0;
		if (args->keeps)
			test_workload_keep(&workload, args->keep, args->keep_count);
		equal = compare_engines(&workload, args->oracle_alone, text, size);
		test_workload_fini(&workload);
	}
	return equal;
}

static bool run_in_child(const struct arguments *args, uint64_t first, uint64_t last, bool quiet)
{
	static char text[8192];
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		bool equal;

		alarm(SECONDS_A_PROCESS);
		if (quiet && freopen("/dev/null", "w", stderr) == NULL)
			exit(EXIT_FAILURE);
		equal = run_seeds(args, first, last, text, sizeof text);
		if (!equal && !quiet)
			printf("# oracle, then production: %s\n", text);
		exit(equal ? EXIT_SUCCESS : EXIT_FAILURE);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		perror("test_differential");
		exit(EXIT_FAILURE);
	}
	if (!quiet && WIFSIGNALED(status))
		printf("# ended by signal %d\n", WTERMSIG(status));
	return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

/* --- making a failing seed smaller -------------------------------------------------------------------------------- */

static void keep_all(struct arguments *args, uint64_t seed)
{
	struct test_workload workload;

	if (args->keeps)
		return;
	test_workload_random(&workload, seed);
	args->keep_count = workload.count;
	for (size_t i = 0; i < workload.count; i++)
		args->keep[i] = workload.requests[i].index;
	args->keeps = true;
	test_workload_fini(&workload);
}

static void shrink(struct arguments *args, uint64_t seed)
{
	bool shorter = true;

	keep_all(args, seed);
	while (shorter) {
		shorter = false;
		for (size_t i = 0; i < args->keep_count; i++) {
			struct arguments fewer = *args;

			fewer.keep_count--;
			memmove(fewer.keep + i, fewer.keep + i + 1, (fewer.keep_count - i) * sizeof *fewer.keep);
			if (!run_in_child(&fewer, seed, seed, true)) {
				*args = fewer;
				shorter = true;
				i--;
			}
		}
	}
}

static void explain(struct arguments args, uint64_t seed)
{
	struct test_workload workload;

	shrink(&args, seed);
	test_workload_random(&workload, seed);
	test_workload_keep(&workload, args.keep, args.keep_count);
	print_workload(&workload);
	test_workload_fini(&workload);
	run_in_child(&args, seed, seed, false);
	printf("# repeat: test_differential --seeds %llu:%llu --keep ", (unsigned long long)seed,
	       (unsigned long long)seed);
	for (size_t i = 0; i < args.keep_count; i++)
		printf("%s%llu", i > 0 ? "," : "", (unsigned long long)args.keep[i]);
	putchar('\n');
}

/* The number of failing seeds; only the first is explained. */
static unsigned run_all(const struct arguments *args)
{
	unsigned failed = 0;

	for (uint64_t first = args->first; first <= args->last; first += SEEDS_A_PROCESS) {
		uint64_t last = kv_min(first + SEEDS_A_PROCESS - 1, args->last);

		if (run_in_child(args, first, last, true))
			continue;
		for (uint64_t seed = first; seed <= last; seed++) {
			if (run_in_child(args, seed, seed, true))
				continue;
			printf("# seed %llu differs\n", (unsigned long long)seed);
			if (failed++ == 0)
				explain(*args, seed);
		}
	}
	return failed;
}

/* --- command line ------------------------------------------------------------------------------------------------- */

static void parse_keep(struct arguments *args, const char *text)
{
	char *end = (char *)text;

	args->keeps = true;
	while (*end != '\0' && args->keep_count < KEEP_MAX) {
		args->keep[args->keep_count++] = strtoull(end, &end, 10);
		if (*end == ',')
			end++;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *args = state->input;
	char *end;

	switch (key) {
	case 's':
		args->first = args->last = strtoull(arg, &end, 10);
		if (*end == ':')
			args->last = strtoull(end + 1, &end, 10);
		if (*end != '\0' || args->last < args->first)
			argp_error(state, "--seeds %s: FIRST:LAST is wanted", arg);
		return 0;
	case 'k':
		parse_keep(args, arg);
		return 0;
	case 'p':
		args->print = true;
		return 0;
	case 'e':
		args->print_events = true;
		return 0;
	case 'o':
		args->oracle_alone = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void print_coverage(void)
{
	printf("# %llu workloads, %llu events: %llu requests finished, %llu refused, %llu dropped; workloads with "
	       "hits %llu, evictions %llu, preemptions %llu (swapped out and in %llu, host memory full %llu, blocks "
	       "still cached at the return %llu, dropped while out %llu), hits after preemption %llu, stalls %llu, "
	       "livelocks %llu, last ones given up %llu, cut %llu, a first request that hits what a warm-up left "
	       "%llu\n",
	       (unsigned long long)coverage->runs, (unsigned long long)coverage->events,
	       (unsigned long long)coverage->finished, (unsigned long long)coverage->refused,
	       (unsigned long long)coverage->dropped, (unsigned long long)coverage->hit,
	       (unsigned long long)coverage->evicted, (unsigned long long)coverage->preempted,
	       (unsigned long long)coverage->swapped, (unsigned long long)coverage->host_full,
	       (unsigned long long)coverage->swap_found, (unsigned long long)coverage->swap_lost,
	       (unsigned long long)coverage->cached_again, (unsigned long long)coverage->stalled,
	       (unsigned long long)coverage->livelocked, (unsigned long long)coverage->given_up,
	       (unsigned long long)coverage->cut, (unsigned long long)coverage->warm);
}

static void print_seeds(const struct arguments *args)
{
	for (uint64_t seed = args->first; seed <= args->last; seed++) {
		struct test_workload workload;
		struct run_log log;

		test_workload_random(&workload, seed);
		if (args->keeps)
			test_workload_keep(&workload, args->keep, args->keep_count);
		print_workload(&workload);
		if (args->print_events) {
			run_log_make(&log, &workload, kv_oracle_simulate, true);
			run_log_print_events(&log);
			run_log_fini(&log);
		}
		test_workload_fini(&workload);
	}
}

int main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"seeds", 's', "FIRST:LAST", 0, "seeds to run (default 1:5000)", 0},
		{"keep", 'k', "INDEX,...", 0, "keep only these requests of the workload", 0},
		{"print", 'p', NULL, 0, "print the workloads and stop", 0},
		{"events", 'e', NULL, 0, "with --print: what the oracle does with them, too", 0},
		{"oracle-alone", 'o', NULL, 0, "run the oracle only, and check that its sums agree", 0},
		{0}
	};
	static const struct argp argp = {.options = options, .parser = parse_option,
	                                 .doc = "Compares production and the oracle on random workloads."};
	struct arguments args = {.first = 1, .last = 5000};
	unsigned failed;

	gsl_set_error_handler_off();
	argp_err_exit_status = KV_EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &args);
	coverage = mmap(NULL, sizeof *coverage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (coverage == MAP_FAILED) {
		perror("test_differential");
		return EXIT_FAILURE;
	}
	if (args.print) {
		print_seeds(&args);
		return EXIT_SUCCESS;
	}
	failed = run_all(&args);
	print_coverage();
	printf("%sok 1 - production and oracle agree on seeds %llu to %llu (%u differ)\n1..1\n",
	       failed > 0 ? "not " : "", (unsigned long long)args.first, (unsigned long long)args.last, failed);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
