#include "config.h"

#include "sim/cache/buddy.h"

#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/memory.h"

enum { ORDERS = 40 };

/* A free chunk of order k is bit address >> k of free[k]; count[k] says how many there are, low[k] where to start
 * looking. */
struct kv_buddy {
	uint64_t blocks;
	uint64_t *free[ORDERS];
	uint64_t count[ORDERS];
	uint64_t low[ORDERS];
};

static unsigned order_of(uint64_t blocks)
{
	unsigned order = 0;

	while ((UINT64_C(1) << order) < blocks)
		order++;
	return order;
}

static bool is_free(const struct kv_buddy *buddy, unsigned order, uint64_t index)
{
	return buddy->free[order][index / 64] >> (index % 64) & 1;
}

static void set_free(struct kv_buddy *buddy, unsigned order, uint64_t index)
{
	buddy->free[order][index / 64] |= UINT64_C(1) << (index % 64);
	buddy->count[order]++;
	if (index / 64 < buddy->low[order])
		buddy->low[order] = index / 64;
}

static void clear_free(struct kv_buddy *buddy, unsigned order, uint64_t index)
{
	buddy->free[order][index / 64] &= ~(UINT64_C(1) << (index % 64));
	buddy->count[order]--;
}

static uint64_t lowest_free(struct kv_buddy *buddy, unsigned order)
{
	uint64_t word = buddy->low[order];

	while (buddy->free[order][word] == 0)
		word++;
	buddy->low[order] = word;
	return word * 64 + (uint64_t)__builtin_ctzll(buddy->free[order][word]);
}

struct kv_buddy *kv_buddy_create(uint64_t blocks)
{
	struct kv_buddy *buddy = kv_calloc(1, sizeof *buddy);
	uint64_t address = 0;

	buddy->blocks = blocks;
	for (unsigned k = 0; k < ORDERS && (blocks >> k) != 0; k++)
		buddy->free[k] = kv_calloc((blocks >> k) / 64 + 1, sizeof(uint64_t));
	for (unsigned k = ORDERS; k-- > 0;)
		if (blocks >> k & 1) {
			set_free(buddy, k, address >> k);
			address += UINT64_C(1) << k;
		}
	return buddy;
}

void kv_buddy_free(struct kv_buddy *buddy)
{
	if (buddy == NULL)
		return;
	for (unsigned k = 0; k < ORDERS; k++)
		free(buddy->free[k]);
	free(buddy);
}

uint64_t kv_buddy_chunk(uint64_t blocks)
{
	return UINT64_C(1) << order_of(blocks);
}

bool kv_buddy_fits(const struct kv_buddy *buddy, uint64_t blocks)
{
	for (unsigned k = order_of(blocks); k < ORDERS; k++)
		if (buddy->count[k] != 0)
			return true;
	return false;
}

uint64_t kv_buddy_take(struct kv_buddy *buddy, uint64_t blocks)
{
	unsigned order = order_of(blocks);
	unsigned k = order;
	uint64_t index;

	while (buddy->count[k] == 0)
		k++;
	index = lowest_free(buddy, k);
	clear_free(buddy, k, index);
	for (; k > order; k--) {
		index *= 2;
		set_free(buddy, k - 1, index + 1);
	}
	return index << order;
}

void kv_buddy_give(struct kv_buddy *buddy, uint64_t address, uint64_t blocks)
{
	unsigned k = order_of(blocks);
	uint64_t index = address >> k;

	KV_ASSERT((index << k) == address, "buddy chunk of %llu blocks at %llu", (unsigned long long)blocks,
	          (unsigned long long)address);
	while (buddy->free[k + 1] != NULL && ((index / 2 + 1) << (k + 1)) <= buddy->blocks &&
	       is_free(buddy, k, index ^ 1)) {
		clear_free(buddy, k, index ^ 1);
		index /= 2;
		k++;
	}
	set_free(buddy, k, index);
}
