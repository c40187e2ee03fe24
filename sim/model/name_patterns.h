/* Patterns of module names, as quantization_config lists them: whole names, parts of them between dots, globs with '*', or
 * "re:" and an expression of Python's. "Linear" is the class of every matrix and matches all. */
#ifndef KV_SIM_NAME_PATTERNS_H
#define KV_SIM_NAME_PATTERNS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct kv_name_pattern {
	char *text;
	regex_t *expression;  /* NULL unless the text begins with "re:" */
};

struct kv_name_patterns {
	size_t count, capacity;
	struct kv_name_pattern *pattern;
};

/* False if an expression is not understood, and then it is not added. */
bool kv_name_patterns_add(struct kv_name_patterns *patterns, const char *text);

bool kv_name_patterns_match(const struct kv_name_patterns *patterns, const char *name);

void kv_name_patterns_fini(struct kv_name_patterns *patterns);

#endif
