#include "config.h"

#include "sim/deploy/scenario_parts.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/base/quantity.h"
#include "sim/base/yaml_tree.h"

static bool is_explicit(const struct kv_setting *setting)
{
	return setting->text != NULL && setting->origin >= KV_BY_FILE;
}

/* Does the setting have this value? Truth has several spellings, and parameters of a policy do not matter. */
static bool has_value(const struct kv_setting *setting, const char *text)
{
	struct kv_error ignored;
	bool ours, theirs;

	if (setting->text == NULL)
		return false;
	if (setting->key->type == KV_KEY_BOOL)
		return !kv_parse_bool(setting->text, &ours, &ignored) && !kv_parse_bool(text, &theirs, &ignored) &&
		       ours == theirs;
	if (setting->key->type == KV_KEY_POLICY)
		return strcspn(setting->text, ",") == strlen(text) && strncmp(setting->text, text, strlen(text)) == 0;
	return strcmp(setting->text, text) == 0;
}

static struct kv_setting *split_pair(struct kv_scenario *scenario, const char *pair, char *path, size_t size,
                                     const char **value)
{
	const struct kv_key *key;
	size_t length = strcspn(pair, "=");

	snprintf(path, size, "%.*s", (int)length, pair);
	*value = pair + length + 1;
	key = kv_scenario_key(path);
	return key != NULL ? kv_scenario_setting_of(scenario, key) : NULL;
}

static int contradiction(const struct kv_setting *cause, const struct kv_setting *target, const char *wanted,
                         struct kv_error *err)
{
	return kv_fail(err, KV_EXIT_USAGE, "%s: %s=%s asks for %s=%s, but %s=%s is given (%s): leave one of them out",
	               cause->source, cause->key->path, cause->text, target->key->path, wanted, target->key->path,
	               target->text, target->source);
}

/* Only one of two settings that say the same thing differently is left in the listing. */
static void replace(struct kv_scenario *scenario, struct kv_setting *weaker, const struct kv_setting *stronger)
{
	char source[512];

	snprintf(source, sizeof source, "replaced by %s", stronger->key->path);
	kv_setting_clear(weaker);
	weaker->source = kv_strdup(source);
	memset((char *)scenario + weaker->key->offset, 0, weaker->key->size);
}

static int apply_implication(struct kv_scenario *scenario, const struct kv_node *row, struct kv_error *err)
{
	const struct kv_node *condition = kv_node_get(row, "if"), *consequence = kv_node_get(row, "then");
	bool unless_given = kv_node_get(row, "unless_given") != NULL;
	char path[128], source[512];
	const char *value, *wanted;
	struct kv_setting *cause = split_pair(scenario, condition->text, path, sizeof path, &value);
	struct kv_setting *target;

	if (cause == NULL) {
		kv_scenario_fail_unknown_key(path, err);
		return kv_node_fail_in(condition, err);
	}
	target = split_pair(scenario, consequence->text, path, sizeof path, &wanted);
	if (target == NULL) {
		kv_scenario_fail_unknown_key(path, err);
		return kv_node_fail_in(consequence, err);
	}
	if (!has_value(cause, value) || has_value(target, wanted))
		return 0;
	if (is_explicit(target)) {
		if (unless_given)
			return 0;
		if (is_explicit(cause))
			return contradiction(cause, target, wanted, err);
		replace(scenario, cause, target);
		return 0;
	}
	snprintf(source, sizeof source, "implied by %s (%s)", cause->key->path, cause->source);
	if (kv_scenario_set_key(scenario, target->key, wanted, cause->origin, source, err))
		return kv_node_fail_in(consequence, err);
	return 0;
}

/* Fails unless the user has set every key of a row that may not be the GPU's, and the size of the KV cache. */
static int require_given(const struct kv_scenario *scenario, const struct kv_node *row, const char *device,
                         struct kv_error *err)
{
	bool sized = scenario->engine.kv_cache_memory_bytes || scenario->engine.num_gpu_blocks_override;
	char missing[256] = "";

	for (size_t i = 0; i < row->children; i++) {
		size_t used = strlen(missing);
		char path[256];
		const struct kv_key *key;

		snprintf(path, sizeof path, "engine.%s", row->child[i].key);
		key = kv_scenario_key(path);
		if (key != NULL && !kv_scenario_is_set(scenario, path))
			snprintf(missing + used, sizeof missing - used, "%s--%s", used ? ", " : "", key->flag);
	}
	if (*missing == '\0')
		return 0;
	return kv_fail(err, KV_EXIT_USAGE,
	               "the memory of %s is not known, by which defaults go: give %s%s; or --hardware FILE that states its memory "
	               "(kvsim-size(1), HARDWARE FILES)", device, missing,
	               sized ? "" : ", and --kv-cache-memory-bytes or --num-gpu-blocks-override");
}

static int apply_device(struct kv_scenario *scenario, const struct kv_engine_profile *profile, const char *device,
                        uint64_t memory, struct kv_error *err)
{
	bool unsure;
	const struct kv_node *row = kv_engine_profile_device(profile, device, memory, &unsure);
	char source[512];
	struct kv_scenario_reader r = { scenario, KV_BY_PROFILE, source, err };

	if (row == NULL)
		return 0;
	snprintf(source, sizeof source, "profile %s for %s", profile->name,
	         *device ? device : "a small GPU: none is named");
	if (unsure && *device && require_given(scenario, row, device, err))
		return -1;
	return kv_scenario_read_mapping(&r, row, "engine");
}

int kv_scenario_resolve(struct kv_scenario *scenario, const struct kv_engine_profile *profile, const char *device,
                        uint64_t memory, struct kv_error *err)
{
	char source[512];
	struct kv_scenario_reader r = { scenario, KV_BY_PROFILE, source, err };

	snprintf(source, sizeof source, "profile %s", profile->name);
	if (kv_scenario_read_mapping(&r, profile->engine, "engine") ||
	    kv_scenario_read_mapping(&r, profile->policies, "policies") ||
	    apply_device(scenario, profile, device, memory, err))
		return -1;
	for (size_t i = 0; i < profile->implies->children; i++)
		if (apply_implication(scenario, &profile->implies->child[i], err))
			return -1;
	return 0;
}
