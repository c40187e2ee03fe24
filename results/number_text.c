#include "config.h"

#include "results/number_text.h"

#include <math.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/quantity.h"

static const char digit_pairs[] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
	"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
	"8081828384858687888990919293949596979899";

static const uint64_t powers_of_ten[] = {
	1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u, 1000000000u, 10000000000u,
	100000000000u, 1000000000000u, 10000000000000u, 100000000000000u, 1000000000000000u, 10000000000000000u,
	100000000000000000u, 1000000000000000000u, 10000000000000000000u
};

/* Writes the last `digits` digits of value, zeros in front included, at p. */
static void put_digits(char *p, uint64_t value, unsigned digits)
{
	char *end = p + digits;

	while (digits >= 2) {
		end -= 2;
		memcpy(end, digit_pairs + 2 * (value % 100), 2);
		value /= 100;
		digits -= 2;
	}
	if (digits == 1)
		*p = (char)('0' + value % 10);
}

static unsigned count_digits(uint64_t value)
{
	unsigned digits = 1;

	while (digits < 20 && value >= powers_of_ten[digits])
		digits++;
	return digits;
}

char *kv_text_u64(char *p, uint64_t value)
{
	unsigned digits = count_digits(value);

	put_digits(p, value, digits);
	return p + digits;
}

char *kv_text_i64(char *p, int64_t value)
{
	if (value >= 0)
		return kv_text_u64(p, (uint64_t)value);
	*p = '-';
	return kv_text_u64(p + 1, -(uint64_t)value);
}

/* ".5" for a fraction of 500000000 with 9 digits, nothing for 0. */
static char *put_fraction(char *p, uint64_t fraction, unsigned digits)
{
	char *end = p + 1 + digits;

	if (fraction == 0)
		return p;
	*p = '.';
	put_digits(p + 1, fraction, digits);
	while (end[-1] == '0')
		end--;
	return end;
}

char *kv_text_fixed(char *p, uint64_t value, unsigned digits)
{
	p = kv_text_u64(p, value / powers_of_ten[digits]);
	return put_fraction(p, value % powers_of_ten[digits], digits);
}

/* kv_text_fixed with 9 digits; the divisor known when compiling is what makes result files cheap. */
static char *put_nanoseconds(char *p, uint64_t ns)
{
	p = kv_text_u64(p, ns / (uint64_t)KV_SECOND);
	return put_fraction(p, ns % (uint64_t)KV_SECOND, 9);
}

char *kv_text_seconds(char *p, kv_time time)
{
	if (time >= 0)
		return put_nanoseconds(p, (uint64_t)time);
	*p = '-';
	return put_nanoseconds(p + 1, -(uint64_t)time);
}

static char *put_u128(char *p, kv_integral value)
{
	const uint64_t base = powers_of_ten[19];
	kv_integral high = value / base;

	if (high == 0)
		return kv_text_u64(p, (uint64_t)value);
	p = put_u128(p, high);
	put_digits(p, (uint64_t)(value % base), 19);
	return p + 19;
}

char *kv_text_integral(char *p, kv_integral value)
{
	if (value <= UINT64_MAX)
		return put_nanoseconds(p, (uint64_t)value);
	p = put_u128(p, value / (uint64_t)KV_SECOND);
	return put_fraction(p, (uint64_t)(value % (uint64_t)KV_SECOND), 9);
}

char *kv_text_ratio(char *p, kv_integral numerator, kv_integral denominator, unsigned digits)
{
	kv_integral scale = powers_of_ten[digits];
	kv_integral whole = numerator / denominator;
	kv_integral rest = numerator % denominator;

	if (rest == 0 && whole <= UINT64_MAX)
		return kv_text_u64(p, (uint64_t)whole);
	/* Keeps rest * scale below 2^128; the digits that are lost lie far behind the last one printed. */
	while (rest > ~(kv_integral)0 / (4 * scale)) {
		rest >>= 1;
		denominator >>= 1;
	}
	rest = (rest * scale + denominator / 2) / denominator;
	if (rest >= scale) {
		whole++;
		rest -= scale;
	}
	p = put_u128(p, whole);
	return put_fraction(p, (uint64_t)rest, digits);
}

int kv_decimals(double value, int least)
{
	const int most = 9, significant = 3;
	double magnitude = fabs(value);
	int decimals;

	if (magnitude == 0 || magnitude >= 1)
		return least;
	decimals = significant - 1 - (int)floor(log10(magnitude));
	return decimals < least ? least : decimals > most ? most : decimals;
}

char *kv_text_double(char *p, double value)
{
	char text[KV_QUANTITY_MAX];
	size_t length;

	KV_ASSERT(isfinite(value), "a number to be written is not finite");
	kv_format_double(value, text);
	length = strlen(text);
	memcpy(p, text, length);
	p += length;
	if (strpbrk(text, ".e") == NULL) {
		memcpy(p, ".0", 2);
		p += 2;
	}
	return p;
}
