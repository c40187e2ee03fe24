/* A bounded memory of what is no longer there: what was stored once, and which streams prompts have had.
 *
 * Two generations of entries: when the younger is full the older is forgotten and they change places, so that at least
 * the last KV_SEEN_HORIZON entries are remembered. After the first time that happens, what is not found may have been
 * seen before the horizon. Keys are 64-bit hashes: two of n collide with probability about n^2 / 2^65.
 */
#ifndef KV_SIM_SEEN_H
#define KV_SIM_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/units.h"

#define KV_SEEN_HORIZON (1u << 18)

struct kv_seen_entry {
	uint64_t key;     /* never 0 in use */
	kv_time when;
	uint32_t extent;  /* blocks or tokens, as the caller counts */
	bool expired;     /* as the caller says, of the later time */
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

/* Remembers the later time and the larger extent for a key. */
void kv_seen_put(struct kv_seen *seen, uint64_t key, uint32_t extent, kv_time when, bool expired);

/* NULL if it is not remembered. Valid until the next put. */
const struct kv_seen_entry *kv_seen_get(const struct kv_seen *seen, uint64_t key);

#endif
