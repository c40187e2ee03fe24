#include "config.h"

#include "workloads/sent_rows.h"

#include <stdlib.h>

#include "sim/base/memory.h"

void kv_sent_rows_fini(struct kv_sent_rows *sent)
{
	for (size_t i = 0; i < sent->used; i++)
		if (sent->rows[i].in_use && !sent->rows[i].lent)
			free(sent->rows[i].row.extra);
	free(sent->rows);
	free(sent->vacant);
	kv_ids_fini(&sent->places);
}

static uint32_t find_place(struct kv_sent_rows *sent)
{
	if (sent->vacant_count > 0)
		return sent->vacant[--sent->vacant_count];
	sent->rows = kv_grow(sent->rows, &sent->capacity, sent->used + 1, sizeof *sent->rows);
	return (uint32_t)sent->used++;
}

struct kv_sent_row *kv_sent_rows_find(const struct kv_sent_rows *sent, uint64_t index)
{
	const uint32_t *place = kv_ids_find(&sent->places, index + 1);

	return place != NULL && *place != 0 ? &sent->rows[*place - 1] : NULL;
}

void kv_sent_rows_keep(struct kv_sent_rows *sent, const struct kv_waiting_row *row)
{
	struct kv_sent_row *known = kv_sent_rows_find(sent, row->index);
	uint32_t place;

	if (known != NULL) {
		known->row = *row;
		known->lent = false;
		return;
	}
	place = find_place(sent);
	sent->rows[place] = (struct kv_sent_row){.row = *row, .in_use = true};
	kv_ids_add(&sent->places, row->index + 1, place + 1);
}

void kv_sent_rows_lend(struct kv_sent_rows *sent, uint64_t index, kv_time arrival, struct kv_row_heap *due)
{
	struct kv_sent_row *known = kv_sent_rows_find(sent, index);

	known->row.arrival = arrival;
	known->lent = true;
	kv_row_heap_put(due, &known->row);
}

void kv_sent_rows_forget(struct kv_sent_rows *sent, uint64_t index)
{
	struct kv_sent_row *known = kv_sent_rows_find(sent, index);
	uint32_t place;

	if (known == NULL)
		return;
	place = (uint32_t)(known - sent->rows);
	free(known->row.extra);
	known->in_use = false;
	*kv_ids_find(&sent->places, index + 1) = 0;
	sent->vacant = kv_grow(sent->vacant, &sent->vacant_capacity, sent->vacant_count + 1, sizeof *sent->vacant);
	sent->vacant[sent->vacant_count++] = place;
}
