#include "config.h"

#include "sim/base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long allocation_count;

static _Noreturn void out_of_memory(size_t count, size_t size)
{
	fprintf(stderr, "kvsim: out of memory asking for %zu x %zu bytes\n", count, size);
	exit(71);
}

void *kv_calloc(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size ? size : 1);

	allocation_count++;
	if (p == NULL)
		out_of_memory(count, size);
	return p;
}

void *kv_realloc(void *old, size_t count, size_t size)
{
	void *p;

	allocation_count++;
	if (size != 0 && count > SIZE_MAX / size)
		out_of_memory(count, size);
	p = realloc(old, count != 0 && size != 0 ? count * size : 1);
	if (p == NULL)
		out_of_memory(count, size);
	return p;
}

char *kv_strdup(const char *s)
{
	size_t size = strlen(s) + 1;
	char *copy = kv_calloc(size, 1);

	memcpy(copy, s, size);
	return copy;
}

void *kv_grow_raw_to(void *array, size_t *capacity, size_t need, size_t size)
{
	size_t grown = *capacity ? *capacity : 16;

	while (grown < need)
		grown *= 2;
	array = kv_realloc(array, grown, size);
	*capacity = grown;
	return array;
}

void *kv_grow_to(void *array, size_t *capacity, size_t need, size_t size)
{
	size_t old = *capacity;

	array = kv_grow_raw_to(array, capacity, need, size);
	memset((char *)array + old * size, 0, (*capacity - old) * size);
	return array;
}

unsigned long kv_allocation_count(void)
{
	return allocation_count;
}
