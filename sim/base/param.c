#include "config.h"

#include "sim/base/param.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/names.h"
#include "sim/base/quantity.h"
#include "sim/base/units.h"

#define NAMES_MAX 64

static int fail_unknown_param(const char *owner, const struct kv_param *params, const char *name, struct kv_error *err)
{
	const char *names[NAMES_MAX];
	size_t count = 0;

	for (const struct kv_param *p = params; p != NULL && p->name != NULL && count < NAMES_MAX; p++)
		names[count++] = p->name;
	if (count == 0)
		return kv_fail(err, KV_EXIT_USAGE, "%s takes no parameters, found '%s'", owner, name);
	kv_fail_unknown(err, KV_EXIT_USAGE, "parameter", name, names, count);
	return kv_fail_in(err, "%s", owner);
}

static int set_choice(const char *names, const char *text, uint32_t *field, struct kv_error *err)
{
	size_t length = strlen(text);
	uint32_t index = 0;

	for (const char *at = names; at != NULL; index++) {
		if (strncmp(at, text, length) == 0 && (at[length] == '|' || at[length] == '\0')) {
			*field = index;
			return 0;
		}
		at = strchr(at, '|');
		if (at != NULL)
			at++;
	}
	return kv_fail(err, KV_EXIT_USAGE, "'%s' is none of %s", text, names);
}

static int set_text(const char *text, char *field, struct kv_error *err)
{
	if (strlen(text) >= KV_PARAM_TEXT_MAX)
		return kv_fail(err, KV_EXIT_USAGE, "'%.40s...' is longer than %d bytes", text, KV_PARAM_TEXT_MAX - 1);
	strcpy(field, text);
	return 0;
}

static int set_param(const struct kv_param *param, const char *text, void *state, struct kv_error *err)
{
	void *field = (char *)state + param->offset;

	switch (param->type) {
	case KV_PARAM_UINT:
		return kv_parse_count(text, (uint64_t)param->minimum,
		                      param->maximum >= (double)UINT64_MAX ? UINT64_MAX : (uint64_t)param->maximum,
		                      (uint64_t *)field, err);
	case KV_PARAM_DOUBLE:
		return kv_parse_double(text, param->minimum, param->maximum, (double *)field, err);
	case KV_PARAM_BOOL:
		return kv_parse_bool(text, (bool *)field, err);
	case KV_PARAM_TIME:
		return kv_parse_time(text, (kv_time)param->minimum,
		                     param->maximum >= (double)KV_TIME_MAX ? KV_TIME_MAX : (kv_time)param->maximum,
		                     (kv_time *)field, err);
	case KV_PARAM_CHOICE:
		return set_choice(param->unit, text, field, err);
	case KV_PARAM_TEXT:
		return set_text(text, field, err);
	}
	return kv_fail(err, KV_EXIT_BUG, "parameter %s has no known type", param->name);
}

/* given: which of the parameters have been set so far, a bit each. */
static int set_named_param(const char *owner, const struct kv_param *params, const char *name, const char *value,
                           void *state, uint64_t *given, struct kv_error *err)
{
	for (const struct kv_param *p = params; p != NULL && p->name != NULL; p++) {
		uint64_t bit = (uint64_t)1 << (p - params);

		if (strcmp(p->name, name) != 0)
			continue;
		if (*given & bit)
			return kv_fail(err, KV_EXIT_USAGE, "%s: %s is given twice; allowed: once", owner, name);
		*given |= bit;
		if (set_param(p, value, state, err))
			return kv_fail_in(err, "%s,%s", owner, name);
		return 0;
	}
	return fail_unknown_param(owner, params, name, err);
}

int kv_params_set(const char *owner, const struct kv_param *params, char *list, void *state, struct kv_error *err)
{
	uint64_t given = 0;

	for (const struct kv_param *p = params; p != NULL && p->name != NULL; p++)
		if (set_param(p, p->fallback, state, err))
			return kv_fail_in(err, "%s,%s", owner, p->name);
	while (list != NULL) {
		char *item = strsep(&list, ",");
		char *value = strchr(item, '=');

		if (value == NULL)
			return kv_fail(err, KV_EXIT_USAGE, "%s: write parameters as name=value, found '%s'", owner,
			               item);
		*value++ = '\0';
		if (set_named_param(owner, params, item, value, state, &given, err))
			return -1;
	}
	return 0;
}
