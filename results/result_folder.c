#include "config.h"

#include "results/result_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "results/output_file.h"
#include "sim/base/memory.h"

const char *kv_result_file_name(enum kv_result_file file)
{
	static const char *const names[KV_FILES] = {
		"manifest.json", "summary.json", "requests.csv", "timeline.csv", "events.csv", "report.html",
		"charts.json", "metrics.om", "chrome-trace.json", "comparison.json", "comparison.html"
	};

	return names[file];
}

char *kv_result_folder_path(const char *dir, const char *name)
{
	size_t size = strlen(dir) + 1 + strlen(name) + 1;
	char *path = kv_calloc(size, 1);

	snprintf(path, size, "%s/%s", dir, name);
	return path;
}

static bool has_our_manifest(const char *dir)
{
	char *path = kv_result_folder_path(dir, kv_result_file_name(KV_FILE_MANIFEST));
	json_t *manifest = json_load_file(path, 0, NULL);
	const char *generator = json_string_value(json_object_get(manifest, "generator"));
	bool ours = generator != NULL && strcmp(generator, "kvsim") == 0;

	json_decref(manifest);
	free(path);
	return ours;
}

static bool is_leftover(const char *name)
{
	const size_t suffix = strlen(KV_OUTPUT_TEMPORARY_SUFFIX);

	for (int i = 0; i < KV_FILES; i++) {
		const char *own = kv_result_file_name(i);
		size_t length = strlen(own);

		if (strlen(name) == length + suffix && strncmp(name, own, length) == 0 &&
		    strcmp(name + length, KV_OUTPUT_TEMPORARY_SUFFIX) == 0)
			return true;
	}
	return false;
}

/* The name of an entry that no killed run of ours left; NULL if there is none. Valid until closedir. */
static const char *find_foreign_entry(DIR *entries)
{
	const struct dirent *entry;

	while ((entry = readdir(entries)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && !is_leftover(entry->d_name))
			return entry->d_name;
	return NULL;
}

static int check_ours(const char *dir, struct kv_error *err)
{
	DIR *entries = opendir(dir);
	const char *foreign;
	int failed = 0;

	if (entries == NULL)
		return kv_fail(err, KV_EXIT_IO, "--out: %s cannot be read: %s", dir, strerror(errno));
	foreign = find_foreign_entry(entries);
	if (foreign != NULL && !has_our_manifest(dir))
		failed = kv_fail(err, KV_EXIT_USAGE,
		                 "--out: %s exists and is not a kvsim result folder (it holds %s): name "
		                 "another folder, or write into it with --force",
		                 dir, foreign);
	closedir(entries);
	return failed;
}

static int make_parents(const char *dir, struct kv_error *err)
{
	char *path = kv_strdup(dir);
	int failed = 0;

	for (char *slash = strchr(path + 1, '/'); slash != NULL && !failed; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0777) != 0 && errno != EEXIST)
			failed = kv_fail(err, KV_EXIT_IO, "--out: %s cannot be created: %s", path, strerror(errno));
		*slash = '/';
	}
	free(path);
	return failed;
}

int kv_result_folder_open(const char *dir, bool force, bool *created, struct kv_error *err)
{
	struct stat status;

	*created = false;
	if (dir[0] == '\0')
		return kv_fail(err, KV_EXIT_USAGE, "--out: the name of a folder is expected");
	if (make_parents(dir, err))
		return -1;
	if (mkdir(dir, 0777) == 0) {
		*created = true;
		return 0;
	}
	if (errno != EEXIST)
		return kv_fail(err, KV_EXIT_IO, "--out: %s cannot be created: %s", dir, strerror(errno));
	if (stat(dir, &status) != 0 || !S_ISDIR(status.st_mode))
		return kv_fail(err, KV_EXIT_USAGE, "--out: %s exists and is not a folder", dir);
	return force ? 0 : check_ours(dir, err);
}

void kv_result_folder_drop(const char *dir, enum kv_result_file file)
{
	char *path = kv_result_folder_path(dir, kv_result_file_name(file));

	unlink(path);
	free(path);
}
