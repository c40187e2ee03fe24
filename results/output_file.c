#include "config.h"

#include "results/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/memory.h"

#define BUFFER_SIZE ((size_t)64 * 1024)

struct kv_output {
	int descriptor;      /* -1 = closed */
	bool keep_open;
	bool committed;
	int error;           /* errno of the first failure */
	char *name;          /* final path, or what a descriptor is called */
	char *temporary;     /* NULL for a descriptor */
	size_t used;
	char buffer[BUFFER_SIZE];
};

static struct kv_output *new_output(int descriptor, const char *name)
{
	struct kv_output *out = kv_calloc(1, sizeof *out);

	out->descriptor = descriptor;
	out->name = kv_strdup(name);
	return out;
}

/* A rename would put a file in the place of a device or pipe. */
static bool is_device_or_pipe(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

static struct kv_output *open_in_place(const char *path, struct kv_error *err)
{
	int descriptor = open(path, O_WRONLY | O_CLOEXEC);

	if (descriptor < 0) {
		kv_fail(err, KV_EXIT_IO, "%s: cannot be written: %s", path, strerror(errno));
		return NULL;
	}
	return new_output(descriptor, path);
}

struct kv_output *kv_output_create(const char *path, struct kv_error *err)
{
	size_t size = strlen(path) + sizeof KV_OUTPUT_TEMPORARY_SUFFIX;
	struct kv_output *out;
	char *temporary;
	int descriptor;

	if (is_device_or_pipe(path))
		return open_in_place(path, err);
	temporary = kv_calloc(size, 1);
	snprintf(temporary, size, "%s%s", path, KV_OUTPUT_TEMPORARY_SUFFIX);
	descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (descriptor < 0) {
		kv_fail(err, KV_EXIT_IO, "%s: cannot be written: %s", temporary, strerror(errno));
		free(temporary);
		return NULL;
	}
	out = new_output(descriptor, path);
	out->temporary = temporary;
	return out;
}

struct kv_output *kv_output_to_descriptor(int descriptor, const char *name)
{
	struct kv_output *out = new_output(descriptor, name);

	out->keep_open = true;
	return out;
}

static void write_all(struct kv_output *out, const char *bytes, size_t size)
{
	while (size > 0 && out->error == 0) {
		ssize_t written = write(out->descriptor, bytes, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0) {
			out->error = errno;
		} else if (written == 0) {
			out->error = ENOSPC;
		} else {
			bytes += written;
			size -= (size_t)written;
		}
	}
}

static void flush(struct kv_output *out)
{
	write_all(out, out->buffer, out->used);
	out->used = 0;
}

char *kv_output_room(struct kv_output *out, size_t size)
{
	KV_ASSERT(size <= KV_OUTPUT_ROOM_MAX, "%zu bytes of room asked for", size);
	if (out->used + size > BUFFER_SIZE)
		flush(out);
	return out->buffer + out->used;
}

void kv_output_advance(struct kv_output *out, const char *end)
{
	out->used = (size_t)(end - out->buffer);
}

void kv_output_bytes(struct kv_output *out, const void *bytes, size_t size)
{
	if (size > BUFFER_SIZE - out->used)
		flush(out);
	if (size > BUFFER_SIZE) {
		write_all(out, bytes, size);
		return;
	}
	memcpy(out->buffer + out->used, bytes, size);
	out->used += size;
}

void kv_output_text(struct kv_output *out, const char *text)
{
	kv_output_bytes(out, text, strlen(text));
}

void kv_output_printf(struct kv_output *out, const char *format, ...)
{
	va_list args;
	char *text = NULL;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	KV_ASSERT(length >= 0, "text cannot be formatted");
	kv_output_bytes(out, text, (size_t)length);
	free(text);
}

int kv_output_close(struct kv_output *out, struct kv_error *err)
{
	if (out->descriptor >= 0) {
		flush(out);
		/* Some file systems tell of a failed write only here. */
		if (!out->keep_open && close(out->descriptor) != 0 && out->error == 0)
			out->error = errno;
		out->descriptor = -1;
	}
	if (out->error != 0)
		return kv_fail(err, KV_EXIT_IO, "%s: write failed: %s", out->name, strerror(out->error));
	return 0;
}

int kv_output_commit(struct kv_output *out, struct kv_error *err)
{
	KV_ASSERT(out->descriptor < 0 && out->error == 0, "%s is committed before it is complete", out->name);
	if (out->temporary != NULL && rename(out->temporary, out->name) != 0)
		return kv_fail(err, KV_EXIT_IO, "%s: cannot be renamed to %s: %s", out->temporary, out->name,
		               strerror(errno));
	out->committed = true;
	return 0;
}

void kv_output_free(struct kv_output *out)
{
	if (out == NULL)
		return;
	if (out->descriptor >= 0 && !out->keep_open)
		close(out->descriptor);
	if (out->temporary != NULL && !out->committed)
		unlink(out->temporary);
	free(out->temporary);
	free(out->name);
	free(out);
}
