/* What the actions of kvsim trace share: the file to read, its options, and how results are printed. */
#ifndef KV_SIM_CLI_TRACE_FILE_H
#define KV_SIM_CLI_TRACE_FILE_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "results/output_file.h"
#include "sim/base/error.h"
#include "workloads/trace.h"

struct kv_scenario;

/* The input of both parsers, to be passed on to them as children by parsers whose input begins with it. */
struct kv_trace_file {
	const char *path;
	bool json;
	struct kv_trace_options options;
};

/* FILE and the options that say how to read its rows. */
extern const struct argp kv_trace_rows_argp;
/* The same, with those that say how rows become requests in order of time, and how what is found is printed. */
extern const struct argp kv_trace_file_argp;

/* The scenario's seed; a described load goes by its own where the scenario names none. */
void kv_trace_file_seed(const struct kv_scenario *scenario, struct kv_trace_options *reading);

/* Hands over the next request; the one before has ended as it arrived, so that those that depend on others come too. */
int kv_trace_file_next(struct kv_trace *trace, struct kv_request *request, struct kv_error *err);

/* Writes the trace as a native one to that file ("-" is standard output), which appears only when all went well. */
int kv_trace_file_convert(const char *path, const struct kv_trace_options *options, const char *out,
                          struct kv_error *err);

uint64_t kv_trace_file_left_out(const struct kv_trace_counts *counts);

/* The lines and keys that every action begins with: rows and requests, what was left out and why, order, times. */
void kv_trace_file_print(struct kv_output *out, const struct kv_trace_file *file, struct kv_trace *trace);
json_t *kv_trace_file_json(const struct kv_trace_file *file, struct kv_trace *trace);

void kv_trace_file_print_count(struct kv_output *out, const char *label, uint64_t count);
void kv_trace_file_print_text(struct kv_output *out, const char *label, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void kv_trace_file_set_count(json_t *object, const char *key, uint64_t count);
/* Prints the object, indented, and releases it. */
void kv_trace_file_print_json(struct kv_output *out, json_t *object);

#endif
