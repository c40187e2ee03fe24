#include "config.h"

#include "sim/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What came from a file must not steer the terminal that it is shown on. */
static void mask_control_characters(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

int kv_vfail(struct kv_error *err, enum kv_exit status, const char *format, va_list args)
{
	err->status = status;
	vsnprintf(err->text, sizeof err->text, format, args);
	mask_control_characters(err->text);
	return -1;
}

int kv_fail(struct kv_error *err, enum kv_exit status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	kv_vfail(err, status, format, args);
	va_end(args);
	return -1;
}

int kv_fail_in(struct kv_error *err, const char *format, ...)
{
	char inner[sizeof err->text];
	size_t length;
	va_list args;

	memcpy(inner, err->text, sizeof inner);
	va_start(args, format);
	vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	length = strlen(err->text);
	snprintf(err->text + length, sizeof err->text - length, ": %s", inner);
	mask_control_characters(err->text);
	return -1;
}

void kv_bug(const char *file, int line, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "kvsim: internal error at %s:%d: ", file, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("\nThis is a bug in kvsim: please report it with the command and the manifest.\n", stderr);
	exit(KV_EXIT_BUG);
}
