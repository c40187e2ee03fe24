#include "config.h"

#include "workloads/block_watch.h"

#include <stdlib.h>

#include "sim/base/memory.h"

struct kv_block_sight {
	uint64_t id;
	uint64_t before;   /* id of the block that it stood behind, plus 1; 0 = at the head of a prompt */
	uint32_t length;   /* 0 = vacant */
};

enum { SIGHTS = 1 << 20 };

static void see(struct kv_block_watch *watch, uint64_t id, uint64_t before, uint32_t length)
{
	struct kv_block_sight *sight = &watch->sights[id & (SIGHTS - 1)];

	if (sight->length != 0 && sight->id == id) {
		watch->uneven += sight->length != length;
		watch->misplaced += sight->before != before;
	}
	*sight = (struct kv_block_sight){.id = id, .before = before, .length = length};
}

void kv_block_watch_row(struct kv_block_watch *watch, const struct kv_row *row)
{
	uint64_t before = 0;

	for (size_t i = 0; i < row->segment_count && row->segments[i].kind == KV_STREAM_BLOCK; i++) {
		if (watch->sights == NULL)
			watch->sights = kv_calloc(SIGHTS, sizeof *watch->sights);
		see(watch, row->segments[i].stream, before, row->segments[i].length);
		before = row->segments[i].stream + 1;
	}
}

void kv_block_watch_fini(struct kv_block_watch *watch)
{
	free(watch->sights);
}
