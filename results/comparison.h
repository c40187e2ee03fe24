/* Runs of one workload side by side: each against the first, paired by request.
 *
 * Latencies are over requests that have the metric in both runs, hits over those that both admitted, preemptions and fates
 * over all. Their differences carry a 95 % interval (results/bootstrap.h). What only a whole run has (throughput, occupancy, evictions)
 * stands without one. The interval says how much a verdict depends on single requests of this workload; requests that
 * queue together are not independent, so it is no statement about other workloads.
 */
#ifndef KV_RESULTS_COMPARISON_H
#define KV_RESULTS_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "results/bootstrap.h"
#include "results/compared_run.h"
#include "results/output_file.h"

enum kv_verdict_of_difference {
	KV_DIFFERENCE_BARE,      /* no interval: a figure of the whole run */
	KV_DIFFERENCE_NONE,      /* every pair is equal */
	KV_DIFFERENCE_WITHIN,    /* the interval holds zero */
	KV_DIFFERENCE_LOWER,
	KV_DIFFERENCE_HIGHER
};

struct kv_difference {
	double baseline, variant, difference;  /* NAN: nothing to compare */
	struct kv_interval interval;           /* unless bare */
	enum kv_verdict_of_difference verdict;
	size_t pairs;
};

struct kv_comparison_row {
	const char *label, *key, *unit;
	int wanted;                            /* -1: lower is better, 1: higher is better, 0: neither */
	struct kv_difference found;
};

/* Requests of one length class or tenant. */
struct kv_comparison_class {
	char *kind, *label;                    /* "prompt length", "1,025 to 4,096 tokens" */
	size_t requests;
	struct kv_difference ttft, e2el;       /* of means, ms */
	size_t faster, equal, slower;          /* by e2el, of those finished in both */
};

#define KV_COMPARISON_ROWS_MAX 48

struct kv_variant_comparison {
	size_t paired, finished_in_both;
	struct kv_comparison_row row[KV_COMPARISON_ROWS_MAX];
	size_t rows;
	struct kv_comparison_class *class;
	size_t classes;
};

/* Neighbours in each run, over what that run finished. */
struct kv_compared_tenant {
	const char *name;
	size_t requests;
	double *p99_ttft;                      /* ms, one a run; NAN: it finished none */
};

struct kv_comparison {
	const struct kv_compared_run *run;     /* the first is the baseline */
	size_t runs;
	const char *workload;
	uint64_t seed;
	size_t replicates;
	struct kv_variant_comparison *variant; /* runs - 1 */
	struct kv_variant_comparison itself;   /* the baseline's rows over all of its requests, without classes */
	bool waited;                           /* somebody in some run, before sending: there are rows that count it */
	struct kv_compared_tenant *tenant;     /* those with most requests; none if there are fewer than two */
	size_t tenants;
};

/* The runs must be sorted and outlive the comparison. */
void kv_comparison_make(struct kv_comparison *comparison);
void kv_comparison_fini(struct kv_comparison *comparison);

/* "better", "worse", "lower", "higher", "identical", "no difference within the interval", or "". */
const char *kv_comparison_verdict(const struct kv_difference *difference, int wanted);

/* Markdown tables. */
void kv_comparison_write_text(const struct kv_comparison *comparison, struct kv_output *out);
void kv_comparison_write_json(const struct kv_comparison *comparison, struct kv_output *out);
/* One self-contained page. */
void kv_comparison_write_html(const struct kv_comparison *comparison, struct kv_output *out);

/* Said with the requests that latencies are of, where comparison.waited. */
#define KV_WAITED_LEGEND " TTFT and E2EL begin when a request is sent; those from arrival count its wait before that, too."

/* Cells of the text and the page: a value of its unit, a difference with its sign and share, an interval. */
#define KV_CELL_MAX 64
const char *kv_comparison_value(double value, const char *unit, char text[KV_CELL_MAX]);
const char *kv_comparison_change(const struct kv_difference *difference, const char *unit, char text[KV_CELL_MAX]);
const char *kv_comparison_interval(const struct kv_difference *difference, const char *unit, char text[KV_CELL_MAX]);

/* The overview: a row a run, of these figures; a cell has the value and, of a variant, how it differs. The last column is
 * who got no answer. */
#define KV_OVERVIEW_COLUMNS_MAX 10
#define KV_OVERVIEW_LEGEND \
	"the figure over the requests that it and the baseline both have it of; in brackets the change, 'of' what the " \
	"baseline has over the same requests where that differs from its own row; = identical, ~ no difference within the " \
	"interval"
size_t kv_comparison_overview_columns(const struct kv_comparison *comparison);
const char *kv_comparison_overview_label(const struct kv_comparison *comparison, size_t column);
const char *kv_comparison_overview_cell(const struct kv_comparison *comparison, size_t run, size_t column,
                                        char text[KV_CELL_MAX]);

#endif
