/* Any bytes through every trace reader. The first byte chooses the format and whether bad rows are skipped; the rest is
 * the file. What comes out must be in order, counted in full, and have prompts that add up. */
#include "config.h"

#include "sim/base/error.h"
#include "tests/fuzz/fuzz_file.h"
#include "workloads/trace.h"

enum { SKIP = 0x80 };

static void choose(struct kv_trace_options *options, uint8_t choice)
{
	size_t formats = 0;

	while (kv_format_registry[formats] != NULL)
		formats++;
	choice &= SKIP - 1;
	options->format = choice < formats ? kv_format_registry[choice]->name : NULL;
	options->reorder_rows = 3;
}

static void check_request(const struct kv_request *request, kv_time last)
{
	uint64_t sum = 0;

	KV_ASSERT(request->arrival >= last, "out of order");
	KV_ASSERT(request->prompt_tokens > 0 && request->prompt_tokens <= KV_TOKENS_MAX, "prompt tokens");
	KV_ASSERT(request->output_tokens <= KV_TOKENS_MAX, "output tokens");
	KV_ASSERT(request->retrieval >= 0, "retrieval");
	for (uint32_t i = 0; i < request->prompt_segments; i++) {
		KV_ASSERT(request->prompt[i].length > 0, "empty segment");
		sum += request->prompt[i].length;
	}
	KV_ASSERT(sum == request->prompt_tokens, "segments do not sum to the prompt");
}

static void check_counts(const struct kv_trace_counts *counts, uint64_t emitted)
{
	uint64_t left_out = 0;

	for (int i = 0; i < KV_FAULTS; i++)
		left_out += counts->left_out[i];
	KV_ASSERT(counts->emitted == emitted, "emitted");
	KV_ASSERT(counts->rows == emitted + counts->waiting + left_out, "rows");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kv_trace_options options;
	struct kv_request request;
	struct kv_trace *trace;
	struct kv_error err = {0};
	uint64_t emitted = 0;
	kv_time last = 0;
	char path[32];
	int fd, status;

	if (size == 0)
		return 0;
	kv_trace_options_init(&options);
	options.skip_bad_rows = (data[0] & SKIP) != 0;
	choose(&options, data[0]);
	fd = kv_fuzz_file(data + 1, size - 1, path);
	trace = kv_trace_open(path, &options, &err);
	status = trace != NULL ? 1 : -1;
	while (status == 1 && (status = kv_trace_source(trace)->next(kv_trace_source(trace), &request, &err)) == 1) {
		check_request(&request, last);
		last = request.arrival;
		emitted++;
	}
	if (status == 0)
		check_counts(kv_trace_counts(trace), emitted);
	else
		KV_ASSERT(err.text[0] != '\0', "no message");
	kv_trace_close(trace);
	close(fd);
	return 0;
}
