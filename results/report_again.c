/* `kvsim report DIR`: the page from what a run left in its folder. */
#include "config.h"

#include "results/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/explain.h"
#include "results/result_folder.h"

static json_t *load(const char *dir, enum kv_result_file file, struct kv_error *err)
{
	char *path = kv_result_folder_path(dir, kv_result_file_name(file));
	json_error_t error;
	json_t *value;

	if (access(path, F_OK) != 0) {
		kv_fail(err, KV_EXIT_MISSING,
		        "%s: there is none: %s is not a folder that kvsim run wrote, or was written without "
		        "summary in --write",
		        path, dir);
		free(path);
		return NULL;
	}
	value = json_load_file(path, 0, &error);
	if (value == NULL)
		kv_fail(err, KV_EXIT_DATA, "%s:%d: %s", path, error.line, error.text);
	free(path);
	return value;
}

/* Into a script element: "<" could end it. */
static void put_escaped(struct kv_output *out, const char *bytes, size_t size)
{
	size_t start = 0;

	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != '<')
			continue;
		kv_output_bytes(out, bytes + start, i - start);
		kv_output_text(out, "\\u003c");
		start = i + 1;
	}
	kv_output_bytes(out, bytes + start, size - start);
}

/* Without charts.json the page has its tables only. */
static int copy_charts(const char *dir, struct kv_output *out, struct kv_error *err)
{
	char *path = kv_result_folder_path(dir, kv_result_file_name(KV_FILE_CHARTS));
	FILE *in = fopen(path, "r");
	static char buffer[1 << 16];
	size_t size;
	int failed = 0;

	if (in == NULL) {
		kv_output_text(out, "{}");
		free(path);
		return 0;
	}
	while ((size = fread(buffer, 1, sizeof buffer, in)) > 0)
		put_escaped(out, buffer, size);
	if (ferror(in))
		failed = kv_fail(err, KV_EXIT_IO, "%s: cannot be read: %s", path, strerror(errno));
	fclose(in);
	free(path);
	return failed;
}

static int render(const char *dir, const json_t *facts, const json_t *manifest, struct kv_error *err)
{
	char *path = kv_result_folder_path(dir, kv_result_file_name(KV_FILE_REPORT));
	struct kv_output *out = kv_output_create(path, err);
	int failed = -1;

	free(path);
	if (out == NULL)
		return -1;
	kv_report_begin(facts, manifest, out);
	if (copy_charts(dir, out, err) == 0) {
		kv_report_end(out);
		failed = kv_output_close(out, err) || kv_output_commit(out, err) ? -1 : 0;
	}
	kv_output_free(out);
	return failed;
}

int kv_report_render_again(const char *dir, struct kv_error *err)
{
	json_t *facts = load(dir, KV_FILE_SUMMARY, err);
	json_t *manifest = facts != NULL ? load(dir, KV_FILE_MANIFEST, err) : NULL;
	int failed = manifest == NULL ? -1 : render(dir, facts, manifest, err);

	json_decref(facts);
	json_decref(manifest);
	return failed;
}

int kv_report_explain(const char *dir, struct kv_error *err)
{
	json_t *facts = load(dir, KV_FILE_SUMMARY, err);
	struct kv_output *out;
	int failed;

	if (facts == NULL)
		return -1;
	if (json_object_get(json_object_get(facts, "kvsim"), "what_to_look_at") == NULL) {
		json_decref(facts);
		return kv_fail(err, KV_EXIT_DATA,
		               "%s: the run was written without report in --write, which gathers what is needed "
		               "to explain it",
		               dir);
	}
	out = kv_output_to_descriptor(STDOUT_FILENO, "standard output");
	kv_explain_write(facts, out);
	failed = kv_output_close(out, err);
	kv_output_free(out);
	json_decref(facts);
	return failed;
}
