/* make bench: what a run costs, as ratios of whole processes measured in turns on the same machine.
 *
 * One JSON object a line: name, what was done, processor seconds of the run and of what it is compared with (the
 * fastest of several turns each; wall time too, which other work on the machine stretches), the ratio of the processor
 * times and its limit, peak memory. Cases that need the public Mooncake trace are named as skipped when the folder
 * given by KVSIM_SHARED does not have it.
 *
 *	bench [--turns N] [--rows N] [--only NAME] KVSIM
 *	bench --pass-json FILE | --pass-csv FILE     the plain passes that runs are compared with
 */
#include "config.h"

#include <argp.h>
#include <csv.h>
#include <errno.h>
#include <fcntl.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ARGS_MAX = 64, PATH_SIZE = 512 };

struct settings {
	const char *self, *kvsim, *only, *pass_json, *pass_csv;
	unsigned turns;
	unsigned long rows;
	char folder[PATH_SIZE];
};

struct measured {
	double seconds;  /* processor time of the fastest turn */
	double wall;     /* likewise */
	long peak_kib;   /* the largest */
	bool failed;
};

/* --- plain passes ------------------------------------------------------------------------------------------------- */

static int pass_json(const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t size = 0;
	ssize_t length;

	if (file == NULL)
		return 66;
	while ((length = getline(&line, &size, file)) > 0)
		json_decref(json_loadb(line, (size_t)length, 0, NULL));
	free(line);
	fclose(file);
	return 0;
}

static void ignore_field(void *text, size_t length, void *data)
{
	(void)text;
	(void)length;
	(void)data;
}

static void ignore_row(int end, void *data)
{
	(void)end;
	(void)data;
}

static int pass_csv(const char *path)
{
	static char buffer[1 << 16];
	FILE *file = fopen(path, "rb");
	struct csv_parser parser;
	size_t length;

	if (file == NULL)
		return 66;
	csv_init(&parser, CSV_STRICT | CSV_APPEND_NULL);
	while ((length = fread(buffer, 1, sizeof buffer, file)) > 0)
		csv_parse(&parser, buffer, length, ignore_field, ignore_row, NULL);
	csv_free(&parser);
	fclose(file);
	return 0;
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

static void keep_smaller(double *kept, double value)
{
	if (*kept == 0 || value < *kept)
		*kept = value;
}

static void run_once(char *const *args, struct measured *measured)
{
	double begin = seconds_now();
	struct rusage usage;
	int status;
	pid_t child = fork();

	if (child == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDOUT_FILENO);
		execv(args[0], args);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		measured->failed = true;
		return;
	}
	keep_smaller(&measured->wall, seconds_now() - begin);
	keep_smaller(&measured->seconds, seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
	if (usage.ru_maxrss > measured->peak_kib)
		measured->peak_kib = usage.ru_maxrss;
}

/* "a b c" into words, which live in `text`. */
static void split(char *text, char **args)
{
	size_t n = 0;

	for (char *word = strtok(text, " "); word != NULL && n < ARGS_MAX - 1; word = strtok(NULL, " "))
		args[n++] = word;
	args[n] = NULL;
}

/* Runs both commands in turns and prints a line. limit 0 = none stated. */
static void compare(const struct settings *settings, const char *name, const char *work, const char *command,
                    const char *baseline, double limit)
{
	char text[2][4096];
	char *args[2][ARGS_MAX];
	struct measured m[2] = {{.seconds = 0}, {.seconds = 0}};
	json_t *line;

	if (settings->only != NULL && strcmp(settings->only, name) != 0)
		return;
	snprintf(text[0], sizeof text[0], "%s", command);
	snprintf(text[1], sizeof text[1], "%s", baseline);
	for (int i = 0; i < 2; i++)
		split(text[i], args[i]);
	for (unsigned turn = 0; turn < settings->turns; turn++)
		for (int i = 0; i < 2; i++)
			run_once(args[i], &m[i]);
	line = json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:i, s:i}", "name", name, "work", work, "seconds",
	                 m[0].seconds, "baseline_seconds", m[1].seconds, "wall_seconds", m[0].wall,
	                 "baseline_wall_seconds", m[1].wall, "ratio",
	                 m[1].seconds > 0 ? m[0].seconds / m[1].seconds : 0, "peak_kib", (int)m[0].peak_kib,
	                 "baseline_peak_kib", (int)m[1].peak_kib);
	if (limit > 0)
		json_object_set_new(line, "limit", json_real(limit));
	if (m[0].failed || m[1].failed)
		json_object_set_new(line, "failed", json_true());
	json_dumpf(line, stdout, JSON_REAL_PRECISION(4));
	putchar('\n');
	fflush(stdout);
	json_decref(line);
}

/* --- workloads of our own ----------------------------------------------------------------------------------------- */

/* Lengths like those of the Azure traces at a rate that keeps about 200 requests running with steps of 10 ms. */
static void write_azure_like(const char *path, unsigned long rows)
{
	FILE *file = fopen(path, "w");
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
	double now = 0;

	gsl_rng_set(rng, 20231116);
	fputs("arrival_s,prompt_tokens,output_tokens\n", file);
	for (unsigned long i = 0; i < rows; i++) {
		unsigned prompt = 1 + (unsigned)gsl_ran_lognormal(rng, 6.6, 0.8);
		unsigned output = 1 + (unsigned)gsl_ran_lognormal(rng, 5.1, 0.6);

		now += gsl_ran_exponential(rng, 0.0105);
		fprintf(file, "%.6f,%u,%u\n", now, prompt < 30000 ? prompt : 30000, output < 4000 ? output : 4000);
	}
	gsl_rng_free(rng);
	fclose(file);
}

static void write_equal(const char *path, unsigned long rows, unsigned long prompt)
{
	FILE *file = fopen(path, "w");

	fputs("arrival_s,prompt_tokens,output_tokens\n", file);
	for (unsigned long i = 0; i < rows; i++)
		fprintf(file, "%lu.%02lu,%lu,%u\n", i / 100, i % 100, prompt, 100);
	fclose(file);
}

/* --- cases -------------------------------------------------------------------------------------------------------- */

static void bench_mooncake(const struct settings *settings)
{
	const char *shared = getenv("KVSIM_SHARED");
	char trace[PATH_SIZE], run[2048], other[2048], pass[1024];
	const char *base = "%s run --trace %s --model llama-3.1-70b --hardware h100-sxm -tp 8 --write summary --force "
	                   "--quiet --out %s/out %s";

	snprintf(trace, sizeof trace, "%s/traces/mooncake/conversation_trace.jsonl", shared == NULL ? "" : shared);
	if (access(trace, R_OK) != 0) {
		printf("{\"name\": \"mooncake\", \"skipped\": \"no public traces: configure --with-shared=DIR\"}\n");
		return;
	}
	snprintf(run, sizeof run, base, settings->kvsim, trace, settings->folder, "");
	snprintf(pass, sizeof pass, "%s --pass-json %s", settings->self, trace);
	snprintf(other, sizeof other, "%s trace validate %s", settings->kvsim, trace);
	compare(settings, "mooncake_read", "reading and checking it, beside the same pass", other, pass, 1.5);
	compare(settings, "mooncake_run", "the Mooncake conversation trace, beside a plain jansson pass", run, pass, 3);
	snprintf(run, sizeof run, base, settings->kvsim, trace, settings->folder,
	         "--block-size 16 --num-gpu-blocks-override 84801");
	snprintf(other, sizeof other, base, settings->kvsim, trace, settings->folder,
	         "--block-size 512 --num-gpu-blocks-override 2651");
	compare(settings, "block_16_beside_512", "the same bytes in blocks of 16 and of 512 tokens", run, other, 1.3);
	snprintf(run, sizeof run, base, settings->kvsim, trace, settings->folder, "--num-gpu-blocks-override 292462");
	snprintf(other, sizeof other, base, settings->kvsim, trace, settings->folder,
	         "--num-gpu-blocks-override 5849251");
	compare(settings, "pool_5_beside_100_percent", "a pool of 5 % and of 100 % of the trace's content", run, other,
	        2);
	snprintf(run, sizeof run,
	         "%s run --trace %s --model gpt-oss-120b --hardware h100-sxm -tp 8 --write summary --force --quiet "
	         "--out %s/out",
	         settings->kvsim, trace, settings->folder);
	snprintf(other, sizeof other, base, settings->kvsim, trace, settings->folder, "");
	compare(settings, "window_beside_full", "a model with sliding windows beside one without", run, other, 3);
}

static void bench_lengths(const struct settings *settings)
{
	char small[PATH_SIZE + 16], large[PATH_SIZE + 16], run[2048], other[2048];
	const char *base = "%s run --trace %s --model llama-3.1-8b --latency fixed:10ms --max-model-len 1100000 "
	                   "--max-num-batched-tokens 1100000 --num-gpu-blocks-override 20000000 --write summary "
	                   "--force --quiet --out %s/out";

	snprintf(small, sizeof small, "%s/small.csv", settings->folder);
	snprintf(large, sizeof large, "%s/large.csv", settings->folder);
	write_equal(small, 1000, 1000);
	write_equal(large, 1000, 1000000);
	snprintf(run, sizeof run, base, settings->kvsim, large, settings->folder);
	snprintf(other, sizeof other, base, settings->kvsim, small, settings->folder);
	compare(settings, "prompts_1m_beside_1k", "1,000 prompts of 1,000,000 tokens and of 1,000", run, other, 1.5);
}

static void bench_rows(const struct settings *settings)
{
	char trace[PATH_SIZE + 16], tenth[PATH_SIZE + 16], run[2048], other[2048], pass[1024], work[128];
	const char *base = "%s run --trace %s --model llama-3.1-8b --latency fixed:10ms --max-model-len 65536 "
	                   "--num-gpu-blocks-override 20001 --write %s --force --quiet --out %s/out";

	snprintf(trace, sizeof trace, "%s/rows.csv", settings->folder);
	snprintf(tenth, sizeof tenth, "%s/tenth.csv", settings->folder);
	write_azure_like(trace, settings->rows);
	write_azure_like(tenth, settings->rows / 10);
	snprintf(pass, sizeof pass, "%s --pass-csv %s", settings->self, trace);
	snprintf(work, sizeof work, "%lu rows, beside a plain libcsv pass", settings->rows);
	snprintf(run, sizeof run, base, settings->kvsim, trace, "summary", settings->folder);
	snprintf(other, sizeof other, "%s trace validate %s", settings->kvsim, trace);
	compare(settings, "rows_read", "reading and checking them, beside the same pass", other, pass, 4);
	compare(settings, "rows_summary", work, run, pass, 12);
	snprintf(other, sizeof other, base, settings->kvsim, tenth, "summary", settings->folder);
	compare(settings, "rows_beside_a_tenth", "compare peak_kib: memory does not follow the rows (at most 1.2)", run,
	        other, 0);
	snprintf(run, sizeof run, base, settings->kvsim, trace, "summary,requests", settings->folder);
	compare(settings, "rows_requests", "the same with requests.csv", run, pass, 30);
}

/* --- command line ------------------------------------------------------------------------------------------------- */

enum { OPTION_PASS_JSON = 256, OPTION_PASS_CSV, OPTION_ONLY, OPTION_ROWS, OPTION_TURNS };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct settings *settings = state->input;

	switch (key) {
	case OPTION_PASS_JSON: settings->pass_json = arg; break;
	case OPTION_PASS_CSV: settings->pass_csv = arg; break;
	case OPTION_ONLY: settings->only = arg; break;
	case OPTION_ROWS: settings->rows = strtoul(arg, NULL, 10); break;
	case OPTION_TURNS: settings->turns = (unsigned)strtoul(arg, NULL, 10); break;
	case ARGP_KEY_ARG: settings->kvsim = arg; break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void bench_all(struct settings *settings)
{
	const char *temporary = getenv("TMPDIR");
	char clean[PATH_SIZE + 16];

	snprintf(settings->folder, sizeof settings->folder, "%s/kvsim-bench-XXXXXX",
	         temporary == NULL ? "/tmp" : temporary);
	if (mkdtemp(settings->folder) == NULL) {
		perror(settings->folder);
		exit(74);
	}
	bench_mooncake(settings);
	bench_lengths(settings);
	bench_rows(settings);
	snprintf(clean, sizeof clean, "rm -rf '%s'", settings->folder);
	if (system(clean) != 0)
		exit(74);
}

int main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"turns", OPTION_TURNS, "N", 0, "Turns of each command (5)", 0},
		{"rows", OPTION_ROWS, "N", 0, "Rows of the long CSV (10000000)", 0},
		{"only", OPTION_ONLY, "NAME", 0, "This benchmark alone", 0},
		{"pass-json", OPTION_PASS_JSON, "FILE", 0, "Parse every line of FILE and do nothing else", 0},
		{"pass-csv", OPTION_PASS_CSV, "FILE", 0, "Split FILE into fields and do nothing else", 0},
		{0}
	};
	const struct argp argp = {options, parse, "KVSIM", "What runs of kvsim cost, as ratios.", NULL, NULL, NULL};
	struct settings settings = {.self = argv[0], .kvsim = "./kvsim", .turns = 5, .rows = 10000000};

	argp_parse(&argp, argc, argv, 0, NULL, &settings);
	if (settings.pass_json != NULL)
		return pass_json(settings.pass_json);
	if (settings.pass_csv != NULL)
		return pass_csv(settings.pass_csv);
	bench_all(&settings);
	return 0;
}
