/* Step time read from a measured grid: exact at its nodes, linear between neighbours and so bounded by them.
 *
 * Four axes, one inside the other: new prefill tokens, KV tokens that prefill finds, decode sequences, mean context of
 * a decode sequence. The grid may be ragged: each value of an axis has its own values of the next. Beyond the last
 * node of an axis the line through the last two goes on, never below the last node; such steps are counted as outside
 * the region.
 */
#ifndef KV_SIM_LATENCY_TABLE_H
#define KV_SIM_LATENCY_TABLE_H

#include <stddef.h>

#include "sim/latency/latency.h"

enum { KV_TABLE_AXES = 4 };

struct kv_latency_table;

/* Rows of equal axis values are averaged. count > 0. */
struct kv_latency_table *kv_latency_table_create(const struct kv_timed_work *rows, size_t count);
void kv_latency_table_free(struct kv_latency_table *table);

double kv_latency_table_seconds(const struct kv_latency_table *table, const struct kv_step_work *work);
void kv_latency_table_region(const struct kv_latency_table *table, struct kv_latency_region *region);

#endif
