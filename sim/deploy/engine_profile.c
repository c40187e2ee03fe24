#include "config.h"

#include "sim/deploy/engine_profile.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/base/names.h"
#include "sim/base/quantity.h"
#include "sim/profiles/profiles.h"

#define KIND "engines"
#define NAMES_MAX 64
#define LENGTH(table) (sizeof table / sizeof table[0])

static const struct kv_node *required(const struct kv_node *mapping, const char *key, enum kv_node_kind kind,
                                      struct kv_error *err)
{
	const struct kv_node *node = kv_node_get(mapping, key);

	if (node == NULL) {
		kv_node_fail(mapping, KV_EXIT_DATA, err, "%s is missing", key);
		return NULL;
	}
	return kv_node_expect(node, kind, KV_EXIT_DATA, err) ? NULL : node;
}

static int read_text(const struct kv_node *mapping, const char *key, const char **out, struct kv_error *err)
{
	const struct kv_node *node = required(mapping, key, KV_NODE_SCALAR, err);

	if (node == NULL)
		return -1;
	*out = node->text;
	return 0;
}

static int read_switch(const struct kv_node *mapping, const char *key, bool *out, struct kv_error *err)
{
	const struct kv_node *node = required(mapping, key, KV_NODE_SCALAR, err);

	if (node == NULL)
		return -1;
	if (kv_parse_bool(node->text, out, err)) {
		err->status = KV_EXIT_DATA;
		return kv_node_fail_in(node, err);
	}
	return 0;
}

static int read_switches(const struct kv_node *root, struct kv_engine_profile *profile, struct kv_error *err)
{
	static const char *const keys[] = { "null_block", "blank_blocks_first", "override_is_checked" };
	const struct kv_node *node = required(root, "switches", KV_NODE_MAPPING, err);

	if (node == NULL || kv_node_expect_keys(node, keys, LENGTH(keys), KV_EXIT_DATA, err))
		return -1;
	return read_switch(node, "null_block", &profile->null_block, err) ||
	       read_switch(node, "blank_blocks_first", &profile->blank_blocks_first, err) ||
	       read_switch(node, "override_is_checked", &profile->override_is_checked, err) ? -1 : 0;
}

static int read_choice(const struct kv_node *mapping, const char *key, const char *const *choices, size_t count,
                       unsigned *out, struct kv_error *err)
{
	const struct kv_node *node = required(mapping, key, KV_NODE_SCALAR, err);

	if (node == NULL)
		return -1;
	for (*out = 0; *out < count; (*out)++)
		if (strcmp(node->text, choices[*out]) == 0)
			return 0;
	kv_fail_unknown(err, KV_EXIT_DATA, key, node->text, choices, count);
	return kv_node_fail_in(node, err);
}

static int read_block_multiple(const struct kv_node *mapping, struct kv_engine_profile *profile, struct kv_error *err)
{
	const struct kv_node *node = kv_node_get(mapping, "block_multiple");
	uint64_t multiple = 1;

	if (node != NULL && (kv_node_expect(node, KV_NODE_SCALAR, KV_EXIT_DATA, err) ||
	                     kv_parse_count(node->text, 1, 1 << 20, &multiple, err))) {
		err->status = KV_EXIT_DATA;
		return kv_node_fail_in(node, err);
	}
	profile->sizing.block_multiple = (uint32_t)multiple;
	return 0;
}

static int read_sizing(const struct kv_node *root, struct kv_engine_profile *profile, struct kv_error *err)
{
	static const char *const keys[] = {
		"rule", "tokens", "graphs_subtracted", "auto_cache", "sizes_only", "block_multiple"
	};
	static const char *const rules[] = { "vllm", "sglang", "tensorrt-llm", "llama.cpp" };
	static const char *const tokens[] = { "blocks", "concurrency" };
	static const char *const caches[] = { "model", "modelopt", "checkpoint" };
	const struct kv_node *node = required(root, "sizing", KV_NODE_MAPPING, err);
	unsigned rule, meaning, cache;

	if (node == NULL || kv_node_expect_keys(node, keys, LENGTH(keys), KV_EXIT_DATA, err) ||
	    read_choice(node, "rule", rules, LENGTH(rules), &rule, err) ||
	    read_choice(node, "tokens", tokens, LENGTH(tokens), &meaning, err) ||
	    read_switch(node, "graphs_subtracted", &profile->sizing.graphs_subtracted, err) ||
	    read_choice(node, "auto_cache", caches, LENGTH(caches), &cache, err) ||
	    read_switch(node, "sizes_only", &profile->sizes_only, err) || read_block_multiple(node, profile, err))
		return -1;
	profile->auto_cache = (enum kv_auto_cache)cache;
	profile->sizing.engine = (enum kv_sizing_engine)rule;
	profile->sizing.tokens_by_concurrency = meaning == 1;
	profile->sizing.null_block = profile->null_block;
	return 0;
}

static int read_overheads(const struct kv_node *root, struct kv_overheads *overheads, struct kv_error *err)
{
	static const char *const keys[] = { "c0", "cl", "cl_fp8", "c1", "cs" };
	const struct kv_node *node = required(root, "overheads", KV_NODE_MAPPING, err);

	if (node == NULL)
		return -1;
	for (size_t i = 0; i < LENGTH(keys); i++)
		if (required(node, keys[i], KV_NODE_SCALAR, err) == NULL)
			return -1;
	kv_overheads_unset(overheads);
	return kv_overheads_read(node, overheads, err);
}

static int read_efficiency(const struct kv_node *root, struct kv_efficiency *efficiency, struct kv_error *err)
{
	const struct kv_node *node = kv_node_get(root, "efficiency");

	kv_efficiency_unset(efficiency);
	return node == NULL ? 0 : kv_efficiency_read(node, efficiency, err);
}

static int check_device_row(const struct kv_node *row, struct kv_error *err)
{
	static const char *const keys[] = { "when", "engine" };
	static const char *const conditions[] = { "memory_from", "name_without" };
	const struct kv_node *when, *memory;
	uint64_t bytes;

	if (kv_node_expect_keys(row, keys, LENGTH(keys), KV_EXIT_DATA, err) ||
	    required(row, "engine", KV_NODE_MAPPING, err) == NULL)
		return -1;
	when = kv_node_get(row, "when");
	if (when == NULL)
		return 0;
	if (kv_node_expect_keys(when, conditions, LENGTH(conditions), KV_EXIT_DATA, err))
		return -1;
	for (size_t i = 0; i < when->children; i++)
		if (kv_node_expect(&when->child[i], KV_NODE_SCALAR, KV_EXIT_DATA, err))
			return -1;
	memory = kv_node_get(when, "memory_from");
	if (memory != NULL && kv_parse_bytes(memory->text, false, 1, UINT64_MAX, &bytes, err)) {
		err->status = KV_EXIT_DATA;
		return kv_node_fail_in(memory, err);
	}
	return 0;
}

static int check_implication(const struct kv_node *row, struct kv_error *err)
{
	static const char *const keys[] = { "if", "then", "unless_given" };
	bool unless_given;

	if (kv_node_expect_keys(row, keys, LENGTH(keys), KV_EXIT_DATA, err))
		return -1;
	for (size_t i = 0; i < 2; i++) {
		const struct kv_node *node = required(row, keys[i], KV_NODE_SCALAR, err);

		if (node == NULL)
			return -1;
		if (strchr(node->text, '=') == NULL)
			return kv_node_fail(node, KV_EXIT_DATA, err, "write key=value, found '%s'", node->text);
	}
	return kv_node_get(row, "unless_given") ? read_switch(row, "unless_given", &unless_given, err) : 0;
}

static int read_rows(const struct kv_node *root, struct kv_engine_profile *profile, struct kv_error *err)
{
	profile->devices = required(root, "devices", KV_NODE_SEQUENCE, err);
	profile->implies = required(root, "implies", KV_NODE_SEQUENCE, err);
	if (profile->devices == NULL || profile->implies == NULL)
		return -1;
	for (size_t i = 0; i < profile->devices->children; i++)
		if (check_device_row(&profile->devices->child[i], err))
			return -1;
	for (size_t i = 0; i < profile->implies->children; i++)
		if (check_implication(&profile->implies->child[i], err))
			return -1;
	return 0;
}

static int read_profile(const struct kv_node *root, struct kv_engine_profile *profile, struct kv_error *err)
{
	static const char *const keys[] = { "summary", "source",  "engine",  "policies",  "switches",
		                            "sizing",  "devices", "implies", "overheads", "efficiency", "approximate" };

	if (kv_node_expect_keys(root, keys, LENGTH(keys), KV_EXIT_DATA, err) ||
	    read_text(root, "summary", &profile->summary, err) || read_text(root, "source", &profile->source, err) ||
	    (profile->engine = required(root, "engine", KV_NODE_MAPPING, err)) == NULL ||
	    (profile->policies = required(root, "policies", KV_NODE_MAPPING, err)) == NULL)
		return -1;
	if (read_switches(root, profile, err) || read_sizing(root, profile, err) || read_rows(root, profile, err))
		return -1;
	if (read_efficiency(root, &profile->efficiency, err) ||
	    (kv_node_get(root, "approximate") != NULL && read_text(root, "approximate", &profile->approximate, err)))
		return -1;
	profile->has_overheads = kv_node_get(root, "overheads") != NULL;
	if (profile->sizes_only && !profile->has_overheads)
		return 0;
	return read_overheads(root, &profile->overheads, err);
}

static struct kv_engine_profile *from_tree(struct kv_node *tree, const char *name, struct kv_error *err)
{
	struct kv_engine_profile *profile;

	if (tree == NULL)
		return NULL;
	profile = kv_calloc(1, sizeof *profile);
	profile->tree = tree;
	profile->name = kv_strdup(name);
	if (!read_profile(tree, profile, err))
		return profile;
	kv_engine_profile_free(profile);
	return NULL;
}

struct kv_engine_profile *kv_engine_profile_parse(const char *text, const char *name, struct kv_error *err)
{
	return from_tree(kv_yaml_parse(text, strlen(text), name, err), name, err);
}

static bool is_path(const char *name)
{
	size_t length = strlen(name);

	return strchr(name, '/') != NULL || (length > 5 && strcmp(name + length - 5, ".yaml") == 0);
}

struct kv_engine_profile *kv_engine_profile_load(const char *name_or_path, struct kv_error *err)
{
	const char *text = kv_profile_text(KIND, name_or_path);
	const char *names[NAMES_MAX];
	size_t count = 0;

	if (text != NULL)
		return kv_engine_profile_parse(text, name_or_path, err);
	if (is_path(name_or_path))
		return from_tree(kv_yaml_read(name_or_path, err), name_or_path, err);
	for (const struct kv_profile *p = kv_profile_next(KIND, NULL); p != NULL && count < NAMES_MAX;
	     p = kv_profile_next(KIND, p))
		names[count++] = p->name;
	kv_fail_unknown(err, KV_EXIT_USAGE, "engine profile", name_or_path, names, count);
	return NULL;
}

void kv_engine_profile_free(struct kv_engine_profile *profile)
{
	if (profile == NULL)
		return;
	kv_yaml_free(profile->tree);
	free(profile->name);
	free(profile);
}

enum match { NO, MAYBE, YES };

/* check_device_row has read the same texts before. */
static enum match device_matches(const struct kv_node *when, const char *device, uint64_t memory)
{
	const struct kv_node *from, *without;
	struct kv_error ignored;
	uint64_t bytes = 0;

	if (when == NULL)
		return YES;
	without = kv_node_get(when, "name_without");
	if (without != NULL && strstr(device, without->text) != NULL)
		return NO;
	from = kv_node_get(when, "memory_from");
	if (from == NULL)
		return YES;
	if (memory == 0)
		return MAYBE;
	return kv_parse_bytes(from->text, false, 1, UINT64_MAX, &bytes, &ignored) == 0 && memory >= bytes ? YES : NO;
}

const struct kv_node *kv_engine_profile_device(const struct kv_engine_profile *profile, const char *device,
                                               uint64_t memory, bool *unsure)
{
	*unsure = false;
	for (size_t i = 0; i < profile->devices->children; i++) {
		const struct kv_node *row = &profile->devices->child[i];
		enum match match = device_matches(kv_node_get(row, "when"), device, memory);

		*unsure |= match == MAYBE;
		if (match == YES)
			return kv_node_get(row, "engine");
	}
	return NULL;
}
