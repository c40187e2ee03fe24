#include "config.h"

#include "sim/cache/ghosts.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

enum { NOTHING = UINT32_MAX, FIRST_SLOTS = 1024 };

void kv_ghosts_init(struct kv_ghosts *ghosts, uint64_t capacity)
{
	*ghosts = (struct kv_ghosts){
		.free_run = NOTHING, .oldest = NOTHING, .newest = NOTHING, .slots = FIRST_SLOTS, .capacity = capacity
	};
	ghosts->slot = kv_calloc(ghosts->slots, sizeof *ghosts->slot);
	memset(ghosts->slot, 0xff, ghosts->slots * sizeof *ghosts->slot);
}

void kv_ghosts_fini(struct kv_ghosts *ghosts)
{
	free(ghosts->run);
	free(ghosts->slot);
}

static uint32_t *slot_of(const struct kv_ghosts *ghosts, uint64_t key)
{
	return &ghosts->slot[(uint32_t)key & (ghosts->slots - 1)];
}

static void grow_slots(struct kv_ghosts *ghosts)
{
	free(ghosts->slot);
	ghosts->slots *= 2;
	ghosts->slot = kv_calloc(ghosts->slots, sizeof *ghosts->slot);
	memset(ghosts->slot, 0xff, ghosts->slots * sizeof *ghosts->slot);
	for (uint32_t r = ghosts->oldest; r != NOTHING; r = ghosts->run[r].newer) {
		uint32_t *slot = slot_of(ghosts, ghosts->run[r].key);

		ghosts->run[r].next = *slot;
		*slot = r;
	}
}

/* A new run, newer than `older` and older than what came after that. */
static void add(struct kv_ghosts *ghosts, struct kv_ghost_run run)
{
	uint32_t r = ghosts->free_run;
	uint32_t newer = run.older == NOTHING ? ghosts->oldest : ghosts->run[run.older].newer;

	if (ghosts->runs++ >= ghosts->slots)
		grow_slots(ghosts);
	if (r == NOTHING) {
		r = ghosts->used++;
		ghosts->run = kv_grow(ghosts->run, &ghosts->run_capacity, ghosts->used, sizeof *ghosts->run);
	} else {
		ghosts->free_run = ghosts->run[r].next;
	}
	run.newer = newer;
	run.next = *slot_of(ghosts, run.key);
	ghosts->run[r] = run;
	*slot_of(ghosts, run.key) = r;
	*(newer == NOTHING ? &ghosts->newest : &ghosts->run[newer].older) = r;
	*(run.older == NOTHING ? &ghosts->oldest : &ghosts->run[run.older].newer) = r;
}

static void drop(struct kv_ghosts *ghosts, uint32_t r)
{
	struct kv_ghost_run *run = &ghosts->run[r];
	uint32_t *link = slot_of(ghosts, run->key);

	while (*link != r)
		link = &ghosts->run[*link].next;
	*link = run->next;
	*(run->newer == NOTHING ? &ghosts->newest : &ghosts->run[run->newer].older) = run->older;
	*(run->older == NOTHING ? &ghosts->oldest : &ghosts->run[run->older].newer) = run->newer;
	run->next = ghosts->free_run;
	ghosts->free_run = r;
	ghosts->runs--;
}

/* The run with block `at`, or NOTHING with *below = where the next one below ends. */
static uint32_t find(const struct kv_ghosts *ghosts, uint64_t key, uint32_t at, uint32_t *below)
{
	*below = 0;
	for (uint32_t r = *slot_of(ghosts, key); r != NOTHING; r = ghosts->run[r].next) {
		const struct kv_ghost_run *run = &ghosts->run[r];

		if (run->key != key)
			continue;
		if (run->lo <= at && at < run->hi)
			return r;
		if (run->hi <= at && run->hi > *below)
			*below = run->hi;
	}
	return NOTHING;
}

uint32_t kv_ghosts_find(const struct kv_ghosts *ghosts, uint64_t key, uint32_t lo, uint32_t hi, uint32_t *from)
{
	uint32_t below;
	uint32_t r = find(ghosts, key, hi - 1, &below);

	if (r != NOTHING)
		below = ghosts->run[r].lo;
	*from = below > lo ? below : lo;
	return r == NOTHING ? 0 : 1 + ghosts->run[r].queue;
}

static void uncount(struct kv_ghosts *ghosts, uint32_t queue, uint32_t blocks)
{
	ghosts->blocks[queue] -= blocks;
	ghosts->total -= blocks;
}

/* Takes [lo, hi), which lies inside the run, out of it. */
static void cut_out(struct kv_ghosts *ghosts, uint32_t r, uint32_t lo, uint32_t hi)
{
	struct kv_ghost_run run = ghosts->run[r];

	uncount(ghosts, run.queue, hi - lo);
	if (run.lo == lo && run.hi == hi) {
		drop(ghosts, r);
	} else if (run.lo == lo) {
		ghosts->run[r].lo = hi;
	} else {
		ghosts->run[r].hi = lo;
		if (hi < run.hi) {
			/* The higher part is the older one. */
			ghosts->run[r].lo = hi;
			ghosts->run[r].hi = run.hi;
			add(ghosts, (struct kv_ghost_run){.key = run.key, .lo = run.lo, .hi = lo, .queue = run.queue, .older = r});
		}
	}
}

void kv_ghosts_take(struct kv_ghosts *ghosts, uint64_t key, uint32_t lo, uint32_t hi)
{
	while (hi > lo) {
		uint32_t from;

		if (kv_ghosts_find(ghosts, key, lo, hi, &from) != 0) {
			uint32_t below;

			cut_out(ghosts, find(ghosts, key, hi - 1, &below), from, hi);
		}
		hi = from;
	}
}

void kv_ghosts_put(struct kv_ghosts *ghosts, uint64_t key, uint32_t lo, uint32_t hi, uint32_t queue)
{
	struct kv_ghost_run *last;

	kv_ghosts_take(ghosts, key, lo, hi);
	last = ghosts->newest == NOTHING ? NULL : &ghosts->run[ghosts->newest];
	if (last != NULL && last->key == key && last->queue == queue && last->lo == hi)
		last->lo = lo;
	else
		add(ghosts, (struct kv_ghost_run){.key = key, .lo = lo, .hi = hi, .queue = queue, .older = ghosts->newest});
	ghosts->blocks[queue] += hi - lo;
	ghosts->total += hi - lo;
	while (ghosts->total > ghosts->capacity) {
		const struct kv_ghost_run *oldest = &ghosts->run[ghosts->oldest];
		uint64_t excess = ghosts->total - ghosts->capacity;
		uint32_t blocks = excess < oldest->hi - oldest->lo ? (uint32_t)excess : oldest->hi - oldest->lo;

		cut_out(ghosts, ghosts->oldest, oldest->hi - blocks, oldest->hi);
	}
}
