#include "config.h"

#include "sim/base/yaml_tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "sim/base/memory.h"
#include "sim/base/names.h"

/* Limits keep hostile files from costing more than a second or the stack. */
#define LEVELS_MAX 64
#define KEYS_MAX 10000
#define FILE_BYTES_MAX ((size_t)16 << 20)

struct reader {
	yaml_parser_t parser;
	const char *file;
	struct kv_error *err;
};

static int fail_at(struct reader *r, size_t line, const char *problem)
{
	return kv_fail(r->err, KV_EXIT_DATA, "%s:%zu: %s", r->file, line + 1, problem);
}

static int next_event(struct reader *r, yaml_event_t *event)
{
	char text[256];

	if (yaml_parser_parse(&r->parser, event))
		return 0;
	snprintf(text, sizeof text, "not YAML: %s%s%s", r->parser.problem ? r->parser.problem : "unreadable text",
	         r->parser.context ? " " : "", r->parser.context ? r->parser.context : "");
	return fail_at(r, r->parser.problem_mark.line, text);
}

static int read_node(struct reader *r, const yaml_event_t *event, unsigned level, struct kv_node *node);

static int read_scalar(struct reader *r, const yaml_event_t *event, char **text)
{
	const char *value = (const char *)event->data.scalar.value;

	if (event->data.scalar.tag != NULL)
		return fail_at(r, event->start_mark.line, "tags (!) are not supported");
	if (strlen(value) != event->data.scalar.length)
		return fail_at(r, event->start_mark.line, "a NUL character is not allowed");
	*text = kv_strdup(value);
	return 0;
}

static struct kv_node *append_child(struct kv_node *node, size_t *capacity)
{
	node->child = kv_grow(node->child, capacity, node->children + 1, sizeof *node->child);
	return &node->child[node->children++];
}

static int read_sequence(struct reader *r, unsigned level, struct kv_node *node)
{
	size_t capacity = 0;
	yaml_event_t event;
	int failed = 0;

	while (!failed) {
		bool end;

		if (next_event(r, &event))
			return -1;
		end = event.type == YAML_SEQUENCE_END_EVENT;
		if (!end)
			failed = read_node(r, &event, level + 1, append_child(node, &capacity));
		yaml_event_delete(&event);
		if (end)
			break;
	}
	return failed;
}

static int read_key(struct reader *r, const yaml_event_t *event, const struct kv_node *mapping, char **key)
{
	char problem[256];

	if (event->type != YAML_SCALAR_EVENT)
		return fail_at(r, event->start_mark.line, "a key must be plain text");
	if (mapping->children >= KEYS_MAX)
		return fail_at(r, event->start_mark.line, "more than 10000 keys in one mapping");
	if (read_scalar(r, event, key))
		return -1;
	for (size_t i = 0; i < mapping->children; i++) {
		if (strcmp(mapping->child[i].key, *key) != 0)
			continue;
		snprintf(problem, sizeof problem, "key '%s' stands here twice (first in line %u)", *key,
		         mapping->child[i].line);
		free(*key);
		return fail_at(r, event->start_mark.line, problem);
	}
	return 0;
}

static int read_mapping(struct reader *r, unsigned level, struct kv_node *node)
{
	size_t capacity = 0;
	yaml_event_t event;

	for (;;) {
		struct kv_node *child;
		char *key = NULL;
		int failed;

		if (next_event(r, &event))
			return -1;
		if (event.type == YAML_MAPPING_END_EVENT) {
			yaml_event_delete(&event);
			return 0;
		}
		failed = read_key(r, &event, node, &key);
		yaml_event_delete(&event);
		if (failed)
			return -1;
		child = append_child(node, &capacity);
		child->key = key;
		if (next_event(r, &event))
			return -1;
		failed = read_node(r, &event, level + 1, child);
		yaml_event_delete(&event);
		if (failed)
			return -1;
	}
}

static int read_node(struct reader *r, const yaml_event_t *event, unsigned level, struct kv_node *node)
{
	node->file = r->file;
	node->line = (unsigned)event->start_mark.line + 1;
	if (level > LEVELS_MAX)
		return fail_at(r, event->start_mark.line, "more than 64 levels deep");
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		node->kind = KV_NODE_SCALAR;
		node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
		return read_scalar(r, event, &node->text);
	case YAML_SEQUENCE_START_EVENT:
		node->kind = KV_NODE_SEQUENCE;
		return read_sequence(r, level, node);
	case YAML_MAPPING_START_EVENT:
		node->kind = KV_NODE_MAPPING;
		return read_mapping(r, level, node);
	case YAML_ALIAS_EVENT:
		return fail_at(r, event->start_mark.line, "aliases (*name) are not supported: write the value out");
	default:
		return fail_at(r, event->start_mark.line, "a value is missing");
	}
}

static int expect_event(struct reader *r, yaml_event_type_t type, const char *problem)
{
	yaml_event_t event;
	int failed = next_event(r, &event);

	if (failed)
		return -1;
	if (event.type != type)
		failed = fail_at(r, event.start_mark.line, problem);
	yaml_event_delete(&event);
	return failed;
}

static int read_document(struct reader *r, struct kv_node *root)
{
	yaml_event_t event;
	int failed;

	if (expect_event(r, YAML_STREAM_START_EVENT, "not YAML") ||
	    expect_event(r, YAML_DOCUMENT_START_EVENT, "the file is empty") || next_event(r, &event))
		return -1;
	failed = read_node(r, &event, 0, root);
	yaml_event_delete(&event);
	return failed || expect_event(r, YAML_DOCUMENT_END_EVENT, "not YAML") ||
	       expect_event(r, YAML_STREAM_END_EVENT, "a second document begins; only one is allowed") ? -1 : 0;
}

struct kv_node *kv_yaml_parse(const char *text, size_t length, const char *name, struct kv_error *err)
{
	struct kv_node *root = kv_calloc(1, sizeof *root);
	struct reader r = { .file = kv_strdup(name), .err = err };
	int failed;

	root->file = r.file;
	root->owns_file = true;
	if (!yaml_parser_initialize(&r.parser)) {
		kv_fail(err, KV_EXIT_BUG, "libyaml cannot start");
		kv_yaml_free(root);
		return NULL;
	}
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, length);
	failed = read_document(&r, root);
	yaml_parser_delete(&r.parser);
	if (!failed)
		return root;
	kv_yaml_free(root);
	return NULL;
}

static int read_all(FILE *in, const char *path, char **text, size_t *length, struct kv_error *err)
{
	size_t capacity = 0;

	*text = NULL;
	*length = 0;
	do {
		*text = kv_grow(*text, &capacity, *length + 4096, 1);
		*length += fread(*text + *length, 1, capacity - *length, in);
		if (*length > FILE_BYTES_MAX)
			return kv_fail(err, KV_EXIT_DATA, "%s: larger than 16 MiB", path);
	} while (!feof(in) && !ferror(in));
	if (ferror(in))
		return kv_fail(err, KV_EXIT_IO, "%s: cannot read: %s", path, strerror(errno));
	return 0;
}

struct kv_node *kv_yaml_read(const char *path, struct kv_error *err)
{
	bool standard = strcmp(path, "-") == 0;
	FILE *in = standard ? stdin : fopen(path, "rb");
	struct kv_node *root = NULL;
	size_t length;
	char *text;

	if (in == NULL) {
		kv_fail(err, errno == ENOENT || errno == ENOTDIR ? KV_EXIT_MISSING : KV_EXIT_IO, "%s: %s", path,
		        strerror(errno));
		return NULL;
	}
	if (!read_all(in, path, &text, &length, err))
		root = kv_yaml_parse(text, length, standard ? KV_YAML_STANDARD_INPUT : path, err);
	free(text);
	if (!standard)
		fclose(in);
	return root;
}

static void node_fini(struct kv_node *node)
{
	for (size_t i = 0; i < node->children; i++)
		node_fini(&node->child[i]);
	free(node->child);
	free(node->key);
	free(node->text);
	if (node->owns_file)
		free((char *)node->file);
}

void kv_yaml_free(struct kv_node *root)
{
	if (root == NULL)
		return;
	node_fini(root);
	free(root);
}

const struct kv_node *kv_node_get(const struct kv_node *mapping, const char *key)
{
	if (mapping->kind != KV_NODE_MAPPING)
		return NULL;
	for (size_t i = 0; i < mapping->children; i++)
		if (strcmp(mapping->child[i].key, key) == 0)
			return &mapping->child[i];
	return NULL;
}

bool kv_node_is_null(const struct kv_node *node)
{
	return node->kind == KV_NODE_SCALAR && !node->quoted &&
	       (*node->text == '\0' || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

/* Puts where the node stands in front. */
static int fail_at_node(const struct kv_node *node, struct kv_error *err)
{
	return node->line > 0 ? kv_fail_in(err, "%s:%u", node->file, node->line) : kv_fail_in(err, "%s", node->file);
}

int kv_node_fail_in(const struct kv_node *node, struct kv_error *err)
{
	if (node->key != NULL)
		kv_fail_in(err, "%s", node->key);
	return fail_at_node(node, err);
}

int kv_node_fail(const struct kv_node *node, enum kv_exit status, struct kv_error *err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	kv_vfail(err, status, format, args);
	va_end(args);
	return kv_node_fail_in(node, err);
}

int kv_node_expect(const struct kv_node *node, enum kv_node_kind kind, enum kv_exit status, struct kv_error *err)
{
	static const char *const names[] = { "a single value", "a list", "a mapping of keys to values" };

	if (node->kind == kind)
		return 0;
	return kv_node_fail(node, status, err, "%s is expected here, not %s", names[kind], names[node->kind]);
}

int kv_node_expect_keys(const struct kv_node *node, const char *const *names, size_t count, enum kv_exit status,
                        struct kv_error *err)
{
	if (kv_node_expect(node, KV_NODE_MAPPING, status, err))
		return -1;
	for (size_t i = 0; i < node->children; i++) {
		const struct kv_node *child = &node->child[i];
		size_t known = 0;

		while (known < count && strcmp(names[known], child->key) != 0)
			known++;
		if (known < count)
			continue;
		kv_fail_unknown(err, status, "key", child->key, names, count);
		return fail_at_node(child, err);
	}
	return 0;
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

void kv_yaml_settings_add(struct kv_yaml_settings *settings, const char *path, const char *text)
{
	settings->setting = kv_realloc(settings->setting, settings->count + 1, sizeof *settings->setting);
	settings->setting[settings->count++] = (struct kv_yaml_setting){kv_strdup(path), kv_strdup(text)};
}

void kv_yaml_settings_fini(struct kv_yaml_settings *settings)
{
	for (size_t i = 0; i < settings->count; i++) {
		free(settings->setting[i].path);
		free(settings->setting[i].text);
	}
	free(settings->setting);
}

static void forget_lines(struct kv_node *node)
{
	node->line = 0;
	for (size_t i = 0; i < node->children; i++)
		forget_lines(&node->child[i]);
}

/* An empty mapping as the last value of a mapping. */
static struct kv_node *add_key(struct kv_node *mapping, const char *key, const char *source)
{
	struct kv_node *child;

	mapping->child = kv_realloc(mapping->child, mapping->children + 1, sizeof *mapping->child);
	child = &mapping->child[mapping->children++];
	*child = (struct kv_node){
		.kind = KV_NODE_MAPPING, .owns_file = true, .file = kv_strdup(source), .key = kv_strdup(key)
	};
	return child;
}

static struct kv_node *find_item(struct kv_node *list, const char *place, const char *source, struct kv_error *err)
{
	for (size_t i = 0; i < list->children; i++) {
		char number[24];

		snprintf(number, sizeof number, "%zu", i);
		if (strcmp(number, place) == 0)
			return &list->child[i];
	}
	kv_fail(err, KV_EXIT_USAGE, "%s: '%s' is no place in a list of %zu: counted from 0", source, place, list->children);
	return NULL;
}

static struct kv_node *find_or_add(struct kv_node *node, const char *name, const char *source, struct kv_error *err)
{
	switch (node->kind) {
	case KV_NODE_SEQUENCE:
		return find_item(node, name, source, err);
	case KV_NODE_MAPPING:
		for (size_t i = 0; i < node->children; i++)
			if (strcmp(node->child[i].key, name) == 0)
				return &node->child[i];
		return add_key(node, name, source);
	default:
		kv_fail(err, KV_EXIT_USAGE, "%s: %s is the single value '%s', which has no key '%s': set it as a whole", source,
		        node->key != NULL ? node->key : "it", node->text, name);
		return NULL;
	}
}

static struct kv_node *find_place(struct kv_node *node, const char *path, const char *source, struct kv_error *err)
{
	char *names = kv_strdup(path), *rest = names;

	for (char *name = strsep(&rest, "."); name != NULL && node != NULL; name = strsep(&rest, "."))
		node = find_or_add(node, name, source, err);
	free(names);
	return node;
}

int kv_yaml_set(struct kv_node *node, const struct kv_yaml_setting *setting, const char *source, struct kv_error *err)
{
	struct kv_node *value, *place;
	char *key;

	if (*setting->text == '\0')
		return kv_fail(err, KV_EXIT_USAGE, "%s: a value is missing", source);
	place = find_place(node, setting->path, source, err);
	value = place == NULL ? NULL : kv_yaml_parse(setting->text, strlen(setting->text), source, err);
	if (value == NULL)
		return -1;
	forget_lines(value);
	key = place->key;
	place->key = NULL;
	node_fini(place);
	*place = *value;
	place->key = key;
	free(value);
	return 0;
}
