/* The explicit request ids of a trace, to find duplicates and check references: 12 bytes an entry of an open-addressing
 * table. Ids are known by their 64-bit name hash. */
#ifndef KV_WORKLOADS_IDS_H
#define KV_WORKLOADS_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kv_ids {
	uint64_t *keys;     /* 0 = vacant */
	uint32_t *outputs;
	size_t capacity;    /* a power of two */
	size_t count;
};

/* False if the id is there already. */
bool kv_ids_add(struct kv_ids *ids, uint64_t key, uint32_t output_tokens);
/* NULL if there is none. */
const uint32_t *kv_ids_find(const struct kv_ids *ids, uint64_t key);
void kv_ids_fini(struct kv_ids *ids);

#endif
