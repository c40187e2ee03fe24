#include "config.h"

#include "sim/cli/measured_run.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "sim/base/csv_table.h"
#include "sim/base/memory.h"
#include "sim/base/quantity.h"

#define CONTENT_BLOCK 16u

static char *joined(const char *a, const char *b)
{
	size_t length = strlen(a), more = strlen(b) + 1;
	char *text = kv_calloc(length + more, 1);

	memcpy(text, a, length);
	memcpy(text + length, b, more);
	return text;
}

/* --- JSON lines --------------------------------------------------------------------------------------------------- */

/* Calls take for each line, until it fails. */
static int read_lines(const char *path, int (*take)(void *self, const json_t *line, struct kv_error *err), void *self,
                      struct kv_error *err)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t capacity = 0, number = 0;
	ssize_t length;
	int status = 0;

	if (!file)
		return kv_fail(err, errno == ENOENT ? KV_EXIT_MISSING : KV_EXIT_IO, "%s: %s", path, strerror(errno));
	while (status == 0 && (length = getline(&text, &capacity, file)) > 0) {
		json_error_t error;
		json_t *line = json_loadb(text, (size_t)length, 0, &error);

		number++;
		status = line ? take(self, line, err) : kv_fail(err, KV_EXIT_DATA, "not JSON: %s", error.text);
		if (status)
			kv_fail_in(err, "%s:%zu", path, number);
		json_decref(line);
	}
	free(text);
	fclose(file);
	return status;
}

static int number_of(const json_t *object, const char *key, double *out, struct kv_error *err)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_number(value))
		return kv_fail(err, KV_EXIT_DATA, "%s: missing or no number", key);
	*out = json_number_value(value);
	return 0;
}

static int tokens_of(const json_t *object, const char *key, uint32_t *out, struct kv_error *err)
{
	double value = 0;

	if (number_of(object, key, &value, err))
		return -1;
	if (value < 1 || value > KV_TOKENS_MAX || value != floor(value))
		return kv_fail(err, KV_EXIT_DATA, "%s: %g; allowed: whole, 1 to %u", key, value, KV_TOKENS_MAX);
	*out = (uint32_t)value;
	return 0;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* Seconds on two clocks: arrivals in wall time, the rest in the engine's own. */
struct stamps {
	double arrival, queued, scheduled, first_token, last_token;
};

struct reading {
	struct kv_measured_run *run;
	struct stamps *stamps;
	size_t request_capacity, stamp_capacity;
};

static int take_request(void *self, const json_t *line, struct kv_error *err)
{
	struct reading *r = self;
	struct kv_measured_run *run = r->run;
	struct kv_measured_request request = {0};
	const char *id = json_string_value(json_object_get(line, "request_id"));
	struct stamps s = {0};

	if (!id)
		return kv_fail(err, KV_EXIT_DATA, "request_id: missing or no text");
	if (tokens_of(line, "input_toks", &request.prompt_tokens, err) ||
	    tokens_of(line, "output_toks", &request.output_tokens, err) ||
	    number_of(line, "arrival_time", &s.arrival, err) || number_of(line, "queued_ts", &s.queued, err) ||
	    number_of(line, "scheduled_ts", &s.scheduled, err) ||
	    number_of(line, "first_token_ts", &s.first_token, err) ||
	    number_of(line, "last_token_ts", &s.last_token, err))
		return -1;
	if (!(s.queued <= s.scheduled && s.scheduled <= s.first_token && s.first_token <= s.last_token))
		return kv_fail(err, KV_EXIT_DATA,
		               "queued_ts, scheduled_ts, first_token_ts and last_token_ts are not in order");
	request.id = kv_strdup(id);
	run->request = kv_grow(run->request, &r->request_capacity, run->requests + 1, sizeof request);
	r->stamps = kv_grow(r->stamps, &r->stamp_capacity, run->requests + 1, sizeof s);
	r->stamps[run->requests] = s;
	run->request[run->requests++] = request;
	return 0;
}

static kv_time nanoseconds(double seconds)
{
	return (kv_time)llround(seconds * 1e9);
}

static void align_clocks(const struct reading *r)
{
	double first = HUGE_VAL, offset = HUGE_VAL;

	for (size_t i = 0; i < r->run->requests; i++) {
		first = fmin(first, r->stamps[i].arrival);
		offset = fmin(offset, r->stamps[i].queued - r->stamps[i].arrival);
	}
	for (size_t i = 0; i < r->run->requests; i++) {
		struct kv_measured_request *request = &r->run->request[i];

		request->arrival = nanoseconds(r->stamps[i].arrival - first);
		request->scheduled = nanoseconds(r->stamps[i].scheduled - offset - first);
		request->first_token = nanoseconds(r->stamps[i].first_token - offset - first);
		request->last_token = nanoseconds(r->stamps[i].last_token - offset - first);
	}
}

static int by_arrival(const void *a, const void *b)
{
	const struct kv_measured_request *x = a, *y = b;

	return (x->arrival > y->arrival) - (x->arrival < y->arrival);
}

static int read_requests(struct kv_measured_run *run, struct kv_error *err)
{
	struct reading r = {.run = run};
	char *path = joined(run->prefix, "_requests.jsonl");
	int status = read_lines(path, take_request, &r, err);

	if (status == 0 && run->requests == 0)
		status = kv_fail(err, KV_EXIT_DATA, "%s: no requests", path);
	if (status == 0) {
		align_clocks(&r);
		qsort(run->request, run->requests, sizeof *run->request, by_arrival);
	}
	free(r.stamps);
	free(path);
	return status;
}

/* --- settings ----------------------------------------------------------------------------------------------------- */

static char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? kv_strdup(text) : NULL;
}

static uint64_t count_of(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 ? (uint64_t)value : 0;
}

static void take_settings(struct kv_measured_run *run, const json_t *meta)
{
	const json_t *engine = json_object_get(meta, "engine_kwargs"), *cache = json_object_get(meta, "kv_cache");
	const json_t *caching = json_object_get(cache, "enable_prefix_caching");

	run->model = text_of(meta, "model");
	run->engine_version = text_of(meta, "vllm_version");
	run->device = text_of(json_object_get(meta, "hardware"), "device_name");
	run->kv_cache_dtype = text_of(engine, "kv_cache_dtype");
	run->tensor_parallel = count_of(engine, "tensor_parallel_size");
	run->max_num_seqs = count_of(engine, "max_num_seqs");
	run->max_num_batched_tokens = count_of(engine, "max_num_batched_tokens");
	run->max_model_len = count_of(engine, "max_model_len");
	run->block_size = count_of(cache, "block_size");
	run->num_gpu_blocks = count_of(cache, "num_gpu_blocks");
	run->prefix_caching = json_is_boolean(caching) ? json_is_true(caching) : -1;
}

/* --- content ------------------------------------------------------------------------------------------------------ */

static struct kv_measured_request *find(struct kv_measured_run *run, const char *id)
{
	for (size_t i = 0; id && i < run->requests; i++)
		if (!strcmp(run->request[i].id, id))
			return &run->request[i];
	return NULL;
}

static void set_unique(struct kv_measured_request *request)
{
	request->prompt = kv_calloc(1, sizeof *request->prompt);
	request->prompt[0] = (struct kv_segment){.length = request->prompt_tokens, .kind = KV_STREAM_PRIVATE};
	request->prompt_segments = 1;
}

static int take_content(void *self, const json_t *line, struct kv_error *err)
{
	struct kv_measured_request *request = find(self, json_string_value(json_object_get(line, "request_id")));
	const json_t *blocks = json_object_get(line, "prompt_full_block_ids");
	size_t count = json_array_size(blocks);

	if (!request || request->prompt)
		return 0;
	if (request->prompt_tokens / CONTENT_BLOCK != count)
		return kv_fail(err, KV_EXIT_DATA, "prompt_full_block_ids: %zu blocks for %u tokens; allowed: %u", count,
		               request->prompt_tokens, request->prompt_tokens / CONTENT_BLOCK);
	request->prompt = kv_calloc(count + 1, sizeof *request->prompt);
	for (size_t i = 0; i < count; i++)
		request->prompt[request->prompt_segments++] = (struct kv_segment){
			.stream = (uint64_t)json_integer_value(json_array_get(blocks, i)), .length = CONTENT_BLOCK,
			.kind = KV_STREAM_BLOCK};
	if (request->prompt_tokens % CONTENT_BLOCK)
		request->prompt[request->prompt_segments++] = (struct kv_segment){
			.length = request->prompt_tokens % CONTENT_BLOCK, .kind = KV_STREAM_PRIVATE};
	return 0;
}

/* DATASET.jsonl of the meta file lies beside the run as DATASET.blk16.jsonl. */
static char *content_path(const struct kv_measured_run *run, const json_t *meta)
{
	const char *dataset = json_string_value(json_object_get(meta, "dataset_path"));
	const char *name = dataset && strrchr(dataset, '/') ? strrchr(dataset, '/') + 1 : dataset;
	const char *folder_end = strrchr(run->prefix, '/'), *end = name ? strstr(name, ".jsonl") : NULL;
	int folder = folder_end ? (int)(folder_end + 1 - run->prefix) : 0;
	char *path = NULL;

	if (end && asprintf(&path, "%.*s%.*s.blk16.jsonl", folder, run->prefix, (int)(end - name), name) < 0)
		abort();
	return path;
}

static int read_content(struct kv_measured_run *run, const json_t *meta, struct kv_error *err)
{
	char *path = content_path(run, meta);
	int status = 0;

	run->has_content = path && access(path, R_OK) == 0;
	if (run->has_content)
		status = read_lines(path, take_content, run, err);
	for (size_t i = 0; i < run->requests; i++)
		if (!run->request[i].prompt)
			set_unique(&run->request[i]);
	free(path);
	return status;
}

static int read_meta(struct kv_measured_run *run, struct kv_error *err)
{
	char *path = joined(run->prefix, "_meta.json");
	json_error_t error;
	json_t *meta = json_load_file(path, 0, &error);
	int status;

	if (!meta && access(path, R_OK)) {
		kv_fail(err, KV_EXIT_MISSING, "%s: %s", path, strerror(errno));
		free(path);
		return -1;
	}
	status = meta ? 0 : kv_fail(err, KV_EXIT_DATA, "%s:%d: %s", path, error.line, error.text);
	if (status == 0) {
		take_settings(run, meta);
		status = read_content(run, meta, err);
	}
	json_decref(meta);
	free(path);
	return status;
}

/* --- time series -------------------------------------------------------------------------------------------------- */

static int read_sample(const struct kv_csv_table *table, size_t row, const size_t column[3],
                       struct kv_measured_sample *out, struct kv_error *err)
{
	double *const to[3] = {&out->running, &out->waiting, &out->cache_percent};

	for (size_t i = 0; i < 3; i++) {
		const char *text = kv_csv_table_cell(table, row, column[i]);

		if (kv_parse_double(text, 0, 1e9, to[i], err))
			return kv_csv_table_fail(table, row, column[i], err, "a number from 0");
	}
	return 0;
}

static int read_samples(struct kv_measured_run *run, struct kv_error *err)
{
	static const char *const names[3] = {"running", "waiting", "kv_cache_pct"};
	char *path = joined(run->prefix, "_timeseries.csv");
	struct kv_csv_table *table = access(path, R_OK) == 0 ? kv_csv_table_read(path, err) : NULL;
	size_t column[3];
	int status = 0;

	if (!table) {
		status = access(path, R_OK) == 0 ? -1 : 0;
		free(path);
		return status;
	}
	for (size_t i = 0; i < 3 && status == 0; i++) {
		column[i] = kv_csv_table_column(table, names[i]);
		if (column[i] == KV_NO_COLUMN)
			status = kv_fail(err, KV_EXIT_DATA, "%s:1: column %s is missing", path, names[i]);
	}
	run->sample = kv_calloc(table->rows, sizeof *run->sample);
	for (size_t i = 0; i < table->rows && status == 0; i++)
		status = read_sample(table, i, column, &run->sample[run->samples++], err);
	kv_csv_table_free(table);
	free(path);
	return status;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static char *prefix_of(const char *path)
{
	static const char *const endings[] = {"_requests.jsonl", "_meta.json", "_timeseries.csv"};
	size_t length = strlen(path);

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t ending = strlen(endings[i]);

		if (length > ending && !strcmp(path + length - ending, endings[i]))
			return strndup(path, length - ending);
	}
	return kv_strdup(path);
}

bool kv_is_measured_run(const char *path)
{
	char *prefix = prefix_of(path), *requests = joined(prefix, "_requests.jsonl");
	bool is_run = access(requests, R_OK) == 0;

	free(requests);
	free(prefix);
	return is_run;
}

struct kv_measured_run *kv_measured_run_load(const char *path, struct kv_error *err)
{
	struct kv_measured_run *run = kv_calloc(1, sizeof *run);

	run->prefix = prefix_of(path);
	if (read_requests(run, err) == 0 && read_meta(run, err) == 0 && read_samples(run, err) == 0)
		return run;
	kv_measured_run_free(run);
	return NULL;
}

void kv_measured_run_free(struct kv_measured_run *run)
{
	if (!run)
		return;
	for (size_t i = 0; i < run->requests; i++) {
		free(run->request[i].id);
		free(run->request[i].prompt);
	}
	free(run->request);
	free(run->sample);
	free(run->model);
	free(run->device);
	free(run->engine_version);
	free(run->kv_cache_dtype);
	free(run->prefix);
	free(run);
}

struct run_source {
	struct kv_source source;
	const struct kv_measured_run *run;
	size_t next;
};

static int next_request(struct kv_source *source, struct kv_request *out, struct kv_error *err)
{
	struct run_source *s = (struct run_source *)source;
	const struct kv_measured_request *m;

	(void)err;
	if (s->next == s->run->requests)
		return 0;
	m = &s->run->request[s->next];
	*out = (struct kv_request){
		.index = s->next++, .arrival = m->arrival, .deadline = KV_TIME_NONE, .prompt = m->prompt,
		.prompt_segments = m->prompt_segments, .prompt_tokens = m->prompt_tokens,
		.output_tokens = m->output_tokens,
		.max_tokens = m->output_tokens, .id = m->id, .tenant = "", .salt = "", .adapter = "",
	};
	return 1;
}

static void close_source(struct kv_source *source)
{
	free(source);
}

struct kv_source *kv_measured_run_source(const struct kv_measured_run *run)
{
	struct run_source *s = kv_calloc(1, sizeof *s);

	s->source = (struct kv_source){.next = next_request, .close = close_source};
	s->run = run;
	return &s->source;
}
