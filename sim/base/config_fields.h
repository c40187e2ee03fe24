/* Typed fields of a JSON object, each with its range; the first failure sticks and the rest returns fallbacks, so that
 * a reader lists its fields without checking after every one.
 *
 * `names` may hold alternatives, "n_layer|num_hidden_layers": the first that is there counts. A field that is null
 * counts as missing. Failures are KV_EXIT_DATA and name the file, the field, what was found and what is allowed.
 */
#ifndef KV_SIM_CONFIG_FIELDS_H
#define KV_SIM_CONFIG_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"

struct kv_fields {
	const char *label;  /* file name, for errors */
	json_t *object;
	json_t *outer;      /* looked at where object lacks a field; may be NULL */
	struct kv_error *err;
	bool failed;
};

#define KV_FIELD_REQUIRED UINT32_MAX

/* NULL if missing or null. */
json_t *kv_field(const struct kv_fields *f, const char *names);
/* The same, and moves *names to the alternative that is there. */
json_t *kv_field_found(const struct kv_fields *f, const char **names);
uint32_t kv_field_count(struct kv_fields *f, const char *names, uint32_t minimum, uint32_t maximum, uint32_t fallback);
bool kv_field_bool(struct kv_fields *f, const char *names, bool fallback);
/* Strings live as long as the object. */
const char *kv_field_text(struct kv_fields *f, const char *names, const char *fallback);
/* A list, or NULL if missing; a failure unless it has `size` elements (any number if size is 0). */
json_t *kv_field_list(struct kv_fields *f, const char *names, size_t size);

/* "LABEL: field "NAMES" ...". Only the first failure is kept. */
void kv_field_fail(struct kv_fields *f, const char *names, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
