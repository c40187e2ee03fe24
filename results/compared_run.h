/* What a comparison knows of one of its runs: a few figures a request, and the run's own from its summary.json. */
#ifndef KV_RESULTS_COMPARED_RUN_H
#define KV_RESULTS_COMPARED_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/remarks.h"
#include "sim/base/units.h"
#include "sim/record.h"

/* Times in ms, NAN where there is none. */
struct kv_compared_request {
	uint64_t index;
	uint64_t order;           /* in which requests were added */
	double ttft, tpot, e2el, queue;
	double wait;              /* from the arrival of its first sending until this one was sent */
	uint32_t prompt_tokens, cached_tokens, preemptions, swaps;
	uint64_t recomputed_tokens;
	uint32_t tenant;          /* of the run's list; names are the same in all runs, numbers need not be */
	enum kv_status status;
};

struct kv_compared_run {
	const char *name;
	char *settings;           /* what differs from the scenario, as text */
	/* Once kv_compared_run_sort was called: ascending by index, of one that was sent again the last sending
	 * alone. */
	struct kv_compared_request *request;
	size_t requests, request_capacity;
	char **tenant;
	size_t tenants;
	void *tenant_tree;        /* to find them while requests are added */
	kv_time warmup;           /* requests that arrive earlier are left out */

	/* from summary.json, warm-up left out */
	char *engine_profile;
	double duration_s, request_throughput, output_throughput, total_throughput;
	double mean_pinned, peak_pinned, mean_cached, mean_running, usable_blocks;
	double evicted_slots;     /* not blocks, which may differ in size */
	double never_sent;        /* requests that follow one that failed */
	bool stalled, partial, oracle;

	struct kv_remarks warnings;  /* from manifest.json */
};

void kv_compared_run_fini(struct kv_compared_run *run);
void kv_compared_run_add(struct kv_compared_run *run, const struct kv_request_record *record, kv_time retry_wait);
void kv_compared_run_sort(struct kv_compared_run *run);

/* Requests by what became of them. */
void kv_compared_run_count(const struct kv_compared_run *run, size_t with[KV_UNFINISHED + 1]);

/* From the process that ran it to the one that compares: a file of this machine and this program only. */
int kv_compared_run_save(const struct kv_compared_run *run, FILE *file, struct kv_error *err);
int kv_compared_run_load(struct kv_compared_run *run, FILE *file, struct kv_error *err);

/* The run's own figures, and what it warned of. */
int kv_compared_run_read_summary(struct kv_compared_run *run, const char *path, struct kv_error *err);
int kv_compared_run_read_manifest(struct kv_compared_run *run, const char *path, struct kv_error *err);

#endif
