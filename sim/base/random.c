#include "config.h"

#include "sim/base/random.h"

#include <string.h>

#include <xxhash.h>

gsl_rng *kv_random_create(uint64_t seed, uint64_t replicate, const char *name)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	unsigned char key[16];

	for (int i = 0; i < 8; i++) {
		key[i] = (unsigned char)(seed >> 8 * i);
		key[8 + i] = (unsigned char)(replicate >> 8 * i);
	}
	gsl_rng_set(rng, XXH3_64bits_withSeed(name, strlen(name), XXH3_64bits(key, sizeof key)));
	return rng;
}
