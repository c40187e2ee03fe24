/* Values of a load's description. Each function reads the key of a mapping, and leaves *out alone where the key is
 * absent; 0, or -1 with err saying file, line, key, what was found and what is allowed. */
#ifndef KV_WORKLOADS_LOAD_VALUES_H
#define KV_WORKLOADS_LOAD_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/base/yaml_tree.h"
#include "workloads/draw.h"

int kv_read_count(const struct kv_node *mapping, const char *key, uint64_t minimum, uint64_t maximum, uint64_t *out,
                  struct kv_error *err);
int kv_read_double(const struct kv_node *mapping, const char *key, double minimum, double maximum, double *out,
                   struct kv_error *err);
int kv_read_fraction(const struct kv_node *mapping, const char *key, double *out, struct kv_error *err);
int kv_read_bool(const struct kv_node *mapping, const char *key, bool *out, struct kv_error *err);
/* The index of the text among two names (ended by NULL). */
int kv_read_choice(const struct kv_node *mapping, const char *key, const char *const *names, unsigned *out,
                   struct kv_error *err);
/* A name: without blanks, ':' and '@'. It belongs to the tree. */
int kv_read_text(const struct kv_node *mapping, const char *key, const char **out, struct kv_error *err);
/* A distribution of values up to `most`, or the fallback where the key is absent. */
int kv_read_draw(const struct kv_node *mapping, const char *key, const char *fallback, double most,
                 struct kv_draw *out, struct kv_error *err);
/* The node itself, which may be NULL. */
int kv_read_time(const struct kv_node *node, kv_time *out, struct kv_error *err);

#endif
