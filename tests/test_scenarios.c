/* Small workloads with known answers, kept as data (tests/data/scenarios), on both engines. Each object there has a
 * name, the config and requests of a vector file (prompts also as "name:length name:length" or a number of tokens), and
 * what it expects: for requests admit (step, hit), first, finish, preempt, outputs, reason; scheduled tokens of single
 * steps; pinned blocks of steps or ranges of steps; totals; who stalls. What is not named is not compared. TAP on
 * stdout. */
#include "config.h"

#include <gsl/gsl_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/simulation.h"
#include "tests/decisions.h"
#include "tests/oracle/oracle.h"
#include "tests/workload.h"

struct check {
	const struct test_workload *workload;
	const struct test_decisions *decisions;
	char difference[512];  /* the first; "" = none */
};

static void compare(struct check *check, const char *where, const char *what, json_t *expected, json_t *found)
{
	if (check->difference[0] == '\0' && !json_equal(expected, found)) {
		char *want = json_dumps(expected, JSON_ENCODE_ANY), *got = json_dumps(found, JSON_ENCODE_ANY);

		snprintf(check->difference, sizeof check->difference, "%s %s: expected %s, found %s", where, what, want,
		         got);
		free(want);
		free(got);
	}
	json_decref(found);
}

static json_t *step_or_null(int64_t step)
{
	return step >= 0 ? json_integer(step) : json_null();
}

static json_t *admissions(const struct test_pairs *pairs)
{
	json_t *array = json_array();

	for (size_t i = 0; i < pairs->count; i++)
		json_array_append_new(array, json_pack("[I, I]", (json_int_t)pairs->items[i].request,
		                                       (json_int_t)pairs->items[i].tokens));
	return array;
}

static json_t *found_in_fate(const struct test_fate *fate, const char *key)
{
	if (strcmp(key, "admit") == 0)
		return admissions(&fate->admit);
	if (strcmp(key, "first") == 0)
		return step_or_null(fate->first);
	if (strcmp(key, "finish") == 0)
		return step_or_null(fate->finish);
	if (strcmp(key, "preempt") == 0)
		return json_integer((json_int_t)fate->preempt);
	if (strcmp(key, "outputs") == 0)
		return json_integer((json_int_t)fate->record.output_tokens);
	if (strcmp(key, "reason") == 0)
		return json_string(kv_reason_name(fate->record.reason));
	return json_string("no such key");
}

static void check_requests(struct check *check, json_t *requests)
{
	const struct test_workload *workload = check->workload;
	const char *key;
	json_t *value;

	for (size_t i = 0; i < workload->count; i++)
		json_object_foreach(json_object_get(requests, workload->requests[i].id), key, value)
			compare(check, workload->requests[i].id, key, value,
			        found_in_fate(&check->decisions->fates[i], key));
}

/* "a:80 b:1", in scheduling order. */
static json_t *scheduled_text(const struct check *check, const struct test_step *step)
{
	char text[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < step->scheduled.count && used < sizeof text; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s:%llu", i > 0 ? " " : "",
		                         check->workload->requests[step->scheduled.items[i].request].id,
		                         (unsigned long long)step->scheduled.items[i].tokens);
	return json_string(text);
}

static const struct test_step *step_at(const struct check *check, size_t number)
{
	static const struct test_step idle;

	return number < check->decisions->step_count ? &check->decisions->steps[number] : &idle;
}

static void check_scheduled(struct check *check, json_t *scheduled)
{
	const char *key;
	json_t *value;

	json_object_foreach(scheduled, key, value)
		compare(check, "scheduled in step", key, value,
		        scheduled_text(check, step_at(check, strtoul(key, NULL, 10))));
}

static void check_pinned(struct check *check, json_t *pinned)
{
	const char *key;
	json_t *value;

	json_object_foreach(pinned, key, value) {
		char *end;
		size_t first = strtoul(key, &end, 10);
		size_t last = *end == '-' ? strtoul(end + 1, NULL, 10) : first;

		for (size_t t = first; t <= last; t++)
			compare(check, "pinned in step", key, value,
			        json_integer((json_int_t)step_at(check, t)->pinned));
	}
}

static json_t *found_in_totals(const struct check *check, const char *key)
{
	const struct test_decisions *d = check->decisions;

	if (strcmp(key, "steps") == 0)
		return json_integer((json_int_t)d->busy_steps);
	if (strcmp(key, "scheduled_tokens") == 0)
		return json_integer((json_int_t)d->scheduled_tokens);
	if (strcmp(key, "peak_pinned") == 0)
		return json_integer((json_int_t)d->peak_pinned);
	if (strcmp(key, "sum_pinned") == 0)
		return json_integer((json_int_t)d->sum_pinned);
	if (strcmp(key, "evictions") == 0)
		return json_integer((json_int_t)d->evictions);
	if (strcmp(key, "preemptions") == 0)
		return json_integer((json_int_t)d->preemptions);
	if (strcmp(key, "stall") == 0)
		return d->stalled_at < 0 ? json_false() : json_string(check->workload->requests[d->stalled_request].id);
	return json_string("no such key");
}

static void check_all(struct check *check, json_t *expect)
{
	const char *key;
	json_t *value;

	json_object_foreach(expect, key, value) {
		if (strcmp(key, "requests") == 0)
			check_requests(check, value);
		else if (strcmp(key, "scheduled") == 0)
			check_scheduled(check, value);
		else if (strcmp(key, "pinned") == 0)
			check_pinned(check, value);
		else
			compare(check, "total", key, value, found_in_totals(check, key));
	}
}

static bool run_on(const struct test_workload *workload, json_t *scenario, const char *engine, test_engine simulate,
                   unsigned number)
{
	struct test_decisions decisions;
	struct check check = {.workload = workload, .decisions = &decisions};
	struct kv_run_outcome outcome;
	bool passed;

	test_decisions_init(&decisions, workload->count, workload->fixed_step, true);
	test_workload_run(workload, simulate, &decisions.sink, &outcome);
	check_all(&check, json_object_get(scenario, "expect"));
	passed = check.difference[0] == '\0';
	printf("%sok %u - %s (%s)\n", passed ? "" : "not ", number,
	       json_string_value(json_object_get(scenario, "name")), engine);
	if (!passed)
		printf("# %s\n", check.difference);
	test_decisions_fini(&decisions);
	return passed;
}

static unsigned run_file(const char *folder, const char *name, unsigned *number)
{
	char path[4096];
	unsigned failed = 0;
	FILE *file;
	json_t *scenario;

	snprintf(path, sizeof path, "%s/tests/data/scenarios/%s", folder, name);
	file = test_open(path);
	while ((scenario = test_next_object(file, path)) != NULL) {
		struct test_workload workload;

		test_workload_init(&workload);
		test_workload_read(&workload, json_object_get(scenario, "config"),
		                   json_object_get(scenario, "requests"));
		failed += !run_on(&workload, scenario, "production", kv_simulate, ++*number);
		failed += !run_on(&workload, scenario, "oracle", kv_oracle_simulate, ++*number);
		test_workload_fini(&workload);
		json_decref(scenario);
	}
	fclose(file);
	return failed;
}

int main(void)
{
	static const char *const files[] = {"v.json", "g.json", "h.json", "s.json",
	                                    "c.json", "a.json", "t.json", "p.json"};
	const char *folder = getenv("srcdir");
	unsigned number = 0, failed = 0;

	gsl_set_error_handler_off();
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		failed += run_file(folder != NULL ? folder : ".", files[i], &number);
	printf("1..%u\n", number);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
