/* Rows that arrive some time after others have ended, and wait until these have. */
#ifndef KV_WORKLOADS_DEPENDENTS_H
#define KV_WORKLOADS_DEPENDENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workloads/row_heap.h"

struct kv_dependent;
struct kv_dependency;

struct kv_dependents {
	struct kv_dependent *rows;
	size_t capacity, used;
	uint32_t vacant;                   /* head of the list of places that are free, KV_NO_DEPENDENT = none */
	struct kv_dependency *links;       /* what waits for what: a hash table by the index that is waited for */
	size_t link_capacity, link_count;
	size_t count;                      /* rows that wait */
	struct kv_row_heap due;            /* rows whose time is known */
	uint64_t *abandoned;               /* indexes of rows that have just been dropped */
	size_t abandoned_capacity, abandoned_count;
};

#define KV_NO_DEPENDENT UINT32_MAX

void kv_dependents_init(struct kv_dependents *dependents);
void kv_dependents_fini(struct kv_dependents *dependents);

/* The row (extra is taken over) arrives `think` after the last of the `count` rows of these indexes has ended; count is
 * at least 1, and none of them has ended yet. */
void kv_dependents_add(struct kv_dependents *dependents, const struct kv_waiting_row *row, kv_time think,
                       const uint64_t *after, size_t count);

/* The row of this index has ended. Rows that waited for it alone become due; if abandon, they and all that depend on
 * them are dropped instead. Returns how many were dropped. */
uint64_t kv_dependents_end(struct kv_dependents *dependents, uint64_t index, kv_time time, bool abandon);

#endif
