#include "config.h"

#include "results/results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "results/charts.h"
#include "results/chrome_trace.h"
#include "results/events_csv.h"
#include "results/explain.h"
#include "results/facts.h"
#include "results/insight.h"
#include "results/manifest.h"
#include "results/metrics_om.h"
#include "results/number_text.h"
#include "results/output_file.h"
#include "results/report.h"
#include "results/requests_csv.h"
#include "results/result_folder.h"
#include "results/retries.h"
#include "results/summary.h"
#include "results/timeline.h"
#include "sim/base/memory.h"
#include "sim/base/quantity.h"

struct kv_results {
	struct kv_results_options options;
	const struct kv_run_info *info;
	struct kv_sink sink;

	kv_time now;                   /* of the last advance */
	kv_time next_cut;              /* where `segment` must end next: warm-up or interval */
	bool measuring;                /* the warm-up is over */
	struct kv_level_sums segment;  /* since the last cut */
	struct kv_summary summary;
	struct kv_retries retries;
	struct kv_timeline timeline;   /* of its file, if that is asked for */
	bool reports;                  /* a report is asked for: the next two are in use */
	struct kv_timeline drawn;
	struct kv_insight insight;
	struct kv_metrics *metrics;    /* NULL unless --openmetrics: with the next */
	struct kv_timeline sampled;
	struct kv_chrome_trace trace;  /* in use if its file is there */
	struct kv_timeline *cutting[3];  /* those of the timelines that are in use */
	int cutting_count;

	char *dir;
	bool created, finished;
	struct kv_output *file[KV_FILES];  /* NULL = not asked for */
};

/* --- the sink ---------------------------------------------------------------------------------------------------- */


static void choose_next_cut(struct kv_results *results)
{
	results->next_cut = results->measuring ? KV_TIME_MAX : results->options.warmup;
	for (int i = 0; i < results->cutting_count; i++)
		if (results->cutting[i]->next < results->next_cut)
			results->next_cut = results->cutting[i]->next;
}

static void take_segment(struct kv_results *results)
{
	if (results->measuring)
		kv_level_sums_merge(&results->summary.levels, &results->segment);
	for (int i = 0; i < results->cutting_count; i++)
		kv_timeline_add(results->cutting[i], &results->segment);
	results->segment = (struct kv_level_sums){0};
}

static void cut(struct kv_results *results, const struct kv_state *state)
{
	take_segment(results);
	if (!results->measuring && results->now == results->options.warmup) {
		results->measuring = true;
		kv_summary_start_measuring(&results->summary, state, results->now);
	}
	for (int i = 0; i < results->cutting_count; i++)
		if (results->now == results->cutting[i]->next)
			kv_timeline_cut(results->cutting[i], state);
	choose_next_cut(results);
}

static void hold(struct kv_results *results, const struct kv_state *state, kv_time time)
{
	if (time == results->now)
		return;
	kv_level_sums_add(&results->segment, state, results->info->block_size, time - results->now);
	if (state->pinned_blocks > results->summary.peak_pinned) {
		results->summary.peak_pinned = state->pinned_blocks;
		results->summary.peak_time = results->now;
	}
	results->now = time;
}

static void prepare_timelines(struct kv_results *results, kv_time time)
{
	for (int i = 0; i < results->cutting_count; i++)
		kv_timeline_prepare(results->cutting[i], time);
	choose_next_cut(results);
}

static void advance(void *self, const struct kv_state *state, kv_time time)
{
	struct kv_results *results = self;

	if (results->summary.first_start == KV_TIME_NONE && state->in_flight > 0)
		results->summary.first_start = results->now;
	if (time >= results->next_cut)
		prepare_timelines(results, time);
	while (time >= results->next_cut) {
		hold(results, state, results->next_cut);
		cut(results, state);
	}
	hold(results, state, time);
}

static void step(void *self, const struct kv_step *taken)
{
	struct kv_results *results = self;

	kv_summary_step(&results->summary, taken);
	if (results->metrics != NULL)
		kv_metrics_step(results->metrics, taken);
	if (results->file[KV_FILE_TRACE] != NULL)
		kv_chrome_trace_step(&results->trace, taken);
}

static void token_gap(void *self, kv_time gap, uint64_t count)
{
	struct kv_results *results = self;

	kv_distribution_add_weighted(&results->summary.metric[KV_METRIC_ITL], (uint64_t)gap, count);
	if (results->metrics != NULL)
		kv_metrics_token_gap(results->metrics, results->now, gap, count);
}

static void request(void *self, const struct kv_request_record *record)
{
	struct kv_results *results = self;
	struct kv_sending sending = {0};

	if (results->retries.limit > 0)
		sending = kv_retries_note(&results->retries, record);
	kv_summary_request(&results->summary, record, &sending);
	if (results->options.watch != NULL)
		results->options.watch(results->options.watch_context, record, sending.wait);
	if (results->reports)
		kv_insight_request(&results->insight, record);
	if (results->metrics != NULL)
		kv_metrics_request(results->metrics, record);
	if (results->file[KV_FILE_TRACE] != NULL)
		kv_chrome_trace_request(&results->trace, record);
	if (results->file[KV_FILE_REQUESTS] != NULL)
		kv_requests_csv_row(results->file[KV_FILE_REQUESTS], record, sending.wait);
}

static void miss(void *self, const struct kv_miss *missed)
{
	struct kv_results *results = self;

	if (!results->measuring)
		return;
	for (int i = 0; i < KV_MISS_REASONS; i++)
		results->summary.miss_tokens[i] += missed->tokens[i];
	if (results->reports)
		kv_insight_miss(&results->insight, missed);
}

static void event(void *self, const struct kv_event *decided)
{
	struct kv_results *results = self;

	if (results->file[KV_FILE_EVENTS] != NULL)
		kv_events_csv_row(results->file[KV_FILE_EVENTS], decided);
	if (results->file[KV_FILE_TRACE] != NULL)
		kv_chrome_trace_event(&results->trace, decided);
}

struct kv_sink *kv_results_sink(struct kv_results *results)
{
	return &results->sink;
}

/* --- opening ----------------------------------------------------------------------------------------------------- */


static bool is_asked_for(const struct kv_results_options *options, enum kv_result_file file)
{
	static const unsigned bits[KV_FILES] = {
		[KV_FILE_SUMMARY] = KV_WRITE_SUMMARY, [KV_FILE_REQUESTS] = KV_WRITE_REQUESTS,
		[KV_FILE_TIMELINE] = KV_WRITE_TIMELINE, [KV_FILE_EVENTS] = KV_WRITE_EVENTS,
		[KV_FILE_REPORT] = KV_WRITE_REPORT, [KV_FILE_CHARTS] = KV_WRITE_REPORT,
		[KV_FILE_METRICS] = KV_WRITE_METRICS, [KV_FILE_TRACE] = KV_WRITE_CHROME_TRACE
	};

	return file == KV_FILE_MANIFEST || (options->write & bits[file]) != 0;
}

static struct kv_output *create_file(const struct kv_results *results, const char *name, struct kv_error *err)
{
	char *path = kv_result_folder_path(results->dir, name);
	struct kv_output *out = kv_output_create(path, err);

	free(path);
	return out;
}

static int create_files(struct kv_results *results, struct kv_error *err)
{
	for (int i = 0; i < KV_FILES; i++) {
		if (!is_asked_for(&results->options, i))
			continue;
		results->file[i] = create_file(results, kv_result_file_name(i), err);
		if (results->file[i] == NULL)
			return -1;
	}
	return 0;
}

static void start_files(struct kv_results *results)
{
	if (results->file[KV_FILE_REQUESTS] != NULL)
		kv_requests_csv_header(results->file[KV_FILE_REQUESTS]);
	if (results->file[KV_FILE_EVENTS] != NULL)
		kv_events_csv_header(results->file[KV_FILE_EVENTS]);
	if (results->file[KV_FILE_TIMELINE] != NULL) {
		kv_timeline_init(&results->timeline, results->options.timeline_interval, results->info->block_size,
		                 results->info->block_bytes, results->file[KV_FILE_TIMELINE]);
		results->cutting[results->cutting_count++] = &results->timeline;
	}
	if (results->reports) {
		kv_timeline_init_held(&results->drawn, KV_CHART_ROWS, results->info->block_size);
		kv_insight_init(&results->insight, results->info->block_size, results->options.warmup);
		results->cutting[results->cutting_count++] = &results->drawn;
	}
	if (results->file[KV_FILE_METRICS] != NULL) {
		results->metrics = kv_metrics_create(results->info);
		kv_timeline_init_held(&results->sampled, KV_METRICS_ROWS, results->info->block_size);
		results->cutting[results->cutting_count++] = &results->sampled;
	}
	if (results->file[KV_FILE_TRACE] != NULL)
		kv_chrome_trace_start(&results->trace, results->file[KV_FILE_TRACE]);
}

struct kv_results *kv_results_open(const struct kv_results_options *options, const struct kv_run_info *info,
                                   struct kv_error *err)
{
	struct kv_results *results;

	if (options->timeline_interval != 0 && options->timeline_interval < KV_TIMELINE_SHORTEST) {
		kv_fail(err, KV_EXIT_USAGE, "--timeline-interval: 1ms is the shortest allowed");
		return NULL;
	}
	results = kv_calloc(1, sizeof *results);
	results->options = *options;
	results->info = info;
	results->dir = kv_strdup(options->dir);
	results->retries.limit = options->retries;
	results->retries.warmup = options->warmup;
	results->measuring = options->warmup == 0;
	results->reports = (options->write & KV_WRITE_REPORT) != 0;
	kv_summary_init(&results->summary, &results->options);
	if (kv_result_folder_open(results->dir, options->force, &results->created, err) || create_files(results, err)) {
		kv_results_free(results);
		return NULL;
	}
	start_files(results);
	choose_next_cut(results);
	results->sink = (struct kv_sink){
		.self = results,
		.advance = advance,
		.event = results->file[KV_FILE_EVENTS] != NULL || results->file[KV_FILE_TRACE] != NULL ? event : NULL,
		.step = step,
		.token_gap = token_gap,
		.request = request,
		.miss = miss
	};
	return results;
}

/* --- finishing --------------------------------------------------------------------------------------------------- */


/* What is still open when the run ends: the state after its last event holds until then. */
static void end_run(struct kv_results *results, const struct kv_run_outcome *outcome)
{
	if (outcome->end > results->now)
		advance(results, &outcome->final, outcome->end);
	if (!results->measuring)
		kv_summary_start_measuring(&results->summary, &outcome->final, outcome->end);
	take_segment(results);
	for (int i = 0; i < results->cutting_count; i++)
		kv_timeline_finish(results->cutting[i], &outcome->final);
	kv_summary_finish(&results->summary, outcome);
}

/* As vLLM names it: {backend}-{rate}qps[-concurrency{N}]-{model base name}-{date}.json */
static char *saved_name(const struct kv_run_info *info)
{
	char rate[KV_NUMBER_TEXT_MAX] = "inf", concurrency[32] = "", date[32], *name = NULL;
	const char *model = info->model != NULL ? info->model : "model";
	const char *base = strrchr(model, '/') != NULL ? strrchr(model, '/') + 1 : model;
	time_t seconds = (time_t)(info->start_time / KV_SECOND);
	struct tm parts;

	if (isfinite(info->request_rate))
		*kv_text_double(rate, info->request_rate) = '\0';
	if (info->max_concurrency != 0)
		snprintf(concurrency, sizeof concurrency, "-concurrency%u", info->max_concurrency);
	gmtime_r(&seconds, &parts);
	strftime(date, sizeof date, "%Y%m%d-%H%M%S", &parts);
	if (asprintf(&name, "kvsim-%sqps%s-%s-%s.json", rate, concurrency, base, date) < 0)
		kv_bug(__FILE__, __LINE__, "a file name cannot be formatted");
	return name;
}

static int write_saved(struct kv_results *results, json_t *facts, struct kv_error *err)
{
	char *name;
	struct kv_output *out;
	int failed;

	if (!results->options.save_result)
		return 0;
	name = saved_name(results->info);
	out = create_file(results, name, err);
	free(name);
	if (out == NULL)
		return -1;
	kv_summary_write_json(&results->summary, facts, out);
	failed = kv_output_close(out, err) || kv_output_commit(out, err);
	kv_output_free(out);
	return failed ? -1 : 0;
}

static int close_files(struct kv_results *results, struct kv_error *err)
{
	for (int i = 0; i < KV_FILES; i++)
		if (results->file[i] != NULL && kv_output_close(results->file[i], err))
			return -1;
	return 0;
}

/* Files of an earlier run in this folder that this run does not write would belong to nothing. */
static int name_files(struct kv_results *results, struct kv_error *err)
{
	for (int i = 0; i < KV_FILES; i++) {
		if (results->file[i] == NULL)
			kv_result_folder_drop(results->dir, i);
		else if (kv_output_commit(results->file[i], err))
			return -1;
	}
	return 0;
}

static void write_list_of_files(const struct kv_results *results, struct kv_output *out)
{
	const char *separator = " ";

	kv_output_printf(out, "Written to %s:", results->dir);
	for (int i = 0; i < KV_FILES; i++) {
		if (results->file[i] == NULL)
			continue;
		kv_output_printf(out, "%s%s", separator, kv_result_file_name(i));
		separator = ", ";
	}
	kv_output_text(out, "\n");
	if (results->file[KV_FILE_TRACE] != NULL && results->trace.left_out > 0)
		kv_output_printf(out, "chrome-trace.json ends after %u rows: %llu more were left out.\n",
		                 KV_CHROME_ROWS, (unsigned long long)results->trace.left_out);
}

static int print_summary(const struct kv_results *results, json_t *facts, struct kv_error *err)
{
	struct kv_output *out;
	int failed;

	if (results->options.quiet && !results->options.json)
		return 0;
	out = kv_output_to_descriptor(STDOUT_FILENO, "standard output");
	if (results->options.json) {
		kv_summary_write_json(&results->summary, facts, out);
	} else {
		kv_summary_write_text(&results->summary, results->info, out);
		kv_explain_write_hints(facts, out);
		write_list_of_files(results, out);
	}
	failed = kv_output_close(out, err);
	kv_output_free(out);
	return failed;
}

static void write_report(struct kv_results *results, json_t *facts, json_t *manifest)
{
	const struct kv_charts charts = {&results->drawn, &results->insight, &results->summary};

	if (!results->reports)
		return;
	kv_charts_write(&charts, results->file[KV_FILE_CHARTS]);
	kv_report_begin(facts, manifest, results->file[KV_FILE_REPORT]);
	kv_charts_write(&charts, results->file[KV_FILE_REPORT]);
	kv_report_end(results->file[KV_FILE_REPORT]);
}

static int finish(struct kv_results *results, json_t *facts, json_t *manifest, struct kv_error *err)
{
	if (results->file[KV_FILE_SUMMARY] != NULL)
		kv_summary_write_json(&results->summary, facts, results->file[KV_FILE_SUMMARY]);
	kv_manifest_write(manifest, results->file[KV_FILE_MANIFEST]);
	write_report(results, facts, manifest);
	if (results->metrics != NULL)
		kv_metrics_write(results->metrics, &results->sampled, results->file[KV_FILE_METRICS]);
	if (results->file[KV_FILE_TRACE] != NULL)
		kv_chrome_trace_finish(&results->trace);
	if (close_files(results, err) || name_files(results, err) || write_saved(results, facts, err))
		return -1;
	results->finished = true;
	return print_summary(results, facts, err);
}

int kv_results_finish(struct kv_results *results, const struct kv_run_outcome *outcome, struct kv_error *err)
{
	json_t *facts, *manifest;
	int failed;

	end_run(results, outcome);
	facts = kv_facts_build(&results->summary, results->reports ? &results->insight : NULL, results->info);
	kv_explain_add(facts);
	manifest = kv_manifest_build(results->info, &results->summary);
	failed = finish(results, facts, manifest, err);
	json_decref(facts);
	json_decref(manifest);
	return failed;
}

void kv_results_free(struct kv_results *results)
{
	if (results == NULL)
		return;
	for (int i = 0; i < KV_FILES; i++)
		kv_output_free(results->file[i]);
	if (results->created && !results->finished)
		rmdir(results->dir);
	kv_timeline_fini(&results->timeline);
	kv_timeline_fini(&results->drawn);
	kv_insight_fini(&results->insight);
	kv_timeline_fini(&results->sampled);
	kv_metrics_free(results->metrics);
	kv_summary_fini(&results->summary);
	kv_retries_fini(&results->retries);
	free(results->dir);
	free(results);
}
