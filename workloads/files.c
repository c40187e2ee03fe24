#include "config.h"

#include "workloads/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/memory.h"

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void add_path(struct kv_files *files, char *path)
{
	files->paths = kv_grow(files->paths, &files->capacity, files->count + 1, sizeof *files->paths);
	files->paths[files->count++] = path;
}

static char *join(const char *folder, const char *name)
{
	size_t size = strlen(folder) + strlen(name) + 2;
	char *path = kv_calloc(size, 1);

	snprintf(path, size, "%s/%s", folder, name);
	return path;
}

static int list_folder(struct kv_files *files, const char *path, struct kv_error *err)
{
	struct dirent **entries;
	int count = scandir(path, &entries, is_visible, compare_names);

	if (count < 0)
		return kv_fail(err, KV_EXIT_IO, "%s: %s", path, strerror(errno));
	for (int i = 0; i < count; i++) {
		add_path(files, join(path, entries[i]->d_name));
		free(entries[i]);
	}
	free(entries);
	if (count == 0)
		return kv_fail(err, KV_EXIT_DATA, "%s: the folder is empty; allowed: a folder of session files", path);
	return 0;
}

static int open_current(struct kv_files *files, struct kv_error *err)
{
	files->input = kv_input_open(files->paths[files->at], err);
	return files->input != NULL ? 0 : -1;
}

int kv_files_open(struct kv_files *files, const char *path, struct kv_error *err)
{
	struct stat status;

	*files = (struct kv_files){0};
	files->folder = strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
	if (!files->folder)
		add_path(files, kv_strdup(path));
	else if (list_folder(files, path, err) != 0)
		return -1;
	return open_current(files, err);
}

void kv_files_close(struct kv_files *files)
{
	kv_input_close(files->input);
	for (size_t i = 0; i < files->count; i++)
		free(files->paths[i]);
	free(files->paths);
	free(files->digests);
}

static int add_digest(struct kv_files *files, struct kv_error *err)
{
	size_t size = KV_FINGERPRINT_SIZE - 1;

	files->digests = kv_grow(files->digests, &files->digests_capacity, files->digests_length + size + 1, 1);
	if (kv_input_fingerprint(files->input, files->digests + files->digests_length, err) != 0)
		return -1;
	files->digests_length += size;
	return 0;
}

int kv_files_next(struct kv_files *files, struct kv_error *err)
{
	if (files->at + 1 >= files->count)
		return 0;
	if (add_digest(files, err) != 0)
		return -1;
	kv_input_close(files->input);
	files->at++;
	return open_current(files, err) == 0 ? 1 : -1;
}

int kv_files_fingerprint(struct kv_files *files, char text[KV_FINGERPRINT_SIZE], struct kv_error *err)
{
	int status;

	if (!files->folder)
		return kv_input_fingerprint(files->input, text, err);
	while ((status = kv_files_next(files, err)) == 1)
		;
	if (status != 0 || add_digest(files, err) != 0)
		return -1;
	kv_fingerprint(files->digests, files->digests_length, text);
	return 0;
}
