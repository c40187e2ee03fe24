/* Everything that one run told its sink, kept for comparison with another run. */
#ifndef KV_TESTS_RUN_LOG_H
#define KV_TESTS_RUN_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/engine/simulation.h"
#include "sim/record.h"
#include "tests/workload.h"

struct logged_event {
	kv_time time;
	uint64_t step, kind, request, tokens, blocks;
	char detail[32];
};

/* The state between two instants; neighbours that are equal are one. */
struct logged_state {
	kv_time from, until;
	struct kv_state state;
};

struct logged_gap {
	kv_time gap;
	uint64_t count;
};

struct run_log {
	struct kv_sink sink;
	const struct test_workload *workload;
	struct logged_event *events;
	struct kv_step *steps;
	struct logged_state *states;
	struct logged_gap *gaps;            /* in order of gap */
	struct kv_request_record *records;  /* their strings have been compared with the workload's and are NULL */
	size_t event_count, event_capacity, step_count, step_capacity, state_count, state_capacity;
	size_t gap_count, gap_capacity, record_count, record_capacity;
	kv_time now;
	struct kv_run_outcome outcome;
	bool wrong_strings, wrong_misses;
};

/* Runs the engine, with or without events (and the reasons of misses, which only production tells). */
void run_log_make(struct run_log *log, const struct test_workload *workload, test_engine engine, bool events);
void run_log_fini(struct run_log *log);

/* False after writing the first difference to text. Events are compared only where both have some. */
bool run_log_equal(const struct run_log *a, const struct run_log *b, bool events, char *text, size_t size);

/* Contradictions inside one run: sums that must agree. False after writing the first to text. */
bool run_log_consistent(const struct run_log *log, char *text, size_t size);

void run_log_print_events(const struct run_log *log);

#endif
