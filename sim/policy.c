#include "config.h"

#include "sim/policy.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/base/names.h"

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
		failed = kv_params_set(use->policy->name, use->policy->params, rest, use->state, err);
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

void *kv_policy_state_save(const struct kv_policy_use *use)
{
	void *saved = kv_calloc(1, use->policy->state_size + 1);

	if (use->policy->state_size > 0)
		memcpy(saved, use->state, use->policy->state_size);
	return saved;
}

void kv_policy_state_restore(const struct kv_policy_use *use, void *saved)
{
	if (use->policy->state_size > 0)
		memcpy(use->state, saved, use->policy->state_size);
	free(saved);
}
