#include "config.h"

#include "sim/cache/ghosts.h"

#include <stdlib.h>

#include "sim/base/memory.h"

enum { NOTHING = KV_HASH_INDEX_NONE };

void kv_ghosts_init(struct kv_ghosts *ghosts, uint64_t capacity)
{
	*ghosts = (struct kv_ghosts){
		.free_run = NOTHING, .oldest = NOTHING, .newest = NOTHING, .capacity = capacity
	};
	kv_hash_index_init(&ghosts->index);
}

void kv_ghosts_fini(struct kv_ghosts *ghosts)
{
	free(ghosts->run);
	kv_hash_index_fini(&ghosts->index);
}

/* A new run, newer than `older` and older than what came after that. */
static void add(struct kv_ghosts *ghosts, struct kv_ghost_run run)
{
	uint32_t r = ghosts->free_run;
	uint32_t newer = run.older == NOTHING ? ghosts->oldest : ghosts->run[run.older].newer;

	if (r == NOTHING) {
		r = ghosts->used++;
		ghosts->run = kv_grow(ghosts->run, &ghosts->run_capacity, ghosts->used, sizeof *ghosts->run);
	} else {
		ghosts->free_run = ghosts->run[r].newer;
	}
	run.newer = newer;
	ghosts->run[r] = run;
	kv_hash_index_add(&ghosts->index, r, run.key);
	*(newer == NOTHING ? &ghosts->newest : &ghosts->run[newer].older) = r;
	*(run.older == NOTHING ? &ghosts->oldest : &ghosts->run[run.older].newer) = r;
}

static void drop(struct kv_ghosts *ghosts, uint32_t r)
{
	struct kv_ghost_run *run = &ghosts->run[r];

	kv_hash_index_remove(&ghosts->index, r);
	*(run->newer == NOTHING ? &ghosts->newest : &ghosts->run[run->newer].older) = run->older;
	*(run->older == NOTHING ? &ghosts->oldest : &ghosts->run[run->older].newer) = run->newer;
	run->newer = ghosts->free_run;
	ghosts->free_run = r;
}

/* The run with block hi - 1, or NOTHING; *from = the lowest block >= lo from which on all below hi have the same
 * answer. */
static uint32_t find(const struct kv_ghosts *ghosts, uint64_t key, uint32_t lo, uint32_t hi, uint32_t *from)
{
	const struct kv_hash_index *index = &ghosts->index;

	*from = lo;
	for (uint32_t r = kv_hash_index_first(index, key); r != NOTHING; r = kv_hash_index_next(index, r)) {
		const struct kv_ghost_run *run = &ghosts->run[r];

		if (run->lo < hi && hi <= run->hi) {
			*from = run->lo > lo ? run->lo : lo;
			return r;
		}
		if (run->hi < hi && run->hi > *from)
			*from = run->hi;
	}
	return NOTHING;
}

uint32_t kv_ghosts_find(const struct kv_ghosts *ghosts, uint64_t key, uint32_t lo, uint32_t hi, uint32_t *from)
{
	uint32_t r = find(ghosts, key, lo, hi, from);

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
			run.hi = lo;
			run.older = r;
			add(ghosts, run);
		}
	}
}

void kv_ghosts_take(struct kv_ghosts *ghosts, uint64_t key, uint32_t lo, uint32_t hi)
{
	while (hi > lo) {
		uint32_t from;
		uint32_t r = find(ghosts, key, lo, hi, &from);

		if (r != NOTHING)
			cut_out(ghosts, r, from, hi);
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
		add(ghosts,
		    (struct kv_ghost_run){.key = key, .lo = lo, .hi = hi, .queue = queue, .older = ghosts->newest});
	ghosts->blocks[queue] += hi - lo;
	ghosts->total += hi - lo;
	while (ghosts->total > ghosts->capacity) {
		const struct kv_ghost_run *oldest = &ghosts->run[ghosts->oldest];
		uint64_t excess = ghosts->total - ghosts->capacity;
		uint32_t blocks = excess < oldest->hi - oldest->lo ? (uint32_t)excess : oldest->hi - oldest->lo;

		cut_out(ghosts, ghosts->oldest, oldest->hi - blocks, oldest->hi);
	}
}
