#include "config.h"

#include "sim/policy.h"

#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"
#include "sim/names.h"
#include "sim/quantity.h"

#define NAMES_MAX 64

static const char *const kind_names[KV_POLICY_KINDS] = {
	[KV_POLICY_ALLOCATION] = "allocation",
	[KV_POLICY_ADMISSION] = "admission",
	[KV_POLICY_SCHEDULING] = "scheduling",
	[KV_POLICY_PREEMPTION] = "preemption",
	[KV_POLICY_PREFIX] = "prefix",
	[KV_POLICY_EVICTION] = "eviction",
};

const char *kv_policy_kind_name(enum kv_policy_kind kind)
{
	return kind_names[kind];
}

const struct kv_policy *kv_policy_find(enum kv_policy_kind kind, const char *name)
{
	for (size_t i = 0; kv_policy_registry[i] != NULL; i++)
		if (kv_policy_registry[i]->kind == kind && strcmp(kv_policy_registry[i]->name, name) == 0)
			return kv_policy_registry[i];
	return NULL;
}

static int fail_unknown_policy(enum kv_policy_kind kind, const char *name, struct kv_error *err)
{
	const char *names[NAMES_MAX];
	char what[64] = "";
	size_t count = 0;

	for (size_t i = 0; kv_policy_registry[i] != NULL && count < NAMES_MAX; i++)
		if (kv_policy_registry[i]->kind == kind)
			names[count++] = kv_policy_registry[i]->name;
	strcat(strcpy(what, kind_names[kind]), " policy");
	return kv_fail_unknown(err, KV_EXIT_USAGE, what, name, names, count);
}

static int fail_unknown_param(const struct kv_policy *policy, const char *name, struct kv_error *err)
{
	const char *names[NAMES_MAX];
	size_t count = 0;

	for (const struct kv_param *p = policy->params; p != NULL && p->name != NULL && count < NAMES_MAX; p++)
		names[count++] = p->name;
	if (count == 0)
		return kv_fail(err, KV_EXIT_USAGE, "%s takes no parameters, found '%s'", policy->name, name);
	kv_fail_unknown(err, KV_EXIT_USAGE, "parameter", name, names, count);
	return kv_fail_in(err, "%s", policy->name);
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
	}
	return kv_fail(err, KV_EXIT_BUG, "parameter %s has no known type", param->name);
}

static int set_named_param(const struct kv_policy *policy, const char *name, const char *value, void *state,
                           struct kv_error *err)
{
	for (const struct kv_param *p = policy->params; p != NULL && p->name != NULL; p++) {
		if (strcmp(p->name, name) != 0)
			continue;
		if (set_param(p, value, state, err))
			return kv_fail_in(err, "%s,%s", policy->name, name);
		return 0;
	}
	return fail_unknown_param(policy, name, err);
}

/* Sets every parameter of "param=value,..." (rest is changed; NULL = none) over the defaults. */
static int set_params(const struct kv_policy *policy, char *rest, void *state, struct kv_error *err)
{
	for (const struct kv_param *p = policy->params; p != NULL && p->name != NULL; p++)
		if (set_param(p, p->fallback, state, err))
			return kv_fail_in(err, "%s,%s", policy->name, p->name);
	while (rest != NULL) {
		char *item = strsep(&rest, ",");
		char *value = strchr(item, '=');

		if (value == NULL)
			return kv_fail(err, KV_EXIT_USAGE, "%s: write parameters as name=value, found '%s'", policy->name, item);
		*value++ = '\0';
		if (set_named_param(policy, item, value, state, err))
			return -1;
	}
	return 0;
}

int kv_policy_parse(enum kv_policy_kind kind, const char *text, struct kv_policy_use *use, struct kv_error *err)
{
	char *copy = kv_strdup(text);
	char *rest = copy;
	const char *name = strsep(&rest, ",");
	int failed;

	use->state = NULL;
	use->policy = kv_policy_find(kind, name);
	if (use->policy == NULL) {
		failed = fail_unknown_policy(kind, name, err);
	} else {
		use->state = kv_calloc(1, use->policy->state_size);
		failed = set_params(use->policy, rest, use->state, err);
	}
	free(copy);
	if (failed)
		kv_policy_use_fini(use);
	return failed;
}

void kv_policy_use_fini(struct kv_policy_use *use)
{
	free(use->state);
	use->state = NULL;
}
