#include "config.h"

#include "results/compared_run.h"

#include <errno.h>
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "results/summary.h"
#include "sim/base/memory.h"

void kv_compared_run_fini(struct kv_compared_run *run)
{
	for (size_t i = 0; i < run->tenants; i++)
		free(run->tenant[i]);
	free(run->tenant);
	tdestroy(run->tenant_tree, free);
	free(run->request);
	free(run->settings);
	free(run->engine_profile);
	kv_remarks_fini(&run->warnings);
}

/* The name comes first: a pointer to an entry is one to its name. */
struct tenant {
	char *name;
	uint32_t number;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct tenant *)a)->name, ((const struct tenant *)b)->name);
}

static uint32_t tenant_number(struct kv_compared_run *run, const char *name)
{
	struct tenant wanted = { (char *)name, 0 }, *entry;
	struct tenant **found = tfind(&wanted, &run->tenant_tree, by_name);

	if (found != NULL)
		return (*found)->number;
	entry = kv_calloc(1, sizeof *entry);
	*entry = (struct tenant){ kv_strdup(name), (uint32_t)run->tenants };
	tsearch(entry, &run->tenant_tree, by_name);
	run->tenant = kv_realloc(run->tenant, run->tenants + 1, sizeof *run->tenant);
	run->tenant[run->tenants++] = entry->name;
	return entry->number;
}

static double milliseconds(kv_time from, kv_time to)
{
	return from == KV_TIME_NONE || to == KV_TIME_NONE ? NAN : (double)(to - from) / 1e6;
}

void kv_compared_run_add(struct kv_compared_run *run, const struct kv_request_record *record, kv_time retry_wait)
{
	bool finished = record->status == KV_FINISHED;
	struct kv_compared_request *request;

	if (record->arrival < run->warmup)
		return;
	run->request = kv_grow(run->request, &run->request_capacity, run->requests + 1, sizeof *run->request);
	request = &run->request[run->requests++];
	*request = (struct kv_compared_request){
		.index = record->index,
		.order = run->requests,
		.ttft = finished ? milliseconds(record->sent, record->first_token) : NAN,
		.tpot = finished && record->output_tokens > 1 ? (double)kv_time_per_output_token(record) / 1e9 : NAN,
		.e2el = finished ? milliseconds(record->sent, record->finish) : NAN,
		.queue = milliseconds(record->queued, record->admitted),
		.wait = (double)retry_wait / 1e6 + milliseconds(record->arrival, record->sent),
		.prompt_tokens = record->prompt_tokens,
		.cached_tokens = record->cached_tokens,
		.preemptions = record->preemptions,
		.swaps = record->swaps,
		.recomputed_tokens = record->recomputed_tokens,
		.tenant = tenant_number(run, record->tenant),
		.status = record->status
	};
}

static int by_index(const void *a, const void *b)
{
	const struct kv_compared_request *x = a, *y = b;

	if (x->index != y->index)
		return x->index > y->index ? 1 : -1;
	return (x->order > y->order) - (x->order < y->order);
}

static void keep_last_sendings(struct kv_compared_run *run)
{
	size_t kept = 0;

	for (size_t i = 0; i < run->requests; i++)
		if (i + 1 == run->requests || run->request[i].index != run->request[i + 1].index)
			run->request[kept++] = run->request[i];
	run->requests = kept;
}

void kv_compared_run_sort(struct kv_compared_run *run)
{
	qsort(run->request, run->requests, sizeof *run->request, by_index);
	keep_last_sendings(run);
}

void kv_compared_run_count(const struct kv_compared_run *run, size_t with[KV_UNFINISHED + 1])
{
	memset(with, 0, (KV_UNFINISHED + 1) * sizeof *with);
	for (size_t i = 0; i < run->requests; i++)
		with[run->request[i].status]++;
}

/* --- between processes -------------------------------------------------------------------------------------------- */

int kv_compared_run_save(const struct kv_compared_run *run, FILE *file, struct kv_error *err)
{
	uint64_t counts[] = { run->requests, run->tenants };

	fwrite(counts, sizeof counts, 1, file);
	if (run->requests > 0)
		fwrite(run->request, sizeof *run->request, run->requests, file);
	for (size_t i = 0; i < run->tenants; i++)
		fwrite(run->tenant[i], strlen(run->tenant[i]) + 1, 1, file);
	if (fflush(file) != 0 || ferror(file))
		return kv_fail(err, KV_EXIT_IO, "what a variant's requests came to cannot be kept: %s",
		               strerror(errno));
	return 0;
}

int kv_compared_run_load(struct kv_compared_run *run, FILE *file, struct kv_error *err)
{
	uint64_t counts[2] = { 0, 0 };
	bool complete;

	rewind(file);
	complete = fread(counts, sizeof counts, 1, file) == 1;
	run->requests = counts[0];
	run->request = kv_calloc(counts[0], sizeof *run->request);
	complete = complete && fread(run->request, sizeof *run->request, counts[0], file) == counts[0];
	run->tenant = kv_calloc(counts[1], sizeof *run->tenant);
	while (complete && run->tenants < counts[1]) {
		size_t size = 0;

		complete = getdelim(&run->tenant[run->tenants++], &size, '\0', file) > 0;
	}
	if (!complete)
		return kv_fail(err, KV_EXIT_IO, "what a variant's requests came to cannot be read back");
	return 0;
}

/* --- files of its folder ------------------------------------------------------------------------------------------ */

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* A file that has the key at its top. */
static json_t *read_file(const char *path, const char *key, struct kv_error *err)
{
	json_error_t where;
	json_t *root = json_load_file(path, 0, &where);

	if (json_object_get(root, key) != NULL)
		return root;
	kv_fail(err, KV_EXIT_DATA, "%s:%d: %s%s", path, where.line, root == NULL ? where.text : "there is no ",
	        root == NULL ? "" : key);
	json_decref(root);
	return NULL;
}

int kv_compared_run_read_summary(struct kv_compared_run *run, const char *path, struct kv_error *err)
{
	json_t *root = read_file(path, "kvsim", err);
	const json_t *ours = json_object_get(root, "kvsim");

	if (root == NULL)
		return -1;
	run->engine_profile = kv_strdup(json_string_value(json_object_get(ours, "engine_profile")));
	run->duration_s = number(root, "duration");
	run->request_throughput = number(root, "request_throughput");
	run->output_throughput = number(root, "output_throughput");
	run->total_throughput = number(root, "total_token_throughput");
	run->mean_pinned = number(ours, "mean_pinned_blocks");
	run->peak_pinned = number(ours, "peak_pinned_blocks");
	run->mean_cached = number(ours, "mean_cached_blocks");
	run->mean_running = number(ours, "mean_running");
	run->usable_blocks = number(ours, "usable_blocks");
	run->evicted_slots = number(ours, "evicted_blocks") * number(ours, "block_size");
	run->never_sent = number(json_object_get(json_object_get(ours, "unanswered"), "reasons"), "after_refusal");
	run->stalled = json_is_true(json_object_get(ours, "stalled"));
	run->partial = json_is_true(json_object_get(ours, "partial"));
	run->oracle = json_is_true(json_object_get(ours, "oracle"));
	json_decref(root);
	return 0;
}

int kv_compared_run_read_manifest(struct kv_compared_run *run, const char *path, struct kv_error *err)
{
	json_t *root = read_file(path, "warnings", err);
	const json_t *warning;
	size_t i;

	if (root == NULL)
		return -1;
	json_array_foreach (json_object_get(root, "warnings"), i, warning)
		kv_remark(&run->warnings, "%s", json_string_value(warning));
	json_decref(root);
	return 0;
}
