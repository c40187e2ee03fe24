/* What `vllm bench serve --save-result --save-detailed` saved, as a workload: input_lens, output_lens, start_times. */
#include "config.h"

#include "workloads/formats.h"

#include <stdlib.h>

#include "sim/base/memory.h"
#include "workloads/document.h"

struct vllm_bench {
	struct kv_trace *trace;
};

static const struct kv_field prompt_field = {
	.name = "input_lens", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, prompt_tokens)
};
static const struct kv_field output_field = {
	.name = "output_lens", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens)
};
static const struct kv_field start_field = {
	.name = "start_times", .type = KV_FIELD_TIME, .digits = 9, .offset = offsetof(struct kv_row, arrival)
};

static void read_entry(const struct kv_field *field, struct kv_row *row, const json_t *document, size_t i)
{
	const json_t *list = json_object_get(document, field->name);

	if (list != NULL && json_array_size(list) > 0)
		kv_field_read_json(field, NULL, row, json_array_get(list, i));
}

static bool has_failed(const json_t *document, const struct kv_row *row, size_t i)
{
	const json_t *error = json_array_get(json_object_get(document, "errors"), i);

	return json_string_length(error) > 0 || row->output_tokens == 0;
}

/* Every list that is there must have an entry a request. */
static int check_lists(struct vllm_bench *self, const json_t *document, size_t count, uint64_t line,
                       struct kv_error *err)
{
	static const char *const lists[] = {"input_lens", "output_lens", "start_times", "errors"};

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		size_t size = json_array_size(json_object_get(document, lists[i]));

		if (size != count && (size != 0 || i < 2))
			return kv_trace_fail(self->trace, err, line,
			                     "%s: %zu entries; allowed: %zu, as in input_lens (was the result saved "
			                     "with --save-detailed?)",
			                     lists[i], size, count);
	}
	return 0;
}

static int expand(void *owner, json_t *document, uint64_t line, struct kv_error *err)
{
	struct vllm_bench *self = owner;
	size_t count = json_array_size(json_object_get(document, "input_lens"));

	if (check_lists(self, document, count, line, err) != 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct kv_row *row = kv_trace_begin(self->trace, line);

		read_entry(&prompt_field, row, document, i);
		read_entry(&output_field, row, document, i);
		read_entry(&start_field, row, document, i);
		if (!row->faulty && has_failed(document, row, i))
			kv_row_leave_out(row, KV_FAULT_FAILED);
		if (kv_trace_accept(self->trace) != 0)
			return -1;
	}
	return 0;
}

static const struct kv_document_table table = {.expand = expand, .close = free};

static bool detect(const struct kv_sniff *sniff)
{
	if (sniff->json != NULL)
		return json_is_array(json_object_get(sniff->json, "input_lens"));
	return sniff->length > 0 && sniff->text[0] == '{' && kv_sniff_contains(sniff, "\"request_throughput\"");
}

static struct kv_reader *open_bench(struct kv_trace *trace, const struct kv_sniff *sniff, const void *params,
                                    struct kv_error *err)
{
	struct vllm_bench *self = kv_calloc(1, sizeof *self);

	(void)sniff;
	(void)params;
	(void)err;
	self->trace = trace;
	kv_trace_declare(trace, KV_TRACE_CLOCK_FROM_FIRST);
	return kv_document_open(trace, &table, self);
}

const struct kv_format kv_format_vllm_bench = {
	.name = "vllm-bench",
	.summary = "a detailed result of vllm bench serve: its lengths and start times, no prefix identity",
	.rules = "One JSON object a run, several may follow each other. input_lens and output_lens are tokens, "
	         "start_times seconds that count from the earliest; a result without start_times is a batch at 0. "
	         "Requests with an error or without output are left out and counted as failed_request.",
	.detect = detect,
	.open = open_bench
};
