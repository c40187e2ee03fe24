#include "config.h"

#include "workloads/json_arena.h"

#include <stddef.h>
#include <stdlib.h>

#include <jansson.h>

#include "sim/base/memory.h"

enum { FIRST_SIZE = 1 << 16, ALIGNMENT = 16 };

/* Blocks are twice as large as the one before; only the last and largest is kept for the next time. */
struct block {
	struct block *before;
	size_t size, used;
	_Alignas(ALIGNMENT) char bytes[];
};

static struct block *current;
static json_malloc_t outer_malloc;
static json_free_t outer_free;

static void add_block(size_t need)
{
	size_t size = current != NULL ? 2 * current->size : FIRST_SIZE;
	struct block *block;

	while (size < need)
		size *= 2;
	block = kv_realloc(NULL, 1, sizeof *block + size);
	*block = (struct block){.before = current, .size = size};
	current = block;
}

static void *take(size_t size)
{
	void *bytes;

	size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if (current == NULL || current->size - current->used < size)
		add_block(size);
	bytes = current->bytes + current->used;
	current->used += size;
	return bytes;
}

static void keep(void *bytes)
{
	(void)bytes;
}

void kv_json_arena_begin(void)
{
	json_get_alloc_funcs(&outer_malloc, &outer_free);
	json_set_alloc_funcs(take, keep);
}

static void free_before(struct block *block)
{
	while (block->before != NULL) {
		struct block *before = block->before;

		block->before = before->before;
		free(before);
	}
}

void kv_json_arena_end(void)
{
	json_set_alloc_funcs(outer_malloc, outer_free);
	if (current == NULL)
		return;
	free_before(current);
	current->used = 0;
}

void kv_json_arena_release(void)
{
	if (current == NULL)
		return;
	free_before(current);
	free(current);
	current = NULL;
}
