#include "config.h"

#include "workloads/window.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

static inline bool precedes(const struct kv_waiting_row *a, const struct kv_waiting_row *b)
{
	return a->arrival != b->arrival ? a->arrival < b->arrival : a->index < b->index;
}

static void ring_enlarge(struct kv_row_ring *ring)
{
	size_t capacity = ring->capacity ? ring->capacity * 2 : 1024;
	struct kv_waiting_row *rows = kv_calloc(capacity, sizeof *rows);

	for (size_t i = 0; i < ring->count; i++)
		rows[i] = ring->rows[(ring->head + i) & (ring->capacity - 1)];
	free(ring->rows);
	*ring = (struct kv_row_ring){.rows = rows, .capacity = capacity, .count = ring->count};
}

static inline void ring_append(struct kv_row_ring *ring, const struct kv_waiting_row *row)
{
	if (ring->count == ring->capacity)
		ring_enlarge(ring);
	ring->rows[(ring->head + ring->count++) & (ring->capacity - 1)] = *row;
}

static inline void ring_take(struct kv_row_ring *ring, struct kv_waiting_row *row)
{
	*row = ring->rows[ring->head];
	ring->head = (ring->head + 1) & (ring->capacity - 1);
	ring->count--;
}

static inline const struct kv_waiting_row *ring_last(const struct kv_row_ring *ring)
{
	return &ring->rows[(ring->head + ring->count - 1) & (ring->capacity - 1)];
}

/* The first of all that wait; NULL if none does. */
static inline const struct kv_waiting_row *first_waiting(const struct kv_window *window)
{
	const struct kv_row_ring *ring = &window->in_order;
	const struct kv_waiting_row *late = kv_row_heap_first(&window->late);

	if (late == NULL)
		return ring->count ? &ring->rows[ring->head] : NULL;
	return ring->count == 0 || precedes(late, &ring->rows[ring->head]) ? late : &ring->rows[ring->head];
}

static inline void take_first(struct kv_window *window, struct kv_waiting_row *row)
{
	if (window->in_order.count > 0 && first_waiting(window) == &window->in_order.rows[window->in_order.head])
		ring_take(&window->in_order, row);
	else
		kv_row_heap_take(&window->late, row);
	if (row->extra != NULL)
		window->bytes_held -= row->extra->bytes;
}

static inline bool is_released(const struct kv_window *window, const struct kv_waiting_row *first)
{
	return window->in_order.count + kv_row_heap_count(&window->late) > window->rows ||
	       first->arrival < window->latest - window->time || window->bytes_held > window->bytes;
}

static inline void release(struct kv_window *window)
{
	const struct kv_waiting_row *first;
	struct kv_waiting_row row;

	while ((first = first_waiting(window)) != NULL && is_released(window, first)) {
		take_first(window, &row);
		window->floor = row.arrival;
		window->floor_index = row.index;
		ring_append(&window->ready, &row);
	}
}

void kv_window_init(struct kv_window *window, kv_time time, uint64_t rows, size_t bytes)
{
	*window = (struct kv_window){.time = time, .rows = rows, .bytes = bytes, .latest = 0, .floor = KV_TIME_NONE};
}

void kv_window_fini(struct kv_window *window)
{
	struct kv_waiting_row row;

	kv_window_drain(window);
	while (kv_window_take(window, &row))
		free(row.extra);
	free(window->in_order.rows);
	free(window->ready.rows);
	kv_row_heap_fini(&window->late);
}

bool kv_window_put(struct kv_window *window, const struct kv_waiting_row *row)
{
	if (row->arrival < window->floor || row->arrival < window->latest - window->time)
		return false;
	if (row->extra != NULL)
		window->bytes_held += row->extra->bytes;
	if (window->in_order.count == 0 || !precedes(row, ring_last(&window->in_order)))
		ring_append(&window->in_order, row);
	else
		kv_row_heap_put(&window->late, row);
	if (row->arrival > window->latest)
		window->latest = row->arrival;
	release(window);
	return true;
}

bool kv_window_has_released(const struct kv_window *window, kv_time arrival, uint64_t index)
{
	return arrival < window->floor || (arrival == window->floor && index <= window->floor_index);
}

void kv_window_drain(struct kv_window *window)
{
	window->draining = true;
}

bool kv_window_take(struct kv_window *window, struct kv_waiting_row *row)
{
	if (window->ready.count > 0) {
		ring_take(&window->ready, row);
		return true;
	}
	if (!window->draining || first_waiting(window) == NULL)
		return false;
	take_first(window, row);
	return true;
}
