/* What makes a trace that has been read doubtful, though every row of it could be used. */
#ifndef KV_WORKLOADS_DOUBTS_H
#define KV_WORKLOADS_DOUBTS_H

#include <stdbool.h>
#include <stddef.h>

#include "workloads/trace.h"

/* A sentence, from the first (0) on; NULL behind the last. bare_times: times are the file's own bare numbers, whose
 * unit may be mistaken. */
const char *kv_doubt(const struct kv_trace_counts *counts, bool bare_times, size_t number);

#endif
