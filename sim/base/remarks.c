#include "config.h"

#include "sim/base/remarks.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

void kv_remark(struct kv_remarks *remarks, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	remarks->text = kv_realloc(remarks->text, remarks->count + 1, sizeof *remarks->text);
	remarks->text[remarks->count++] = kv_strdup(text);
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
