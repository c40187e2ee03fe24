/* Allocation that cannot fail (the program ends instead), and growable arrays. */
#ifndef KV_SIM_MEMORY_H
#define KV_SIM_MEMORY_H

#include <stddef.h>

/* All three return zeroed or copied memory to be released with free(). */
void *kv_calloc(size_t count, size_t size);
void *kv_realloc(void *old, size_t count, size_t size);
char *kv_strdup(const char *s);

/* Grows *array (of *capacity elements of the given size) until it holds at least need; new elements are zeroed. */
void *kv_grow_to(void *array, size_t *capacity, size_t need, size_t size);
/* The same without touching the new elements, whose content is undefined: pages that are never used cost nothing. */
void *kv_grow_raw_to(void *array, size_t *capacity, size_t need, size_t size);

static inline void *kv_grow(void *array, size_t *capacity, size_t need, size_t size)
{
	return need <= *capacity ? array : kv_grow_to(array, capacity, need, size);
}

static inline void *kv_grow_raw(void *array, size_t *capacity, size_t need, size_t size)
{
	return need <= *capacity ? array : kv_grow_raw_to(array, capacity, need, size);
}

/* How often any of the above has been called: the test that the step loop allocates nothing counts with it. */
unsigned long kv_allocation_count(void);

#endif
