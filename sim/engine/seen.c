#include "config.h"

#include "sim/engine/seen.h"

#include <stddef.h>
#include <stdlib.h>

#include "sim/base/memory.h"

enum { FIRST_SLOTS = 1024 };

void kv_seen_fini(struct kv_seen *seen)
{
	free(seen->young.entry);
	free(seen->old.entry);
}

/* Zero marks an empty slot. */
static uint64_t usable_key(uint64_t key)
{
	return key != 0 ? key : 1;
}

/* Where the key is or would be. */
static struct kv_seen_entry *find(const struct kv_seen_generation *g, uint64_t key)
{
	uint32_t i = (uint32_t)key & (g->slots - 1);

	while (g->entry[i].key != 0 && g->entry[i].key != key)
		i = (i + 1) & (g->slots - 1);
	return &g->entry[i];
}

static void grow(struct kv_seen_generation *g)
{
	struct kv_seen_generation bigger = {.slots = g->slots == 0 ? FIRST_SLOTS : 2 * g->slots, .used = g->used};

	bigger.entry = kv_calloc(bigger.slots, sizeof *bigger.entry);
	for (uint32_t i = 0; i < g->slots; i++)
		if (g->entry[i].key != 0)
			*find(&bigger, g->entry[i].key) = g->entry[i];
	free(g->entry);
	*g = bigger;
}

static void age(struct kv_seen *seen)
{
	seen->forgot |= seen->old.used > 0;
	free(seen->old.entry);
	seen->old = seen->young;
	seen->young = (struct kv_seen_generation){0};
}

static const struct kv_seen_entry *lookup(const struct kv_seen_generation *g, uint64_t key)
{
	const struct kv_seen_entry *entry;

	if (g->used == 0)
		return NULL;
	entry = find(g, key);
	return entry->key == key ? entry : NULL;
}

const struct kv_seen_entry *kv_seen_get(const struct kv_seen *seen, uint64_t key)
{
	const struct kv_seen_entry *entry = lookup(&seen->young, usable_key(key));

	return entry != NULL ? entry : lookup(&seen->old, usable_key(key));
}

void kv_seen_put(struct kv_seen *seen, uint64_t key, uint32_t extent)
{
	const struct kv_seen_entry *known = kv_seen_get(seen, key);
	struct kv_seen_entry merged = {.key = usable_key(key), .extent = extent};
	struct kv_seen_entry *entry;

	if (known != NULL && known->extent > extent)
		merged.extent = known->extent;
	if (seen->young.used >= KV_SEEN_HORIZON)
		age(seen);
	if (2 * seen->young.used >= seen->young.slots)
		grow(&seen->young);
	entry = find(&seen->young, merged.key);
	seen->young.used += entry->key == 0;
	*entry = merged;
}
