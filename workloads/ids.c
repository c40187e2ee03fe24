#include "config.h"

#include "workloads/ids.h"

#include <stdlib.h>

#include "sim/base/memory.h"

enum { FIRST_CAPACITY = 1024 };

/* 0 marks a vacant slot. */
static uint64_t stored(uint64_t key)
{
	return key ? key : 1;
}

/* The slot of the key, or the vacant one where it belongs. */
static size_t find_slot(const struct kv_ids *ids, uint64_t key)
{
	size_t at = key & (ids->capacity - 1);

	while (ids->keys[at] != 0 && ids->keys[at] != key)
		at = (at + 1) & (ids->capacity - 1);
	return at;
}

static void enlarge(struct kv_ids *ids)
{
	struct kv_ids old = *ids;

	ids->capacity = old.capacity ? old.capacity * 2 : FIRST_CAPACITY;
	ids->keys = kv_calloc(ids->capacity, sizeof *ids->keys);
	ids->values = kv_calloc(ids->capacity, sizeof *ids->values);
	for (size_t i = 0; i < old.capacity; i++) {
		size_t at;

		if (old.keys[i] == 0)
			continue;
		at = find_slot(ids, old.keys[i]);
		ids->keys[at] = old.keys[i];
		ids->values[at] = old.values[i];
	}
	kv_ids_fini(&old);
}

bool kv_ids_add(struct kv_ids *ids, uint64_t key, uint32_t value)
{
	size_t at;

	if (ids->count >= ids->capacity - ids->capacity / 4)
		enlarge(ids);
	at = find_slot(ids, stored(key));
	if (ids->keys[at] != 0)
		return false;
	ids->keys[at] = stored(key);
	ids->values[at] = value;
	ids->count++;
	return true;
}

uint32_t *kv_ids_find(const struct kv_ids *ids, uint64_t key)
{
	size_t at;

	if (ids->capacity == 0)
		return NULL;
	at = find_slot(ids, stored(key));
	return ids->keys[at] != 0 ? &ids->values[at] : NULL;
}

void kv_ids_fini(struct kv_ids *ids)
{
	free(ids->keys);
	free(ids->values);
	*ids = (struct kv_ids){0};
}
