/* What a run leaves behind: the result folder, and the summary on standard output.
 *
 *	struct kv_results *results = kv_results_open(&options, &info, &err);
 *	kv_simulate(..., kv_results_sink(results), ..., &outcome, &err);
 *	kv_results_finish(results, &outcome, &err);
 *	kv_results_free(results);
 *
 * Files carry temporary names until kv_results_finish has written all of them without error; whoever frees results
 * that were not finished leaves nothing behind.
 */
#ifndef KV_RESULTS_RESULTS_H
#define KV_RESULTS_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/engine/simulation.h"
#include "sim/engine_config.h"
#include "sim/record.h"

/* --write. The manifest is always written: it is what makes a folder recognisable as ours. */
enum kv_write {
	KV_WRITE_SUMMARY = 1,
	KV_WRITE_REQUESTS = 2,
	KV_WRITE_TIMELINE = 4,
	KV_WRITE_MANIFEST = 8,
	KV_WRITE_EVENTS = 16,       /* --events; this and the last two are not names of --write */
	KV_WRITE_REPORT = 32,
	KV_WRITE_METRICS = 64,      /* --openmetrics */
	KV_WRITE_CHROME_TRACE = 128 /* --chrome-trace */
};
#define KV_WRITE_DEFAULT \
	(KV_WRITE_SUMMARY | KV_WRITE_REQUESTS | KV_WRITE_TIMELINE | KV_WRITE_MANIFEST | KV_WRITE_REPORT)

#define KV_PERCENTILES_MAX 32

struct kv_results_options {
	const char *dir;                   /* --out */
	bool force;                        /* write into a folder that is not ours */
	unsigned write;                    /* enum kv_write, or-ed */
	kv_time timeline_interval;         /* 0: the shortest round interval that gives at most 8,192 rows */
	kv_time warmup;                    /* requests that arrive before it are left out of metrics; 0 = none */
	double percentiles[KV_PERCENTILES_MAX];
	size_t percentile_count;
	bool percentiles_given;            /* else the vLLM block of the console prints P99 only, as vLLM does */
	kv_time goodput_ttft, goodput_tpot, goodput_e2el;  /* KV_TIME_NONE = no objective */
	bool save_result;                  /* a copy of summary.json under vLLM's dated name */
	bool json;                         /* standard output gets summary.json instead of the text */
	bool quiet;                        /* standard output gets nothing */
	uint64_t retries;                  /* --retries: requests that are turned away come again so often */
	bool capped;                       /* --max-concurrency: requests may wait at their client */
	/* Told of every request, with how long its earlier sendings took; may be NULL. */
	void (*watch)(void *context, const struct kv_request_record *record, kv_time retry_wait);
	void *watch_context;
};

/* The defaults of interface.md, dir kvsim-out. */
void kv_results_options_init(struct kv_results_options *options);

/* "summary,requests": KV_EXIT_USAGE with the valid names otherwise. Keeps what has an option of its own. */
int kv_results_parse_write(const char *list, unsigned *write, struct kv_error *err);
/* "50,90,99.9": 0 to 100, at most KV_PERCENTILES_MAX. */
int kv_results_parse_percentiles(const char *list, struct kv_results_options *options, struct kv_error *err);
/* "ttft:500,tpot:50,e2el:9000" in milliseconds, as vllm bench serve takes them; also separated by blanks. */
int kv_results_parse_goodput(const char *list, struct kv_results_options *options, struct kv_error *err);

struct kv_run_budget_line {
	const char *item;
	int64_t bytes;
	const char *source;  /* given, config, profile, assumed, computed ... */
};

struct kv_count_line {
	const char *name;
	uint64_t count;
};

/* What the results say about the run beside what the simulation tells. Strings, arrays and JSON belong to the caller
 * and must live until kv_results_free; NULL strings are written as null or left out. block_size, usable_blocks and
 * block_bytes must be final at kv_results_open; all else is read at kv_results_finish. */
struct kv_run_info {
	const char *command;         /* as typed, for reports */
	const char *model;
	const char *hardware;        /* NULL with a fixed step time */
	const char *engine_profile;
	const char *latency;         /* "roofline", "fixed:10ms" */
	const char *latency_source;  /* where its constants come from; NULL = fixed */
	const char *latency_error;   /* what it was scored at; NULL = fixed */
	const char *policies[KV_POLICY_KINDS];  /* "name" or "name,param=value", as used */
	bool oracle;                 /* a policy or a default sees the true output length */
	uint32_t tensor_parallel, pipeline_parallel, data_parallel;

	uint64_t num_gpu_blocks;     /* as the engine counts, null block included */
	uint64_t usable_blocks;
	uint32_t block_size;         /* tokens */
	uint32_t kv_groups;          /* that share the pool; 0 = 1 */
	uint64_t block_bytes;        /* one block on one rank */
	uint64_t kv_bytes_per_token; /* per rank, growing part */
	uint64_t kv_cache_bytes;     /* per rank */
	uint32_t max_model_len;
	uint64_t request_blocks;     /* that one request of max_model_len holds at most, in all KV groups */
	struct kv_swap_space swap;   /* blocks 0: no preemption swaps */
	const char *pool_source;     /* how the pool was sized, in a few words */
	const struct kv_run_budget_line *budget;
	size_t budget_count;

	const char *trace;           /* file as named; NULL = standard input */
	const char *trace_format;
	bool trace_has_prefixes;     /* it carries prefix identity */
	uint64_t fingerprint[2];     /* XXH128 of the trace as read, high half first; both 0 = unknown */
	const struct kv_count_line *skipped_rows;  /* --skip-bad-rows, by reason */
	size_t skipped_rows_count;
	const char *arrivals;        /* a sentence: whether requests wait for others, or come at their times */
	uint64_t after_refusal;      /* of the skipped rows: never sent, as the request that they follow had failed */
	const char *warm_trace;      /* file replayed before time zero, as named; NULL = the cache starts cold */
	const char *warm_format;
	uint64_t warm_fingerprint[2];
	const struct kv_count_line *warm_skipped_rows;
	size_t warm_skipped_rows_count;
	const char *const *warnings;
	size_t warning_count;
	const char *const *assumptions;  /* what stands on defaults */
	size_t assumption_count;

	uint64_t seed;
	double request_rate;         /* INFINITY: the trace's own times */
	double burstiness;
	uint32_t max_concurrency;    /* 0 = none */
	kv_time start_time;          /* ns since 1970 of simulated time 0 */
	json_t *scenario;            /* resolved, for the manifest; may be NULL */
};

struct kv_results;

/* Creates the folder and its files. NULL with err filled: KV_EXIT_USAGE if the folder is not ours, KV_EXIT_IO. */
struct kv_results *kv_results_open(const struct kv_results_options *options, const struct kv_run_info *info,
                                   struct kv_error *err);

/* Hooks that nothing needs are NULL (event, unless events were asked for). */
struct kv_sink *kv_results_sink(struct kv_results *results);

/* Writes everything, gives the files their names, prints the summary. -1 with err filled (KV_EXIT_IO). */
int kv_results_finish(struct kv_results *results, const struct kv_run_outcome *outcome, struct kv_error *err);

void kv_results_free(struct kv_results *results);

#endif
