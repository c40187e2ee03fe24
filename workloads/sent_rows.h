/* Requests that have been sent and may have to be sent again. */
#ifndef KV_WORKLOADS_SENT_ROWS_H
#define KV_WORKLOADS_SENT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workloads/ids.h"
#include "workloads/row_heap.h"

struct kv_sent_row {
	struct kv_waiting_row row;  /* extra is owned while it is not lent */
	uint64_t retries;           /* how often it has been sent again */
	bool in_use, lent;          /* lent: it waits to be sent again, elsewhere */
};

struct kv_sent_rows {
	struct kv_sent_row *rows;
	size_t capacity, used;
	uint32_t *vacant;
	size_t vacant_count, vacant_capacity;
	struct kv_ids places;       /* index + 1 to place in rows + 1; 0 = forgotten */
};

void kv_sent_rows_fini(struct kv_sent_rows *sent);

/* Keeps the row, which takes over its extra; one that was lent comes back. */
void kv_sent_rows_keep(struct kv_sent_rows *sent, const struct kv_waiting_row *row);
/* NULL if there is none of that index. */
struct kv_sent_row *kv_sent_rows_find(const struct kv_sent_rows *sent, uint64_t index);
/* Puts the row into the heap, to arrive at that time. */
void kv_sent_rows_lend(struct kv_sent_rows *sent, uint64_t index, kv_time arrival, struct kv_row_heap *due);
void kv_sent_rows_forget(struct kv_sent_rows *sent, uint64_t index);

#endif
