#include "config.h"

#include "sim/deploy/scenario_parts.h"

#include <string.h>

#include "sim/base/names.h"
#include "sim/base/quantity.h"

static int parse_choice(const struct kv_key *key, const char *text, unsigned *out, struct kv_error *err)
{
	size_t count = 0;

	for (; key->choices[count] != NULL; count++) {
		if (strcmp(key->choices[count], text) == 0) {
			*out = (unsigned)count;
			return 0;
		}
	}
	return kv_fail_unknown(err, KV_EXIT_USAGE, "value", text, key->choices, count);
}

static int parse_policy(const struct kv_key *key, const char *text, struct kv_error *err)
{
	struct kv_policy_use use;

	if (kv_policy_parse(key->policy, text, &use, err))
		return -1;
	kv_policy_use_fini(&use);
	return 0;
}

static int parse_text(const char *text, const char **field, struct kv_error *err)
{
	if (*text == '\0')
		return kv_fail(err, KV_EXIT_USAGE, "an empty value is not allowed");
	*field = text;
	return 0;
}

static uint64_t whole_limit(double limit)
{
	return limit >= 0x1p64 ? UINT64_MAX : (uint64_t)limit;
}

static kv_time time_limit(double limit)
{
	return limit >= 0x1p63 ? KV_TIME_MAX : (kv_time)limit;
}

int kv_key_parse(const struct kv_key *key, const char *text, void *field, struct kv_error *err)
{
	switch (key->type) {
	case KV_KEY_TREE:
	case KV_KEY_TEXT:
	case KV_KEY_FILE:
	case KV_KEY_NAME:
	case KV_KEY_LIST:
		return parse_text(text, field, err);
	case KV_KEY_POLICY:
		return parse_text(text, field, err) || parse_policy(key, text, err) ? -1 : 0;
	case KV_KEY_COUNT:
		return kv_parse_count(text, whole_limit(key->minimum), whole_limit(key->maximum), field, err);
	case KV_KEY_BYTES:
		return kv_parse_bytes(text, true, whole_limit(key->minimum), whole_limit(key->maximum), field, err);
	case KV_KEY_TIME:
		return kv_parse_time(text, time_limit(key->minimum), time_limit(key->maximum), field, err);
	case KV_KEY_DATE:
		return kv_parse_date(text, field, err);
	case KV_KEY_FRACTION:
		return kv_parse_fraction(text, key->minimum, key->maximum, field, err);
	case KV_KEY_NUMBER:
		return kv_parse_double(text, key->minimum, key->maximum, field, err);
	case KV_KEY_BOOL:
		return kv_parse_bool(text, field, err);
	case KV_KEY_CHOICE:
		return parse_choice(key, text, field, err);
	case KV_KEY_CUSTOM:
		return key->parse(text, field, err);
	}
	return kv_fail(err, KV_EXIT_BUG, "a key of no known type");
}
