/* Random sources. Each has a generator of its own, seeded from the master seed, the replicate and the source's name, so
 * that drawing more from one changes nothing in the others. Nothing is seeded from the clock or the environment. */
#ifndef KV_SIM_RANDOM_H
#define KV_SIM_RANDOM_H

#include <stdint.h>

#include <gsl/gsl_rng.h>

/* A Mersenne twister; to be released with gsl_rng_free(). */
gsl_rng *kv_random_create(uint64_t seed, uint64_t replicate, const char *name);

#endif
