/* A deployment and its requests in memory, as the tests build them, and one run of an engine over them. */
#ifndef KV_TESTS_WORKLOAD_H
#define KV_TESTS_WORKLOAD_H

#include <jansson.h>
#include <stdio.h>

#include "sim/engine/simulation.h"
#include "sim/engine_config.h"
#include "sim/latency/latency.h"
#include "sim/request.h"

/* The request of this index arrives `think` after the one of index `after` has ended, instead of at its own time. */
struct test_dependency {
	uint64_t index, after;
	kv_time think;
};

struct test_workload {
	struct kv_engine_config config;          /* policies and latency are filled for each run */
	char *policy[KV_POLICY_KINDS];           /* as a user would write them; owned */
	const struct kv_latency_setup *roofline; /* NULL = every step lasts fixed_step; not owned */
	const struct kv_linear *linear;          /* likewise; not both */
	kv_time fixed_step;
	struct kv_run_options options;           /* warm is filled for each run */
	uint64_t warm_before;                    /* requests of a smaller index are replayed before
	                                            time zero, the others from their first arrival on */
	struct kv_request *requests;             /* in order of arrival; strings and segments are owned */
	size_t count, capacity;
	struct test_dependency *dependencies;    /* at most one a request; one on a request that is not here is none */
	size_t dependency_count, dependency_capacity;
};

typedef int (*test_engine)(const struct kv_engine_config *, struct kv_source *, struct kv_sink *,
                           const struct kv_run_options *, struct kv_run_outcome *, struct kv_error *);

/* vLLM's defaults of August 2026 on one full-attention group, steps of a second. */
void test_workload_init(struct test_workload *workload);
void test_workload_fini(struct test_workload *workload);

void test_workload_set_policy(struct test_workload *workload, enum kv_policy_kind kind, const char *text);

/* A copy of the request with index = its place; strings that are NULL become "", id and prompt may be NULL. */
struct kv_request *test_workload_add(struct test_workload *workload, const struct kv_request *request);
void test_workload_depend(struct test_workload *workload, struct test_dependency dependency);
/* Appends a segment to the prompt. A name that begins with '@' is what the request of that id generates. */
void test_request_append(struct kv_request *request, const char *name, uint32_t length);
void test_request_append_segment(struct kv_request *request, struct kv_segment segment);
void test_request_fini(struct kv_request *request);

/* Sets each windowed group's admission cap from its window, the token budget and max_model_len. */
void test_workload_set_caps(struct test_workload *workload);

/* Reads config and requests as vector and scenario files have them. "1 s" is one step: arrivals and delays are counted
 * in steps. A row that makes no sense ends the program. */
void test_workload_read(struct test_workload *workload, json_t *config, json_t *requests);

/* A file of JSON objects one after the other. Failures end the program; NULL = no more. */
FILE *test_open(const char *path);
json_t *test_next_object(FILE *file, const char *path);

/* Runs the engine over fresh policies. The outcome's counters are filled; errors end the program, but for a warm-up
 * that never ends: then the outcome is that of a stalled run without anything in it. */
void test_workload_run(const struct test_workload *workload, test_engine engine, struct kv_sink *sink,
                       struct kv_run_outcome *outcome);

#endif
