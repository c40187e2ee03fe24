/* Numbers of traces, read exactly: decimal text becomes an integer count of some power of ten without passing through a
 * double, so that 0.1 s is 100,000,000 ns. */
#ifndef KV_WORKLOADS_NUMBER_H
#define KV_WORKLOADS_NUMBER_H

#include <stddef.h>
#include <stdint.h>

enum kv_number {
	KV_NUMBER_OK,
	KV_NUMBER_MALFORMED,  /* no number, or something after it; NaN and infinity too */
	KV_NUMBER_NEGATIVE,
	KV_NUMBER_TOO_LARGE,  /* more than `maximum` */
	KV_NUMBER_FRACTION    /* a fraction where `digits` is 0 */
};

/* text = [+-]digits[.digits][e[+-]digits], as value * 10^digits (0 to 18), at most maximum. Digits beyond that are
 * rounded to nearest, halves up; with digits = 0 a fraction must be zero. -0 is 0. On failure *value is untouched. */
enum kv_number kv_number_parse(const char *text, size_t length, unsigned digits, int64_t maximum, int64_t *value);

/* The same for a double that was read from such text: exact where the text had at most nine digits after the point and
 * the value is below a million; beyond that the shortest text that reads back as this double is taken. */
enum kv_number kv_number_from_double(double number, unsigned digits, int64_t maximum, int64_t *value);

#endif
