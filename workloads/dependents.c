#include "config.h"

#include "workloads/dependents.h"

#include <stdlib.h>

#include "sim/base/memory.h"

struct kv_dependent {
	struct kv_waiting_row row;
	kv_time think;
	kv_time ready;         /* when the last of those that have ended did */
	uint32_t missing;      /* that have not ended; 0 = the place is vacant */
	uint32_t next_vacant;
	bool dropped;
};

/* An entry of an open-addressing table; several may have the same key. */
struct kv_dependency {
	uint64_t key;          /* index waited for, plus 1; 0 = vacant */
	uint32_t place;
};

enum { FIRST_LINKS = 1024 };

void kv_dependents_init(struct kv_dependents *dependents)
{
	*dependents = (struct kv_dependents){.vacant = KV_NO_DEPENDENT};
}

void kv_dependents_fini(struct kv_dependents *dependents)
{
	struct kv_waiting_row row;

	for (size_t i = 0; i < dependents->used; i++)
		if (dependents->rows[i].missing > 0)
			free(dependents->rows[i].row.extra);
	while (kv_row_heap_count(&dependents->due) > 0) {
		kv_row_heap_take(&dependents->due, &row);
		free(row.extra);
	}
	kv_row_heap_fini(&dependents->due);
	free(dependents->rows);
	free(dependents->links);
	free(dependents->abandoned);
}

/* --- who waits for whom ------------------------------------------------------------------------------------------- */

/* Spreads neighbouring indexes (Knuth's multiplier, 2^64 over the golden ratio). */
static size_t home_of(const struct kv_dependents *dependents, uint64_t key)
{
	return (size_t)(key * 0x9e3779b97f4a7c15u) & (dependents->link_capacity - 1);
}

static size_t step(const struct kv_dependents *dependents, size_t at)
{
	return (at + 1) & (dependents->link_capacity - 1);
}

static void insert_link(struct kv_dependents *dependents, uint64_t key, uint32_t place)
{
	size_t at = home_of(dependents, key);

	while (dependents->links[at].key != 0)
		at = step(dependents, at);
	dependents->links[at] = (struct kv_dependency){.key = key, .place = place};
}

static void enlarge_links(struct kv_dependents *dependents)
{
	struct kv_dependency *old = dependents->links;
	size_t old_capacity = dependents->link_capacity;

	dependents->link_capacity = old_capacity ? 2 * old_capacity : FIRST_LINKS;
	dependents->links = kv_calloc(dependents->link_capacity, sizeof *dependents->links);
	for (size_t i = 0; i < old_capacity; i++)
		if (old[i].key != 0)
			insert_link(dependents, old[i].key, old[i].place);
	free(old);
}

static void add_link(struct kv_dependents *dependents, uint64_t index, uint32_t place)
{
	if (++dependents->link_count > dependents->link_capacity / 2)
		enlarge_links(dependents);
	insert_link(dependents, index + 1, place);
}

/* Closes the gap so that no later entry of the run is cut off from its home. */
static void remove_link(struct kv_dependents *dependents, size_t gap)
{
	struct kv_dependency *links = dependents->links;
	size_t mask = dependents->link_capacity - 1;

	for (size_t at = step(dependents, gap); links[at].key != 0; at = step(dependents, at)) {
		size_t home = home_of(dependents, links[at].key);

		if (((at - home) & mask) >= ((at - gap) & mask)) {
			links[gap] = links[at];
			gap = at;
		}
	}
	links[gap].key = 0;
	dependents->link_count--;
}

/* Takes out one row that waits for this index; KV_NO_DEPENDENT if none does. */
static uint32_t take_link(struct kv_dependents *dependents, uint64_t index)
{
	uint32_t place;

	if (dependents->link_count == 0)
		return KV_NO_DEPENDENT;
	for (size_t at = home_of(dependents, index + 1); dependents->links[at].key != 0; at = step(dependents, at)) {
		if (dependents->links[at].key != index + 1)
			continue;
		place = dependents->links[at].place;
		remove_link(dependents, at);
		return place;
	}
	return KV_NO_DEPENDENT;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static uint32_t find_place(struct kv_dependents *dependents)
{
	uint32_t place = dependents->vacant;

	if (place != KV_NO_DEPENDENT) {
		dependents->vacant = dependents->rows[place].next_vacant;
		return place;
	}
	dependents->rows =
		kv_grow(dependents->rows, &dependents->capacity, dependents->used + 1, sizeof *dependents->rows);
	return (uint32_t)dependents->used++;
}

void kv_dependents_add(struct kv_dependents *dependents, const struct kv_waiting_row *row, kv_time think,
                       const uint64_t *after, size_t count)
{
	uint32_t place = find_place(dependents);

	dependents->rows[place] = (struct kv_dependent){.row = *row, .think = think, .missing = (uint32_t)count};
	for (size_t i = 0; i < count; i++)
		add_link(dependents, after[i], place);
	dependents->count++;
}

static void vacate(struct kv_dependents *dependents, uint32_t place)
{
	dependents->rows[place].next_vacant = dependents->vacant;
	dependents->vacant = place;
	dependents->count--;
}

static void become_due(struct kv_dependents *dependents, uint32_t place)
{
	struct kv_dependent *dependent = &dependents->rows[place];

	dependent->row.arrival = dependent->ready + dependent->think;
	kv_row_heap_put(&dependents->due, &dependent->row);
	vacate(dependents, place);
}

/* A row that has been dropped keeps its place until all that it waits for have ended: links may still name it. */
static bool drop(struct kv_dependents *dependents, uint32_t place)
{
	struct kv_dependent *dependent = &dependents->rows[place];

	if (dependent->dropped)
		return false;
	free(dependent->row.extra);
	dependent->row.extra = NULL;
	dependent->dropped = true;
	dependents->abandoned = kv_grow(dependents->abandoned, &dependents->abandoned_capacity,
	                                dependents->abandoned_count + 1, sizeof *dependents->abandoned);
	dependents->abandoned[dependents->abandoned_count++] = dependent->row.index;
	return true;
}

static uint64_t end_one(struct kv_dependents *dependents, uint64_t index, kv_time time, bool abandon)
{
	uint64_t dropped = 0;
	uint32_t place;

	while ((place = take_link(dependents, index)) != KV_NO_DEPENDENT) {
		struct kv_dependent *dependent = &dependents->rows[place];

		if (abandon)
			dropped += drop(dependents, place);
		if (time > dependent->ready)
			dependent->ready = time;
		if (--dependent->missing > 0)
			continue;
		if (dependent->dropped)
			vacate(dependents, place);
		else
			become_due(dependents, place);
	}
	return dropped;
}

uint64_t kv_dependents_end(struct kv_dependents *dependents, uint64_t index, kv_time time, bool abandon)
{
	uint64_t dropped = end_one(dependents, index, time, abandon);

	while (dependents->abandoned_count > 0)
		dropped += end_one(dependents, dependents->abandoned[--dependents->abandoned_count], time, true);
	return dropped;
}
