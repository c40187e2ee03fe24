#include "config.h"

#include "sim/base/config_fields.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 64, SHOWN_MAX_LENGTH = 60 };

static json_t *lookup(json_t *object, const char *name, size_t length)
{
	char key[NAME_MAX_LENGTH + 1];
	json_t *value;

	if (!object || length > NAME_MAX_LENGTH)
		return NULL;
	memcpy(key, name, length);
	key[length] = '\0';
	value = json_object_get(object, key);
	return json_is_null(value) ? NULL : value;
}

json_t *kv_field_found(const struct kv_fields *f, const char **names)
{
	json_t *const places[] = {f->object, f->outer};

	for (int i = 0; i < 2; i++)
		for (const char *name = *names; *name; name += *name == '|') {
			size_t length = strcspn(name, "|");
			json_t *value = lookup(places[i], name, length);

			if (value) {
				*names = name;
				return value;
			}
			name += length;
		}
	return NULL;
}

json_t *kv_field(const struct kv_fields *f, const char *names)
{
	return kv_field_found(f, &names);
}

void kv_field_fail(struct kv_fields *f, const char *names, const char *format, ...)
{
	char text[512];
	va_list args;

	if (f->failed)
		return;
	f->failed = true;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	kv_fail(f->err, KV_EXIT_DATA, "%s: field \"%.*s\" %s", f->label, (int)strcspn(names, "|"), names, text);
}

static void fail_found(struct kv_fields *f, const char *names, const json_t *value, const char *allowed)
{
	char *found = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

	kv_field_fail(f, names, "is %.*s%s: it must be %s", SHOWN_MAX_LENGTH, found ? found : "?",
	              found && strlen(found) > SHOWN_MAX_LENGTH ? "..." : "", allowed);
	free(found);
}

uint32_t kv_field_count(struct kv_fields *f, const char *names, uint32_t minimum, uint32_t maximum, uint32_t fallback)
{
	const json_t *value = kv_field_found(f, &names);
	char allowed[64];

	if (f->failed)
		return minimum;
	if (!value) {
		if (fallback != KV_FIELD_REQUIRED)
			return fallback;
		kv_field_fail(f, names, "is missing: add it (a whole number from %u to %u)", minimum, maximum);
		return minimum;
	}
	if (json_is_integer(value) && json_integer_value(value) >= minimum && json_integer_value(value) <= maximum)
		return (uint32_t)json_integer_value(value);
	snprintf(allowed, sizeof allowed, "a whole number from %u to %u", minimum, maximum);
	fail_found(f, names, value, allowed);
	return minimum;
}

bool kv_field_bool(struct kv_fields *f, const char *names, bool fallback)
{
	const json_t *value = kv_field_found(f, &names);

	if (!value || f->failed)
		return fallback;
	if (!json_is_boolean(value))
		fail_found(f, names, value, "true or false");
	return json_is_true(value);
}

const char *kv_field_text(struct kv_fields *f, const char *names, const char *fallback)
{
	const json_t *value = kv_field_found(f, &names);

	if (!value || f->failed)
		return fallback;
	if (!json_is_string(value)) {
		fail_found(f, names, value, "a string");
		return fallback;
	}
	return json_string_value(value);
}

json_t *kv_field_list(struct kv_fields *f, const char *names, size_t size)
{
	json_t *value = kv_field_found(f, &names);

	if (!value || f->failed)
		return NULL;
	if (!json_is_array(value)) {
		fail_found(f, names, value, "a list");
		return NULL;
	}
	if (size && json_array_size(value) != size) {
		kv_field_fail(f, names, "has %zu elements: it must have %zu, one a layer", json_array_size(value),
		              size);
		return NULL;
	}
	return value;
}
