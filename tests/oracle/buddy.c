#include "config.h"

#include "tests/oracle/buddy.h"

#include <stdlib.h>

#include "sim/base/memory.h"

void oracle_buddy_init(struct oracle_buddy *buddy, uint64_t blocks)
{
	buddy->blocks = blocks;
	buddy->free_size = kv_calloc(blocks, sizeof *buddy->free_size);
	for (uint64_t address = 0; address < blocks;) {
		uint64_t size = 1;

		while (address % (2 * size) == 0 && address + 2 * size <= blocks)
			size *= 2;
		buddy->free_size[address] = size;
		address += size;
	}
}

void oracle_buddy_fini(struct oracle_buddy *buddy)
{
	free(buddy->free_size);
	buddy->free_size = NULL;
}

uint64_t oracle_buddy_chunk(uint64_t blocks)
{
	uint64_t size = 1;

	while (size < blocks)
		size *= 2;
	return size;
}

/* Address of the smallest, then lowest, free chunk of at least this size; buddy->blocks if there is none. */
static uint64_t best_fit(const struct oracle_buddy *buddy, uint64_t size)
{
	uint64_t best = buddy->blocks;

	for (uint64_t address = 0; address < buddy->blocks; address++) {
		uint64_t here = buddy->free_size[address];

		if (here >= size && (best == buddy->blocks || here < buddy->free_size[best]))
			best = address;
	}
	return best;
}

bool oracle_buddy_has(const struct oracle_buddy *buddy, uint64_t size)
{
	return best_fit(buddy, size) < buddy->blocks;
}

bool oracle_buddy_take(struct oracle_buddy *buddy, uint64_t size, uint64_t *address)
{
	*address = best_fit(buddy, size);
	if (*address == buddy->blocks)
		return false;
	while (buddy->free_size[*address] > size) {
		uint64_t half = buddy->free_size[*address] / 2;

		buddy->free_size[*address] = half;
		buddy->free_size[*address + half] = half;
	}
	buddy->free_size[*address] = 0;
	return true;
}

void oracle_buddy_give(struct oracle_buddy *buddy, uint64_t address, uint64_t size)
{
	for (;;) {
		uint64_t other = address ^ size;

		if (other >= buddy->blocks || buddy->free_size[other] != size)
			break;
		buddy->free_size[other] = 0;
		address &= ~size;
		size *= 2;
	}
	buddy->free_size[address] = size;
}
