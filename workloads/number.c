#include "config.h"

#include "workloads/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t power_of_ten[] = {
	1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000,
	1000000000000, 10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000,
	1000000000000000000
};

enum { MAX_POWER = 18, MAX_EXPONENT = 400 };

struct decimal {
	uint64_t mantissa;  /* below 10^19 */
	int exponent;
	bool any_digit, inexact;
};

static inline bool is_digit(char c)
{
	return (unsigned char)(c - '0') <= 9;
}

/* Digits beyond the nineteenth no longer change a rounded result that fits 64 bits, except that they exist. */
static inline void add_digit(struct decimal *d, char c, int step)
{
	if (d->mantissa < (uint64_t)power_of_ten[MAX_POWER]) {
		d->mantissa = d->mantissa * 10 + (uint64_t)(c - '0');
		d->exponent -= step;
	} else {
		d->inexact |= c != '0';
		d->exponent += 1 - step;
	}
	d->any_digit = true;
}

static const char *scan_mantissa(struct decimal *d, const char *at, const char *end)
{
	while (at < end && is_digit(*at))
		add_digit(d, *at++, 0);
	if (at < end && *at == '.')
		for (at++; at < end && is_digit(*at); at++)
			add_digit(d, *at, 1);
	return at;
}

/* NULL if what follows the e is no number. */
static const char *scan_exponent(struct decimal *d, const char *at, const char *end)
{
	int sign = 1;
	int exponent = 0;

	if (at < end && (*at == '+' || *at == '-'))
		sign = *at++ == '-' ? -1 : 1;
	if (at == end)
		return NULL;
	for (; at < end && is_digit(*at); at++)
		if (exponent < MAX_EXPONENT)
			exponent = exponent * 10 + (*at - '0');
	d->exponent += sign * exponent;
	return at;
}

static enum kv_number scale(const struct decimal *d, unsigned digits, int64_t maximum, int64_t *value)
{
	int power = d->exponent + (int)digits;
	uint64_t divisor, quotient, rest;

	if (d->mantissa == 0)
		quotient = 0;
	else if (power >= 0) {
		if (power > MAX_POWER || __builtin_mul_overflow(d->mantissa, (uint64_t)power_of_ten[power], &quotient))
			return KV_NUMBER_TOO_LARGE;
		if (digits == 0 && d->inexact)
			return KV_NUMBER_TOO_LARGE;
	} else {
		divisor = power < -MAX_POWER ? 0 : (uint64_t)power_of_ten[-power];
		quotient = divisor ? d->mantissa / divisor : 0;
		rest = divisor ? d->mantissa % divisor : d->mantissa;
		if (digits == 0 && (rest != 0 || d->inexact))
			return KV_NUMBER_FRACTION;
		quotient += divisor != 0 && rest >= divisor - divisor / 2;
	}
	if (quotient > (uint64_t)maximum)
		return KV_NUMBER_TOO_LARGE;
	*value = (int64_t)quotient;
	return KV_NUMBER_OK;
}

enum kv_number kv_number_parse(const char *text, size_t length, unsigned digits, int64_t maximum, int64_t *value)
{
	struct decimal d = {0};
	const char *at = text;
	const char *end = text + length;
	bool negative = false;

	if (at < end && (*at == '-' || *at == '+'))
		negative = *at++ == '-';
	at = scan_mantissa(&d, at, end);
	if (!d.any_digit)
		return KV_NUMBER_MALFORMED;
	if (at < end && (*at == 'e' || *at == 'E'))
		at = scan_exponent(&d, at + 1, end);
	if (at != end)
		return KV_NUMBER_MALFORMED;
	if (negative && d.mantissa != 0)
		return KV_NUMBER_NEGATIVE;
	return scale(&d, digits, maximum, value);
}

/* Where nine decimals of the value fit a double with room to spare, the nearest integer is what the text said. */
static bool is_plainly_exact(double number, unsigned digits)
{
	return digits <= 9 && number < 1e6;
}

enum kv_number kv_number_from_double(double number, unsigned digits, int64_t maximum, int64_t *value)
{
	char text[40];
	int64_t rounded;

	if (!isfinite(number))
		return KV_NUMBER_MALFORMED;
	if (number < 0)
		return KV_NUMBER_NEGATIVE;
	if (digits > 0 && is_plainly_exact(number, digits)) {
		rounded = llrint(number * (double)power_of_ten[digits]);
		if (rounded > maximum)
			return KV_NUMBER_TOO_LARGE;
		*value = rounded;
		return KV_NUMBER_OK;
	}
	for (int precision = 15; precision <= 17; precision++) {
		snprintf(text, sizeof text, "%.*g", precision, number);
		if (strtod(text, NULL) == number)
			break;
	}
	return kv_number_parse(text, strlen(text), digits, maximum, value);
}
