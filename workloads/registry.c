/* The one list of trace formats, and how one is chosen. */
#include "config.h"

#include "workloads/formats.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <csv.h>

#include "sim/base/memory.h"
#include "sim/base/names.h"

const struct kv_format *const kv_format_registry[] = {
	&kv_format_kvsim,
	&kv_format_mooncake,
	&kv_format_bailian,
	&kv_format_vllm_timed,
	&kv_format_servegen_offline,
	&kv_format_kv_cache_tester,
	&kv_format_ragpulse,
	&kv_format_tracelab,
	&kv_format_tracelab_rounds,
	&kv_format_azure,
	&kv_format_burstgpt,
	&kv_format_splitwise,
	&kv_format_vidur,
	&kv_format_vllm_bench,
	&kv_format_llmservingsim,
	&kv_format_servegen,
	&kv_format_lengths,
	&kv_format_generator,
	&kv_format_aiperf,
	&kv_format_blis,
	&kv_format_aibrix,
	&kv_format_llmservingsim_sessions,
	&kv_format_copilot,
	NULL
};

enum { FORMATS = sizeof kv_format_registry / sizeof *kv_format_registry - 1 };

static void list_names(const char *names[FORMATS])
{
	for (int i = 0; i < FORMATS; i++)
		names[i] = kv_format_registry[i]->name;
}

const struct kv_format *kv_format_find(const char *name, struct kv_error *err)
{
	const char *names[FORMATS];

	for (int i = 0; i < FORMATS; i++)
		if (strcmp(kv_format_registry[i]->name, name) == 0)
			return kv_format_registry[i];
	list_names(names);
	kv_fail_unknown(err, KV_EXIT_USAGE, "trace format", name, names, FORMATS);
	return NULL;
}

const struct kv_format *kv_format_detect(const struct kv_sniff *sniff)
{
	for (int i = 0; i < FORMATS; i++)
		if (kv_format_registry[i]->detect(sniff))
			return kv_format_registry[i];
	return NULL;
}

/* Calls with their text and nothing else: LMCache's agent traces, ShareGPT, custom data sets of load tools. */
static bool is_text(const struct kv_sniff *sniff)
{
	static const char *const keys[] = {"input", "prompt", "messages", "text", "payload"};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (json_object_get(sniff->json, keys[i]) != NULL)
			return true;
	return kv_sniff_contains(sniff, "\"conversations\"");
}

/* What comes instead of traces: containers, and what a download that went wrong leaves. */
static const char *container(const struct kv_sniff *sniff)
{
	static const struct {
		size_t at;
		const char *magic, *what;
	} containers[] = {
		{257, "ustar", "a tar archive: unpack it and name a file or folder of it"},
		{0, "PK\3\4", "a zip archive: unpack it"},
		{0, "BZh", "compressed by bzip2: unpack it (gzip and zstd are read as they are)"},
		{0, "\xfd" "7zXZ", "compressed by xz: unpack it (gzip and zstd are read as they are)"},
		{0, "PAR1", "a Parquet file: write it as CSV or JSON lines"},
		{0, "\xff\xfe", "text in UTF-16: write it in UTF-8"},
		{0, "\xfe\xff", "text in UTF-16: write it in UTF-8"},
		{0, "version https://git-lfs", "a pointer of Git LFS: fetch the data behind it with git lfs pull"},
		{0, "<!DOCTYPE", "a web page: download the raw file"},
		{0, "<html", "a web page: download the raw file"},
	};

	for (size_t i = 0; i < sizeof containers / sizeof *containers; i++) {
		size_t length = strlen(containers[i].magic), at = containers[i].at;

		if (sniff->length >= at + length && memcmp(sniff->text + at, containers[i].magic, length) == 0)
			return containers[i].what;
	}
	return NULL;
}

/* JSON in another layout than one object a line. */
static const char *layout(const struct kv_sniff *sniff)
{
	const char *at = sniff->text, *end = sniff->text + sniff->length;

	while (at < end && memchr(" \t\r\n", *at, 4) != NULL)
		at++;
	if (at < end && *at == '[')
		return "a JSON array, or a part of one: write one object a line (jq -c '.[]' does)";
	if (at < end && *at == '{' && sniff->json == NULL)
		return "JSON whose first line is no whole object: write one object a line (jq -c . does)";
	return NULL;
}

/* What lies beside traces and is none. */
static const char *companion(const struct kv_sniff *sniff)
{
	static const struct {
		const char *mark, *what;
	} companions[] = {
		{"\"token_length\"", "a table of RAGPulse chunk lengths; name the trace beside it"},
		{"_tokens\": \"{", "the length distributions of a ServeGen client; name its ...-trace.csv"},
		{"\"engine_kwargs\"", "the settings of a measured run; name its requests"},
		{"t,prompt_throughput", "samples of a measured run; name its requests"},
	};

	for (size_t i = 0; i < sizeof companions / sizeof *companions; i++)
		if (kv_sniff_contains(sniff, companions[i].mark))
			return companions[i].what;
	if (is_text(sniff))
		return "text without token counts; count them with the model's tokenizer and write prompt_tokens and "
		       "output_tokens (kvsim list formats kvsim)";
	return NULL;
}

enum { LIST_SIZE = 500, NAMES_SHOWN = 12 };

/* Names of all formats, separated by commas. */
static void print_formats(char list[LIST_SIZE])
{
	size_t length = 0;

	list[0] = '\0';
	for (int i = 0; i < FORMATS && length < LIST_SIZE; i++)
		length += (size_t)snprintf(list + length, LIST_SIZE - length, "%s%s", i > 0 ? ", " : "",
		                           kv_format_registry[i]->name);
}

/* --- what comes near ---------------------------------------------------------------------------------------------- */

/* The names in the first line: columns, or keys. */
struct first_names {
	const char **names;
	size_t count, capacity;
};

static void add_first_name(struct first_names *first, const char *name)
{
	first->names = kv_grow(first->names, &first->capacity, first->count + 1, sizeof *first->names);
	first->names[first->count++] = name;
}

static struct first_names list_first_names(const struct kv_sniff *sniff)
{
	struct first_names first = {0};

	for (size_t i = 0; i < sniff->field_count; i++)
		add_first_name(&first, sniff->fields[i]);
	for (void *at = json_object_iter(sniff->json); at != NULL; at = json_object_iter_next(sniff->json, at))
		add_first_name(&first, json_object_iter_key(at));
	return first;
}

/* The name itself or one that may be a slip of it. */
static const char *find_first_name(const struct first_names *first, const char *name)
{
	for (size_t i = 0; i < first->count; i++)
		if (strcmp(first->names[i], name) == 0)
			return first->names[i];
	return kv_nearest_name(name, first->names, first->count);
}

static void count_keys(const struct first_names *first, const char *const *keys, size_t *found, size_t *missing)
{
	*found = *missing = 0;
	for (; keys != NULL && *keys != NULL; keys++) {
		if (find_first_name(first, *keys) != NULL)
			++*found;
		else
			++*missing;
	}
}

/* The format of whose keys most are there, and at least half; NULL if there is none. */
static const struct kv_format *find_resemblance(const struct first_names *first)
{
	const struct kv_format *best = NULL;
	size_t found, missing, most = 0, least = 0;

	for (int i = 0; i < FORMATS; i++) {
		count_keys(first, kv_format_registry[i]->keys, &found, &missing);
		if (found == 0 || found < missing || found < most || (found == most && missing >= least))
			continue;
		best = kv_format_registry[i];
		most = found;
		least = missing;
	}
	return best;
}

/* "'GeneratedTokens' (there is 'generated_tokens'), 'TIMESTAMP'"; "" if all are there. */
static void print_missing(const struct first_names *first, const char *const *keys, char list[LIST_SIZE])
{
	size_t length = 0;

	list[0] = '\0';
	for (; *keys != NULL && length < LIST_SIZE; keys++) {
		const char *near = find_first_name(first, *keys);

		if (near != NULL && strcmp(near, *keys) == 0)
			continue;
		length += (size_t)snprintf(list + length, LIST_SIZE - length, "%s'%s'", length > 0 ? ", " : "", *keys);
		if (near != NULL && length < LIST_SIZE)
			length += (size_t)snprintf(list + length, LIST_SIZE - length, " (there is '%.60s')", near);
	}
}

/* "; it comes near to azure, but misses 'GeneratedTokens'", or the names of all formats. */
static void print_resemblance(const struct kv_sniff *sniff, char text[2 * LIST_SIZE])
{
	struct first_names first = list_first_names(sniff);
	const struct kv_format *near = find_resemblance(&first);
	char list[LIST_SIZE];

	if (near != NULL) {
		print_missing(&first, near->keys, list);
		snprintf(text, 2 * LIST_SIZE, "; it comes near to %s, but %s%s", near->name,
		         *list != '\0' ? "misses " : "what stands there is of another type", list);
	} else {
		print_formats(list);
		snprintf(text, 2 * LIST_SIZE, " (%s)", list);
	}
	free(first.names);
}

int kv_format_fail_detection(const char *name, const struct kv_sniff *sniff, struct kv_error *err)
{
	const char *what = container(sniff);
	char near[2 * LIST_SIZE];

	if (what == NULL)
		what = companion(sniff);
	if (what == NULL)
		what = layout(sniff);
	if (what != NULL)
		return kv_fail(err, KV_EXIT_DATA, "%s: not a trace, but %s", name, what);
	print_resemblance(sniff, near);
	return kv_fail(err, KV_EXIT_DATA, "%s: its first line is of no format that is known%s; name one with --format",
	               name, near);
}

/* --- files that are not there ------------------------------------------------------------------------------------- */

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* The name beside the path that it may be a slip of, written to `nearest`; "" if there is none. */
static void find_nearest(const char *path, char *nearest, size_t size)
{
	const char *slash = strrchr(path, '/');
	int folder = slash != NULL ? (int)(slash - path + 1) : 0;
	char *name = kv_strdup(folder > 0 ? path : "./");
	struct dirent **entries;
	const char **names;
	const char *found;
	int count;

	nearest[0] = '\0';
	if (folder > 0)
		name[folder] = '\0';
	count = scandir(name, &entries, is_visible, alphasort);
	free(name);
	if (count < 0)
		return;
	names = kv_calloc((size_t)count + 1, sizeof *names);
	for (int i = 0; i < count; i++)
		names[i] = entries[i]->d_name;
	found = kv_nearest_name(path + folder, names, (size_t)count);
	if (found != NULL)
		snprintf(nearest, size, "%.*s%s", folder, path, found);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	free(names);
}

int kv_format_fail_missing(const char *path, struct kv_error *err)
{
	char nearest[300], list[LIST_SIZE];

	find_nearest(path, nearest, sizeof nearest);
	print_formats(list);
	return kv_fail(err, KV_EXIT_MISSING,
	               "%s: No such file or directory%s%s%s; a trace is a file (formats: %s), a folder of sessions, "
	               "'-' for standard input, or preset:NAME", path, *nearest ? " (did you mean " : "", nearest,
	               *nearest ? "?)" : "", list);
}

static void print_file_names(char *const *paths, size_t count, char list[LIST_SIZE])
{
	size_t length = 0;

	list[0] = '\0';
	for (size_t i = 0; i < count && i < NAMES_SHOWN && length < LIST_SIZE; i++) {
		const char *slash = strrchr(paths[i], '/');

		length += (size_t)snprintf(list + length, LIST_SIZE - length, "%s%s", i > 0 ? ", " : "",
		                           slash != NULL ? slash + 1 : paths[i]);
	}
	if (count > NAMES_SHOWN && length < LIST_SIZE)
		snprintf(list + length, LIST_SIZE - length, ", ...");
}

int kv_format_fail_folder(const char *what, char *const *paths, size_t count, struct kv_error *err)
{
	const char *folders = "";
	char list[LIST_SIZE];

	for (int i = 0; i < FORMATS; i++)
		if (kv_format_registry[i]->folders)
			folders = kv_format_registry[i]->name;
	print_file_names(paths, count, list);
	return kv_fail(err, KV_EXIT_DATA,
	               "%s: this first file of the folder %s; allowed: a folder of session files (%s), or one file of "
	               "it: %s", paths[0], what, folders, list);
}

/* --- the beginning of a file -------------------------------------------------------------------------------------- */

static void add_field(void *text, size_t length, void *self)
{
	struct kv_sniff *sniff = self;

	(void)length;
	sniff->fields = kv_realloc(sniff->fields, sniff->field_count + 1, sizeof *sniff->fields);
	sniff->fields[sniff->field_count++] = kv_strdup(text);
}

static void end_row(int end, void *self)
{
	(void)end;
	(void)self;
}

static void parse_fields(struct kv_sniff *sniff, const char *line, size_t length)
{
	struct csv_parser parser;

	csv_init(&parser, CSV_STRICT | CSV_APPEND_NULL);
	if (csv_parse(&parser, line, length, add_field, end_row, sniff) == length)
		csv_fini(&parser, add_field, end_row, sniff);
	csv_free(&parser);
}

void kv_sniff_init(struct kv_sniff *sniff, const struct kv_input *input)
{
	const char *at, *end, *newline;

	*sniff = (struct kv_sniff){0};
	kv_input_peek(input, &sniff->text, &sniff->length, &sniff->whole);
	at = sniff->text;
	end = at + sniff->length;
	while (at < end && strchr(" \t\r\n", *at) != NULL && *at != '\0')
		at++;
	newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
	if (newline == NULL && !sniff->whole)
		return;
	if (newline == NULL)
		newline = end;
	sniff->json = json_loadb(at, (size_t)(newline - at), 0, NULL);
	if (sniff->json == NULL)
		parse_fields(sniff, at, (size_t)(newline - at));
}

void kv_sniff_fini(struct kv_sniff *sniff)
{
	json_decref(sniff->json);
	for (size_t i = 0; i < sniff->field_count; i++)
		free(sniff->fields[i]);
	free(sniff->fields);
}

bool kv_sniff_has_field(const struct kv_sniff *sniff, const char *name)
{
	for (size_t i = 0; i < sniff->field_count; i++)
		if (strcmp(sniff->fields[i], name) == 0)
			return true;
	return false;
}

bool kv_sniff_has_fields(const struct kv_sniff *sniff, const char *const *names)
{
	for (; *names != NULL; names++)
		if (!kv_sniff_has_field(sniff, *names))
			return false;
	return true;
}

bool kv_sniff_contains(const struct kv_sniff *sniff, const char *text)
{
	return memmem(sniff->text, sniff->length, text, strlen(text)) != NULL;
}
