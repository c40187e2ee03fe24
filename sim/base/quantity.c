#include "config.h"

#include "sim/base/quantity.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__extension__ typedef unsigned __int128 wide;

struct unit {
	const char *name;
	uint64_t scale;
};

#define KI (UINT64_C(1) << 10)
#define MI (UINT64_C(1) << 20)
#define GI (UINT64_C(1) << 30)
#define TI (UINT64_C(1) << 40)
#define PI (UINT64_C(1) << 50)
#define K UINT64_C(1000)
#define M UINT64_C(1000000)
#define G UINT64_C(1000000000)
#define T UINT64_C(1000000000000)
#define P UINT64_C(1000000000000000)

/* vLLM's human-readable integers: lower case counts in thousands, upper case in 1024s. */
static const struct unit count_units[] = {
	{ "", 1 }, { "k", K }, { "m", M }, { "g", G }, { "t", T }, { "K", KI }, { "M", MI }, { "G", GI }, { "T", TI },
	{ NULL, 0 }
};

static const struct unit byte_units[] = {
	{ "B", 1 }, { "kB", K }, { "KB", K }, { "MB", M }, { "GB", G }, { "TB", T }, { "PB", P },
	{ "KiB", KI }, { "MiB", MI }, { "GiB", GI }, { "TiB", TI }, { "PiB", PI }, { NULL, 0 }
};

static const struct unit time_units[] = {
	{ "ns", 1 }, { "us", K }, { "ms", M }, { "s", G }, { "min", 60 * G }, { "h", 3600 * G }, { "d", 86400 * G },
	{ NULL, 0 }
};

static const struct unit byte_rate_units[] = {
	{ "kB/s", K }, { "KB/s", K }, { "MB/s", M }, { "GB/s", G }, { "TB/s", T }, { "PB/s", P },
	{ "KiB/s", KI }, { "MiB/s", MI }, { "GiB/s", GI }, { "TiB/s", TI }, { "Mbit/s", M / 8 }, { "Gbit/s", G / 8 },
	{ "Tbit/s", T / 8 }, { NULL, 0 }
};

static const struct unit flop_rate_units[] = {
	{ "GFLOP/s", G }, { "TFLOP/s", T }, { "PFLOP/s", P }, { "GFLOPS", G }, { "TFLOPS", T }, { "PFLOPS", P },
	{ NULL, 0 }
};

static const struct unit no_units[] = { { "", 1 }, { NULL, 0 } };

/* A scanned decimal: (negative ? -1 : 1) * mantissa * 10^exponent. */
struct decimal {
	bool negative;
	wide mantissa;
	int exponent;
	const char *unit;      /* what follows the number and at most one blank */
	size_t number_length;
};

#define MANTISSA_DIGITS 23
#define EXPONENT_MAX 999

static bool scan_digits(const char **cursor, struct decimal *d, int *digits, bool fraction)
{
	const char *start = *cursor;

	for (; isdigit((unsigned char)**cursor); (*cursor)++) {
		if (d->mantissa != 0 || **cursor != '0') {
			if (++*digits > MANTISSA_DIGITS)
				return false;
			d->mantissa = d->mantissa * 10 + (wide)(**cursor - '0');
		}
		if (fraction)
			d->exponent--;
	}
	return *cursor > start;
}

/* "e" counts as an exponent only when digits follow it. */
static bool scan_exponent(const char **cursor, struct decimal *d)
{
	const char *p = *cursor;
	bool negative;
	int value = 0;

	if (*p != 'e' && *p != 'E')
		return true;
	p++;
	negative = *p == '-';
	if (*p == '-' || *p == '+')
		p++;
	if (!isdigit((unsigned char)*p))
		return true;
	for (; isdigit((unsigned char)*p); p++) {
		value = value * 10 + (*p - '0');
		if (value > EXPONENT_MAX)
			return false;
	}
	d->exponent += negative ? -value : value;
	*cursor = p;
	return true;
}

static bool scan_decimal(const char *text, struct decimal *d)
{
	const char *cursor = text;
	int digits = 0;

	memset(d, 0, sizeof *d);
	d->negative = *cursor == '-';
	if (d->negative)
		cursor++;
	if (!scan_digits(&cursor, d, &digits, false))
		return false;
	if (*cursor == '.') {
		cursor++;
		if (!scan_digits(&cursor, d, &digits, true))
			return false;
	}
	if (!scan_exponent(&cursor, d))
		return false;
	d->number_length = (size_t)(cursor - text);
	d->unit = *cursor == ' ' && cursor[1] != '\0' ? cursor + 1 : cursor;
	return true;
}

static const struct unit *find_unit(const struct unit *units, const char *name)
{
	for (; units->name != NULL; units++)
		if (strcmp(units->name, name) == 0)
			return units;
	return NULL;
}

/* mantissa * 10^exponent * scale, halves rounded up; *exact tells whether it was whole. False on overflow. */
static bool scale_decimal(const struct decimal *d, uint64_t scale, wide *out, bool *exact)
{
	wide value = d->mantissa;
	wide divisor = 1;
	int exponent = d->exponent;
	bool sticky = false;

	*exact = true;
	*out = 0;
	if (value == 0)
		return true;
	if (__builtin_mul_overflow(value, (wide)scale, &value))
		return false;
	for (; exponent > 0; exponent--)
		if (__builtin_mul_overflow(value, (wide)10, &value))
			return false;
	for (; exponent < 0; exponent++) {
		if (divisor < (wide)UINT64_MAX) {
			divisor *= 10;
		} else {
			sticky |= value % 10 != 0;
			value /= 10;
		}
	}
	*exact = !sticky && value % divisor == 0;
	*out = value / divisor + (value % divisor >= divisor - divisor / 2);
	return true;
}

/* The number's value in the given unit, as a whole number. allowed describes the form in words. */
static int parse_whole(const char *text, const struct unit *units, bool must_be_whole, const char *allowed,
                       bool *negative, wide *out, struct kv_error *err)
{
	struct decimal d;
	const struct unit *unit;
	bool exact;

	if (!scan_decimal(text, &d))
		return kv_fail(err, KV_EXIT_USAGE, "'%s' is not %s", text, allowed);
	unit = find_unit(units, d.unit);
	if (unit == NULL && !(d.mantissa == 0 && *d.unit == '\0'))
		return kv_fail(err, KV_EXIT_USAGE, "'%s' is not %s", text, allowed);
	if (!scale_decimal(&d, unit ? unit->scale : 1, out, &exact))
		*out = (wide)UINT64_MAX + 1;
	if (!exact && must_be_whole)
		return kv_fail(err, KV_EXIT_USAGE, "'%s' is not %s", text, allowed);
	*negative = d.negative && *out != 0;
	return 0;
}

int kv_parse_count(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *out, struct kv_error *err)
{
	bool negative;
	wide value;

	if (parse_whole(text, count_units, true, "a whole number", &negative, &value, err))
		return -1;
	if (negative || value < minimum || value > maximum) {
		if (maximum == UINT64_MAX && value <= maximum)
			return kv_fail(err, KV_EXIT_USAGE, "%s is out of range: at least %" PRIu64 " is allowed", text,
			               minimum);
		return kv_fail(err, KV_EXIT_USAGE, "%s is out of range: %" PRIu64 " to %" PRIu64 " is allowed", text,
		               minimum, maximum);
	}
	*out = (uint64_t)value;
	return 0;
}

int kv_parse_bytes(const char *text, bool plain, uint64_t minimum, uint64_t maximum, uint64_t *out,
                   struct kv_error *err)
{
	const char *allowed = plain ? "a size: write bytes or a number with a unit, such as 80GiB, 80GB or 512MiB" :
	                              "a size: write a number with a unit, such as 80GiB, 80GB or 512MiB";
	char low[KV_QUANTITY_MAX], high[KV_QUANTITY_MAX];
	struct decimal d;
	bool negative;
	wide value;

	if (plain && scan_decimal(text, &d) && find_unit(count_units, d.unit)) {
		if (parse_whole(text, count_units, true, allowed, &negative, &value, err))
			return -1;
	} else if (parse_whole(text, byte_units, false, allowed, &negative, &value, err)) {
		return -1;
	}
	if (negative || value < minimum || value > maximum)
		return kv_fail(err, KV_EXIT_USAGE, "%s is out of range: %s to %s is allowed", text,
		               kv_format_bytes(minimum, low), kv_format_bytes(maximum, high));
	*out = (uint64_t)value;
	return 0;
}

int kv_parse_time(const char *text, kv_time minimum, kv_time maximum, kv_time *out, struct kv_error *err)
{
	char low[KV_QUANTITY_MAX], high[KV_QUANTITY_MAX];
	bool negative;
	kv_time signed_value;
	wide value;

	if (parse_whole(text, time_units, false,
	                "a duration: write a number with a unit, such as 250ms, 1.5s, 10min or 1h", &negative, &value,
	                err))
		return -1;
	signed_value = value > (wide)KV_TIME_MAX ? KV_TIME_MAX : (kv_time)value;
	if (negative)
		signed_value = -signed_value;
	if (value > (wide)KV_TIME_MAX || signed_value < minimum || signed_value > maximum)
		return kv_fail(err, KV_EXIT_USAGE, "%s is out of range: %s to %s is allowed", text,
		               kv_format_time(minimum, low), kv_format_time(maximum, high));
	*out = signed_value;
	return 0;
}

/* Every text that gets here was scanned by scan_decimal, so strtod sees plain digits only; the program never calls
 * setlocale. */
static double decimal_value(const char *text, const struct decimal *d)
{
	char number[64];

	if (d->number_length >= sizeof number)
		return -1;
	memcpy(number, text, d->number_length);
	number[d->number_length] = '\0';
	return strtod(number, NULL);
}

static int check_double_range(const char *text, double value, double minimum, double maximum, struct kv_error *err)
{
	char low[KV_QUANTITY_MAX], high[KV_QUANTITY_MAX];

	if (value >= minimum && value <= maximum)
		return 0;
	return kv_fail(err, KV_EXIT_USAGE, "%s is out of range: %s to %s is allowed", text,
	               kv_format_double(minimum, low), kv_format_double(maximum, high));
}

int kv_parse_double(const char *text, double minimum, double maximum, double *out, struct kv_error *err)
{
	struct decimal d;
	double value;

	if (!scan_decimal(text, &d) || find_unit(no_units, d.unit) == NULL)
		return kv_fail(err, KV_EXIT_USAGE, "'%s' is not a number", text);
	value = decimal_value(text, &d);
	if (check_double_range(text, value, minimum, maximum, err))
		return -1;
	*out = value;
	return 0;
}

int kv_parse_fraction(const char *text, double minimum, double maximum, double *out, struct kv_error *err)
{
	struct decimal d;
	double value;

	if (!scan_decimal(text, &d) || (*d.unit != '\0' && strcmp(d.unit, "%") != 0))
		return kv_fail(err, KV_EXIT_USAGE, "'%s' is not a fraction: write 0.92 or 92%%", text);
	value = decimal_value(text, &d);
	if (*d.unit == '%')
		value /= 100;
	if (check_double_range(text, value, minimum, maximum, err))
		return -1;
	*out = value;
	return 0;
}

static int parse_rate(const char *text, const struct unit *units, const char *allowed, double *out,
                      struct kv_error *err)
{
	const struct unit *unit = NULL;
	struct decimal d;
	double value;

	if (scan_decimal(text, &d))
		unit = find_unit(units, d.unit);
	if (unit == NULL)
		return kv_fail(err, KV_EXIT_USAGE, "'%s' is not %s", text, allowed);
	value = decimal_value(text, &d) * (double)unit->scale;
	if (!(value > 0) || value > 1e24)
		return kv_fail(err, KV_EXIT_USAGE, "%s is out of range: it must be above zero and below 1e24 a second",
		               text);
	*out = value;
	return 0;
}

int kv_parse_byte_rate(const char *text, double *out, struct kv_error *err)
{
	return parse_rate(text, byte_rate_units,
	                  "a rate of bytes: write a number with a unit, such as 3.35TB/s, 450GB/s or 400Gbit/s", out,
	                  err);
}

int kv_parse_flop_rate(const char *text, double *out, struct kv_error *err)
{
	return parse_rate(text, flop_rate_units,
	                  "a compute rate: write a number with a unit, such as 989TFLOP/s or 4.5PFLOP/s", out, err);
}

int kv_parse_bool(const char *text, bool *out, struct kv_error *err)
{
	static const char *const words[] = { "false", "true", "no", "yes", "off", "on" };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (strcmp(text, words[i]) == 0) {
			*out = i % 2 == 1;
			return 0;
		}
	}
	return kv_fail(err, KV_EXIT_USAGE, "'%s' is neither true nor false", text);
}

/* Reads exactly width digits. */
static bool scan_field(const char **cursor, int width, int *out)
{
	*out = 0;
	for (int i = 0; i < width; i++, (*cursor)++) {
		if (!isdigit((unsigned char)**cursor))
			return false;
		*out = *out * 10 + (**cursor - '0');
	}
	return true;
}

static bool scan_literal(const char **cursor, char c)
{
	if (**cursor != c)
		return false;
	(*cursor)++;
	return true;
}

static bool scan_date_fraction(const char **cursor, kv_time *nanoseconds)
{
	kv_time scale = KV_SECOND;

	*nanoseconds = 0;
	if (!scan_literal(cursor, '.'))
		return true;
	if (!isdigit((unsigned char)**cursor))
		return false;
	for (; isdigit((unsigned char)**cursor); (*cursor)++) {
		scale /= 10;
		if (scale == 0)
			return false;
		*nanoseconds += scale * (**cursor - '0');
	}
	return true;
}

/* "Z", "+02:00", "-05:30" or nothing; seconds east of UTC. */
static bool scan_zone(const char **cursor, int *seconds)
{
	int hours, minutes, sign;

	*seconds = 0;
	if (**cursor == '\0' || scan_literal(cursor, 'Z'))
		return true;
	sign = **cursor == '-' ? -1 : 1;
	if (!scan_literal(cursor, '-') && !scan_literal(cursor, '+'))
		return false;
	if (!scan_field(cursor, 2, &hours) || !scan_literal(cursor, ':') || !scan_field(cursor, 2, &minutes))
		return false;
	*seconds = sign * (hours * 3600 + minutes * 60);
	return hours < 24 && minutes < 60;
}

static bool scan_date(const char *text, struct tm *tm, kv_time *nanoseconds, int *zone)
{
	const char *cursor = text;

	*nanoseconds = 0;
	*zone = 0;
	if (!scan_field(&cursor, 4, &tm->tm_year) || !scan_literal(&cursor, '-') ||
	    !scan_field(&cursor, 2, &tm->tm_mon) || !scan_literal(&cursor, '-') ||
	    !scan_field(&cursor, 2, &tm->tm_mday))
		return false;
	if (*cursor != '\0') {
		if (!scan_literal(&cursor, 'T') && !scan_literal(&cursor, ' '))
			return false;
		if (!scan_field(&cursor, 2, &tm->tm_hour) || !scan_literal(&cursor, ':') ||
		    !scan_field(&cursor, 2, &tm->tm_min) || !scan_literal(&cursor, ':') ||
		    !scan_field(&cursor, 2, &tm->tm_sec) || !scan_date_fraction(&cursor, nanoseconds) ||
		    !scan_zone(&cursor, zone))
			return false;
	}
	return *cursor == '\0';
}

int kv_parse_date(const char *text, kv_time *out, struct kv_error *err)
{
	struct tm given = { 0 }, check;
	kv_time nanoseconds;
	time_t seconds;
	int zone;

	if (!scan_date(text, &given, &nanoseconds, &zone))
		return kv_fail(err, KV_EXIT_USAGE, "'%s' is not a date: write 2026-08-17 or 2026-08-17T09:30:00Z",
		               text);
	if (given.tm_year < 1970 || given.tm_year > 2261)
		return kv_fail(err, KV_EXIT_USAGE, "%s is out of range: years 1970 to 2261 are allowed", text);
	given.tm_year -= 1900;
	given.tm_mon -= 1;
	check = given;
	seconds = timegm(&check);
	if (check.tm_mon != given.tm_mon || check.tm_mday != given.tm_mday || check.tm_hour != given.tm_hour ||
	    check.tm_min != given.tm_min || check.tm_sec != given.tm_sec)
		return kv_fail(err, KV_EXIT_USAGE, "'%s' is not a day and time that exist", text);
	*out = ((kv_time)seconds - zone) * KV_SECOND + nanoseconds;
	return 0;
}

const char *kv_format_bytes(uint64_t bytes, char text[KV_QUANTITY_MAX])
{
	static const struct unit binary[] = { { "TiB", TI }, { "GiB", GI }, { "MiB", MI }, { "KiB", KI }, { "B", 1 } };
	const struct unit *unit = binary;

	while (bytes % unit->scale != 0 || (bytes == 0 && unit->scale != 1))
		unit++;
	snprintf(text, KV_QUANTITY_MAX, "%" PRIu64 "%s", bytes / unit->scale, unit->name);
	return text;
}

/* Nine decimals of a whole number of units, without the zeros at the end. */
static void format_scaled(uint64_t value, uint64_t scale, const char *suffix, char *text)
{
	char fraction[16];
	size_t digits = 0;
	uint64_t rest = value % scale;

	for (uint64_t unit = scale / 10; rest != 0; unit /= 10) {
		fraction[digits++] = (char)('0' + rest / unit);
		rest %= unit;
	}
	fraction[digits] = '\0';
	snprintf(text, KV_QUANTITY_MAX - 1, "%" PRIu64 "%s%s%s", value / scale, digits ? "." : "", fraction, suffix);
}

const char *kv_format_time(kv_time time, char text[KV_QUANTITY_MAX])
{
	uint64_t value = time < 0 ? -(uint64_t)time : (uint64_t)time;
	char *start = text;

	if (time < 0)
		*start++ = '-';
	if (value >= G || value == 0)
		format_scaled(value, G, "s", start);
	else if (value >= M)
		format_scaled(value, M, "ms", start);
	else if (value >= K)
		format_scaled(value, K, "us", start);
	else
		format_scaled(value, 1, "ns", start);
	return text;
}

/* With fewer digits than these, %g would turn to exponents ("1e+02"). */
static int digits_before_point(double value)
{
	int digits = 1;

	if (fabs(value) >= 1e15)
		return 1;
	for (double rest = fabs(value); rest >= 10; rest /= 10)
		digits++;
	return digits;
}

const char *kv_format_double(double value, char text[KV_QUANTITY_MAX])
{
	for (int digits = digits_before_point(value); digits <= 17; digits++) {
		snprintf(text, KV_QUANTITY_MAX, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	return text;
}

const char *kv_format_bytes_short(int64_t bytes, char text[KV_QUANTITY_MAX])
{
	static const struct unit binary[] = { { "TiB", TI }, { "GiB", GI }, { "MiB", MI }, { "KiB", KI } };
	double size = bytes < 0 ? -(double)bytes : (double)bytes;

	for (size_t i = 0; i < sizeof binary / sizeof binary[0]; i++) {
		if (size >= (double)binary[i].scale) {
			snprintf(text, KV_QUANTITY_MAX, "%.2f %s", (double)bytes / (double)binary[i].scale,
			         binary[i].name);
			return text;
		}
	}
	snprintf(text, KV_QUANTITY_MAX, "%" PRId64 " B", bytes);
	return text;
}

const char *kv_format_date(kv_time since_1970, char text[KV_QUANTITY_MAX])
{
	kv_time nanoseconds = since_1970 % KV_SECOND;
	kv_time whole = since_1970 / KV_SECOND;
	char fraction[KV_QUANTITY_MAX];
	time_t seconds;
	struct tm tm;

	if (nanoseconds < 0) {
		nanoseconds += KV_SECOND;
		whole--;
	}
	seconds = (time_t)whole;
	gmtime_r(&seconds, &tm);
	strftime(text, KV_QUANTITY_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	format_scaled((uint64_t)nanoseconds, G, "Z", fraction);
	strncat(text, fraction + 1, KV_QUANTITY_MAX - strlen(text) - 1);
	return text;
}
