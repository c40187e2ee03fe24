/* Numbers as text, exactly and fast: result files are mostly numbers, and printf costs more than a simulated step.
 *
 * Every function but the last writes at `p`, without a terminating NUL, and returns the end. Room: KV_NUMBER_TEXT_MAX
 * bytes. All of them but kv_text_double work on integers, so nothing is rounded that does not say so; trailing zeros of
 * a fraction are left out ("12.5", "3", "0").
 */
#ifndef KV_RESULTS_NUMBER_TEXT_H
#define KV_RESULTS_NUMBER_TEXT_H

#include <stdint.h>

#include "sim/base/units.h"

#define KV_NUMBER_TEXT_MAX 64

char *kv_text_u64(char *p, uint64_t value);
char *kv_text_i64(char *p, int64_t value);

/* value / 10^digits, exactly; digits at most 19. */
char *kv_text_fixed(char *p, uint64_t value, unsigned digits);

/* Nanoseconds as seconds, exactly. */
char *kv_text_seconds(char *p, kv_time time);

/* Unit nanoseconds as unit seconds (block-seconds), exactly. */
char *kv_text_integral(char *p, kv_integral value);

/* numerator / denominator, rounded half up to `digits` decimals (at most 9). denominator > 0. */
char *kv_text_ratio(char *p, kv_integral numerator, kv_integral denominator, unsigned digits);

/* The fewest digits that read back as the same double, always with a point or an exponent ("2.0"). The value must be
 * finite. */
char *kv_text_double(char *p, double value);

/* Decimals for printf that show three significant digits of a small value: `least` to 9. */
int kv_decimals(double value, int least);

#endif
