/* A bounded memory of what prompts have had: streams, and content under other keys.
 *
 * Two generations of entries: when the younger is full the older is forgotten and they change places, so that at least
 * the last KV_SEEN_HORIZON entries are remembered. After the first time that happens, what is not found may have been
 * seen before the horizon. Keys are 64-bit hashes: two of n collide with probability about n^2 / 2^65.
 */
#ifndef KV_SIM_SEEN_H
#define KV_SIM_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#define KV_SEEN_HORIZON (1u << 18)

struct kv_seen_entry {
	uint64_t key;     /* never 0 in use */
	uint32_t extent;  /* tokens */
};

struct kv_seen_generation {
	struct kv_seen_entry *entry;  /* open addressing, linear probing */
	uint32_t slots;               /* a power of two, or 0 */
	uint32_t used;
};

struct kv_seen {
	struct kv_seen_generation young, old;
	bool forgot;                  /* something was forgotten */
};

void kv_seen_fini(struct kv_seen *seen);

/* Remembers the largest extent of a key. */
void kv_seen_put(struct kv_seen *seen, uint64_t key, uint32_t extent);

/* NULL if it is not remembered. Valid until the next put. */
const struct kv_seen_entry *kv_seen_get(const struct kv_seen *seen, uint64_t key);

#endif
