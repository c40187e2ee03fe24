/* A workload that is read from a file: detects its format, checks every row, puts rows in order of time, and yields
 * them one at a time as a struct kv_source.
 *
 * Every row that was read is emitted or left out by a named reason; nothing is dropped silently. Rows that arrive out
 * of order are sorted within a window; equal times keep file order. Memory follows the window, not the file.
 */
#ifndef KV_WORKLOADS_TRACE_H
#define KV_WORKLOADS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/request.h"
#include "workloads/format.h"
#include "workloads/input.h"

struct kv_trace;
struct kv_yaml_settings;

struct kv_trace_options {
	const char *format;      /* "name,param=value,...", or NULL to detect it */
	/* Data rows first_row .. end_row - 1, counted from 0; a later start also starts the clock. */
	uint64_t first_row;
	uint64_t end_row;        /* UINT64_MAX = all */
	double time_scale;       /* arrival times are multiplied by it, > 0 */
	/* Requests per second instead of the trace's own times; 0 = keep these, INFINITY = all at once. */
	double request_rate;
	double burstiness; /* shape of the gamma-distributed gaps at request_rate; 1 = Poisson, INFINITY = constant */
	uint64_t seed;           /* of the gaps, and of all that readers draw */
	bool own_seed;           /* but for descriptions of loads that name one themselves */
	const struct kv_yaml_settings *load;  /* what is changed in the description of a load; NULL = nothing */
	uint64_t replicate;
	bool open_loop;          /* rows that depend on others arrive at their recorded time instead */
	bool only_timed;         /* of these, rows that have none are left out as filtered: else an error */
	bool go_on_after_refusal;/* rows that depend on one that was refused or dropped arrive all the same */
	uint64_t retries;        /* how often a request that was turned away is sent again ... */
	kv_time backoff;         /* ... after this time, twice as long each time, > 0 */
	bool skip_bad_rows;      /* count them by reason and go on instead of failing at the first */
	kv_time reorder_time;    /* a row is waited for this long in trace time ... */
	uint64_t reorder_rows;   /* ... and for so many rows ... */
	size_t reorder_bytes;    /* ... and while rows that wait hold no more bytes than this */
};

void kv_trace_options_init(struct kv_trace_options *options);

/* "A:B", "A:" or ":B" into first_row and end_row; else a KV_EXIT_USAGE error. */
int kv_trace_parse_rows(const char *text, struct kv_trace_options *options, struct kv_error *err);

/* Rows as they lie in the file instead of requests in order of time: for translation. */
struct kv_trace_tap {
	/* Called before the first row, when all that the reader declares is known. Returns 0 or -1. May be NULL. */
	int (*begin)(struct kv_trace_tap *tap, struct kv_trace *trace, struct kv_error *err);
	/* A row that is not left out; its arrival is KV_TIME_NONE where it only depends on others. */
	int (*row)(struct kv_trace_tap *tap, const struct kv_row *row, struct kv_error *err);
	/* Called behind the last row; not after an error. May be NULL. */
	void (*end)(struct kv_trace_tap *tap, struct kv_trace *trace);
};

struct kv_trace_counts {
	uint64_t rows; /* read, of those selected; = emitted + waiting + left_out when all is read */
	uint64_t emitted;                    /* requests that have arrived: those before the one handed out last */
	uint64_t left_out[KV_FAULTS];
	uint64_t out_of_order;               /* rows earlier than one before them */
	uint64_t equal_times;                /* emitted rows at the same time as the one before them */
	uint64_t unknown_keys;               /* columns, or keys of JSON rows, that the format does not know */
	uint64_t named_rows;                 /* rows whose prompt says what it shares with others */
	uint64_t uneven_blocks;              /* blocks of another length than their id had before: at least so many */
	uint64_t misplaced_blocks;           /* blocks behind another id than theirs was before: likewise */
	uint64_t zero_outputs;
	uint64_t with_priority, with_deadline, with_tenant;  /* emitted rows that have one: a priority of 0 is none */
	uint64_t dependent_rows;             /* that arrive when others have ended */
	uint64_t untied_rows;                /* that would, but arrive at their recorded times: an open loop */
	uint64_t retried;                    /* requests sent again after they had been turned away */
	uint64_t waiting;                    /* of these, rows whose time has not come yet */
	kv_time first, last;                 /* arrival of the first and last row emitted; KV_TIME_NONE before that */
	uint64_t prompt_tokens, output_tokens;
};

/* path "-" is standard input. Reads up to the first request, so that a file without any is an error here. */
struct kv_trace *kv_trace_open(const char *path, const struct kv_trace_options *options, struct kv_error *err);
void kv_trace_close(struct kv_trace *trace);

/* Hands every row of the file to the tap. The trace is closed afterwards. Times that count from the first row count
 * from the first in the file; one that is earlier is an error. Options that change times are not looked at. Returns 0
 * or -1. */
int kv_trace_read_rows(const char *path, const struct kv_trace_options *options, struct kv_trace_tap *tap,
                       struct kv_error *err);

/* Belongs to the trace: its close hook closes the trace. */
struct kv_source *kv_trace_source(struct kv_trace *trace);

/* How much of it has been read, 0 to 1; 0 where its length is not known. */
double kv_trace_fraction(const struct kv_trace *trace);
/* Of what was drawn: the option's, or the one that the description names. */
uint64_t kv_trace_seed(const struct kv_trace *trace);
const struct kv_trace_counts *kv_trace_counts(struct kv_trace *trace);
const struct kv_format *kv_trace_format(const struct kv_trace *trace);
/* Names of columns. */
struct kv_names {
	const char **name;
	size_t count, capacity;
};

/* Of a native CSV file, in its order; none in other files. */
const struct kv_names *kv_trace_columns(const struct kv_trace *trace);
/* Any of KV_TRACE_*: what the reader declared. */
unsigned kv_trace_flags(const struct kv_trace *trace);
/* Whether the format says which prompts share content. If not, every prompt is unique. */
bool kv_trace_has_prefix_identity(const struct kv_trace *trace);
/* A sentence for the user, from the first (0) on; NULL behind the last. What the reader notes, and once all has been
 * read what is doubtful: a trace that lasts about a thousand times too long or too short for its number of requests, as
 * when milliseconds are taken for seconds; block ids that are no chain hashes of blocks of this size. */
const char *kv_trace_remark(struct kv_trace *trace, size_t number);
/* See kv_input_fingerprint: reads the rest of the file; no request can be had afterwards. */
int kv_trace_fingerprint(struct kv_trace *trace, char text[KV_FINGERPRINT_SIZE], struct kv_error *err);

#endif
