/* What an engine decided, step by step, counted in steps of one fixed duration: a sink that the vector and scenario
 * tests compare with what they expect. */
#ifndef KV_TESTS_DECISIONS_H
#define KV_TESTS_DECISIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/record.h"

struct test_pair {
	uint64_t request;  /* or a step */
	uint64_t tokens;
};

struct test_pairs {
	struct test_pair *items;
	size_t count, capacity;
};

/* Lists hold requests. A step that nobody began (the engine slept) has none of it. */
struct test_step {
	struct test_pairs scheduled;  /* in scheduling order */
	struct test_pairs admitted;   /* first admissions, then resumptions */
	size_t first_admissions;      /* so many of the admitted */
	struct test_pairs preempted, finished;
	uint64_t pinned, evictions;
	bool began;
};

struct test_fate {
	struct test_pairs admit;      /* step, hit */
	int64_t first, finish;        /* steps, -1 = never */
	uint64_t preempt;
	struct kv_request_record record;  /* its strings are NULL */
	bool known;
};

struct test_decisions {
	struct kv_sink sink;
	kv_time unit;                 /* duration of a step */
	bool keep_steps;
	struct test_step *steps;      /* if kept: steps 0 ... of the clock */
	size_t step_count, step_capacity;
	struct test_fate *fates;
	size_t fate_count;
	int64_t stalled_at;           /* step, -1 = never */
	uint64_t stalled_request;
	/* over steps that scheduled something */
	uint64_t busy_steps, scheduled_tokens, peak_pinned, sum_pinned;
	uint64_t evictions, preemptions;
};

void test_decisions_init(struct test_decisions *decisions, size_t requests, kv_time unit, bool keep_steps);
void test_decisions_fini(struct test_decisions *decisions);

#endif
