/* What the files of the trace take from one another: trace.c opens and closes it, trace_rows.c takes rows from readers,
 * trace_source.c hands requests to the simulation. */
#ifndef KV_WORKLOADS_TRACE_PARTS_H
#define KV_WORKLOADS_TRACE_PARTS_H

#include <gsl/gsl_rng.h>

#include "sim/base/remarks.h"
#include "workloads/block_watch.h"
#include "workloads/dependents.h"
#include "workloads/files.h"
#include "workloads/sent_rows.h"
#include "workloads/trace.h"
#include "workloads/window.h"

struct kv_trace {
	struct kv_source source;        /* first: the source is the trace */
	const struct kv_format *format;
	void *params;                   /* of the format */
	struct kv_files files;
	struct kv_reader *reader;
	struct kv_trace_options options;
	struct kv_trace_counts counts;
	struct kv_error error;          /* what stopped the reader */
	bool stopped;
	unsigned flags;                 /* that the reader declared */
	struct kv_remarks notes;        /* of the reader */
	struct kv_names columns;        /* likewise */
	struct kv_row row;
	uint64_t next_index;
	uint64_t line, line_rows;       /* that the last row stood on, and how many of it there have been */
	struct kv_block_watch blocks;
	uint64_t uneven;                /* blocks that the reader itself has found to be */
	kv_time latest;
	struct kv_window window;
	kv_time base;                   /* subtracted from arrivals; KV_TIME_NONE until the first row is out */
	gsl_rng *gaps;
	double clock;                   /* of generated arrivals, in ns */
	struct kv_waiting_row head;     /* the first row of the window, arrival on the simulation's clock */
	bool has_head;
	bool takes_settings;         /* the reader has asked for options.load */
	struct kv_dependents dependents;
	struct kv_trace_tap *tap;       /* takes rows instead; may be NULL */
	bool tap_begun;
	struct kv_sent_rows sent;       /* what may have to be sent again */
	struct kv_waiting_row given;    /* what was handed out last */
	bool has_given, given_was_due;
	struct kv_segment private_prompt;
};

/* Whether times count from the first row instead of the file's own zero. */
bool kv_trace_starts_clock(const struct kv_trace *trace);
/* Reads until the first row of the window stands at trace->head, or the end: then trace->has_head is false. 0 or -1. */
int kv_trace_find_head(struct kv_trace *trace, struct kv_error *err);
void kv_trace_source_init(struct kv_trace *trace);

#endif
