#include "config.h"

#include "sim/model/name_patterns.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

enum { NAME_LENGTH = 512 };

/* What POSIX spells otherwise: \d and groups without a number. */
static char *to_posix(const char *python)
{
	static const struct {
		const char *python, *posix;
	} spellings[] = {{"\\d", "[0-9]"}, {"(?:", "("}};
	char *text = kv_calloc(3 * strlen(python) + 1, 1), *out = text;

	while (*python) {
		const char *instead = NULL;

		for (size_t i = 0; i < sizeof spellings / sizeof *spellings && !instead; i++)
			if (!strncmp(python, spellings[i].python, strlen(spellings[i].python))) {
				instead = spellings[i].posix;
				python += strlen(spellings[i].python);
			}
		if (instead)
			out = stpcpy(out, instead);
		else
			*out++ = *python++;
	}
	*out = '\0';
	return text;
}

static regex_t *compile(const char *python)
{
	char *posix = to_posix(python);
	regex_t *expression = kv_calloc(1, sizeof *expression);

	if (strstr(posix, "(?") || regcomp(expression, posix, REG_EXTENDED | REG_NOSUB) != 0) {
		free(expression);
		expression = NULL;
	}
	free(posix);
	return expression;
}

bool kv_name_patterns_add(struct kv_name_patterns *patterns, const char *text)
{
	regex_t *expression = NULL;

	if (!strncmp(text, "re:", 3)) {
		expression = compile(text + 3);
		if (!expression)
			return false;
	}
	patterns->pattern = kv_grow(patterns->pattern, &patterns->capacity, patterns->count + 1, sizeof *patterns->pattern);
	patterns->pattern[patterns->count++] = (struct kv_name_pattern){kv_strdup(text), expression};
	return true;
}

static bool matches_components(const char *pattern, const char *name)
{
	size_t length = strlen(pattern);

	for (const char *at = strstr(name, pattern); at; at = strstr(at + 1, pattern))
		if ((at == name || at[-1] == '.') && (at[length] == '.' || at[length] == '\0'))
			return true;
	return false;
}

static bool matches_glob(const char *pattern, const char *name)
{
	char below[NAME_LENGTH];

	snprintf(below, sizeof below, "%s.*", pattern);
	return fnmatch(pattern, name, 0) == 0 || fnmatch(below, name, 0) == 0;
}

bool kv_name_patterns_match(const struct kv_name_patterns *patterns, const char *name)
{
	for (size_t i = 0; i < patterns->count; i++) {
		const struct kv_name_pattern *p = &patterns->pattern[i];
		bool match = p->expression ? regexec(p->expression, name, 0, NULL, 0) == 0
		             : strchr(p->text, '*') ? matches_glob(p->text, name)
		             : matches_components(p->text, name) || !strcmp(p->text, "Linear");

		if (match)
			return true;
	}
	return false;
}

void kv_name_patterns_fini(struct kv_name_patterns *patterns)
{
	for (size_t i = 0; i < patterns->count; i++) {
		if (patterns->pattern[i].expression)
			regfree(patterns->pattern[i].expression);
		free(patterns->pattern[i].expression);
		free(patterns->pattern[i].text);
	}
	free(patterns->pattern);
	*patterns = (struct kv_name_patterns){0};
}
