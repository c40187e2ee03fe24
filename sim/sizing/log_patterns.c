#include "config.h"

#include "sim/sizing/log_patterns.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"

enum { GROUPS_MAX = 6 };

#define NUM "(-?[0-9][0-9,]*\\.?[0-9]*)"
#define GIB " ?[GM]i?B"
#define GAP "[ \t]+"
#define SUGGESTED "[`']?( \\([0-9.]+ GiB\\))?"
#define NONE KV_FACTS

/* Lines that hold `key` and match `regex` give their groups to `facts`. */
struct pattern {
	enum kv_log_engine engine;
	const char *key, *regex;
	enum kv_fact facts[GROUPS_MAX];  /* NONE = not kept; the list ends with the groups */
};

static const struct pattern patterns[] = {
	{KV_LOG_VLLM, "total_gpu_memory (",
	 "total_gpu_memory \\(" NUM " ?GiB\\) x gpu_memory_utilization \\(" NUM "\\) = " NUM,
	 {KV_FACT_TOTAL, KV_FACT_UTILIZATION, KV_FACT_REQUESTED}},
	{KV_LOG_VLLM, "model weights take", "model weights take" GAP NUM, {KV_FACT_WEIGHTS}},
	{KV_LOG_VLLM, "non_torch_memory takes", "non_torch_memory takes " NUM, {KV_FACT_NON_TORCH}},
	{KV_LOG_VLLM, "activation peak memory takes", "activation peak memory takes " NUM, {KV_FACT_ACTIVATION}},
	{KV_LOG_VLLM, "total_gpu_memory", "total_gpu_memory" GAP NUM "GiB", {KV_FACT_TOTAL}},
	{KV_LOG_VLLM, "gpu_memory_utilization", "gpu_memory_utilization" GAP NUM, {KV_FACT_UTILIZATION}},
	{KV_LOG_VLLM, "instance can use", "instance can use" GAP NUM "GiB", {KV_FACT_REQUESTED}},
	{KV_LOG_VLLM, "non_torch_memory", "non_torch_memory" GAP NUM "GiB", {KV_FACT_NON_TORCH}},
	{KV_LOG_VLLM, "activation peak memory", "activation peak memory" GAP NUM "GiB", {KV_FACT_ACTIVATION}},
	{KV_LOG_VLLM, "available_kv_cache_memory", "available_kv_cache_memory" GAP NUM "GiB", {KV_FACT_KV}},
	{KV_LOG_VLLM, "reserved for KV Cache is", "reserved for KV Cache is " NUM GIB, {KV_FACT_KV}},
	{KV_LOG_VLLM, "total_gpu_memory=", "total_gpu_memory=" NUM, {KV_FACT_TOTAL}},
	{KV_LOG_VLLM, "peak_torch_memory=", "peak_torch_memory=" NUM, {KV_FACT_TORCH_PEAK}},
	{KV_LOG_VLLM, "kv_cache_size=", " non_torch_memory=" NUM ".* kv_cache_size=" NUM, {KV_FACT_NON_TORCH, KV_FACT_KV}},
	{KV_LOG_VLLM, "kv_cache_size=", "gpu_memory_utilization=" NUM, {KV_FACT_UTILIZATION}},
	{KV_LOG_VLLM, "Available KV cache memory", "Available KV cache memory:" GAP NUM GIB, {KV_FACT_KV}},
	{KV_LOG_VLLM, "KV cache size", "[GC]PU KV cache size:" GAP NUM " tokens", {KV_FACT_TOKENS}},
	{KV_LOG_VLLM, "Maximum concurrency for", "Maximum concurrency for" GAP NUM " tokens per request:" GAP NUM,
	 {KV_FACT_MAX_LEN, KV_FACT_CONCURRENCY}},
	{KV_LOG_VLLM, "# CPU blocks", "[A-Za-z]+ blocks: " NUM ", # CPU blocks: " NUM,
	 {KV_FACT_BLOCKS, KV_FACT_CPU_BLOCKS}},
	{KV_LOG_VLLM, "# GPU blocks", "# GPU blocks: " NUM "([^,0-9.]|$)", {KV_FACT_BLOCKS, NONE}},
	{KV_LOG_VLLM, "KVCache Allocation",
	 "Allocation: " NUM " GPU blocks \\(" NUM " GB\\), max usable kvcache tokens " NUM,
	 {KV_FACT_BLOCKS, KV_FACT_KV, KV_FACT_TOKENS}},
	{KV_LOG_VLLM, "num_gpu_blocks is", "num_gpu_blocks is: " NUM, {KV_FACT_BLOCKS}},
	{KV_LOG_VLLM, "num_gpu_blocks_override=", "num_gpu_blocks=" NUM " with num_gpu_blocks_override=" NUM,
	 {NONE, KV_FACT_BLOCKS_GIVEN}},
	{KV_LOG_VLLM, "odel loading took", "odel loading took " NUM " Gi?B", {KV_FACT_WEIGHTS}},
	{KV_LOG_VLLM, "oading model weights took", "oading model weights took " NUM, {KV_FACT_WEIGHTS}},
	{KV_LOG_VLLM, "Total non KV cache memory",
	 "Total non KV cache memory: " NUM " ?GiB; torch peak memory increase: " NUM
	 " ?GiB; non-torch forward increase memory: " NUM " ?GiB; weights memory: " NUM,
	 {KV_FACT_NON_KV, KV_FACT_ACTIVATION, KV_FACT_NON_TORCH, KV_FACT_WEIGHTS}},
	{KV_LOG_VLLM, "Free memory on device", "\\(" NUM "/" NUM " GiB\\) on startup", {KV_FACT_FREE, KV_FACT_TOTAL}},
	{KV_LOG_VLLM, "Initial free memory",
	 "Initial free memory: " NUM " GiB; Requested memory: " NUM " \\(util\\), " NUM " GiB",
	 {KV_FACT_FREE, KV_FACT_UTILIZATION, KV_FACT_REQUESTED}},
	{KV_LOG_VLLM, "memory for KV Cache as specified", "reserved " NUM " GiB memory for KV Cache as specified",
	 {KV_FACT_KV}},
	{KV_LOG_VLLM, "No available memory for the cache blocks", "No available memory for the cache blocks", {NONE}},
	{KV_LOG_VLLM, "Desired GPU memory utilization", "utilization is \\(" NUM ", " NUM " GiB\\)",
	 {KV_FACT_UTILIZATION, KV_FACT_REQUESTED}},
	{KV_LOG_VLLM, "Actual usage", "Actual usage[a-z: ]* " NUM " GiB for weight", {KV_FACT_WEIGHTS}},
	{KV_LOG_VLLM, "for consumed memory", NUM " GiB for consumed memory", {KV_FACT_CONSUMED}},
	{KV_LOG_VLLM, "for peak activation", NUM " GiB for peak activation", {KV_FACT_ACTIVATION}},
	{KV_LOG_VLLM, "for non-torch memory", NUM " GiB for non-torch memory", {KV_FACT_NON_TORCH}},
	{KV_LOG_VLLM, "Graph memory", NUM " GiB for [A-Z]+ ?Graph memory", {KV_FACT_GRAPHS}},
	{KV_LOG_VLLM, "graph memory", NUM " GiB for [A-Z]+ ?graph memory", {KV_FACT_GRAPHS}},
	{KV_LOG_VLLM, "to fit into requested memory", "--kv-cache-memory=" NUM SUGGESTED " to fit into requested memory",
	 {KV_FACT_SUGGESTED, NONE}},
	{KV_LOG_VLLM, "to fully utilize", "--kv-cache-memory=" NUM SUGGESTED " to fully utilize",
	 {KV_FACT_SUGGESTED_FULL, NONE}},
	{KV_LOG_VLLM, "urrent kv cache memory in use", "urrent kv cache memory in use is " NUM " (GiB|bytes)",
	 {KV_FACT_KV, NONE}},
	{KV_LOG_VLLM, "Current KV cache memory:", "Current KV cache memory: " NUM, {KV_FACT_KV}},
	{KV_LOG_VLLM, "Estimated CUDA graph memory", "Estimated CUDA graph memory: " NUM, {KV_FACT_GRAPHS_ESTIMATED}},
	{KV_LOG_VLLM, "CUDA graph pool memory", "pool memory: " NUM " GiB \\(actual\\), " NUM " GiB",
	 {KV_FACT_GRAPHS, KV_FACT_GRAPHS_ESTIMATED}},
	{KV_LOG_VLLM, "Graph capturing finished", "took " NUM " GiB", {KV_FACT_GRAPHS}},
	{KV_LOG_VLLM, "without CUDA graph memory profiling", "gpu-memory-utilization=" NUM " is equivalent to "
	 "--gpu-memory-utilization=" NUM " without", {KV_FACT_UTILIZATION, KV_FACT_EQUIVALENT}},
	{KV_LOG_VLLM, "same effective KV cache size", "gpu-memory-utilization (to|from [0-9.]+ to) " NUM,
	 {NONE, KV_FACT_TO_KEEP}},
	{KV_LOG_VLLM, "Setting attention block size", "attention block size to " NUM, {KV_FACT_BLOCK_SIZE}},
	{KV_LOG_VLLM, "padding layers", "Add " NUM " padding layers, may waste at most " NUM,
	 {KV_FACT_PADDING_LAYERS, KV_FACT_PADDING_PERCENT}},
	{KV_LOG_VLLM, "maximum number of tokens that can be stored",
	 "max seq len \\(" NUM "\\).*stored in KV cache \\(" NUM "\\)",
	 {KV_FACT_MAX_LEN, KV_FACT_STORABLE}},
	{KV_LOG_VLLM, "KV cache is needed",
	 "max seq len \\(" NUM "\\), \\(?" NUM " GiB KV cache is needed, which is larger than the available KV cache "
	 "memory \\(" NUM, {KV_FACT_MAX_LEN, KV_FACT_NEEDED, KV_FACT_KV}},
	{KV_LOG_VLLM, "estimated maximum model length", "estimated maximum model length is " NUM, {KV_FACT_STORABLE}},
	{KV_LOG_VLLM, "data_parallel_size=", "[, ]data_parallel_size=" NUM, {KV_FACT_DATA_PARALLEL}},
	{KV_LOG_VLLM, "decode_context_parallel_size=", "decode_context_parallel_size=" NUM, {KV_FACT_CONTEXT_PARALLEL}},
	{KV_LOG_VLLM, "'tensor_parallel_size'", "'tensor_parallel_size': " NUM, {KV_FACT_TENSOR_PARALLEL}},
	{KV_LOG_VLLM, "'pipeline_parallel_size'", "'pipeline_parallel_size': " NUM, {KV_FACT_PIPELINE_PARALLEL}},
	{KV_LOG_VLLM, "'data_parallel_size'", "'data_parallel_size': " NUM, {KV_FACT_DATA_PARALLEL}},
	{KV_LOG_VLLM, "'decode_context_parallel_size'", "'decode_context_parallel_size': " NUM, {KV_FACT_CONTEXT_PARALLEL}},
	{KV_LOG_VLLM, "'max_num_batched_tokens'", "'max_num_batched_tokens': " NUM, {KV_FACT_BATCHED_TOKENS}},
	{KV_LOG_VLLM, "tensor_parallel_size=", "tensor_parallel_size=" NUM, {KV_FACT_TENSOR_PARALLEL}},
	{KV_LOG_VLLM, "pipeline_parallel_size=", "pipeline_parallel_size=" NUM, {KV_FACT_PIPELINE_PARALLEL}},
	{KV_LOG_VLLM, "max_num_batched_tokens=", "max_num_batched_tokens=" NUM, {KV_FACT_BATCHED_TOKENS}},
	{KV_LOG_VLLM, "num_spec_tokens=", "num_spec_tokens=" NUM, {KV_FACT_SPECULATIVE}},
	{KV_LOG_VLLM, "max_seq_len=", "LLM engine.* max_seq_len=" NUM, {KV_FACT_MAX_LEN}},
	{KV_LOG_SGLANG, "KV Cache is allocated", "#tokens: " NUM ", K size: " NUM " GB, V size: " NUM,
	 {KV_FACT_TOKENS, KV_FACT_K_SIZE, KV_FACT_V_SIZE}},
	{KV_LOG_SGLANG, "KV Cache is allocated", "#tokens: " NUM ", KV size: " NUM, {KV_FACT_TOKENS, KV_FACT_KV}},
	{KV_LOG_SGLANG, "SWAKVPool mem usage", "mem usage: " NUM " GB, swa size: " NUM ", full size: " NUM,
	 {KV_FACT_KV, KV_FACT_WINDOW_TOKENS, KV_FACT_FULL_TOKENS}},
	{KV_LOG_SGLANG, "Mamba Cache is allocated",
	 "max_mamba_cache_size: " NUM ", conv_state size: " NUM " ?GB, ssm_state size: " NUM " ?GB",
	 {KV_FACT_STATE_SLOTS, KV_FACT_CONV_SIZE, KV_FACT_STATE_SIZE}},
	{KV_LOG_SGLANG, "sliding window memory pool", "full_layer_tokens=" NUM ", swa_layer_tokens=" NUM,
	 {KV_FACT_FULL_TOKENS, KV_FACT_WINDOW_TOKENS}},
	{KV_LOG_SGLANG, "max_total_num_tokens=", "max_total_num_tokens=" NUM, {KV_FACT_TOKENS_AGAIN}},
	{KV_LOG_SGLANG, "max_total_num_tokens=", "context_len=" NUM, {KV_FACT_MAX_LEN}},
	{KV_LOG_SGLANG, "Load weight end", "mem usage=" NUM, {KV_FACT_WEIGHTS}},
	{KV_LOG_SGLANG, "server_args", "tp_size=" NUM, {KV_FACT_TENSOR_PARALLEL}},
	{KV_LOG_TENSORRT_LLM, "for max tokens in paged KV cache",
	 "Allocated " NUM " GiB for max tokens in paged KV cache \\(" NUM, {KV_FACT_KV, KV_FACT_TOKENS}},
	{KV_LOG_TENSORRT_LLM, "bytes for k/v cache", "Allocate " NUM " bytes for k/v cache", {KV_FACT_KV_BYTES}},
	{KV_LOG_TENSORRT_LLM, "tokens in paged KV cache", "Using " NUM " tokens in paged KV cache", {KV_FACT_TOKENS}},
	{KV_LOG_TENSORRT_LLM, "Number of tokens per block", "tokens per block: " NUM, {KV_FACT_BLOCK_SIZE}},
	{KV_LOG_TENSORRT_LLM, "tokens per block=", "tokens per block=" NUM, {KV_FACT_BLOCK_SIZE}},
	{KV_LOG_TENSORRT_LLM, "Estimated max memory in KV cache", "max memory in KV cache ?: " NUM " GiB",
	 {KV_FACT_KV_ESTIMATED}},
	{KV_LOG_TENSORRT_LLM, "during memory usage profiling (torch + non-torch)", "non-torch\\): " NUM
	 " GiB, available KV cache memory when calculating max tokens: " NUM " GiB, fraction is set " NUM, {KV_FACT_PEAK,
	 KV_FACT_KV_ALLOWED, KV_FACT_FRACTION}},
	{KV_LOG_TENSORRT_LLM, "kv size is", "kv size is " NUM, {KV_FACT_TOKEN_BYTES}},
	{KV_LOG_TENSORRT_LLM, "kv size per token is", "kv size per token is " NUM, {KV_FACT_TOKEN_BYTES}},
	{KV_LOG_TENSORRT_LLM, "temporary kv cache memory during profiling", "during profiling " NUM " GiB",
	 {KV_FACT_TEMPORARY}},
	{KV_LOG_TENSORRT_LLM, "device total memory", "device total memory " NUM " GiB", {KV_FACT_TOTAL}},
	{KV_LOG_TENSORRT_LLM, "tmp kv_mem", "tmp kv_mem " NUM " GiB", {KV_FACT_TEMPORARY}},
	{KV_LOG_TENSORRT_LLM, "KV cache primary pool", "primary pool: " NUM, {KV_FACT_BLOCKS}},
	{KV_LOG_TENSORRT_LLM, "primary blocks=", "primary blocks=" NUM, {KV_FACT_BLOCKS}},
	{KV_LOG_TENSORRT_LLM, "when calculating max tokens", "total: " NUM " GiB, available: " NUM,
	 {KV_FACT_TOTAL, KV_FACT_FREE}},
	{KV_LOG_TENSORRT_LLM, "max sequence length=", "max sequence length=" NUM, {KV_FACT_MAX_LEN}},
	{KV_LOG_LLAMA_CPP, "kv self size", "kv self size *= *" NUM " MB", {KV_FACT_KV_BUFFER}},
	{KV_LOG_LLAMA_CPP, "n_ubatch", "n_ubatch *= *" NUM, {KV_FACT_MICRO_BATCH}},
	{KV_LOG_LLAMA_CPP, "n_swa", "n_swa *= *" NUM, {KV_FACT_WINDOW}},
	{KV_LOG_LLAMA_CPP, "n_seq_max", "n_seq_max *= *" NUM, {KV_FACT_SLOTS}},
	{KV_LOG_LLAMA_CPP, "llama_context: n_ctx ", "n_ctx *= *" NUM, {KV_FACT_CONTEXT}},
	{KV_LOG_LLAMA_CPP, "llama_new_context_with_model: n_ctx ", "n_ctx *= *" NUM, {KV_FACT_CONTEXT}},
	{KV_LOG_LLAMA_CPP, "KV buffer size", "KV buffer size *= *" NUM " MiB", {KV_FACT_KV_BUFFER}},
	{KV_LOG_LLAMA_CPP, "n_embd_k_gqa", "n_embd_k_gqa *= *" NUM, {KV_FACT_K_WIDTH}},
};

enum { PATTERNS = sizeof patterns / sizeof *patterns };

_Static_assert((int)PATTERNS <= (int)KV_LOG_PATTERNS_MAX, "a line keeps what every pattern found");

/* Patterns as compiled at first use. */
static struct {
	regex_t regex;
	bool ready;
} compiled[PATTERNS];

static const regex_t *regex_of(int i)
{
	if (!compiled[i].ready)
		KV_ASSERT(regcomp(&compiled[i].regex, patterns[i].regex, REG_EXTENDED) == 0, "pattern %s", patterns[i].regex);
	compiled[i].ready = true;
	return &compiled[i].regex;
}

/* A comma that no three digits follow is a decimal one ("6,51 GiB"). */
static bool is_decimal_comma(const char *at, size_t rest)
{
	return strspn(at + 1, "0123456789") != 3 || rest < 4;
}

/* Number without thousands separators; *decimals counts what stands behind the point. */
static double read_number(const char *text, size_t length, int *decimals)
{
	char plain[64];
	size_t n = 0;

	*decimals = -1;
	for (size_t i = 0; i < length && n < sizeof plain - 1; i++) {
		bool point = text[i] == '.' || (text[i] == ',' && is_decimal_comma(text + i, length - i));

		if (text[i] == ',' && !point)
			continue;
		*decimals += point || *decimals >= 0;
		plain[n++] = point ? '.' : text[i];
	}
	plain[n] = '\0';
	if (n && plain[n - 1] == '.')
		*decimals = 0;
	return strtod(plain, NULL);
}

/* A number as GiB where the unit behind it is another; *decimals counts those of a GiB then, bytes are exact. */
static double in_gib(double number, const char *behind, int *decimals)
{
	behind += *behind == ' ';
	if (strncmp(behind, "bytes", strlen("bytes")) == 0) {
		*decimals = -1;
		return number / 0x1p30;
	}
	if (strncmp(behind, "MiB", strlen("MiB")) != 0 && strncmp(behind, "MB", strlen("MB")) != 0)
		return number;
	*decimals += 3;
	return number / 1024;
}

static void take_groups(struct kv_log *log, const struct pattern *p, const char *text, const regmatch_t *match,
                        unsigned number, const char *rank)
{
	for (size_t i = 0; i < GROUPS_MAX && match[i + 1].rm_so >= 0; i++) {
		int decimals;
		double value;

		if (p->facts[i] == NONE)
			continue;
		value = read_number(text + match[i + 1].rm_so, (size_t)(match[i + 1].rm_eo - match[i + 1].rm_so), &decimals);
		if (p->facts[i] == KV_FACT_KV)
			value = in_gib(value, text + match[i + 1].rm_eo, &decimals);
		kv_log_add(log, p->facts[i], value, decimals, number, rank);
	}
	log->engine = p->engine;
	log->graphs_subtracted |= strstr(text, "default since v0.21") != NULL;
	log->refused |= strstr(text, "No available memory for the cache blocks") != NULL;
}

/* Has a pattern of the same wording found its value? */
static bool wording_found(const struct kv_log_line *line, int i)
{
	for (int j = 0; j < PATTERNS; j++)
		if (line->found[j] && strcmp(patterns[j].key, patterns[i].key) == 0)
			return true;
	return false;
}

void kv_log_match_line(struct kv_log *log, struct kv_log_line *line)
{
	regmatch_t match[GROUPS_MAX + 1];

	memset(line->found, 0, sizeof line->found);
	line->open = false;
	for (int i = 0; i < PATTERNS; i++) {
		const char *at = line->text;

		if (!strstr(at, patterns[i].key))
			continue;
		for (; regexec(regex_of(i), at, GROUPS_MAX + 1, match, 0) == 0; at += match[0].rm_eo) {
			take_groups(log, &patterns[i], at, match, line->number, line->rank);
			line->found[i] = 1;
		}
		line->open |= !line->found[i];
	}
}

/* Of the lines that start at start[], the one that holds the place. */
static size_t line_at(const size_t start[], size_t lines, size_t place)
{
	size_t i = lines - 1;

	while (i > 0 && start[i] > place)
		i--;
	return i;
}

void kv_log_match_joined(struct kv_log *log, const char *text, struct kv_log_line *const line[], const size_t start[],
                         size_t lines)
{
	regmatch_t match[GROUPS_MAX + 1];

	for (int i = 0; i < PATTERNS; i++) {
		size_t at = 0, border = start[lines - 1];

		if (line[lines - 1]->found[i] || !strstr(text, patterns[i].key))
			continue;
		while (at < border && regexec(regex_of(i), text + at, GROUPS_MAX + 1, match, 0) == 0) {
			size_t begin = at + (size_t)match[0].rm_so, end = at + (size_t)match[0].rm_eo;
			struct kv_log_line *first = line[line_at(start, lines, begin)];

			if (begin < border && end > border && !first->found[i]) {
				take_groups(log, &patterns[i], text + at, match, first->number, first->rank);
				first->found[i] = 1;
			}
			at = end;
		}
	}
}

bool kv_log_wording_is_broken(const char *before, const char *after)
{
	size_t length = strlen(before);

	for (int i = 0; i < PATTERNS; i++) {
		const char *key = patterns[i].key;

		for (size_t n = strlen(key) - 1; n > 0; n--) {
			const char *rest = key + n + (key[n] == ' ');

			if (n <= length && strncmp(before + length - n, key, n) == 0 && strncmp(after, rest, strlen(rest)) == 0)
				return true;
		}
	}
	return false;
}

const char *kv_log_broken_off(const struct kv_log_line *line, bool last)
{
	for (int i = 0; i < PATTERNS; i++) {
		const char *at = strstr(line->text, patterns[i].key), *rest;

		if (!at || wording_found(line, i))
			continue;
		rest = at + strlen(patterns[i].key);
		if (*rest && rest[strspn(rest, " :=(\t0123456789,.-")] == '\0')
			return patterns[i].key;
		if (last && strchr("0123456789", rest[strspn(rest, " :=(\t")]) && rest[strspn(rest, " :=(\t")])
			return patterns[i].key;
	}
	return NULL;
}
