/* A pool of content of fixed lengths, from which items are chosen by popularity: documents, chunks, examples, and,
 * without lengths, tenants and adapters. */
#ifndef KV_WORKLOADS_POOL_H
#define KV_WORKLOADS_POOL_H

#include <stddef.h>
#include <stdint.h>

#include <gsl/gsl_rng.h>

#include "workloads/draw.h"

struct kv_pool {
	size_t count;            /* 0 = there is no such pool */
	uint32_t *tokens;        /* of each item; NULL = none have */
	double *cumulative;      /* weights 1/k^popularity, summed up and scaled to 1 */
};

/* tokens may be NULL. */
void kv_pool_init(struct kv_pool *pool, size_t count, double popularity, const struct kv_draw *tokens, gsl_rng *rng);
void kv_pool_fini(struct kv_pool *pool);

size_t kv_pool_choose(const struct kv_pool *pool, gsl_rng *rng);
/* Chooses that many different items, the pool's count at most, in order of choice; returns how many. */
size_t kv_pool_choose_some(const struct kv_pool *pool, gsl_rng *rng, size_t *items, size_t some);

#endif
