#include "config.h"

#include "workloads/chains.h"

#include <stdlib.h>

#include <xxhash.h>

#include "sim/base/memory.h"

void kv_chains_init(struct kv_chains *chains, uint64_t scope, uint32_t block)
{
	*chains = (struct kv_chains){.scope = scope, .block = block};
}

void kv_chains_fini(struct kv_chains *chains)
{
	kv_ids_fini(&chains->numbers);
	free(chains->places);
	free(chains->runs);
}

static uint32_t begin_run(struct kv_chains *chains)
{
	chains->runs = kv_grow(chains->runs, &chains->run_capacity, chains->run_count + 1, sizeof *chains->runs);
	chains->runs[chains->run_count] = 0;
	return (uint32_t)chains->run_count++;
}

/* A new id lengthens the run that the prompt is at the end of, or begins one of its own. */
static struct kv_chain_place place_new(struct kv_chains *chains, const struct kv_chain_walk *walk, uint64_t id,
                                       uint32_t tokens)
{
	struct kv_chain_place place = {.tokens = tokens};

	if (walk->started && walk->last.offset + 1 == chains->runs[walk->last.run])
		place.run = walk->last.run;
	else
		place.run = begin_run(chains);
	place.offset = chains->runs[place.run]++;
	kv_ids_add(&chains->numbers, id + 1, (uint32_t)chains->count);
	chains->places = kv_grow(chains->places, &chains->capacity, chains->count + 1, sizeof *chains->places);
	chains->places[chains->count++] = place;
	return place;
}

static struct kv_chain_place see_again(struct kv_chains *chains, uint32_t number, uint32_t tokens)
{
	chains->uneven += chains->places[number].tokens != tokens;
	chains->places[number].tokens = tokens;
	return chains->places[number];
}

static uint64_t stream_of(const struct kv_chains *chains, uint32_t run)
{
	return XXH3_64bits_withSeed(&run, sizeof run, chains->scope);
}

static bool follows(const struct kv_chain_walk *walk, struct kv_chain_place place)
{
	return walk->started && walk->last.run == place.run && walk->last.offset + 1 == place.offset;
}

bool kv_chains_append(struct kv_chains *chains, struct kv_chain_walk *walk, struct kv_row *row, uint64_t id,
                      uint32_t tokens)
{
	const uint32_t *number = kv_ids_find(&chains->numbers, id + 1);
	struct kv_chain_place place =
		number != NULL ? see_again(chains, *number, tokens) : place_new(chains, walk, id, tokens);

	if (place.offset > 0 && !follows(walk, place))
		return false;
	if (place.offset > 0)
		row->segments[row->segment_count - 1].length += tokens;
	else
		kv_row_segment(row, KV_STREAM_NAMED, stream_of(chains, place.run), tokens);
	*walk = (struct kv_chain_walk){true, place};
	return true;
}
