/* Random deployments and workloads, small enough to walk and mean enough to hurt: the same seed gives the same one. */
#ifndef KV_TESTS_RANDOM_WORKLOAD_H
#define KV_TESTS_RANDOM_WORKLOAD_H

#include <stdint.h>

#include "tests/workload.h"

/* Initialises and fills the workload. */
void test_workload_random(struct test_workload *workload, uint64_t seed);
/* Keeps only requests whose index is in the list; indices stay what they were. */
void test_workload_keep(struct test_workload *workload, const uint64_t *indices, size_t count);

#endif
