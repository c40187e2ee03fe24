/* Variants of a scenario: a name and the settings that differ. */
#ifndef KV_SIM_CLI_VARIANT_H
#define KV_SIM_CLI_VARIANT_H

#include <stddef.h>

#include "sim/base/error.h"
#include "sim/deploy/scenario.h"

#define KV_VARIANT_NAME_MAX 64

struct kv_variant {
	char name[KV_VARIANT_NAME_MAX + 1];
	struct kv_scenario scenario;
};

struct kv_variants {
	struct kv_variant *item;
	size_t count;
};

/* "NAME" or "NAME:key=value,key=value": keys are paths (policies.eviction) or the names of flags (eviction); what
 * follows a policy may be its parameters. A variant may change the engine, never the workload or where results go.
 * Errors are KV_EXIT_USAGE: bad or equal names, unknown keys, values that are not allowed. */
int kv_variants_add(struct kv_variants *variants, const struct kv_scenario *base, const char *text,
                    struct kv_error *err);
/* A YAML mapping of names, each to a mapping of scenario keys ({} = nothing differs). */
int kv_variants_read(struct kv_variants *variants, const struct kv_scenario *base, const char *path,
                     struct kv_error *err);
void kv_variants_fini(struct kv_variants *variants);

/* "policies.admission=greedy, engine.block_size=32", "" if nothing differs; free() it. */
char *kv_variant_settings(const struct kv_variant *variant);

#endif
