#include "config.h"

#include "sim/deploy/scenario.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/deploy/scenario_parts.h"

/* Room for the value of any key. */
#define FIELD_MAX 64

struct kv_setting *kv_scenario_setting_of(const struct kv_scenario *scenario, const struct kv_key *key)
{
	size_t count;

	return &scenario->settings[key - kv_scenario_keys(&count)];
}

void kv_setting_clear(struct kv_setting *setting)
{
	free(setting->text);
	free(setting->source);
	setting->text = NULL;
	setting->source = NULL;
}

int kv_scenario_set_key(struct kv_scenario *scenario, const struct kv_key *key, const char *text, enum kv_origin origin,
                        const char *source, struct kv_error *err)
{
	struct kv_setting *setting = kv_scenario_setting_of(scenario, key);
	_Alignas(max_align_t) char value[FIELD_MAX] = { 0 };
	char *copy = kv_strdup(text);

	if (kv_key_parse(key, copy, value, err)) {
		free(copy);
		return -1;
	}
	if (origin < setting->origin) {
		free(copy);
		return 0;
	}
	kv_setting_clear(setting);
	setting->text = copy;
	setting->source = kv_strdup(source);
	setting->origin = origin;
	memcpy((char *)scenario + key->offset, value, key->size);
	return 0;
}

void kv_scenario_init(struct kv_scenario *scenario)
{
	struct kv_error err;
	size_t count;
	const struct kv_key *keys = kv_scenario_keys(&count);

	memset(scenario, 0, sizeof *scenario);
	scenario->settings = kv_calloc(count, sizeof *scenario->settings);
	for (size_t i = 0; i < count; i++) {
		scenario->settings[i].key = &keys[i];
		KV_ASSERT(keys[i].fallback == NULL ||
		          !kv_scenario_set_key(scenario, &keys[i], keys[i].fallback, KV_BY_DEFAULT, "default", &err),
		          "default of %s: %s", keys[i].path, err.text);
	}
}

void kv_scenario_fini(struct kv_scenario *scenario)
{
	size_t count;

	kv_scenario_keys(&count);
	for (size_t i = 0; i < count; i++)
		kv_setting_clear(&scenario->settings[i]);
	free(scenario->settings);
	kv_yaml_settings_fini(&scenario->load);
	memset(scenario, 0, sizeof *scenario);
}

int kv_scenario_set(struct kv_scenario *scenario, const char *path, const char *text, enum kv_origin origin,
                    const char *source, struct kv_error *err)
{
	const struct kv_key *key = kv_scenario_key(path);

	if (key == NULL)
		return kv_scenario_fail_unknown_key(path, err);
	return kv_scenario_set_key(scenario, key, text, origin, source, err);
}

int kv_scenario_set_pair(struct kv_scenario *scenario, const char *pair, struct kv_error *err)
{
	char *path = kv_strdup(pair);
	char *value = strchr(path, '=');
	int failed;

	if (value == NULL) {
		free(path);
		return kv_fail(err, KV_EXIT_USAGE, "--set: write path.to.key=value, found '%s'", pair);
	}
	*value++ = '\0';
	if (strncmp(path, KV_SCENARIO_LOAD, strlen(KV_SCENARIO_LOAD)) == 0) {
		kv_yaml_settings_add(&scenario->load, path + strlen(KV_SCENARIO_LOAD), value);
		free(path);
		return 0;
	}
	failed = kv_scenario_set(scenario, path, value, KV_BY_SET, "--set", err);
	if (failed)
		kv_fail_in(err, "--set %s", path);
	free(path);
	return failed;
}

void kv_scenario_copy(struct kv_scenario *copy, const struct kv_scenario *scenario)
{
	struct kv_error err;
	size_t count;
	const struct kv_key *keys = kv_scenario_keys(&count);

	kv_scenario_init(copy);
	for (size_t i = 0; i < count; i++) {
		const struct kv_setting *setting = &scenario->settings[i];

		KV_ASSERT(setting->text == NULL ||
		          !kv_scenario_set_key(copy, &keys[i], setting->text, setting->origin, setting->source, &err),
		          "copy of %s: %s", keys[i].path, err.text);
	}
	for (size_t i = 0; i < scenario->load.count; i++)
		kv_yaml_settings_add(&copy->load, scenario->load.setting[i].path, scenario->load.setting[i].text);
}

const struct kv_setting *kv_scenario_setting(const struct kv_scenario *scenario, const char *path)
{
	const struct kv_key *key = kv_scenario_key(path);

	KV_ASSERT(key != NULL, "no key %s", path);
	return kv_scenario_setting_of(scenario, key);
}

const char *kv_scenario_workload(const struct kv_scenario *s)
{
	if (s->workload.trace == NULL || s->workload.generate == NULL)
		return s->workload.trace != NULL ? s->workload.trace : s->workload.generate;
	return kv_scenario_setting(s, "workload.generate")->origin > kv_scenario_setting(s, "workload.trace")->origin ?
	       s->workload.generate : s->workload.trace;
}

bool kv_scenario_is_set(const struct kv_scenario *scenario, const char *path)
{
	return kv_scenario_setting(scenario, path)->text != NULL;
}

int kv_scenario_fail_in(const struct kv_scenario *scenario, const char *path, struct kv_error *err)
{
	const struct kv_setting *setting = kv_scenario_setting(scenario, path);

	switch (setting->origin) {
	case KV_BY_FLAG:
		return kv_fail_in(err, "%s", setting->source);
	case KV_BY_SET:
		return kv_fail_in(err, "%s %s", setting->source, path);
	case KV_BY_FILE:
	case KV_BY_VARIANT:
		return kv_fail_in(err, "%s: %s", setting->source, path);
	default:
		return kv_fail_in(err, "%s", path);
	}
}
