/* Small values by 64-bit keys, such as what is remembered of requests by the hash of their ids: an open-addressing
 * table of 12 bytes an entry. The keys 0 and 1 are one: hashes do not mind, others add one first. */
#ifndef KV_WORKLOADS_IDS_H
#define KV_WORKLOADS_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kv_ids {
	uint64_t *keys;     /* 0 = vacant */
	uint32_t *values;
	size_t capacity;    /* a power of two */
	size_t count;
};

/* False if the id is there already. */
bool kv_ids_add(struct kv_ids *ids, uint64_t key, uint32_t value);
/* The value, which may be changed; NULL if there is none. */
uint32_t *kv_ids_find(const struct kv_ids *ids, uint64_t key);
void kv_ids_fini(struct kv_ids *ids);

#endif
