/* What `vllm bench serve --save-result --save-detailed` saved, as a workload: input_lens, output_lens, start_times.
 *
 * --append-result puts several results into one file. start_times are of a clock that goes on until the machine starts
 * again (Python's perf_counter): results keep their distance as long as it does, and otherwise follow each other.
 */
#include "config.h"

#include "workloads/formats.h"

#include <stdlib.h>

#include "sim/base/memory.h"
#include "workloads/document.h"
#include "workloads/number.h"

struct vllm_bench {
	struct kv_trace *trace;
	kv_time shift;        /* from the clock of the result at hand to that of the trace */
	kv_time end;          /* of the results so far, on the clock of the trace */
	bool has_result;
	bool has_told;        /* that a clock began anew */
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

static bool has_failed(const json_t *document, size_t i)
{
	const json_t *error = json_array_get(json_object_get(document, "errors"), i);
	const json_t *output = json_array_get(json_object_get(document, "output_lens"), i);

	return json_string_length(error) > 0 || (json_is_number(output) && json_number_value(output) == 0);
}

/* --- the clock ---------------------------------------------------------------------------------------------------- */

/* False where it is no time; such rows are marked when they are read. */
static bool to_time(const json_t *value, kv_time *time)
{
	return json_is_number(value) &&
	       kv_number_from_double(json_number_value(value), 9, KV_ARRIVAL_MAX, time) == KV_NUMBER_OK;
}

/* When the first and the last of a result's requests began; both 0 where it does not say. */
static void find_span(const json_t *document, kv_time *first, kv_time *last)
{
	const json_t *starts = json_object_get(document, "start_times");
	kv_time time;

	*first = KV_TIME_MAX;
	*last = 0;
	for (size_t i = 0; i < json_array_size(starts); i++) {
		if (has_failed(document, i) || !to_time(json_array_get(starts, i), &time))
			continue;
		*first = time < *first ? time : *first;
		*last = time > *last ? time : *last;
	}
	if (*first > *last)
		*first = *last = 0;
}

static void tell(struct vllm_bench *self)
{
	if (!self->has_told)
		kv_trace_note(self->trace,
		              "a result starts before the one in front of it has ended, as after a restart of the "
		              "machine: it follows at once");
	self->has_told = true;
}

static void set_clock(struct vllm_bench *self, const json_t *document)
{
	kv_time first, last, duration = 0;

	find_span(document, &first, &last);
	if (!self->has_result) {
		self->shift = -first;
	} else if (first + self->shift < self->end) {
		if (first > 0)
			tell(self);
		self->shift = self->end - first;
	}
	self->has_result = true;
	self->end = last + self->shift;
	if (to_time(json_object_get(document, "duration"), &duration) && duration > last - first)
		self->end = first + self->shift + duration;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* Every list that is there must have an entry a request. */
static void check_lists(struct kv_row *row, const json_t *document, size_t count)
{
	static const char *const lists[] = {"input_lens", "output_lens", "start_times", "errors"};

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		size_t size = json_array_size(json_object_get(document, lists[i]));

		if (size != count && (size != 0 || i < 2))
			kv_row_fault(row, KV_FAULT_COLUMNS,
			             "%s: %zu entries; allowed: %zu, as in input_lens (was the result saved with "
			             "--save-detailed?)",
			             lists[i], size, count);
	}
	if (count == 0)
		kv_row_fault(row, KV_FAULT_MISSING, "input_lens: has no entries; allowed: a result saved with "
		             "--save-detailed");
}

static int take_request(struct vllm_bench *self, const json_t *document, uint64_t line, size_t i)
{
	struct kv_row *row = kv_trace_begin(self->trace, line);

	if (has_failed(document, i)) {
		kv_row_leave_out(row, KV_FAULT_FAILED);
		return kv_trace_accept(self->trace);
	}
	row->arrival = 0;
	read_entry(&prompt_field, row, document, i);
	read_entry(&output_field, row, document, i);
	read_entry(&start_field, row, document, i);
	row->arrival += self->shift;
	return kv_trace_accept(self->trace);
}

static int expand(void *owner, json_t *document, uint64_t line)
{
	struct vllm_bench *self = owner;
	size_t count = json_array_size(json_object_get(document, "input_lens"));
	struct kv_row *row = kv_trace_begin(self->trace, line);

	check_lists(row, document, count);
	if (row->faulty)
		return kv_trace_accept(self->trace);
	set_clock(self, document);
	for (size_t i = 0; i < count; i++)
		if (take_request(self, document, line, i) != 0)
			return -1;
	return 0;
}

static const struct kv_document_table table = {.expand = expand, .close = free};

static const char *const keys[] = {"input_lens", "output_lens", "start_times", NULL};

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
	kv_trace_declare(trace, KV_TRACE_SURE_UNIT);
	return kv_document_open(trace, &table, self);
}

const struct kv_format kv_format_vllm_bench = {
	.name = "vllm-bench",
	.summary = "a detailed result of vllm bench serve: its lengths and start times, no prefix identity",
	.rules = "One JSON object a run; several may follow each other, as --append-result writes them. input_lens "
	         "and output_lens are tokens, start_times seconds that count from the earliest of the first run. "
	         "Later runs keep their distance to it, unless one starts before the run in front of it has ended "
	         "(its first start and duration), as after a restart of the machine: then it follows at once, and a "
	         "warning says so. A result without start_times is a batch at the end of the run in front of it, or "
	         "at 0. Requests with an error or without output are left out and counted as failed_request, whatever "
	         "else they say. A result without lists, or with lists of different lengths, is one unusable row "
	         "(columns, missing_field). Other keys are not used, nor counted as unknown.",
	.keys = keys,
	.detect = detect,
	.open = open_bench
};
