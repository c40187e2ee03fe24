/* Finds numbered things by a 64-bit hash: chains of numbers over a power of two of slots, doubled when there are as
 * many numbers. The owner keeps the things and compares what the hash stands for; the index owns its own memory. */
#ifndef KV_SIM_CACHE_HASH_INDEX_H
#define KV_SIM_CACHE_HASH_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define KV_HASH_INDEX_NONE UINT32_MAX

struct kv_hash_index_link {
	uint64_t hash;
	uint32_t next;                   /* of the same slot */
};

struct kv_hash_index {
	uint32_t *slot;
	uint32_t slots;
	uint32_t count;                  /* numbers in it */
	struct kv_hash_index_link *link; /* by number */
	size_t capacity;
};

void kv_hash_index_init(struct kv_hash_index *index);
void kv_hash_index_fini(struct kv_hash_index *index);

/* Room for one more number. */
void kv_hash_index_grow(struct kv_hash_index *index, uint32_t number);

static inline uint32_t *kv_hash_index_slot(const struct kv_hash_index *index, uint64_t hash)
{
	return &index->slot[(uint32_t)hash & (index->slots - 1)];
}

/* The number is not in the index. */
static inline void kv_hash_index_add(struct kv_hash_index *index, uint32_t number, uint64_t hash)
{
	uint32_t *slot;

	if (index->count >= index->slots || number >= index->capacity)
		kv_hash_index_grow(index, number);
	slot = kv_hash_index_slot(index, hash);
	index->link[number] = (struct kv_hash_index_link){.hash = hash, .next = *slot};
	*slot = number;
	index->count++;
}

/* The number is in the index. */
static inline void kv_hash_index_remove(struct kv_hash_index *index, uint32_t number)
{
	uint32_t *link = kv_hash_index_slot(index, index->link[number].hash);

	while (*link != number)
		link = &index->link[*link].next;
	*link = index->link[number].next;
	index->count--;
}

static inline uint32_t kv_hash_index_with(const struct kv_hash_index *index, uint32_t number, uint64_t hash)
{
	while (number != KV_HASH_INDEX_NONE && index->link[number].hash != hash)
		number = index->link[number].next;
	return number;
}

/* The numbers with a hash, in no order: the first and those that follow, then KV_HASH_INDEX_NONE. */
static inline uint32_t kv_hash_index_first(const struct kv_hash_index *index, uint64_t hash)
{
	return kv_hash_index_with(index, *kv_hash_index_slot(index, hash), hash);
}

static inline uint32_t kv_hash_index_next(const struct kv_hash_index *index, uint32_t number)
{
	const struct kv_hash_index_link *link = &index->link[number];

	return kv_hash_index_with(index, link->next, link->hash);
}

#endif
