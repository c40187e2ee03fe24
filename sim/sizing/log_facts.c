#include "config.h"

#include "sim/sizing/log_facts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

enum { LOG_MAX_BYTES = 1 << 30 };

static const char *const names[KV_FACTS] = {
	[KV_FACT_TOTAL] = "device memory", [KV_FACT_FREE] = "free memory", [KV_FACT_UTILIZATION] = "memory utilisation",
	[KV_FACT_REQUESTED] = "requested memory", [KV_FACT_WEIGHTS] = "weights", [KV_FACT_ACTIVATION] = "activation peak",
	[KV_FACT_TORCH_PEAK] = "torch peak", [KV_FACT_NON_TORCH] = "non-torch memory",
	[KV_FACT_CONSUMED] = "weights and non-torch", [KV_FACT_NON_KV] = "memory that is not KV",
	[KV_FACT_GRAPHS] = "graph memory", [KV_FACT_GRAPHS_ESTIMATED] = "graph estimate", [KV_FACT_KV] = "KV cache memory",
	[KV_FACT_KV_BYTES] = "KV cache bytes", [KV_FACT_KV_BUFFER] = "KV buffers",
	[KV_FACT_FULL_TOKENS] = "full layers' tokens", [KV_FACT_WINDOW_TOKENS] = "windowed layers' tokens",
	[KV_FACT_K_SIZE] = "K size", [KV_FACT_V_SIZE] = "V size",
	[KV_FACT_BLOCKS] = "GPU blocks", [KV_FACT_CPU_BLOCKS] = "CPU blocks", [KV_FACT_TOKENS] = "KV cache tokens",
	[KV_FACT_TOKENS_AGAIN] = "total tokens",
	[KV_FACT_BLOCK_SIZE] = "block size", [KV_FACT_MAX_LEN] = "maximum length", [KV_FACT_CONCURRENCY] = "concurrency",
	[KV_FACT_BATCHED_TOKENS] = "batched tokens", [KV_FACT_TENSOR_PARALLEL] = "tensor parallel size",
	[KV_FACT_PIPELINE_PARALLEL] = "pipeline parallel size", [KV_FACT_SPECULATIVE] = "speculative tokens",
	[KV_FACT_PADDING_LAYERS] = "padding layers", [KV_FACT_PADDING_PERCENT] = "padding share",
	[KV_FACT_SUGGESTED] = "suggested KV cache memory", [KV_FACT_SUGGESTED_FULL] = "suggestion to use all memory",
	[KV_FACT_EQUIVALENT] = "utilisation without graphs", [KV_FACT_TO_KEEP] = "utilisation to keep the KV cache",
	[KV_FACT_NEEDED] = "memory for one request", [KV_FACT_STORABLE] = "longest request that fits",
	[KV_FACT_WINDOW] = "sliding window", [KV_FACT_MICRO_BATCH] = "micro-batch",
	[KV_FACT_CONTEXT] = "context of all slots", [KV_FACT_SLOTS] = "slots", [KV_FACT_K_WIDTH] = "width of K",
	[KV_FACT_BLOCKS_GIVEN] = "blocks as set",
	[KV_FACT_DATA_PARALLEL] = "data parallel size", [KV_FACT_CONTEXT_PARALLEL] = "context parallel size",
	[KV_FACT_STATE_SLOTS] = "recurrent states", [KV_FACT_CONV_SIZE] = "convolution states",
	[KV_FACT_STATE_SIZE] = "recurrent states' memory", [KV_FACT_PEAK] = "peak of the profiling run",
	[KV_FACT_KV_ALLOWED] = "memory allowed for KV", [KV_FACT_KV_ESTIMATED] = "estimated KV cache memory",
	[KV_FACT_FRACTION] = "fraction of free memory", [KV_FACT_TOKEN_BYTES] = "bytes of a token",
	[KV_FACT_TEMPORARY] = "KV cache of the profiling run",
};

const char *kv_fact_name(enum kv_fact fact)
{
	return names[fact];
}

const char *kv_log_engine_name(enum kv_log_engine engine)
{
	static const char *const engines[] = {"unknown engine", "vLLM", "SGLang", "TensorRT-LLM", "llama.cpp"};

	return engines[engine];
}

void kv_log_add(struct kv_log *log, enum kv_fact fact, double number, int decimals, unsigned line, const char *rank)
{
	struct kv_log_value value = {.number = number, .half = decimals > 0 ? 0.5 * pow(10, -decimals) : 0, .line = line};

	snprintf(value.rank, sizeof value.rank, "%s", rank);
	log->value[fact] = kv_realloc(log->value[fact], log->count[fact] + 1, sizeof value);
	log->value[fact][log->count[fact]++] = value;
}

const struct kv_log_value *kv_log_get(const struct kv_log *log, enum kv_fact fact)
{
	return log->count[fact] ? &log->value[fact][log->count[fact] - 1] : NULL;
}

const struct kv_log_value *kv_log_smallest(const struct kv_log *log, enum kv_fact fact)
{
	const struct kv_log_value *smallest = NULL;

	for (size_t i = 0; i < log->count[fact]; i++)
		if (!smallest || log->value[fact][i].number < smallest->number)
			smallest = &log->value[fact][i];
	return smallest;
}

const struct kv_log_value *kv_log_largest(const struct kv_log *log, enum kv_fact fact)
{
	const struct kv_log_value *largest = NULL;

	for (size_t i = 0; i < log->count[fact]; i++)
		if (!largest || log->value[fact][i].number > largest->number)
			largest = &log->value[fact][i];
	return largest;
}

const struct kv_log_value *kv_log_on_line(const struct kv_log *log, enum kv_fact fact, unsigned line)
{
	for (size_t i = 0; i < log->count[fact]; i++)
		if (log->value[fact][i].line == line)
			return &log->value[fact][i];
	return NULL;
}

const struct kv_log_value *kv_log_after(const struct kv_log *log, enum kv_fact fact, const struct kv_log_value *value)
{
	for (size_t i = 0; i < log->count[fact]; i++) {
		const struct kv_log_value *later = &log->value[fact][i];

		if (later->line >= value->line && strcmp(later->rank, value->rank) == 0)
			return later;
	}
	return NULL;
}

static char *read_all(FILE *file, size_t *length)
{
	char *text = NULL;
	size_t capacity = 0, got;

	*length = 0;
	do {
		text = kv_grow(text, &capacity, *length + BUFSIZ, 1);
		got = fread(text + *length, 1, BUFSIZ, file);
		*length += got;
	} while (got > 0 && *length < LOG_MAX_BYTES);
	return text;
}

struct kv_log *kv_log_read(const char *path, struct kv_error *err)
{
	bool standard = strcmp(path, "-") == 0;
	FILE *file = standard ? stdin : fopen(path, "rb");
	struct kv_log *log = NULL;
	size_t length;
	char *text;

	if (!file) {
		kv_fail(err, errno == ENOENT ? KV_EXIT_MISSING : KV_EXIT_IO, "%s: %s", path, strerror(errno));
		return NULL;
	}
	text = read_all(file, &length);
	if (ferror(file))
		kv_fail(err, KV_EXIT_IO, "%s: %s", path, strerror(errno));
	else if (length >= LOG_MAX_BYTES)
		kv_fail(err, KV_EXIT_DATA, "%s: larger than %d MiB: cut out the start-up", path, LOG_MAX_BYTES >> 20);
	else
		log = kv_log_parse(text, length, standard ? "standard input" : path, err);
	free(text);
	if (!standard)
		fclose(file);
	return log;
}

static void forget(struct kv_log *log)
{
	for (int fact = 0; fact < KV_FACTS; fact++)
		free(log->value[fact]);
	kv_remarks_fini(&log->notes);
}

void kv_log_start_anew(struct kv_log *log, unsigned line)
{
	forget(log);
	*log = (struct kv_log){.engine = log->engine, .lines = log->lines, .starts_left_out = log->starts_left_out + 1};
	kv_remark(&log->notes, "the engine starts %u times: the last start, from line %u on, is checked",
	          log->starts_left_out + 1, line);
}

void kv_log_free(struct kv_log *log)
{
	if (log)
		forget(log);
	free(log);
}
