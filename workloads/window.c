#include "config.h"

#include "workloads/window.h"

#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"

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

static void heap_insert(struct kv_window *window, const struct kv_waiting_row *row)
{
	size_t at = window->late_count++;

	window->late = kv_grow(window->late, &window->late_capacity, window->late_count, sizeof *window->late);
	for (; at > 0 && precedes(row, &window->late[(at - 1) / 2]); at = (at - 1) / 2)
		window->late[at] = window->late[(at - 1) / 2];
	window->late[at] = *row;
}

static void heap_take(struct kv_window *window, struct kv_waiting_row *row)
{
	struct kv_waiting_row *heap = window->late;
	size_t count = --window->late_count;
	struct kv_waiting_row last = heap[count];
	size_t at = 0;

	*row = heap[0];
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && precedes(&heap[child + 1], &heap[child]))
			child++;
		if (!precedes(&heap[child], &last))
			break;
		heap[at] = heap[child];
	}
	heap[at] = last;
}

/* The first of all that wait; NULL if none does. */
static inline const struct kv_waiting_row *first_waiting(const struct kv_window *window)
{
	const struct kv_row_ring *ring = &window->in_order;

	if (window->late_count == 0)
		return ring->count ? &ring->rows[ring->head] : NULL;
	if (ring->count == 0 || precedes(&window->late[0], &ring->rows[ring->head]))
		return &window->late[0];
	return &ring->rows[ring->head];
}

static inline void take_first(struct kv_window *window, struct kv_waiting_row *row)
{
	if (first_waiting(window) == window->late && window->late_count > 0)
		heap_take(window, row);
	else
		ring_take(&window->in_order, row);
	if (row->extra != NULL)
		window->bytes_held -= row->extra->bytes;
}

static inline bool is_released(const struct kv_window *window, const struct kv_waiting_row *first)
{
	return window->in_order.count + window->late_count > window->rows ||
	       first->arrival < window->latest - window->time || window->bytes_held > window->bytes;
}

static inline void release(struct kv_window *window)
{
	const struct kv_waiting_row *first;
	struct kv_waiting_row row;

	while ((first = first_waiting(window)) != NULL && is_released(window, first)) {
		take_first(window, &row);
		window->floor = row.arrival;
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
	free(window->late);
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
		heap_insert(window, row);
	if (row->arrival > window->latest)
		window->latest = row->arrival;
	release(window);
	return true;
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
