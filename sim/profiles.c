#include "config.h"

#include "sim/profiles.h"

#include <stddef.h>
#include <string.h>

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
