/* Model, hardware and engine profiles: data files under sim/profiles/KIND/, compiled into the library as text.
 *
 * Adding one is adding a file there and its name to sim/profiles/local.mk. The name is the file's without extension.
 */
#ifndef KV_SIM_PROFILES_H
#define KV_SIM_PROFILES_H

#include "sim/base/error.h"

struct kv_profile {
	const char *kind;  /* "models", "hardware", "engines" or "presets" */
	const char *name;
	const char *text;  /* JSON or YAML */
};

/* All of them, by kind, then by name; ended by NULLs. Generated. */
extern const struct kv_profile kv_profiles[];

/* The profile of that kind after `previous` (NULL = the first); NULL when there is none left. */
const struct kv_profile *kv_profile_next(const char *kind, const struct kv_profile *previous);

/* The text of an exact name, or NULL. */
const char *kv_profile_text(const char *kind, const char *name);

/* "preset:NAME" stands for a scenario that is compiled in, wherever a scenario or a trace is named: 1 = *text is set, 0
 * = the path has another form, -1 = err filled, which lists the presets. */
int kv_preset_find(const char *path, const char **text, struct kv_error *err);

#endif
