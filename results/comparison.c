#include "config.h"

#include "results/comparison.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>

#include "sim/base/memory.h"
#include "sim/base/random.h"

#define LENGTH_CLASSES 4
#define TENANTS_SHOWN 20

/* Requests that both runs have, in order of index. */
struct matched {
	const struct kv_compared_request **baseline, **variant;
	size_t count;
};

typedef double figure(const struct kv_compared_request *request);

static void match(const struct kv_compared_run *a, const struct kv_compared_run *b, struct matched *matched)
{
	size_t i = 0, j = 0;

	matched->baseline = kv_calloc(a->requests, sizeof *matched->baseline);
	matched->variant = kv_calloc(a->requests, sizeof *matched->variant);
	matched->count = 0;
	while (i < a->requests && j < b->requests) {
		if (a->request[i].index == b->request[j].index) {
			matched->baseline[matched->count] = &a->request[i];
			matched->variant[matched->count++] = &b->request[j];
		}
		if (a->request[i].index <= b->request[j].index)
			i++;
		else
			j++;
	}
}

static void matched_fini(struct matched *matched)
{
	free(matched->baseline);
	free(matched->variant);
}

static double get_ttft(const struct kv_compared_request *r) { return r->ttft; }
static double get_tpot(const struct kv_compared_request *r) { return r->tpot; }
static double get_e2el(const struct kv_compared_request *r) { return r->e2el; }
static double get_queue(const struct kv_compared_request *r) { return r->queue; }
static bool was_admitted(const struct kv_compared_request *r) { return !isnan(r->queue); }
static double get_looked_up(const struct kv_compared_request *r) { return was_admitted(r) ? r->prompt_tokens : NAN; }
static double get_cached(const struct kv_compared_request *r) { return was_admitted(r) ? r->cached_tokens : NAN; }
static double get_preemptions(const struct kv_compared_request *r) { return r->preemptions; }
static double get_swaps(const struct kv_compared_request *r) { return r->swaps; }
static double get_recomputed(const struct kv_compared_request *r) { return (double)r->recomputed_tokens; }
static double get_finished(const struct kv_compared_request *r) { return r->status == KV_FINISHED ? 100 : 0; }
static double get_wait(const struct kv_compared_request *r) { return r->status == KV_FINISHED ? r->wait : NAN; }
static double get_ttft_from_arrival(const struct kv_compared_request *r) { return r->wait + r->ttft; }
static double get_e2el_from_arrival(const struct kv_compared_request *r) { return r->wait + r->e2el; }

static double get_turned_away(const struct kv_compared_request *r)
{
	return r->status == KV_REFUSED || r->status == KV_DROPPED;
}

/* Those of the matched requests that have the figure in both runs. */
static struct kv_pairs collect(const struct matched *matched, figure *get)
{
	struct kv_pairs pairs = {
		.baseline = kv_calloc(matched->count, sizeof(double)),
		.variant = kv_calloc(matched->count, sizeof(double))
	};

	for (size_t i = 0; i < matched->count; i++) {
		double a = get(matched->baseline[i]), b = get(matched->variant[i]);

		if (isnan(a) || isnan(b))
			continue;
		pairs.baseline[pairs.count] = a;
		pairs.variant[pairs.count++] = b;
	}
	return pairs;
}

static void pairs_fini(struct kv_pairs *pairs)
{
	free(pairs->baseline);
	free(pairs->variant);
}

static bool are_equal(const struct kv_pairs *pairs)
{
	return memcmp(pairs->baseline, pairs->variant, pairs->count * sizeof(double)) == 0;
}

static enum kv_verdict_of_difference judge(const struct kv_pairs *pairs, struct kv_interval interval)
{
	if (are_equal(pairs))
		return KV_DIFFERENCE_NONE;
	if (interval.low > 0)
		return KV_DIFFERENCE_HIGHER;
	return interval.high < 0 ? KV_DIFFERENCE_LOWER : KV_DIFFERENCE_WITHIN;
}

static struct kv_difference difference_of(const struct kv_pairs *pairs, enum kv_statistic statistic, double factor,
                                          struct kv_interval interval)
{
	struct kv_difference found = { .pairs = pairs->count };

	found.baseline = factor * kv_statistic(statistic, pairs->baseline, pairs->count);
	found.variant = factor * kv_statistic(statistic, pairs->variant, pairs->count);
	found.difference = found.variant - found.baseline;
	found.interval = (struct kv_interval){ factor * interval.low, factor * interval.high };
	found.verdict = pairs->count == 0 ? KV_DIFFERENCE_BARE : judge(pairs, found.interval);
	return found;
}

static void add_row(struct kv_variant_comparison *to, const char *label, const char *key, const char *unit, int wanted,
                    struct kv_difference found)
{
	KV_ASSERT(to->rows < KV_COMPARISON_ROWS_MAX, "too many rows in a comparison");
	to->row[to->rows++] = (struct kv_comparison_row){ label, key, unit, wanted, found };
}

/* --- rows with an interval ---------------------------------------------------------------------------------------- */

static void draw_intervals(const struct kv_comparison *comparison, const char *source, const struct kv_pairs *pairs,
                           struct kv_interval interval[KV_STATISTICS])
{
	gsl_rng *rng;

	memset(interval, 0, KV_STATISTICS * sizeof *interval);
	if (pairs->count == 0 || are_equal(pairs))
		return;
	rng = kv_random_create(comparison->seed, 0, source);
	kv_bootstrap(pairs, comparison->replicates, rng, interval);
	gsl_rng_free(rng);
}

static void add_latency(const struct kv_comparison *comparison, struct kv_variant_comparison *to,
                        const struct matched *matched, figure *get, const char *const text[KV_STATISTICS][2])
{
	struct kv_pairs pairs = collect(matched, get);
	struct kv_interval interval[KV_STATISTICS];

	draw_intervals(comparison, text[0][1], &pairs, interval);
	for (int s = 0; s < KV_STATISTICS; s++)
		add_row(to, text[s][0], text[s][1], "ms", -1,
		        difference_of(&pairs, (enum kv_statistic)s, 1, interval[s]));
	pairs_fini(&pairs);
}

/* A mean over all requests, or their sum (factor = their number). */
static void add_total(const struct kv_comparison *comparison, struct kv_variant_comparison *to,
                      const struct matched *matched, figure *get, double factor, const char *label, const char *key,
                      const char *unit, int wanted)
{
	struct kv_pairs pairs = collect(matched, get);
	struct kv_interval interval[KV_STATISTICS];

	draw_intervals(comparison, key, &pairs, interval);
	add_row(to, label, key, unit, wanted,
	        difference_of(&pairs, KV_STATISTIC_MEAN, factor, interval[KV_STATISTIC_MEAN]));
	pairs_fini(&pairs);
}

static double sum(const double *values, size_t count)
{
	double total = 0;

	for (size_t i = 0; i < count; i++)
		total += values[i];
	return total;
}

static void add_hits(const struct kv_comparison *comparison, struct kv_variant_comparison *to,
                     const struct matched *matched)
{
	struct kv_pairs pairs = collect(matched, get_cached), prompts = collect(matched, get_looked_up);
	struct kv_difference found = { .pairs = pairs.count, .verdict = KV_DIFFERENCE_NONE };
	double all = sum(prompts.baseline, prompts.count);

	found.baseline = all > 0 ? 100 * sum(pairs.baseline, pairs.count) / all : NAN;
	found.variant = all > 0 ? 100 * sum(pairs.variant, pairs.count) / all : NAN;
	found.difference = found.variant - found.baseline;
	if (pairs.count > 0 && !are_equal(&pairs)) {
		gsl_rng *rng = kv_random_create(comparison->seed, 0, "hit_rate");
		struct kv_interval share = kv_bootstrap_ratio(&pairs, prompts.baseline, comparison->replicates, rng);

		found.interval = (struct kv_interval){ 100 * share.low, 100 * share.high };
		found.verdict = judge(&pairs, found.interval);
		gsl_rng_free(rng);
	}
	add_row(to, "Prompt tokens hit (%)", "hit_rate_percent", "%", 1, found);
	pairs_fini(&prompts);
	pairs_fini(&pairs);
}

static const char *const ttft_rows[][2] = {
	{ "TTFT mean (ms)", "mean_ttft_ms" },
	{ "TTFT median (ms)", "median_ttft_ms" },
	{ "TTFT P99 (ms)", "p99_ttft_ms" }
};
static const char *const tpot_rows[][2] = {
	{ "TPOT mean (ms)", "mean_tpot_ms" },
	{ "TPOT median (ms)", "median_tpot_ms" },
	{ "TPOT P99 (ms)", "p99_tpot_ms" }
};
static const char *const e2el_rows[][2] = {
	{ "E2EL mean (ms)", "mean_e2el_ms" },
	{ "E2EL median (ms)", "median_e2el_ms" },
	{ "E2EL P99 (ms)", "p99_e2el_ms" }
};
static const char *const wait_rows[][2] = {
	{ "Wait before sending, mean (ms)", "mean_wait_ms" },
	{ "Wait before sending, median (ms)", "median_wait_ms" },
	{ "Wait before sending, P99 (ms)", "p99_wait_ms" }
};
static const char *const ttft_from_arrival_rows[][2] = {
	{ "TTFT from arrival, mean (ms)", "mean_ttft_from_arrival_ms" },
	{ "TTFT from arrival, median (ms)", "median_ttft_from_arrival_ms" },
	{ "TTFT from arrival, P99 (ms)", "p99_ttft_from_arrival_ms" }
};
static const char *const e2el_from_arrival_rows[][2] = {
	{ "E2EL from arrival, mean (ms)", "mean_e2el_from_arrival_ms" },
	{ "E2EL from arrival, median (ms)", "median_e2el_from_arrival_ms" },
	{ "E2EL from arrival, P99 (ms)", "p99_e2el_from_arrival_ms" }
};

static bool anybody_waited(const struct kv_comparison *comparison)
{
	for (size_t i = 0; i < comparison->runs; i++)
		for (size_t r = 0; r < comparison->run[i].requests; r++)
			if (comparison->run[i].request[r].wait > 0)
				return true;
	return false;
}

static bool anybody_swapped(const struct matched *matched)
{
	for (size_t i = 0; i < matched->count; i++)
		if (matched->baseline[i]->swaps + matched->variant[i]->swaps > 0)
			return true;
	return false;
}

static void add_request_rows(const struct kv_comparison *comparison, struct kv_variant_comparison *to,
                             const struct matched *matched)
{
	double n = (double)matched->count;

	if (comparison->waited) {
		add_latency(comparison, to, matched, get_wait, wait_rows);
		add_latency(comparison, to, matched, get_ttft_from_arrival, ttft_from_arrival_rows);
		add_latency(comparison, to, matched, get_e2el_from_arrival, e2el_from_arrival_rows);
	}
	add_latency(comparison, to, matched, get_ttft, ttft_rows);
	add_latency(comparison, to, matched, get_tpot, tpot_rows);
	add_latency(comparison, to, matched, get_e2el, e2el_rows);
	add_hits(comparison, to, matched);
	add_total(comparison, to, matched, get_preemptions, n, "Preemptions", "preemptions", "", -1);
	if (anybody_swapped(matched))
		add_total(comparison, to, matched, get_swaps, n, "Preemptions by swap", "swaps", "", 0);
	add_total(comparison, to, matched, get_recomputed, n, "Tokens computed again", "recomputed_tokens", "", -1);
	add_total(comparison, to, matched, get_finished, 1, "Requests finished (%)", "finished_percent", "%", 1);
	add_total(comparison, to, matched, get_turned_away, n, "Requests refused or dropped", "turned_away", "", -1);
}

/* --- rows of whole runs ------------------------------------------------------------------------------------------- */

static double longest_queue(const struct kv_compared_run *run)
{
	double longest = NAN;

	for (size_t i = 0; i < run->requests; i++)
		longest = fmax(longest, get_queue(&run->request[i]));
	return longest;
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : NAN;
}

static void add_bare(struct kv_variant_comparison *to, const char *label, const char *key, const char *unit, int wanted,
                     double baseline, double variant)
{
	add_row(to, label, key, unit, wanted,
	        (struct kv_difference){ .baseline = baseline, .variant = variant, .difference = variant - baseline });
}

static void add_run_rows(struct kv_variant_comparison *to, const struct kv_compared_run *a,
                         const struct kv_compared_run *b)
{
	add_bare(to, "Longest wait in the queue (ms)", "longest_queue_ms", "ms", -1, longest_queue(a),
	         longest_queue(b));
	add_bare(to, "Requests per second", "request_throughput", "/s", 1, a->request_throughput,
	         b->request_throughput);
	add_bare(to, "Output tokens per second", "output_throughput", "/s", 1, a->output_throughput,
	         b->output_throughput);
	add_bare(to, "Duration (s)", "duration_s", "s", -1, a->duration_s, b->duration_s);
	add_bare(to, "Evicted token slots", "evicted_slots", "", 0, a->evicted_slots, b->evicted_slots);
	add_bare(to, "Occupancy, pinned, mean (%)", "mean_pinned_percent", "%", 0,
	         percent(a->mean_pinned, a->usable_blocks), percent(b->mean_pinned, b->usable_blocks));
	add_bare(to, "Occupancy, pinned, peak (%)", "peak_pinned_percent", "%", 0,
	         percent(a->peak_pinned, a->usable_blocks), percent(b->peak_pinned, b->usable_blocks));
	add_bare(to, "Occupancy, cached, mean (%)", "mean_cached_percent", "%", 0,
	         percent(a->mean_cached, a->usable_blocks), percent(b->mean_cached, b->usable_blocks));
	add_bare(to, "Running requests, mean", "mean_running", "", 0, a->mean_running, b->mean_running);
}

/* --- classes ------------------------------------------------------------------------------------------------------ */

static void count_faster(const struct matched *matched, struct kv_comparison_class *class)
{
	for (size_t i = 0; i < matched->count; i++) {
		double a = matched->baseline[i]->e2el, b = matched->variant[i]->e2el;

		if (isnan(a) || isnan(b))
			continue;
		class->faster += b < a;
		class->equal += b == a;
		class->slower += b > a;
	}
}

static struct kv_difference class_mean(const struct kv_comparison *comparison, const struct matched *matched,
                                       figure *get, const char *source)
{
	struct kv_pairs pairs = collect(matched, get);
	struct kv_interval interval[KV_STATISTICS];
	struct kv_difference found;

	draw_intervals(comparison, source, &pairs, interval);
	found = difference_of(&pairs, KV_STATISTIC_MEAN, 1, interval[KV_STATISTIC_MEAN]);
	pairs_fini(&pairs);
	return found;
}

/* Takes the label. */
static void add_class(const struct kv_comparison *comparison, struct kv_variant_comparison *to,
                      const struct matched *members, const char *kind, char *label)
{
	struct kv_comparison_class *class;

	to->class = kv_realloc(to->class, to->classes + 1, sizeof *to->class);
	class = &to->class[to->classes++];
	*class = (struct kv_comparison_class){ .kind = kv_strdup(kind), .label = label, .requests = members->count };
	class->ttft = class_mean(comparison, members, get_ttft, "class ttft");
	class->e2el = class_mean(comparison, members, get_e2el, "class e2el");
	count_faster(members, class);
}

static char *format_label(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *format_label(const char *format, ...)
{
	char *label = NULL;
	va_list args;

	va_start(args, format);
	KV_ASSERT(vasprintf(&label, format, args) >= 0, "a label cannot be formatted");
	va_end(args);
	return label;
}

/* Bounds of the quarters of all prompts, each longer than the one before: equal lengths stay together. */
static size_t quarter_bounds(const struct matched *matched, uint32_t bound[LENGTH_CLASSES], uint32_t *shortest)
{
	double *length = kv_calloc(matched->count, sizeof *length);
	size_t bounds = 0;

	for (size_t i = 0; i < matched->count; i++)
		length[i] = matched->baseline[i]->prompt_tokens;
	gsl_sort(length, 1, matched->count);
	*shortest = matched->count > 0 ? (uint32_t)length[0] : 0;
	for (size_t q = 1; q <= LENGTH_CLASSES && matched->count > 0; q++) {
		uint32_t end = (uint32_t)length[(q * matched->count + LENGTH_CLASSES - 1) / LENGTH_CLASSES - 1];

		if (bounds == 0 || end > bound[bounds - 1])
			bound[bounds++] = end;
	}
	free(length);
	return bounds;
}

static void add_member(struct matched *members, const struct matched *matched, size_t i)
{
	members->baseline[members->count] = matched->baseline[i];
	members->variant[members->count++] = matched->variant[i];
}

static void add_length_classes(const struct kv_comparison *comparison, struct kv_variant_comparison *to,
                               const struct matched *matched, struct matched *members)
{
	uint32_t bound[LENGTH_CLASSES], low;
	size_t bounds = quarter_bounds(matched, bound, &low);

	for (size_t q = 0; q < bounds; q++) {
		members->count = 0;
		for (size_t i = 0; i < matched->count; i++) {
			uint32_t tokens = matched->baseline[i]->prompt_tokens;

			if (tokens >= low && tokens <= bound[q])
				add_member(members, matched, i);
		}
		add_class(comparison, to, members, "prompt length",
		          format_label("%" PRIu32 " to %" PRIu32 " tokens", low, bound[q]));
		low = bound[q] + 1;
	}
}

struct tenant_size {
	uint32_t tenant;
	size_t requests;
};

static int by_size(const void *a, const void *b)
{
	const struct tenant_size *x = a, *y = b;

	if (x->requests != y->requests)
		return x->requests < y->requests ? 1 : -1;
	return (x->tenant > y->tenant) - (x->tenant < y->tenant);
}

static const char *tenant_name(const char *name)
{
	return *name != '\0' ? name : "(none)";
}

/* Most requests first, by the numbers of this run. To be freed. */
static struct tenant_size *order_tenants(const struct kv_compared_run *run,
                                         const struct kv_compared_request *const *request, size_t requests)
{
	struct tenant_size *size = kv_calloc(run->tenants, sizeof *size);

	for (size_t t = 0; t < run->tenants; t++)
		size[t].tenant = (uint32_t)t;
	for (size_t i = 0; i < requests; i++)
		size[request[i]->tenant].requests++;
	qsort(size, run->tenants, sizeof *size, by_size);
	return size;
}

/* The tenants with most requests; numbers are the baseline's. */
static void add_tenants(const struct kv_comparison *comparison, struct kv_variant_comparison *to,
                        const struct matched *matched, struct matched *members)
{
	const struct kv_compared_run *run = &comparison->run[0];
	struct tenant_size *size = order_tenants(run, matched->baseline, matched->count);

	for (size_t t = 0; t < run->tenants && t < TENANTS_SHOWN && run->tenants > 1; t++) {
		const char *name = run->tenant[size[t].tenant];

		members->count = 0;
		for (size_t i = 0; i < matched->count; i++)
			if (matched->baseline[i]->tenant == size[t].tenant)
				add_member(members, matched, i);
		add_class(comparison, to, members, "tenant", kv_strdup(tenant_name(name)));
	}
	free(size);
}

static void add_classes(const struct kv_comparison *comparison, struct kv_variant_comparison *to,
                        const struct matched *matched)
{
	struct matched members = {
		.baseline = kv_calloc(matched->count, sizeof *members.baseline),
		.variant = kv_calloc(matched->count, sizeof *members.variant)
	};

	add_length_classes(comparison, to, matched, &members);
	add_tenants(comparison, to, matched, &members);
	matched_fini(&members);
}

/* --- tenants side by side ----------------------------------------------------------------------------------------- */

static double p99_ttft(const struct kv_compared_run *run, const char *tenant)
{
	double *values = kv_calloc(run->requests, sizeof *values), p99;
	size_t count = 0;

	for (size_t i = 0; i < run->requests; i++)
		if (!isnan(run->request[i].ttft) && strcmp(run->tenant[run->request[i].tenant], tenant) == 0)
			values[count++] = run->request[i].ttft;
	p99 = kv_statistic(KV_STATISTIC_P99, values, count);
	free(values);
	return p99;
}

static void add_compared_tenant(struct kv_comparison *comparison, const char *name, size_t requests)
{
	struct kv_compared_tenant *tenant = &comparison->tenant[comparison->tenants++];

	*tenant = (struct kv_compared_tenant){ .name = tenant_name(name), .requests = requests,
	                                       .p99_ttft = kv_calloc(comparison->runs, sizeof(double)) };
	for (size_t i = 0; i < comparison->runs; i++)
		tenant->p99_ttft[i] = p99_ttft(&comparison->run[i], name);
}

static void compare_tenants(struct kv_comparison *comparison)
{
	const struct kv_compared_run *run = &comparison->run[0];
	struct matched all;
	struct tenant_size *size;

	if (run->tenants < 2)
		return;
	match(run, run, &all);
	size = order_tenants(run, all.baseline, all.count);
	comparison->tenant = kv_calloc(TENANTS_SHOWN, sizeof *comparison->tenant);
	for (size_t t = 0; t < run->tenants && t < TENANTS_SHOWN; t++)
		add_compared_tenant(comparison, run->tenant[size[t].tenant], size[t].requests);
	free(size);
	matched_fini(&all);
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static void compare_run(const struct kv_comparison *comparison, size_t i, struct kv_variant_comparison *to)
{
	const struct kv_compared_run *baseline = &comparison->run[0], *run = &comparison->run[i];
	struct matched matched;

	match(baseline, run, &matched);
	to->paired = matched.count;
	for (size_t j = 0; j < matched.count; j++)
		to->finished_in_both += matched.baseline[j]->status == KV_FINISHED &&
		                        matched.variant[j]->status == KV_FINISHED;
	add_request_rows(comparison, to, &matched);
	add_run_rows(to, baseline, run);
	if (run != baseline)
		add_classes(comparison, to, &matched);
	matched_fini(&matched);
}

void kv_comparison_make(struct kv_comparison *comparison)
{
	comparison->waited = anybody_waited(comparison);
	comparison->variant = kv_calloc(comparison->runs, sizeof *comparison->variant);
	compare_run(comparison, 0, &comparison->itself);
	for (size_t i = 1; i < comparison->runs; i++)
		compare_run(comparison, i, &comparison->variant[i - 1]);
	compare_tenants(comparison);
}

void kv_comparison_fini(struct kv_comparison *comparison)
{
	for (size_t i = 0; comparison->variant != NULL && i + 1 < comparison->runs; i++) {
		struct kv_variant_comparison *variant = &comparison->variant[i];

		for (size_t c = 0; c < variant->classes; c++) {
			free(variant->class[c].kind);
			free(variant->class[c].label);
		}
		free(variant->class);
	}
	free(comparison->variant);
	for (size_t t = 0; t < comparison->tenants; t++)
		free(comparison->tenant[t].p99_ttft);
	free(comparison->tenant);
}

const char *kv_comparison_verdict(const struct kv_difference *difference, int wanted)
{
	bool higher = difference->verdict == KV_DIFFERENCE_HIGHER;

	switch (difference->verdict) {
	case KV_DIFFERENCE_BARE:
		return "";
	case KV_DIFFERENCE_NONE:
		return "identical";
	case KV_DIFFERENCE_WITHIN:
		return "no difference within the interval";
	default:
		break;
	}
	if (wanted == 0)
		return higher ? "higher" : "lower";
	return higher == (wanted > 0) ? "better" : "worse";
}
