/* Replays workloads that a real engine decided on, and compares every decision: step traces, admissions with their
 * hits, totals. Idle steps, which the simulated engine sleeps through, are put in here. */
#include "config.h"

#include <argp.h>
#include <gsl/gsl_errno.h>
#include <jansson.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/engine/simulation.h"
#include "tests/decisions.h"
#include "tests/oracle/oracle.h"
#include "tests/replay_radix.h"
#include "tests/workload.h"

struct arguments {
	const char *traces;  /* NULL = beside the vector file's folder */
	bool production, oracle;
	char **files;
	size_t file_count, file_capacity;
};

/* One case on one engine. */
struct comparison {
	const char *engine, *id;
	bool failed;
};

static _Noreturn void unusable(const char *path, const char *what)
{
	fprintf(stderr, "replay_vectors: %s: %s\n", path, what);
	exit(KV_EXIT_DATA);
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

static void compare(struct comparison *c, const char *what, json_t *expected, json_t *found)
{
	if (!c->failed && !json_equal(expected, found)) {
		char *want = json_dumps(expected, JSON_ENCODE_ANY), *got = json_dumps(found, JSON_ENCODE_ANY);

		printf("%s on %s: %s: expected %s, found %s\n", c->id, c->engine, what, want, got);
		free(want);
		free(got);
		c->failed = true;
	}
	json_decref(found);
}

static void compare_count(struct comparison *c, json_t *expect, const char *key, uint64_t found)
{
	json_t *expected = json_object_get(expect, key);

	if (expected != NULL)
		compare(c, key, expected, json_integer((json_int_t)found));
}

static json_t *step_or_null(int64_t step)
{
	return step >= 0 ? json_integer(step) : json_null();
}

static json_t *id_of(const struct test_workload *workload, uint64_t request)
{
	return json_string(workload->requests[request].id);
}

/* [[id, tokens], ...], or [[step, tokens], ...] without a workload. */
static json_t *pairs_array(const struct test_workload *workload, const struct test_pairs *pairs)
{
	json_t *array = json_array();

	for (size_t i = 0; i < pairs->count; i++) {
		json_t *pair = json_array();

		json_array_append_new(pair, workload != NULL ? id_of(workload, pairs->items[i].request) :
		                                               json_integer((json_int_t)pairs->items[i].request));
		json_array_append_new(pair, json_integer((json_int_t)pairs->items[i].tokens));
		json_array_append_new(array, pair);
	}
	return array;
}

static int by_request(const void *a, const void *b)
{
	const struct test_pair *x = a, *y = b;

	return (x->request > y->request) - (x->request < y->request);
}

static json_t *ids_in_listing_order(const struct test_workload *workload, const struct test_pairs *pairs)
{
	json_t *array = json_array();

	if (pairs->count > 0)
		qsort(pairs->items, pairs->count, sizeof *pairs->items, by_request);
	for (size_t i = 0; i < pairs->count; i++)
		json_array_append_new(array, id_of(workload, pairs->items[i].request));
	return array;
}

static json_t *step_object(const struct test_workload *workload, size_t number, const struct test_step *step,
                           uint64_t evictions)
{
	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:I, s:I}", "step", (int)number,
	                 "scheduled", pairs_array(workload, &step->scheduled),
	                 "admitted", pairs_array(workload, &step->admitted),
	                 "preempted", ids_in_listing_order(workload, &step->preempted),
	                 "finished", ids_in_listing_order(workload, &step->finished),
	                 "pinned_blocks", (json_int_t)step->pinned, "evictions", (json_int_t)evictions);
}

static bool equal_pairs(const struct test_pairs *a, const struct test_pairs *b)
{
	return a->count == b->count &&
	       (a->count == 0 || memcmp(a->items, b->items, a->count * sizeof *a->items) == 0);
}

/* A step that shows nothing new is left out of a trace. */
static bool is_left_out(const struct test_step *step, const struct test_step *before)
{
	return step->admitted.count == 0 && step->preempted.count == 0 && step->finished.count == 0 &&
	       equal_pairs(&step->scheduled, &before->scheduled);
}

static size_t last_step(const struct test_decisions *d)
{
	return d->stalled_at >= 0 ? kv_max(d->step_count, (uint64_t)d->stalled_at + 1) : d->step_count;
}

static void compare_trace(struct comparison *c, const struct test_workload *workload, json_t *trace,
                          const struct test_decisions *d)
{
	static const struct test_step idle;
	const struct test_step *before = NULL;
	uint64_t evictions = 0;
	size_t shown = 0;

	for (size_t t = 0; t < last_step(d) && !c->failed; t++) {
		const struct test_step *step = t < d->step_count ? &d->steps[t] : &idle;

		evictions = step->began ? step->evictions : evictions;
		if (before == NULL || !is_left_out(step, before)) {
			json_t *expected = json_array_get(trace, shown++);

			compare(c, "step", expected, step_object(workload, t, step, evictions));
		}
		before = step;
	}
	if (!c->failed) {
		json_t *expected = json_integer((json_int_t)json_array_size(trace));

		compare(c, "steps shown", expected, json_integer((json_int_t)shown));
		json_decref(expected);
	}
}

static void compare_requests(struct comparison *c, const struct test_workload *workload, json_t *requests,
                             const struct test_decisions *d)
{
	for (size_t i = 0; i < d->fate_count && !c->failed; i++) {
		const struct test_fate *fate = &d->fates[i];
		const char *id = workload->requests[i].id;

		compare(c, id, json_object_get(requests, id),
		        json_pack("{s:o, s:o, s:o, s:I}", "admit", pairs_array(NULL, &fate->admit),
		                  "first", step_or_null(fate->first), "finish", step_or_null(fate->finish),
		                  "preempt", (json_int_t)fate->preempt));
	}
}

static uint64_t first_hits(const struct test_decisions *d)
{
	uint64_t hits = 0;

	for (size_t i = 0; i < d->fate_count; i++)
		hits += d->fates[i].record.cached_tokens;
	return hits;
}

static uint64_t last_finish(const struct test_decisions *d)
{
	int64_t last = 0;

	for (size_t i = 0; i < d->fate_count; i++)
		last = d->fates[i].finish > last ? d->fates[i].finish : last;
	return (uint64_t)last;
}

static void compare_totals(struct comparison *c, json_t *totals, const struct test_decisions *d)
{
	compare_count(c, totals, "steps", d->busy_steps);
	compare_count(c, totals, "scheduled_tokens", d->scheduled_tokens);
	compare_count(c, totals, "peak_pinned", d->peak_pinned);
	compare_count(c, totals, "sum_pinned", d->sum_pinned);
	compare_count(c, totals, "evictions", d->evictions);
	compare_count(c, totals, "preemptions", d->preemptions);
	compare_count(c, totals, "first_admission_hit_tokens", first_hits(d));
	compare_count(c, totals, "last_step", last_finish(d));
	if (json_object_get(totals, "stall") != NULL)
		compare(c, "stall", json_object_get(totals, "stall"), json_boolean(d->stalled_at >= 0));
}

/* --- one case ----------------------------------------------------------------------------------------------------- */

static bool replay(const struct test_workload *workload, json_t *record, const char *name, test_engine engine)
{
	json_t *expect = json_object_get(record, "expect");
	json_t *totals = expect != NULL ? expect : json_object_get(record, "totals");
	json_t *requests = json_object_get(expect != NULL ? expect : record, "requests");
	json_t *trace = json_object_get(expect, "trace");
	struct comparison c = {.engine = name, .id = json_string_value(json_object_get(record, "id"))};
	struct test_decisions decisions;
	struct kv_run_outcome outcome;

	test_decisions_init(&decisions, workload->count, workload->fixed_step, trace != NULL);
	test_workload_run(workload, engine, &decisions.sink, &outcome);
	if (trace != NULL)
		compare_trace(&c, workload, trace, &decisions);
	compare_requests(&c, workload, requests, &decisions);
	compare_totals(&c, totals, &decisions);
	test_decisions_fini(&decisions);
	return !c.failed;
}

static void replay_on_all(const struct arguments *args, const struct test_workload *workload, json_t *record,
                          unsigned *passed, unsigned *failed)
{
	if (args->production)
		(*(replay(workload, record, "production", kv_simulate) ? passed : failed))++;
	if (args->oracle)
		(*(replay(workload, record, "oracle", kv_oracle_simulate) ? passed : failed))++;
}

/* --- rows of a Mooncake trace ------------------------------------------------------------------------------------- */

static uint32_t append_hash_blocks(struct kv_request *request, json_t *hash_ids, uint32_t block_size)
{
	struct kv_segment *prompt = kv_calloc(json_array_size(hash_ids), sizeof *prompt);
	uint32_t left = request->prompt_tokens;

	for (size_t i = 0; i < json_array_size(hash_ids); i++) {
		prompt[i] = (struct kv_segment){
			.stream = (uint64_t)json_integer_value(json_array_get(hash_ids, i)),
			.length = (uint32_t)kv_min(left, block_size),
			.kind = KV_STREAM_BLOCK,
		};
		left -= prompt[i].length;
	}
	free((void *)request->prompt);
	request->prompt = prompt;
	request->prompt_segments = (uint32_t)json_array_size(hash_ids);
	return left;
}

static void add_row(struct test_workload *workload, json_t *row, size_t number, json_int_t *start, json_int_t step_ms)
{
	json_int_t timestamp = json_integer_value(json_object_get(row, "timestamp"));
	char id[32];
	struct kv_request *request;

	if (*start < 0)
		*start = timestamp;
	snprintf(id, sizeof id, "r%zu", number);
	request = test_workload_add(workload, &(struct kv_request){
		.id = id,
		.arrival = (kv_time)kv_ceil_div((uint64_t)(timestamp - *start), (uint64_t)step_ms) * workload->fixed_step,
		.deadline = KV_TIME_NONE,
		.prompt_tokens = (uint32_t)json_integer_value(json_object_get(row, "input_length")),
		.output_tokens = (uint32_t)json_integer_value(json_object_get(row, "output_length")),
		.max_tokens = KV_TOKENS_UNSET,
	});
	if (append_hash_blocks(request, json_object_get(row, "hash_ids"), workload->config.block_size) != 0)
		unusable(id, "hash_ids do not cover input_length");
}

static void read_rows(struct test_workload *workload, json_t *record, const char *path, json_int_t step_ms)
{
	json_int_t first = json_integer_value(json_array_get(json_object_get(record, "rows"), 0));
	json_int_t end = json_integer_value(json_array_get(json_object_get(record, "rows"), 1));
	json_int_t start = -1;
	FILE *file = test_open(path);
	char *line = NULL;
	size_t size = 0;

	for (json_int_t number = 0; number < end; number++) {
		json_t *row;

		if (getline(&line, &size, file) < 0)
			unusable(path, "has too few rows");
		if (number < first)
			continue;
		row = json_loads(line, 0, NULL);
		add_row(workload, row, (size_t)number, &start, step_ms);
		json_decref(row);
	}
	free(line);
	fclose(file);
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* DIR/NAME, or FILE/../../traces/mooncake/NAME without a DIR. */
static char *trace_path(const struct arguments *args, const char *file, const char *name)
{
	char *copy = kv_strdup(file);
	char *path = NULL;
	int length = args->traces != NULL ? asprintf(&path, "%s/%s", args->traces, name) :
	                                    asprintf(&path, "%s/../traces/mooncake/%s", dirname(copy), name);

	free(copy);
	if (length < 0)
		unusable(file, "out of memory");
	return path;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void replay_record(const struct arguments *args, const char *file, json_t *record, unsigned *passed,
                          unsigned *failed)
{
	const char *trace = json_string_value(json_object_get(record, "trace"));
	json_t *config = json_object_get(record, "config");
	struct test_workload workload;

	if (json_object_get(record, "ops") != NULL) {
		if (args->production)
			(*(replay_radix_production(record) ? passed : failed))++;
		if (args->oracle)
			(*(replay_radix_oracle(record) ? passed : failed))++;
		return;
	}
	test_workload_init(&workload);
	if (trace != NULL) {
		json_int_t step_ms = json_integer_value(json_object_get(config, "step_ms"));
		char *path = trace_path(args, file, trace);

		json_object_del(config, "step_ms");
		test_workload_read(&workload, config, NULL);
		read_rows(&workload, record, path, step_ms);
		json_object_set_new(record, "id", json_string(name_of(file)));
		free(path);
	} else {
		test_workload_read(&workload, config, json_object_get(record, "requests"));
	}
	replay_on_all(args, &workload, record, passed, failed);
	test_workload_fini(&workload);
}

/* JSON lines, or one object over several lines. */
static void replay_file(const struct arguments *args, const char *file, unsigned *passed, unsigned *failed)
{
	FILE *stream = test_open(file);
	json_t *record;

	while ((record = test_next_object(stream, file)) != NULL) {
		replay_record(args, file, record, passed, failed);
		json_decref(record);
	}
	fclose(stream);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *args = state->input;

	if (key == 't') {
		args->traces = arg;
	} else if (key == 'e') {
		args->production = strcmp(arg, "oracle") != 0;
		args->oracle = strcmp(arg, "production") != 0;
		if (strcmp(arg, "oracle") != 0 && strcmp(arg, "production") != 0 && strcmp(arg, "both") != 0)
			argp_error(state, "--engine %s: allowed are production, oracle and both", arg);
	} else if (key == ARGP_KEY_ARG) {
		args->files = kv_grow(args->files, &args->file_capacity, args->file_count + 1, sizeof *args->files);
		args->files[args->file_count++] = arg;
	} else if (key == ARGP_KEY_NO_ARGS) {
		argp_usage(state);
	} else {
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"traces", 't', "DIR", 0, "traces that vectors name (default: ../traces/mooncake beside each FILE)", 0},
		{"engine", 'e', "NAME", 0, "production, oracle or both (default)", 0},
		{0}
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "FILE...",
		.doc = "Replays vectors of real engines' decisions and prints the first difference of each failing case.",
	};
	struct arguments args = {.production = true, .oracle = true};
	unsigned passed = 0, failed = 0;

	gsl_set_error_handler_off();
	argp_err_exit_status = KV_EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &args);
	for (size_t i = 0; i < args.file_count; i++)
		replay_file(&args, args.files[i], &passed, &failed);
	free(args.files);
	printf("%u passed, %u failed\n", passed, failed);
	return failed == 0 ? KV_EXIT_OK : KV_EXIT_CHECK;
}
