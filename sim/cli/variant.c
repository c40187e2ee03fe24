#include "config.h"

#include "sim/cli/variant.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/base/names.h"
#include "sim/base/yaml_tree.h"

#define KEYS_MAX 256

static int check_name(const struct kv_variants *variants, const char *name, struct kv_error *err)
{
	size_t length = strlen(name);

	if (length == 0 || length > KV_VARIANT_NAME_MAX || *name == '.' ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != length)
		return kv_fail(err, KV_EXIT_USAGE,
		               "variant '%s': a name has 1 to %d letters, digits, '.', '_' and '-', not '.' first",
		               name, KV_VARIANT_NAME_MAX);
	if (strncmp(name, "comparison.", 11) == 0 || strncmp(name, "manifest.", 9) == 0)
		return kv_fail(err, KV_EXIT_USAGE,
		               "variant '%s': its folder would stand in the way of a file of the comparison: "
		               "choose another name",
		               name);
	for (size_t i = 0; i < variants->count; i++)
		if (strcmp(variants->item[i].name, name) == 0)
			return kv_fail(err, KV_EXIT_USAGE, "variant '%s' is given twice: choose another name", name);
	return 0;
}

static struct kv_variant *add(struct kv_variants *variants, const struct kv_scenario *base, const char *name)
{
	struct kv_variant *variant;

	variants->item = kv_realloc(variants->item, variants->count + 1, sizeof *variants->item);
	variant = &variants->item[variants->count++];
	snprintf(variant->name, sizeof variant->name, "%s", name);
	kv_scenario_copy(&variant->scenario, base);
	return variant;
}

/* --- what a variant may change ------------------------------------------------------------------------------------ */


static bool may_vary(const struct kv_key *key)
{
	static const char *const allowed[] = { "model", "hardware", "engine.", "policies.", "latency.",
		                               "workload.max_concurrency", "workload.default_max_tokens" };

	for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
		if (strncmp(key->path, allowed[i], strlen(allowed[i])) == 0)
			return true;
	return false;
}

static int check_keys(const struct kv_variant *variant, struct kv_error *err)
{
	size_t count;
	const struct kv_key *keys = kv_scenario_keys(&count);

	for (size_t i = 0; i < count; i++)
		if (variant->scenario.settings[i].origin == KV_BY_VARIANT && !may_vary(&keys[i]))
			return kv_fail(err, KV_EXIT_USAGE,
			               "variant %s: %s cannot differ: all variants have the same workload, "
			               "and their results lie in one folder",
			               variant->name, keys[i].path);
	return 0;
}

/* --- "key=value,key=value" ---------------------------------------------------------------------------------------- */

/* By the last word of its path, if no other key has the same. */
static const struct kv_key *find_last_word(const char *name)
{
	size_t count;
	const struct kv_key *keys = kv_scenario_keys(&count), *found = NULL;

	for (size_t i = 0; i < count; i++) {
		const char *dot = strrchr(keys[i].path, '.');

		if (dot == NULL || strcmp(dot + 1, name) != 0)
			continue;
		if (found != NULL)
			return NULL;
		found = &keys[i];
	}
	return found;
}

/* By path, flag, with "_" as good as "-", or last word. */
static const struct kv_key *find_key(const char *name)
{
	size_t count;
	const struct kv_key *keys = kv_scenario_keys(&count);
	char flag[64];

	if (kv_scenario_key(name) != NULL)
		return kv_scenario_key(name);
	snprintf(flag, sizeof flag, "%s", name);
	for (char *c = flag; *c != '\0'; c++)
		*c = *c == '_' ? '-' : *c;
	for (size_t i = 0; i < count; i++)
		if (kv_key_has_flag(&keys[i], flag))
			return &keys[i];
	return find_last_word(name);
}

/* policy = that of the setting before, of which it may have been meant as a parameter; NULL = none. */
static int fail_unknown_key(const char *name, const struct kv_policy *policy, struct kv_error *err)
{
	const char *names[2 * KEYS_MAX], *nearest;
	size_t count, found = 0;
	const struct kv_key *keys = kv_scenario_keys(&count);

	for (size_t i = 0; i < count && i < KEYS_MAX; i++) {
		if (!may_vary(&keys[i]))
			continue;
		names[found++] = keys[i].path;
		if (keys[i].flag != NULL)
			names[found++] = keys[i].flag;
	}
	nearest = kv_nearest_name(name, names, found);
	if (nearest != NULL)
		return kv_fail(err, KV_EXIT_USAGE, "unknown key '%s': did you mean '%s'?", name, nearest);
	if (policy != NULL)
		return kv_fail(err, KV_EXIT_USAGE,
		               "unknown key '%s', and no parameter of %s: kvsim list keys and kvsim list "
		               "policies %s show the valid ones",
		               name, policy->name, policy->name);
	return kv_fail(err, KV_EXIT_USAGE, "unknown key '%s': kvsim list keys shows the valid ones", name);
}

/* The policy that the setting names; NULL = no policy. */
static const struct kv_policy *named_policy(const struct kv_key *key, const char *value)
{
	char name[64];

	if (key->type != KV_KEY_POLICY)
		return NULL;
	snprintf(name, sizeof name, "%.*s", (int)strcspn(value, ","), value);
	return kv_policy_find(key->policy, name);
}

/* Does the piece go on with the parameters of the policy that the setting before it names? */
static bool is_parameter(const struct kv_policy *policy, const char *piece)
{
	for (const struct kv_param *p = policy != NULL ? policy->params : NULL; p != NULL && p->name != NULL; p++)
		if (strlen(p->name) == strcspn(piece, "=") && strncmp(p->name, piece, strlen(p->name)) == 0)
			return true;
	return false;
}

/* The end of the value that begins at `value`: the comma before the next setting, or the end of the text. */
static char *value_end(const struct kv_policy *policy, char *value)
{
	char *end = value + strcspn(value, ",");

	while (*end == ',' && is_parameter(policy, end + 1))
		end += 1 + strcspn(end + 1, ",");
	return end;
}

/* *policy = the one that the setting before names, then the one that this one does. */
static int set_pair(struct kv_variant *variant, char **rest, const struct kv_policy **policy, const char *source,
                    struct kv_error *err)
{
	char *name = *rest;
	char *value = strchr(name, '='), *end;
	const struct kv_key *key;

	if (value == NULL || memchr(name, ',', (size_t)(value - name)) != NULL)
		return kv_fail(err, KV_EXIT_USAGE, "write key=value,key=value, found '%s'", name);
	*value++ = '\0';
	key = find_key(name);
	if (key == NULL)
		return fail_unknown_key(name, *policy, err);
	if (variant->scenario.settings[key - kv_scenario_keys(&(size_t){ 0 })].origin == KV_BY_VARIANT)
		return kv_fail(err, KV_EXIT_USAGE, "%s is given twice", key->path);
	*policy = named_policy(key, value);
	end = value_end(*policy, value);
	*rest = *end == ',' ? end + 1 : NULL;
	*end = '\0';
	if (kv_scenario_set(&variant->scenario, key->path, value, KV_BY_VARIANT, source, err))
		return kv_fail_in(err, "%s", name);
	return 0;
}

static int set_pairs(struct kv_variant *variant, char *rest, struct kv_error *err)
{
	char source[KV_VARIANT_NAME_MAX + 16];
	const struct kv_policy *policy = NULL;

	snprintf(source, sizeof source, "variant %s", variant->name);
	while (rest != NULL)
		if (set_pair(variant, &rest, &policy, source, err))
			return kv_fail_in(err, "%s", source);
	return check_keys(variant, err);
}

int kv_variants_add(struct kv_variants *variants, const struct kv_scenario *base, const char *text,
                    struct kv_error *err)
{
	char *name = kv_strdup(text);
	char *rest = strchr(name, ':');
	int failed;

	if (rest != NULL)
		*rest++ = '\0';
	failed = check_name(variants, name, err) ||
	         set_pairs(add(variants, base, name), rest != NULL && *rest != '\0' ? rest : NULL, err);
	free(name);
	return failed ? -1 : 0;
}

/* --- a file ------------------------------------------------------------------------------------------------------- */

static int read_variants(struct kv_variants *variants, const struct kv_scenario *base, const struct kv_node *root,
                         struct kv_error *err)
{
	if (kv_node_expect(root, KV_NODE_MAPPING, KV_EXIT_USAGE, err))
		return -1;
	for (size_t i = 0; i < root->children; i++) {
		const struct kv_node *node = &root->child[i];
		char source[KV_VARIANT_NAME_MAX + 16];
		struct kv_variant *variant;

		if (check_name(variants, node->key, err))
			return kv_fail_in(err, "%s:%u", node->file, node->line);
		variant = add(variants, base, node->key);
		snprintf(source, sizeof source, "variant %s", node->key);
		if (kv_node_is_null(node))
			continue;
		if (kv_scenario_read_variant(&variant->scenario, node, source, err) || check_keys(variant, err))
			return -1;
	}
	return 0;
}

int kv_variants_read(struct kv_variants *variants, const struct kv_scenario *base, const char *path,
                     struct kv_error *err)
{
	struct kv_node *root = kv_yaml_read(path, err);
	int failed;

	if (root == NULL)
		return -1;
	failed = read_variants(variants, base, root, err);
	kv_yaml_free(root);
	return failed;
}

void kv_variants_fini(struct kv_variants *variants)
{
	for (size_t i = 0; i < variants->count; i++)
		kv_scenario_fini(&variants->item[i].scenario);
	free(variants->item);
}

char *kv_variant_settings(const struct kv_variant *variant)
{
	size_t count, size;
	const struct kv_key *keys = kv_scenario_keys(&count);
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);
	const char *separator = "";

	KV_ASSERT(out != NULL, "no memory for the settings of a variant");
	for (size_t i = 0; i < count; i++) {
		const struct kv_setting *setting = &variant->scenario.settings[i];

		if (setting->origin != KV_BY_VARIANT || setting->text == NULL)
			continue;
		fprintf(out, "%s%s=%s", separator, keys[i].path, setting->text);
		separator = ", ";
	}
	fclose(out);
	return text;
}
