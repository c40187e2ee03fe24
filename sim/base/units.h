/* Simulated time and the small integer helpers that every module shares.
 *
 * Time is a signed 64-bit count of nanoseconds since the start of the trace; there is no other clock.
 * Bytes, tokens and blocks are unsigned 64-bit. Text forms of all of them are parsed in sim/base/quantity.h.
 */
#ifndef KV_SIM_UNITS_H
#define KV_SIM_UNITS_H

#include <stdint.h>

typedef int64_t kv_time;

#define KV_TIME_NONE INT64_MIN
#define KV_TIME_MAX INT64_MAX
#define KV_SECOND ((kv_time)1000000000)
#define KV_MILLISECOND ((kv_time)1000000)

/* Time-weighted sums (block nanoseconds, token nanoseconds) overflow 64 bits on long traces. */
__extension__ typedef unsigned __int128 kv_integral;

static inline uint64_t kv_ceil_div(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

static inline uint64_t kv_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t kv_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* a - b, or 0 where that would be negative. */
static inline uint64_t kv_sub_floor(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

#endif
