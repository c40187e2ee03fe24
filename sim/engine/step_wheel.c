#include "config.h"

#include "sim/engine/step_wheel.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/cache/content.h"

enum { BUCKETS = 4096 };

void kv_wheel_init(struct kv_wheel *wheel)
{
	memset(wheel, 0, sizeof *wheel);
	wheel->bucket = kv_calloc(BUCKETS, sizeof *wheel->bucket);
	memset(wheel->bucket, 0xff, BUCKETS * sizeof *wheel->bucket);
}

void kv_wheel_fini(struct kv_wheel *wheel)
{
	free(wheel->bucket);
	free(wheel->link);
}

void kv_wheel_cover(struct kv_wheel *wheel, uint32_t requests)
{
	wheel->link = kv_grow(wheel->link, &wheel->capacity, requests, sizeof *wheel->link);
}

void kv_wheel_add(struct kv_wheel *wheel, uint32_t request, uint64_t tick)
{
	uint32_t *bucket = &wheel->bucket[tick % BUCKETS];

	wheel->link[request] = (struct kv_wheel_link){.tick = tick, .next = *bucket, .prev = KV_NONE};
	if (*bucket != KV_NONE)
		wheel->link[*bucket].prev = request;
	*bucket = request;
}

void kv_wheel_remove(struct kv_wheel *wheel, uint32_t request)
{
	const struct kv_wheel_link *link = &wheel->link[request];

	if (link->next != KV_NONE)
		wheel->link[link->next].prev = link->prev;
	if (link->prev == KV_NONE)
		wheel->bucket[link->tick % BUCKETS] = link->next;
	else
		wheel->link[link->prev].next = link->next;
}

uint32_t kv_wheel_take(struct kv_wheel *wheel, uint64_t tick)
{
	uint32_t request = wheel->bucket[tick % BUCKETS];

	while (request != KV_NONE && wheel->link[request].tick != tick)
		request = wheel->link[request].next;
	if (request != KV_NONE)
		kv_wheel_remove(wheel, request);
	return request;
}
