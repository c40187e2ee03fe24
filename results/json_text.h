/* JSON written as it comes: objects whose numbers are exact text and whose arrays may have a million elements, for
 * which a tree would cost more than the run. Strings and whole values are serialised by jansson. */
#ifndef KV_RESULTS_JSON_TEXT_H
#define KV_RESULTS_JSON_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "results/output_file.h"
#include "sim/base/units.h"

struct kv_json {
	struct kv_output *out;
	unsigned depth;
	unsigned inlined;  /* depth from which all stands on one line; 0 = none */
	unsigned rows;     /* depth of an array whose elements are objects of one line; 0 = none */
	bool empty;        /* nothing yet in the innermost container */
};

/* The document is one object. */
void kv_json_start(struct kv_json *json, struct kv_output *out);
void kv_json_finish(struct kv_json *json);

/* Members of the innermost container; key is NULL inside arrays. Keys are plain ASCII without quotes. */
void kv_json_begin_object(struct kv_json *json, const char *key);
void kv_json_begin_array(struct kv_json *json, const char *key);  /* numbers and texts stand on one line */
void kv_json_begin_rows(struct kv_json *json, const char *key);   /* an array of objects, each on a line */
void kv_json_end_object(struct kv_json *json);
void kv_json_end_array(struct kv_json *json);

void kv_json_u64(struct kv_json *json, const char *key, uint64_t value);
void kv_json_i64(struct kv_json *json, const char *key, int64_t value);
void kv_json_double(struct kv_json *json, const char *key, double value);      /* null if not finite */
void kv_json_seconds(struct kv_json *json, const char *key, kv_time time);     /* exact, always with a point */
void kv_json_bool(struct kv_json *json, const char *key, bool value);
void kv_json_null(struct kv_json *json, const char *key);
/* Rounded to three decimals. */
void kv_json_ratio(struct kv_json *json, const char *key, kv_integral numerator, kv_integral denominator);
void kv_json_string(struct kv_json *json, const char *key, const char *text);
void kv_json_value(struct kv_json *json, const char *key, const json_t *value);

/* A string for a tree: NULL is null, and as files and names may hold anything, bytes of invalid UTF-8 become '?'. */
json_t *kv_json_text(const char *text);

#endif
