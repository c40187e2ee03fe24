#include "config.h"

#include "sim/deploy/scenario_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/memory.h"
#include "sim/base/yaml_tree.h"
#include "sim/profiles/profiles.h"

static int fail_node(const struct kv_node *node, const char *path, struct kv_error *err)
{
	return kv_fail_in(err, "%s:%u: %s", node->file, node->line, path);
}

static char *append(char *text, const char *more)
{
	size_t length = text ? strlen(text) : 0;

	text = kv_realloc(text, length + strlen(more) + 1, 1);
	strcpy(text + length, more);
	return text;
}

/* "a,b,c", or NULL with err filled. */
static char *join_list(const struct kv_node *node, struct kv_error *err)
{
	char *text = kv_strdup("");

	for (size_t i = 0; i < node->children; i++) {
		if (kv_node_expect(&node->child[i], KV_NODE_SCALAR, KV_EXIT_USAGE, err)) {
			free(text);
			return NULL;
		}
		text = append(text, i ? "," : "");
		text = append(text, node->child[i].text);
	}
	return text;
}

/* {name: ..., params: {...}} as "name,param=value,...", or NULL with err filled. */
static char *join_policy(const struct kv_node *node, struct kv_error *err)
{
	static const char *const names[] = { "name", "params" };
	const struct kv_node *name = kv_node_get(node, "name"), *params = kv_node_get(node, "params");
	char *text;

	if (kv_node_expect_keys(node, names, 2, KV_EXIT_USAGE, err))
		return NULL;
	if (name == NULL) {
		kv_node_fail(node, KV_EXIT_USAGE, err, "name is missing");
		return NULL;
	}
	if (kv_node_expect(name, KV_NODE_SCALAR, KV_EXIT_USAGE, err) ||
	    (params != NULL && kv_node_expect(params, KV_NODE_MAPPING, KV_EXIT_USAGE, err)))
		return NULL;
	text = kv_strdup(name->text);
	for (size_t i = 0; params != NULL && i < params->children; i++) {
		const struct kv_node *param = &params->child[i];

		if (kv_node_expect(param, KV_NODE_SCALAR, KV_EXIT_USAGE, err)) {
			free(text);
			return NULL;
		}
		text = append(append(append(append(text, ","), param->key), "="), param->text);
	}
	return text;
}

/* The file that the tree stands in, which is read again for it. */
static char *tree_file(const struct kv_node *node, struct kv_error *err)
{
	if (kv_node_expect(node, KV_NODE_MAPPING, KV_EXIT_USAGE, err))
		return NULL;
	if (strcmp(node->file, KV_YAML_STANDARD_INPUT) == 0) {
		kv_node_fail(node, KV_EXIT_USAGE, err,
		             "a load is read from its file as requests are drawn, and standard input can be read but "
		             "once: save the scenario as a file");
		return NULL;
	}
	return kv_strdup(node->file);
}

/* The value's text, to be freed; NULL with err filled. */
static char *node_text(const struct kv_key *key, const struct kv_node *node, struct kv_error *err)
{
	if (node->kind == KV_NODE_SEQUENCE && key->type == KV_KEY_LIST)
		return join_list(node, err);
	if (node->kind == KV_NODE_MAPPING && key->type == KV_KEY_POLICY)
		return join_policy(node, err);
	if (key->type == KV_KEY_TREE)
		return tree_file(node, err);
	if (kv_node_expect(node, KV_NODE_SCALAR, KV_EXIT_USAGE, err))
		return NULL;
	if (kv_node_is_null(node) && key->null_text == NULL) {
		kv_node_fail(node, KV_EXIT_USAGE, err, "a value is missing: write one or leave the key out");
		return NULL;
	}
	return kv_strdup(kv_node_is_null(node) ? key->null_text : node->text);
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), ending = strlen(end);

	return length >= ending && strcmp(text + length - ending, end) == 0;
}

/* The path of a file that lies beside the scenario file; otherwise the text as it is. Takes and returns ownership. */
static char *beside(const struct kv_key *key, const struct kv_node *node, char *text)
{
	const char *slash = strrchr(node->file, '/');
	bool file = key->type == KV_KEY_FILE || (key->type == KV_KEY_NAME && (strchr(text, '/') != NULL ||
	            ends_with(text, ".json") || ends_with(text, ".yaml")));
	char *path;

	if (!file || slash == NULL || *text == '/')
		return text;
	path = kv_strdup(node->file);
	path[slash - node->file + 1] = '\0';
	path = append(path, text);
	if (access(path, F_OK) == 0) {
		free(text);
		return path;
	}
	free(path);
	return text;
}

static int read_value(struct kv_scenario_reader *r, const struct kv_key *key, const struct kv_node *node)
{
	char *text = node_text(key, node, r->err);
	char place[512];
	int failed;

	if (text == NULL)
		return -1;
	if (r->origin == KV_BY_FILE || r->origin == KV_BY_VARIANT)
		text = beside(key, node, text);
	snprintf(place, sizeof place, "%s:%u", node->file, node->line);
	failed = kv_scenario_set_key(r->scenario, key, text, r->origin, r->source ? r->source : place, r->err);
	free(text);
	return failed ? fail_node(node, key->path, r->err) : 0;
}

static bool is_section(const char *path)
{
	size_t length = strlen(path), count;
	const struct kv_key *keys = kv_scenario_keys(&count);

	for (size_t i = 0; i < count; i++)
		if (strncmp(keys[i].path, path, length) == 0 && keys[i].path[length] == '.')
			return true;
	return false;
}

int kv_scenario_read_mapping(struct kv_scenario_reader *r, const struct kv_node *mapping, const char *prefix)
{
	if (kv_node_expect(mapping, KV_NODE_MAPPING, KV_EXIT_USAGE, r->err))
		return -1;
	for (size_t i = 0; i < mapping->children; i++) {
		const struct kv_node *node = &mapping->child[i];
		const struct kv_key *key;
		char path[256];

		snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", node->key);
		key = kv_scenario_key(path);
		if (key != NULL) {
			if (read_value(r, key, node))
				return -1;
		} else if (is_section(path)) {
			if (kv_scenario_read_mapping(r, node, path))
				return -1;
		} else {
			kv_scenario_fail_unknown_key(path, r->err);
			return kv_fail_in(r->err, "%s:%u", node->file, node->line);
		}
	}
	return 0;
}

static int read_file_tree(struct kv_scenario *scenario, struct kv_node *root, struct kv_error *err)
{
	struct kv_scenario_reader r = { scenario, KV_BY_FILE, NULL, err };
	int failed;

	if (root == NULL)
		return -1;
	failed = kv_scenario_read_mapping(&r, root, "");
	kv_yaml_free(root);
	return failed;
}

int kv_scenario_read(struct kv_scenario *scenario, const char *path, struct kv_error *err)
{
	const char *preset;
	int found = kv_preset_find(path, &preset, err);

	if (found < 0)
		return -1;
	return found > 0 ? kv_scenario_parse(scenario, preset, strlen(preset), path, err) :
	                   read_file_tree(scenario, kv_yaml_read(path, err), err);
}

int kv_scenario_parse(struct kv_scenario *scenario, const char *text, size_t length, const char *name,
                      struct kv_error *err)
{
	return read_file_tree(scenario, kv_yaml_parse(text, length, name, err), err);
}

int kv_scenario_read_variant(struct kv_scenario *scenario, const struct kv_node *mapping, const char *source,
                             struct kv_error *err)
{
	struct kv_scenario_reader r = { scenario, KV_BY_VARIANT, source, err };

	return kv_scenario_read_mapping(&r, mapping, "");
}
