#include "config.h"

#include "sim/cli/size.h"

#include <stdlib.h>

#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>

#include "sim/base/memory.h"
#include "sim/base/units.h"
#include "sim/cli/trace_file.h"

struct lengths {
	double *tokens;
	size_t count, capacity;
};

static int read_lengths(struct kv_size_report *report, struct lengths *lengths, struct kv_error *err)
{
	const struct kv_scenario *s = &report->scenario;
	struct kv_trace_options options;
	struct kv_request request;
	struct kv_trace *trace;
	int more;

	kv_trace_options_init(&options);
	options.format = s->workload.format;
	options.skip_bad_rows = s->workload.skip_bad_rows;
	options.reorder_time = s->workload.reorder_time;
	options.reorder_rows = s->workload.reorder_rows;
	kv_trace_file_seed(s, &options);
	options.load = &s->load;
	if (s->workload.rows != NULL && kv_trace_parse_rows(s->workload.rows, &options, err))
		return kv_scenario_fail_in(s, "workload.rows", err);
	trace = kv_trace_open(kv_scenario_workload(s), &options, err);
	if (trace == NULL)
		return -1;
	while ((more = kv_trace_file_next(trace, &request, err)) > 0) {
		uint64_t total = (uint64_t)request.prompt_tokens + request.output_tokens;

		report->trace.too_long += total > report->question.max_model_len;
		lengths->tokens = kv_grow(lengths->tokens, &lengths->capacity, lengths->count + 1, sizeof *lengths->tokens);
		lengths->tokens[lengths->count++] = (double)kv_max(1, total);
	}
	kv_trace_close(trace);
	return more;
}

/* Requests of that length that fit at once: none where the engine refuses them. */
static double held_of(const struct kv_size_report *report, double tokens)
{
	if (tokens > (double)report->question.max_model_len)
		return 0;
	return kv_size_mix_held(&report->question, &report->answer, &tokens, 1);
}

static void summarise(struct kv_size_report *report, struct lengths *lengths)
{
	static const double percentiles[3] = { 50, 90, 99 };
	struct kv_size_trace *t = &report->trace;

	gsl_sort(lengths->tokens, 1, lengths->count);
	t->requests = lengths->count;
	if (t->requests > t->too_long)
		t->held = kv_size_mix_held(&report->question, &report->answer, lengths->tokens, t->requests - t->too_long);
	t->mean_tokens = gsl_stats_mean(lengths->tokens, 1, lengths->count);
	for (int i = 0; i < 3; i++) {
		t->percentile[i] = percentiles[i];
		t->tokens[i] = gsl_stats_quantile_from_sorted_data(lengths->tokens, 1, lengths->count,
		                                                   percentiles[i] / 100);
		t->held_if_all[i] = held_of(report, t->tokens[i]);
	}
}

int kv_size_read_trace(struct kv_size_report *report, struct kv_error *err)
{
	struct lengths lengths = { 0 };
	int failed;

	if (kv_scenario_workload(&report->scenario) == NULL && report->scenario.load.count > 0)
		return kv_fail(err, KV_EXIT_USAGE, "--set " KV_SCENARIO_LOAD "%s changes nothing without a load: give --scenario "
		               "FILE or --trace FILE", report->scenario.load.setting[0].path);
	if (kv_scenario_workload(&report->scenario) == NULL)
		return 0;
	failed = read_lengths(report, &lengths, err);
	if (!failed && lengths.count == 0)
		failed = kv_fail(err, KV_EXIT_DATA, "%s: no request to size", kv_scenario_workload(&report->scenario));
	if (!failed)
		summarise(report, &lengths);
	free(lengths.tokens);
	return failed;
}
