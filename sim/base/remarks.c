#include "config.h"

#include "sim/base/remarks.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

void kv_vremark(struct kv_remarks *remarks, const char *format, va_list args)
{
	char text[512];

	vsnprintf(text, sizeof text, format, args);
	remarks->text = kv_realloc(remarks->text, remarks->count + 1, sizeof *remarks->text);
	remarks->text[remarks->count++] = kv_strdup(text);
}

void kv_remark(struct kv_remarks *remarks, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	kv_vremark(remarks, format, args);
	va_end(args);
}

static bool holds(const struct kv_remarks *remarks, const char *text)
{
	for (size_t i = 0; i < remarks->count; i++)
		if (strcmp(remarks->text[i], text) == 0)
			return true;
	return false;
}

void kv_remarks_merge(struct kv_remarks *remarks, const struct kv_remarks *more)
{
	for (size_t i = 0; i < more->count; i++)
		if (!holds(remarks, more->text[i]))
			kv_remark(remarks, "%s", more->text[i]);
}

void kv_remarks_fini(struct kv_remarks *remarks)
{
	for (size_t i = 0; i < remarks->count; i++)
		free(remarks->text[i]);
	free(remarks->text);
}
