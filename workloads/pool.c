#include "config.h"

#include "workloads/pool.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/request.h"

void kv_pool_init(struct kv_pool *pool, size_t count, double popularity, const struct kv_draw *tokens, gsl_rng *rng)
{
	double sum = 0;

	*pool = (struct kv_pool){.count = count};
	pool->cumulative = kv_calloc(count, sizeof *pool->cumulative);
	for (size_t i = 0; i < count; i++)
		pool->cumulative[i] = sum += pow((double)(i + 1), -popularity);
	for (size_t i = 0; i < count; i++)
		pool->cumulative[i] /= sum;
	if (tokens == NULL)
		return;
	pool->tokens = kv_calloc(count, sizeof *pool->tokens);
	for (size_t i = 0; i < count; i++)
		pool->tokens[i] = kv_draw_whole(kv_draw_next(tokens, rng), 1, KV_TOKENS_MAX);
}

void kv_pool_fini(struct kv_pool *pool)
{
	free(pool->tokens);
	free(pool->cumulative);
}

size_t kv_pool_choose(const struct kv_pool *pool, gsl_rng *rng)
{
	return kv_draw_place(pool->cumulative, pool->count, gsl_rng_uniform(rng));
}

static bool has(const size_t *items, size_t count, size_t item)
{
	for (size_t i = 0; i < count; i++)
		if (items[i] == item)
			return true;
	return false;
}

/* An item that has been chosen already gives way to the next one that has not, so that each choice takes one number. */
size_t kv_pool_choose_some(const struct kv_pool *pool, gsl_rng *rng, size_t *items, size_t some)
{
	size_t count = some < pool->count ? some : pool->count;

	for (size_t i = 0; i < count; i++) {
		size_t item = kv_pool_choose(pool, rng);

		while (has(items, i, item))
			item = (item + 1) % pool->count;
		items[i] = item;
	}
	return count;
}
