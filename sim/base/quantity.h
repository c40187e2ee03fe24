/* Text forms of numbers with units, both ways.
 *
 * Strict: the whole text is one number and its unit, with at most one blank between them; no sign other than "-", no
 * hexadecimal, no NaN or infinity, at most 23 significant digits. Whole units (bytes, nanoseconds, counts) are computed
 * in exact decimal arithmetic; halves round up. Failures are KV_EXIT_USAGE and their text says what was found and what
 * is allowed; callers put file, line and field in front with kv_fail_in().
 */
#ifndef KV_SIM_QUANTITY_H
#define KV_SIM_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/units.h"

/* "262144", "1e6", and vLLM's short forms: k, m, g, t = powers of 1000; K, M, G, T = powers of 1024. Must be whole. */
int kv_parse_count(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *out, struct kv_error *err);

/* "80GiB", "80GB", "512MiB", "12B"; a plain number or vLLM's short forms (as in kv_parse_count) only if plain. */
int kv_parse_bytes(const char *text, bool plain, uint64_t minimum, uint64_t maximum, uint64_t *out,
                   struct kv_error *err);

/* "250ms", "1.5s", "20us", "5ns", "2min", "1h", "7d"; only zero may go without a unit. */
int kv_parse_time(const char *text, kv_time minimum, kv_time maximum, kv_time *out, struct kv_error *err);

/* "0.92", "1e-3". */
int kv_parse_double(const char *text, double minimum, double maximum, double *out, struct kv_error *err);

/* "0.92" or "92%". */
int kv_parse_fraction(const char *text, double minimum, double maximum, double *out, struct kv_error *err);

/* "3.35TB/s", "450GB/s", "64GiB/s", "400Gbit/s"; bytes per second, above zero. */
int kv_parse_byte_rate(const char *text, double *out, struct kv_error *err);

/* "989TFLOP/s", "4.5PFLOP/s"; operations per second, above zero. */
int kv_parse_flop_rate(const char *text, double *out, struct kv_error *err);

/* true, false, yes, no, on, off. */
int kv_parse_bool(const char *text, bool *out, struct kv_error *err);

/* "2026-08-17", "2026-08-17T09:30:00", with ".250", "Z" or "+02:00" behind the seconds; no zone means UTC. Years
 * 1970 to 2261. Nanoseconds since 1970. */
int kv_parse_date(const char *text, kv_time *out, struct kv_error *err);

/* Longest text that any of the writers below produces, with its end. */
#define KV_QUANTITY_MAX 40

/* Exact and readable by the parsers above: the largest unit that leaves a whole number of bytes, "1.5s". */
const char *kv_format_bytes(uint64_t bytes, char text[KV_QUANTITY_MAX]);
const char *kv_format_time(kv_time time, char text[KV_QUANTITY_MAX]);
/* The fewest digits that read back as the same number, without an exponent from 1 to 10^15. */
const char *kv_format_double(double value, char text[KV_QUANTITY_MAX]);
/* For people: two decimals, "37.25 GiB". */
const char *kv_format_bytes_short(int64_t bytes, char text[KV_QUANTITY_MAX]);
/* "2026-08-17T09:30:00Z", with a fraction where there is one. */
const char *kv_format_date(kv_time since_1970, char text[KV_QUANTITY_MAX]);

#endif
