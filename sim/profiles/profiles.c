#include "config.h"

#include "sim/profiles/profiles.h"

#include <stddef.h>
#include <string.h>

#include "sim/base/names.h"

const struct kv_profile *kv_profile_next(const char *kind, const struct kv_profile *previous)
{
	for (const struct kv_profile *p = previous ? previous + 1 : kv_profiles; p->kind; p++)
		if (!strcmp(p->kind, kind))
			return p;
	return NULL;
}

const char *kv_profile_text(const char *kind, const char *name)
{
	for (const struct kv_profile *p = kv_profile_next(kind, NULL); p; p = kv_profile_next(kind, p))
		if (!strcmp(p->name, name))
			return p->text;
	return NULL;
}

enum { NAMES_MAX = 32 };

int kv_preset_find(const char *path, const char **text, struct kv_error *err)
{
	const char *names[NAMES_MAX];
	size_t count = 0;

	if (strncmp(path, "preset:", 7) != 0)
		return 0;
	*text = kv_profile_text("presets", path + 7);
	if (*text != NULL)
		return 1;
	for (const struct kv_profile *p = kv_profile_next("presets", NULL); p && count < NAMES_MAX;
	     p = kv_profile_next("presets", p))
		names[count++] = p->name;
	return kv_fail_unknown(err, KV_EXIT_MISSING, "preset", path + 7, names, count);
}
