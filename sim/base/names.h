/* Names that users type, and what to tell them about one that does not exist. */
#ifndef KV_SIM_NAMES_H
#define KV_SIM_NAMES_H

#include <stddef.h>

#include "sim/base/error.h"

/* The closest of the given names by edit distance (insert, delete, change or swap of neighbours; letter case and "-"
 * against "_" count nothing), or NULL if none is near enough to be a likely slip. Ties: the first. */
const char *kv_nearest_name(const char *name, const char *const *names, size_t count);

/* "unknown WHAT 'name': did you mean 'x'?" where one is near, and the whole list otherwise. */
int kv_fail_unknown(struct kv_error *err, enum kv_exit status, const char *what, const char *name,
                    const char *const *names, size_t count);

#endif
