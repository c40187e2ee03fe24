/* Fields of CSV rows. Each writes at `p` and returns the end, the comma behind the field included. */
#ifndef KV_RESULTS_CSV_TEXT_H
#define KV_RESULTS_CSV_TEXT_H

#include <stdint.h>

#include "results/number_text.h"
#include "results/output_file.h"
#include "sim/base/units.h"

/* Texts are written straight to the output, quoted where CSV needs it: they may be long. The comma is not included. */
void kv_csv_text(struct kv_output *out, const char *text);
/* A request's id, or "r" and its index if it has none. */
void kv_csv_request_id(struct kv_output *out, const char *id, uint64_t index);

static inline char *kv_csv_u64(char *p, uint64_t value)
{
	p = kv_text_u64(p, value);
	*p++ = ',';
	return p;
}

/* Empty for KV_TIME_NONE. */
static inline char *kv_csv_seconds(char *p, kv_time time)
{
	if (time != KV_TIME_NONE)
		p = kv_text_seconds(p, time);
	*p++ = ',';
	return p;
}

static inline char *kv_csv_integral(char *p, kv_integral value)
{
	p = kv_text_integral(p, value);
	*p++ = ',';
	return p;
}

/* Rounded to six decimals. */
static inline char *kv_csv_ratio(char *p, kv_integral numerator, kv_integral denominator)
{
	p = kv_text_ratio(p, numerator, denominator, 6);
	*p++ = ',';
	return p;
}

/* Replaces the comma of the last field. */
static inline char *kv_csv_end_row(char *p)
{
	p[-1] = '\n';
	return p;
}

#endif
