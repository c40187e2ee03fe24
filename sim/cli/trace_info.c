/* kvsim trace info: the load that a trace offers, its lengths and bursts, and what a cache without end could reuse.
 *
 * Percentiles are nearest ranks, as in descriptions of public traces. Reuse is the longest beginning of a prompt that
 * an earlier prompt under the same adapter and salt, or what it generated where the trace can say so, has in common
 * with it; rows in order of arrival.
 */
#include "config.h"

#include "sim/cli/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "results/distribution.h"
#include "sim/base/memory.h"
#include "sim/cache/content.h"
#include "sim/cli/command.h"
#include "sim/cli/trace_file.h"
#include "workloads/ids.h"
#include "workloads/prefix_index.h"

/* Arrivals counted in intervals of equal width from the first arrival on. */
struct intervals {
	kv_time width, start;
	uint64_t number, inside;     /* the one at hand and what it holds */
	kv_integral sum, squares;
};

/* What is kept of every request, for the second half: its place is not known before the end. */
struct reuse {
	uint32_t prompt, hit;        /* tokens */
	uint32_t ids, hit_ids;       /* blocks of the trace's own */
	uint32_t anywhere;           /* tokens of content seen before at any place */
};

/* Those that JSON has; text has the sizes of vLLM and of two families of traces. */
static const uint32_t block_sizes[] = {16, 64, 128, 256, 512};

static bool is_printed(uint32_t block_size)
{
	return block_size != 128 && block_size != 256;
}

static const double percentiles[] = {50, 90, 95, 99};

enum { BLOCK_SIZES = sizeof block_sizes / sizeof *block_sizes, PERCENTILES = sizeof percentiles / sizeof *percentiles };

struct info {
	struct kv_distribution prompt, output, gap, step, reuse_gap;
	struct intervals second, ten_seconds;
	kv_time last;
	uint64_t at_once, most_at_once;
	bool only_blocks;            /* all that is named is block ids */
	struct kv_prefix_index index;
	struct kv_prefix_match match;
	struct kv_ids seen;          /* stream to the most tokens of it seen */
	struct reuse *reuse;
	size_t count, capacity;
};

/* --- gathering ---------------------------------------------------------------------------------------------------- */


static void info_init(struct info *info)
{
	*info = (struct info){
		.second.width = KV_SECOND, .ten_seconds.width = 10 * KV_SECOND, .last = KV_TIME_NONE,
		.only_blocks = true
	};
	kv_distribution_init(&info->prompt, true);
	kv_distribution_init(&info->output, true);
	kv_distribution_init(&info->gap, true);
	kv_distribution_init(&info->step, true);
	kv_distribution_init(&info->reuse_gap, false);
	kv_prefix_index_init(&info->index);
}

static void info_fini(struct info *info)
{
	kv_distribution_fini(&info->prompt);
	kv_distribution_fini(&info->output);
	kv_distribution_fini(&info->gap);
	kv_distribution_fini(&info->step);
	kv_distribution_fini(&info->reuse_gap);
	kv_prefix_index_fini(&info->index);
	kv_prefix_match_fini(&info->match);
	kv_ids_fini(&info->seen);
	free(info->reuse);
}

static void close_interval(struct intervals *intervals, uint64_t next)
{
	intervals->sum += intervals->inside;
	intervals->squares += (kv_integral)intervals->inside * intervals->inside;
	intervals->inside = 0;
	intervals->number = next;
}

static void count_arrival(struct intervals *intervals, kv_time arrival)
{
	uint64_t number = (uint64_t)((arrival - intervals->start) / intervals->width);

	if (number != intervals->number)
		close_interval(intervals, number);
	intervals->inside++;
}

/* Variance over mean of the counts; intervals without arrivals count. */
static double dispersion(struct intervals *intervals)
{
	double n = (double)intervals->number + 1, mean, variance;

	close_interval(intervals, intervals->number);
	mean = (double)intervals->sum / n;
	variance = (double)intervals->squares / n - mean * mean;
	return mean > 0 ? variance / mean : 0;
}

static void add_time(struct info *info, kv_time arrival)
{
	if (info->last == KV_TIME_NONE) {
		info->second.start = info->ten_seconds.start = arrival;
	} else {
		kv_distribution_add(&info->gap, (uint64_t)(arrival - info->last));
		if (arrival > info->last)
			kv_distribution_add(&info->step, (uint64_t)(arrival - info->last));
	}
	info->at_once = arrival == info->last ? info->at_once + 1 : 1;
	info->most_at_once = kv_max(info->most_at_once, info->at_once);
	info->last = arrival;
	count_arrival(&info->second, arrival);
	count_arrival(&info->ten_seconds, arrival);
}

/* Remembers that so many tokens of a stream have been seen under that key; returns how many of them had been before. */
static uint32_t see(struct info *info, uint64_t key_hash, const struct kv_segment *segment)
{
	uint64_t key = kv_content_hash(key_hash, 0, segment->stream, segment->kind);
	uint32_t *longest = kv_ids_find(&info->seen, key);
	uint32_t before = longest != NULL ? (uint32_t)kv_min(*longest, segment->length) : 0;

	if (longest == NULL)
		kv_ids_add(&info->seen, key, segment->length);
	else if (segment->length > *longest)
		*longest = segment->length;
	return before;
}

/* Remembers what the prompt contains; returns the tokens of it that have been seen before at any place. */
static uint32_t see_content(struct info *info, const struct kv_request *request)
{
	uint64_t key = kv_request_key_hash(request);
	uint32_t before = 0;

	for (uint32_t i = 0; i < request->prompt_segments; i++) {
		const struct kv_segment *segment = &request->prompt[i];

		if (segment->kind == KV_STREAM_PRIVATE)
			continue;
		info->only_blocks &= segment->kind == KV_STREAM_BLOCK;
		before += see(info, key, segment);
	}
	return before;
}

static uint32_t count_ids(const struct kv_request *request)
{
	uint32_t ids = 0;

	for (uint32_t i = 0; i < request->prompt_segments; i++)
		ids += request->prompt[i].kind == KV_STREAM_BLOCK;
	return ids;
}

static struct kv_segment generated(const struct kv_request *request)
{
	char name[24];
	const char *id = request->id;

	if (!request->output_nameable)
		return (struct kv_segment){0};
	if (id == NULL) {
		snprintf(name, sizeof name, "r%" PRIu64, request->index);
		id = name;
	}
	return (struct kv_segment){
		.stream = kv_name_hash(id, (uint32_t)strlen(id)), .length = request->output_tokens,
		.kind = KV_STREAM_OUTPUT
	};
}

static void add_reuse(struct info *info, const struct kv_request *request)
{
	const struct kv_prefix_match *match = &info->match;
	struct kv_segment output = generated(request);
	struct reuse *reuse;

	kv_prefix_index_visit(&info->index, request, output, &info->match);
	for (size_t i = 0; i < match->hit_count; i++)
		kv_distribution_add_weighted(&info->reuse_gap, (uint64_t)(request->arrival - match->hits[i].last),
		                             match->hits[i].tokens);
	info->reuse = kv_grow(info->reuse, &info->capacity, info->count + 1, sizeof *info->reuse);
	reuse = &info->reuse[info->count++];
	*reuse = (struct reuse){
		.prompt = request->prompt_tokens, .hit = (uint32_t)match->tokens, .ids = count_ids(request),
		.hit_ids = (uint32_t)match->segments, .anywhere = see_content(info, request)
	};
	if (output.length > 0)
		see(info, kv_request_key_hash(request), &output);
}

static int gather(struct info *info, struct kv_trace *trace, struct kv_error *err)
{
	bool identity = kv_trace_has_prefix_identity(trace);
	struct kv_request request;
	int status;

	while ((status = kv_trace_file_next(trace, &request, err)) == 1) {
		add_time(info, request.arrival);
		kv_distribution_add(&info->prompt, request.prompt_tokens);
		kv_distribution_add(&info->output, request.output_tokens);
		if (identity)
			add_reuse(info, &request);
	}
	return status;
}

/* --- sums over all requests or the second half -------------------------------------------------------------------- */


struct sums {
	uint64_t prompt, hit, anywhere, ids, hit_ids, whole;
	uint64_t blocks[BLOCK_SIZES], hit_blocks[BLOCK_SIZES];
	uint64_t engine_hit[BLOCK_SIZES];   /* tokens: whole blocks, and at least one token is always computed */
};

static struct sums sum_up(const struct info *info, size_t from)
{
	struct sums sums = {0};

	for (size_t i = from; i < info->count; i++) {
		const struct reuse *r = &info->reuse[i];

		sums.prompt += r->prompt;
		sums.hit += r->hit;
		sums.anywhere += r->anywhere;
		sums.ids += r->ids;
		sums.hit_ids += r->hit_ids;
		sums.whole += r->hit == r->prompt;
		for (int b = 0; b < BLOCK_SIZES; b++) {
			uint32_t size = block_sizes[b];

			sums.blocks[b] += r->prompt / size;
			sums.hit_blocks[b] += r->hit / size;
			sums.engine_hit[b] += (uint64_t)(kv_min(r->hit, r->prompt - 1) / size) * size;
		}
	}
	return sums;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole > 0 ? (double)part / (double)whole : 0;
}

/* --- printing ----------------------------------------------------------------------------------------------------- */


static void set_real(json_t *object, const char *key, double value)
{
	json_object_set_new(object, key, json_real(value));
}

static json_t *distribution_json(const struct kv_distribution *d, double unit)
{
	double values[PERCENTILES];
	json_t *object = json_object();
	char key[16];

	kv_distribution_nearest_ranks(d, percentiles, PERCENTILES, values);
	set_real(object, "min", d->count > 0 ? (double)d->minimum / unit : 0);
	for (int i = 0; i < PERCENTILES; i++) {
		snprintf(key, sizeof key, "p%g", percentiles[i]);
		set_real(object, key, values[i] / unit);
	}
	set_real(object, "max", (double)d->maximum / unit);
	set_real(object, "mean", kv_distribution_mean(d) / unit);
	return object;
}

static json_t *sums_json(const struct info *info, const struct sums *sums)
{
	json_t *object = json_object();
	json_t *list = json_array();

	kv_trace_file_set_count(object, "prompt_tokens", sums->prompt);
	kv_trace_file_set_count(object, "hit_tokens", sums->hit);
	set_real(object, "hit_ratio", share(sums->hit, sums->prompt));
	kv_trace_file_set_count(object, "whole_prompt_repeats", sums->whole);
	kv_trace_file_set_count(object, "anywhere_tokens", sums->anywhere);
	set_real(object, "anywhere_ratio", share(sums->anywhere, sums->prompt));
	if (info->only_blocks) {
		kv_trace_file_set_count(object, "trace_blocks", sums->ids);
		kv_trace_file_set_count(object, "hit_trace_blocks", sums->hit_ids);
	}
	for (int b = 0; b < BLOCK_SIZES; b++)
		json_array_append_new(list, json_pack("{sI sI sI sI sf}", "block_size", (json_int_t)block_sizes[b],
		                                      "blocks", (json_int_t)sums->blocks[b], "hit_blocks",
		                                      (json_int_t)sums->hit_blocks[b], "hit_tokens",
		                                      (json_int_t)sums->engine_hit[b], "hit_ratio",
		                                      share(sums->engine_hit[b], sums->prompt)));
	json_object_set_new(object, "block_sizes", list);
	return object;
}

static double span_of(const struct kv_trace_counts *counts)
{
	return counts->emitted > 0 ? (double)(counts->last - counts->first) / (double)KV_SECOND : 0;
}

static double per_second(uint64_t count, double span)
{
	return span > 0 ? (double)count / span : 0;
}

static double variation(const struct kv_distribution *gap)
{
	double mean = kv_distribution_mean(gap);

	return mean > 0 ? kv_distribution_deviation(gap) / mean : 0;
}

static json_t *to_json(const struct kv_trace_file *file, struct kv_trace *trace, struct info *info)
{
	const struct kv_trace_counts *counts = kv_trace_counts(trace);
	json_t *object = kv_trace_file_json(file, trace);
	struct sums all = sum_up(info, 0), half = sum_up(info, info->count / 2);
	double span = span_of(counts);

	set_real(object, "span_s", span);
	json_object_set_new(object, "rate", span > 0 ? json_real(per_second(counts->emitted - 1, span)) : json_null());
	set_real(object, "prompt_tokens_per_s", per_second(counts->prompt_tokens, span));
	set_real(object, "output_tokens_per_s", per_second(counts->output_tokens, span));
	json_object_set_new(object, "gap_cv", span > 0 ? json_real(variation(&info->gap)) : json_null());
	set_real(object, "dispersion_1s", dispersion(&info->second));
	set_real(object, "dispersion_10s", dispersion(&info->ten_seconds));
	kv_trace_file_set_count(object, "distinct_times", info->step.count + (counts->emitted > 0));
	kv_trace_file_set_count(object, "most_at_once", info->most_at_once);
	json_object_set_new(object, "steps_s", distribution_json(&info->step, (double)KV_SECOND));
	json_object_set_new(object, "prompt", distribution_json(&info->prompt, 1));
	json_object_set_new(object, "output", distribution_json(&info->output, 1));
	if (!kv_trace_has_prefix_identity(trace))
		return object;
	json_object_set_new(object, "reuse", sums_json(info, &all));
	json_object_set_new(object, "reuse_second_half", sums_json(info, &half));
	json_object_set_new(object, "reuse_gap_s", distribution_json(&info->reuse_gap, (double)KV_SECOND));
	return object;
}

static void print_distribution(struct kv_output *out, const char *label, const struct kv_distribution *d, double unit,
                               const char *mean)
{
	double v[PERCENTILES];

	kv_distribution_nearest_ranks(d, percentiles, PERCENTILES, v);
	kv_output_printf(out, "%-24s%12g%12g%12g%12g%12g%12g%12s\n", label, d->count > 0 ? (double)d->minimum / unit : 0,
	                 v[0] / unit, v[1] / unit, v[2] / unit, v[3] / unit, (double)d->maximum / unit, mean);
}

static void print_lengths(struct kv_output *out, const char *label, const struct kv_distribution *d)
{
	char mean[32];

	snprintf(mean, sizeof mean, "%.1f", kv_distribution_mean(d));
	print_distribution(out, label, d, 1, mean);
}

/* Times may be microseconds or hours. */
static void print_times(struct kv_output *out, const char *label, const struct kv_distribution *d)
{
	char mean[32];

	snprintf(mean, sizeof mean, "%g", kv_distribution_mean(d) / (double)KV_SECOND);
	print_distribution(out, label, d, (double)KV_SECOND, mean);
}

static void print_rates(struct kv_output *out, const struct kv_trace_counts *counts, struct info *info)
{
	double span = span_of(counts);

	if (span == 0) {
		kv_trace_file_print_text(out, "Arrivals", counts->emitted > 1 ? "all at once" : "one alone");
		return;
	}
	kv_trace_file_print_text(out, "Span (s)", "%.9g", span);
	kv_trace_file_print_text(out, "Rate (1/s)", "%.5g", per_second(counts->emitted - 1, span));
	kv_trace_file_print_text(out, "Offered prompt (tok/s)", "%.5g", per_second(counts->prompt_tokens, span));
	kv_trace_file_print_text(out, "Offered output (tok/s)", "%.5g", per_second(counts->output_tokens, span));
	kv_trace_file_print_text(out, "Gaps, CV", "%.3f", variation(&info->gap));
	kv_trace_file_print_text(out, "Dispersion, 1 s / 10 s", "%.2f / %.2f", dispersion(&info->second),
	                         dispersion(&info->ten_seconds));
}

static void print_load(struct kv_output *out, struct kv_trace *trace, struct info *info)
{
	const struct kv_trace_counts *counts = kv_trace_counts(trace);

	print_rates(out, counts, info);
	kv_trace_file_print_text(out, "Distinct times", "%" PRIu64 ", at most %" PRIu64 " requests at one",
	                         info->step.count + (counts->emitted > 0), info->most_at_once);
	kv_output_printf(out, "\n%-24s%12s%12s%12s%12s%12s%12s%12s\n", "", "min", "p50", "p90", "p95", "p99", "max",
	                 "mean");
	print_lengths(out, "Prompt tokens", &info->prompt);
	print_lengths(out, "Output tokens", &info->output);
	if (info->step.count > 0)
		print_times(out, "Time steps (s)", &info->step);
	if (kv_trace_has_prefix_identity(trace) && info->reuse_gap.count > 0)
		print_times(out, "Reuse after (s)", &info->reuse_gap);
}

static void print_pair(struct kv_output *out, const char *label, uint64_t part, uint64_t whole, uint64_t half_part,
                       uint64_t half_whole)
{
	kv_output_printf(out, "%-24s%15" PRIu64 " of %12" PRIu64 " %7.4f%15" PRIu64 " of %12" PRIu64 " %7.4f\n", label,
	                 part, whole, share(part, whole), half_part, half_whole, share(half_part, half_whole));
}

static void print_reuse(struct kv_output *out, const struct info *info)
{
	struct sums all = sum_up(info, 0), half = sum_up(info, info->count / 2);
	char label[40];

	kv_output_printf(out, "\n%-24s%39s%39s\n", "Reuse without end", "whole trace", "second half of requests");
	print_pair(out, "Tokens", all.hit, all.prompt, half.hit, half.prompt);
	if (info->only_blocks)
		print_pair(out, "Blocks of the trace", all.hit_ids, all.ids, half.hit_ids, half.ids);
	print_pair(out, "Tokens, at any place", all.anywhere, all.prompt, half.anywhere, half.prompt);
	print_pair(out, "Whole prompts", all.whole, info->count, half.whole, info->count - info->count / 2);
	for (int b = 0; b < BLOCK_SIZES; b++) {
		if (!is_printed(block_sizes[b]))
			continue;
		snprintf(label, sizeof label, "Blocks of %" PRIu32, block_sizes[b]);
		print_pair(out, label, all.hit_blocks[b], all.blocks[b], half.hit_blocks[b], half.blocks[b]);
	}
	for (int b = 0; b < BLOCK_SIZES; b++) {
		if (!is_printed(block_sizes[b]))
			continue;
		snprintf(label, sizeof label, "Tokens in blocks of %" PRIu32, block_sizes[b]);
		print_pair(out, label, all.engine_hit[b], all.prompt, half.engine_hit[b], half.prompt);
	}
}

static int report(const struct kv_trace_file *file, struct kv_trace *trace, struct info *info, struct kv_error *err)
{
	struct kv_output *out = kv_output_to_descriptor(STDOUT_FILENO, "standard output");
	int status;

	if (file->json) {
		kv_trace_file_print_json(out, to_json(file, trace, info));
	} else {
		kv_trace_file_print(out, file, trace);
		print_load(out, trace, info);
		if (kv_trace_has_prefix_identity(trace))
			print_reuse(out, info);
	}
	status = kv_output_close(out, err);
	kv_output_free(out);
	return status;
}

int kv_cli_trace_info(int argc, char **argv)
{
	struct argp argp = kv_trace_file_argp;
	struct kv_trace_file file = {0};
	struct kv_trace *trace;
	struct kv_error err;
	struct info info;
	int status = -1;

	argp.args_doc = "FILE";
	argp.doc = "Describes the load of a trace and what a cache without end could reuse. Percentiles are nearest "
	           "ranks.";
	argp_parse(&argp, argc, argv, 0, NULL, &file);
	info_init(&info);
	trace = kv_trace_open(file.path, &file.options, &err);
	if (trace != NULL)
		status = gather(&info, trace, &err);
	if (status == 0)
		status = report(&file, trace, &info, &err);
	info_fini(&info);
	kv_trace_close(trace);
	return status == 0 ? KV_EXIT_OK : kv_cli_fail(&err);
}
