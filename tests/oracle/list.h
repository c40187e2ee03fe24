/* A plain growable list of pointers. */
#ifndef KV_TESTS_ORACLE_LIST_H
#define KV_TESTS_ORACLE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

struct oracle_list {
	void **items;
	size_t count, capacity;
};

static inline void oracle_list_insert(struct oracle_list *list, size_t at, void *item)
{
	list->items = kv_grow(list->items, &list->capacity, list->count + 1, sizeof *list->items);
	memmove(list->items + at + 1, list->items + at, (list->count - at) * sizeof *list->items);
	list->items[at] = item;
	list->count++;
}

static inline void oracle_list_append(struct oracle_list *list, void *item)
{
	oracle_list_insert(list, list->count, item);
}

static inline void oracle_list_remove_at(struct oracle_list *list, size_t at)
{
	list->count--;
	memmove(list->items + at, list->items + at + 1, (list->count - at) * sizeof *list->items);
}

/* Of the first such entry; the count = there is none. */
static inline size_t oracle_list_position(const struct oracle_list *list, const void *item)
{
	size_t i = 0;

	while (i < list->count && list->items[i] != item)
		i++;
	return i;
}

static inline void oracle_list_remove(struct oracle_list *list, const void *item)
{
	size_t at = oracle_list_position(list, item);

	if (at < list->count)
		oracle_list_remove_at(list, at);
}

static inline bool oracle_list_contains(const struct oracle_list *list, const void *item)
{
	return oracle_list_position(list, item) < list->count;
}

static inline void oracle_list_fini(struct oracle_list *list)
{
	free(list->items);
	*list = (struct oracle_list){0};
}

#endif
