/* YAML files (and JSON, which is YAML) as one tree of nodes that remember where they stand.
 *
 * Stricter than YAML: one document, string keys, no key twice in a mapping, no aliases, no tags, at most 64 levels.
 * Scalars stay text; sim/base/quantity.h reads them. Errors name file and line: KV_EXIT_DATA for text that is no such
 * YAML, KV_EXIT_MISSING and KV_EXIT_IO for files.
 */
#ifndef KV_SIM_YAML_TREE_H
#define KV_SIM_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/error.h"

enum kv_node_kind { KV_NODE_SCALAR, KV_NODE_SEQUENCE, KV_NODE_MAPPING };

struct kv_node {
	enum kv_node_kind kind;
	bool quoted;             /* scalar in quotes: a text even if it reads "null" */
	bool owns_file;          /* the root, and what kv_yaml_set put in */
	unsigned line;           /* from 1; 0 = it stands in no file */
	const char *file;        /* or whatever else it comes from */
	char *key;               /* its name, if it is in a mapping; else NULL */
	char *text;              /* scalars; else NULL */
	struct kv_node *child;   /* items of a sequence, values of a mapping, in file order */
	size_t children;
};

/* What "-" is called as a file. */
#define KV_YAML_STANDARD_INPUT "standard input"

/* The root of a file ("-" is stdin) or of a text (length bytes; name stands for the file in errors), to be released
 * with kv_yaml_free(); NULL with err filled. */
struct kv_node *kv_yaml_read(const char *path, struct kv_error *err);
struct kv_node *kv_yaml_parse(const char *text, size_t length, const char *name, struct kv_error *err);
void kv_yaml_free(struct kv_node *root);

/* What stands at a path of keys and places in lists (from 0) below a node, such as "streams.0.requests". */
struct kv_yaml_setting {
	char *path, *text;
};

struct kv_yaml_settings {
	struct kv_yaml_setting *setting;
	size_t count;
};

void kv_yaml_settings_add(struct kv_yaml_settings *settings, const char *path, const char *text);
void kv_yaml_settings_fini(struct kv_yaml_settings *settings);

/* Puts the text, read as YAML, there; keys that do not exist are made, items of lists are not. Errors call it by
 * source, as those about what was put in will. Returns 0 or -1. */
int kv_yaml_set(struct kv_node *node, const struct kv_yaml_setting *setting, const char *source, struct kv_error *err);

/* The value of a key, or NULL if there is none or the node is no mapping. */
const struct kv_node *kv_node_get(const struct kv_node *mapping, const char *key);
/* An unquoted null, ~ or nothing. */
bool kv_node_is_null(const struct kv_node *node);

/* Both put "file:line: key: " in front (no key or no line: without it) and return -1. The second does it to an error that a
 * parser of the node's text returned. */
int kv_node_fail(const struct kv_node *node, enum kv_exit status, struct kv_error *err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int kv_node_fail_in(const struct kv_node *node, struct kv_error *err);

/* Nonzero with err filled unless the node is of that kind. */
int kv_node_expect(const struct kv_node *node, enum kv_node_kind kind, enum kv_exit status, struct kv_error *err);
/* The same for a mapping with no key outside the given names; the error suggests the nearest. */
int kv_node_expect_keys(const struct kv_node *node, const char *const *names, size_t count, enum kv_exit status,
                        struct kv_error *err);

#endif
