/* Contiguous pieces of the pool, a power of two of blocks each. */
#ifndef KV_TESTS_ORACLE_BUDDY_H
#define KV_TESTS_ORACLE_BUDDY_H

#include <stdbool.h>
#include <stdint.h>

struct oracle_buddy {
	uint64_t blocks;
	uint64_t *free_size;  /* by address: size of the free chunk that begins there, 0 = none */
};

void oracle_buddy_init(struct oracle_buddy *buddy, uint64_t blocks);
void oracle_buddy_fini(struct oracle_buddy *buddy);
/* Size of the chunk that holds so many blocks. */
uint64_t oracle_buddy_chunk(uint64_t blocks);
/* The chunk comes from the smallest free chunk that is large enough, at the lowest address. */
bool oracle_buddy_take(struct oracle_buddy *buddy, uint64_t size, uint64_t *address);
bool oracle_buddy_has(const struct oracle_buddy *buddy, uint64_t size);
void oracle_buddy_give(struct oracle_buddy *buddy, uint64_t address, uint64_t size);

#endif
