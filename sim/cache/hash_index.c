#include "config.h"

#include "sim/cache/hash_index.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

enum { FIRST_SLOTS = 1024 };

static void make_slots(struct kv_hash_index *index, uint32_t slots)
{
	index->slots = slots;
	index->slot = kv_calloc(slots, sizeof *index->slot);
	memset(index->slot, 0xff, slots * sizeof *index->slot);
}

void kv_hash_index_init(struct kv_hash_index *index)
{
	*index = (struct kv_hash_index){0};
	make_slots(index, FIRST_SLOTS);
}

void kv_hash_index_fini(struct kv_hash_index *index)
{
	free(index->slot);
	free(index->link);
}

/* Chains all numbers anew, over twice as many slots. */
static void double_slots(struct kv_hash_index *index)
{
	uint32_t *old = index->slot;
	uint32_t slots = index->slots;

	make_slots(index, 2 * slots);
	for (uint32_t i = 0; i < slots; i++)
		for (uint32_t n = old[i], next; n != KV_HASH_INDEX_NONE; n = next) {
			uint32_t *slot = kv_hash_index_slot(index, index->link[n].hash);

			next = index->link[n].next;
			index->link[n].next = *slot;
			*slot = n;
		}
	free(old);
}

void kv_hash_index_grow(struct kv_hash_index *index, uint32_t number)
{
	if (index->count >= index->slots)
		double_slots(index);
	index->link = kv_grow(index->link, &index->capacity, (size_t)number + 1, sizeof *index->link);
}
