#include "config.h"

#include "sim/sizing/log_facts.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

enum { GROUPS_MAX = 6, LINE_MAX_LENGTH = 1 << 16, LOG_MAX_BYTES = 1 << 30 };

#define NUM "(-?[0-9][0-9,]*\\.?[0-9]*)"
#define GAP "[ \t]+"
#define NONE KV_FACTS

/* Lines that hold `key` and match `regex` give their groups to `facts`. */
struct pattern {
	enum kv_log_engine engine;
	const char *key, *regex;
	enum kv_fact facts[GROUPS_MAX];  /* NONE = not kept; the list ends with the groups */
};

static const struct pattern patterns[] = {
	{KV_LOG_VLLM, "total_gpu_memory (", "total_gpu_memory \\(" NUM " ?GiB\\) x gpu_memory_utilization \\(" NUM "\\) = " NUM,
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
	{KV_LOG_VLLM, "reserved for KV Cache is", "reserved for KV Cache is " NUM, {KV_FACT_KV}},
	{KV_LOG_VLLM, "total_gpu_memory=", "total_gpu_memory=" NUM, {KV_FACT_TOTAL}},
	{KV_LOG_VLLM, "peak_torch_memory=", "peak_torch_memory=" NUM, {KV_FACT_TORCH_PEAK}},
	{KV_LOG_VLLM, "kv_cache_size=", " non_torch_memory=" NUM ".* kv_cache_size=" NUM, {KV_FACT_NON_TORCH, KV_FACT_KV}},
	{KV_LOG_VLLM, "kv_cache_size=", "gpu_memory_utilization=" NUM, {KV_FACT_UTILIZATION}},
	{KV_LOG_VLLM, "Available KV cache memory", "Available KV cache memory: " NUM, {KV_FACT_KV}},
	{KV_LOG_VLLM, "GPU KV cache size", "GPU KV cache size: " NUM " tokens", {KV_FACT_TOKENS}},
	{KV_LOG_VLLM, "Maximum concurrency for", "Maximum concurrency for " NUM " tokens per request: " NUM,
	 {KV_FACT_MAX_LEN, KV_FACT_CONCURRENCY}},
	{KV_LOG_VLLM, "# CPU blocks", "[A-Za-z]+ blocks: " NUM ", # CPU blocks: " NUM, {KV_FACT_BLOCKS, KV_FACT_CPU_BLOCKS}},
	{KV_LOG_VLLM, "# GPU blocks", "# GPU blocks: " NUM "$", {KV_FACT_BLOCKS}},
	{KV_LOG_VLLM, "num_gpu_blocks is", "num_gpu_blocks is: " NUM, {KV_FACT_BLOCKS}},
	{KV_LOG_VLLM, "odel loading took", "odel loading took " NUM " Gi?B", {KV_FACT_WEIGHTS}},
	{KV_LOG_VLLM, "oading model weights took", "oading model weights took " NUM, {KV_FACT_WEIGHTS}},
	{KV_LOG_VLLM, "Total non KV cache memory", "Total non KV cache memory: " NUM " ?GiB; torch peak memory increase: " NUM
	 " ?GiB; non-torch forward increase memory: " NUM " ?GiB; weights memory: " NUM,
	 {KV_FACT_NON_KV, KV_FACT_ACTIVATION, KV_FACT_NON_TORCH, KV_FACT_WEIGHTS}},
	{KV_LOG_VLLM, "Free memory on device", "\\(" NUM "/" NUM " GiB\\) on startup", {KV_FACT_FREE, KV_FACT_TOTAL}},
	{KV_LOG_VLLM, "Desired GPU memory utilization", "utilization is \\(" NUM ", " NUM " GiB\\)",
	 {KV_FACT_UTILIZATION, KV_FACT_REQUESTED}},
	{KV_LOG_VLLM, "Actual usage", "Actual usage[a-z: ]* " NUM " GiB for weight", {KV_FACT_WEIGHTS}},
	{KV_LOG_VLLM, "for consumed memory", NUM " GiB for consumed memory", {KV_FACT_CONSUMED}},
	{KV_LOG_VLLM, "for peak activation", NUM " GiB for peak activation", {KV_FACT_ACTIVATION}},
	{KV_LOG_VLLM, "for non-torch memory", NUM " GiB for non-torch memory", {KV_FACT_NON_TORCH}},
	{KV_LOG_VLLM, "Graph memory", NUM " GiB for [A-Z]+ ?Graph memory", {KV_FACT_GRAPHS}},
	{KV_LOG_VLLM, "graph memory", NUM " GiB for [A-Z]+ ?graph memory", {KV_FACT_GRAPHS}},
	{KV_LOG_VLLM, "to fit into requested memory", "--kv-cache-memory=" NUM "[^)]*\\) to fit into requested memory",
	 {KV_FACT_SUGGESTED}},
	{KV_LOG_VLLM, "to fully utilize", "--kv-cache-memory=" NUM "[^)]*\\) to fully utilize", {KV_FACT_SUGGESTED_FULL}},
	{KV_LOG_VLLM, "urrent kv cache memory in use", "urrent kv cache memory in use is " NUM, {KV_FACT_KV}},
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
	{KV_LOG_VLLM, "maximum number of tokens that can be stored", "max seq len \\(" NUM "\\).*stored in KV cache \\(" NUM "\\)",
	 {KV_FACT_MAX_LEN, KV_FACT_STORABLE}},
	{KV_LOG_VLLM, "KV cache is needed", "max seq len \\(" NUM "\\), \\(?" NUM " GiB KV cache is needed, which is larger than "
	 "the available KV cache memory \\(" NUM, {KV_FACT_MAX_LEN, KV_FACT_NEEDED, KV_FACT_KV}},
	{KV_LOG_VLLM, "estimated maximum model length", "estimated maximum model length is " NUM, {KV_FACT_STORABLE}},
	{KV_LOG_VLLM, "tensor_parallel_size=", "tensor_parallel_size=" NUM, {KV_FACT_TENSOR_PARALLEL}},
	{KV_LOG_VLLM, "pipeline_parallel_size=", "pipeline_parallel_size=" NUM, {KV_FACT_PIPELINE_PARALLEL}},
	{KV_LOG_VLLM, "max_num_batched_tokens=", "max_num_batched_tokens=" NUM, {KV_FACT_BATCHED_TOKENS}},
	{KV_LOG_VLLM, "num_spec_tokens=", "num_spec_tokens=" NUM, {KV_FACT_SPECULATIVE}},
	{KV_LOG_VLLM, "max_seq_len=", "LLM engine.* max_seq_len=" NUM, {KV_FACT_MAX_LEN}},
	{KV_LOG_SGLANG, "KV Cache is allocated", "#tokens: " NUM ", K size: " NUM " GB, V size: " NUM,
	 {KV_FACT_TOKENS, KV_FACT_K_SIZE, KV_FACT_V_SIZE}},
	{KV_LOG_SGLANG, "KV Cache is allocated", "#tokens: " NUM ", KV size: " NUM, {KV_FACT_TOKENS, KV_FACT_KV}},
	{KV_LOG_SGLANG, "sliding window memory pool", "full_layer_tokens=" NUM ", swa_layer_tokens=" NUM,
	 {KV_FACT_FULL_TOKENS, KV_FACT_WINDOW_TOKENS}},
	{KV_LOG_SGLANG, "max_total_num_tokens=", "max_total_num_tokens=" NUM, {KV_FACT_TOKENS_AGAIN}},
	{KV_LOG_SGLANG, "max_total_num_tokens=", "context_len=" NUM, {KV_FACT_MAX_LEN}},
	{KV_LOG_SGLANG, "Load weight end", "mem usage=" NUM, {KV_FACT_WEIGHTS}},
	{KV_LOG_SGLANG, "server_args", "tp_size=" NUM, {KV_FACT_TENSOR_PARALLEL}},
	{KV_LOG_TENSORRT_LLM, "for max tokens in paged KV cache", "Allocated " NUM " GiB for max tokens in paged KV cache \\("
	 NUM, {KV_FACT_KV, KV_FACT_TOKENS}},
	{KV_LOG_TENSORRT_LLM, "bytes for k/v cache", "Allocate " NUM " bytes for k/v cache", {KV_FACT_KV_BYTES}},
	{KV_LOG_TENSORRT_LLM, "tokens in paged KV cache", "Using " NUM " tokens in paged KV cache", {KV_FACT_TOKENS}},
	{KV_LOG_TENSORRT_LLM, "Number of tokens per block", "tokens per block: " NUM, {KV_FACT_BLOCK_SIZE}},
	{KV_LOG_TENSORRT_LLM, "KV cache primary pool", "primary pool: " NUM, {KV_FACT_BLOCKS}},
	{KV_LOG_TENSORRT_LLM, "primary blocks=", "primary blocks=" NUM, {KV_FACT_BLOCKS}},
	{KV_LOG_TENSORRT_LLM, "when calculating max tokens", "total: " NUM " GiB, available: " NUM,
	 {KV_FACT_TOTAL, KV_FACT_FREE}},
	{KV_LOG_TENSORRT_LLM, "max sequence length=", "max sequence length=" NUM, {KV_FACT_MAX_LEN}},
	{KV_LOG_LLAMA_CPP, "n_ubatch", "n_ubatch *= *" NUM, {KV_FACT_MICRO_BATCH}},
	{KV_LOG_LLAMA_CPP, "n_swa", "n_swa *= *" NUM, {KV_FACT_WINDOW}},
	{KV_LOG_LLAMA_CPP, "n_seq_max", "n_seq_max *= *" NUM, {KV_FACT_SLOTS}},
	{KV_LOG_LLAMA_CPP, "llama_context: n_ctx ", "n_ctx *= *" NUM, {KV_FACT_CONTEXT}},
	{KV_LOG_LLAMA_CPP, "KV buffer size", "KV buffer size *= *" NUM " MiB", {KV_FACT_KV_BUFFER}},
	{KV_LOG_LLAMA_CPP, "n_embd_k_gqa", "n_embd_k_gqa *= *" NUM, {KV_FACT_K_WIDTH}},
};

enum { PATTERNS = sizeof patterns / sizeof *patterns };

/* Patterns as compiled at first use. */
static struct {
	regex_t regex;
	bool ready;
} compiled[PATTERNS];

static const char *const names[KV_FACTS] = {
	[KV_FACT_TOTAL] = "device memory", [KV_FACT_FREE] = "free memory", [KV_FACT_UTILIZATION] = "memory utilisation",
	[KV_FACT_REQUESTED] = "requested memory", [KV_FACT_WEIGHTS] = "weights", [KV_FACT_ACTIVATION] = "activation peak",
	[KV_FACT_TORCH_PEAK] = "torch peak", [KV_FACT_NON_TORCH] = "non-torch memory",
	[KV_FACT_CONSUMED] = "weights and non-torch", [KV_FACT_NON_KV] = "memory that is not KV",
	[KV_FACT_GRAPHS] = "graph memory", [KV_FACT_GRAPHS_ESTIMATED] = "graph estimate", [KV_FACT_KV] = "KV cache memory",
	[KV_FACT_KV_BYTES] = "KV cache bytes", [KV_FACT_KV_BUFFER] = "KV buffers", [KV_FACT_FULL_TOKENS] = "full layers' tokens",
	[KV_FACT_WINDOW_TOKENS] = "windowed layers' tokens", [KV_FACT_K_SIZE] = "K size", [KV_FACT_V_SIZE] = "V size",
	[KV_FACT_BLOCKS] = "GPU blocks", [KV_FACT_CPU_BLOCKS] = "CPU blocks", [KV_FACT_TOKENS] = "KV cache tokens", [KV_FACT_TOKENS_AGAIN] = "total tokens",
	[KV_FACT_BLOCK_SIZE] = "block size", [KV_FACT_MAX_LEN] = "maximum length", [KV_FACT_CONCURRENCY] = "concurrency",
	[KV_FACT_BATCHED_TOKENS] = "batched tokens", [KV_FACT_TENSOR_PARALLEL] = "tensor parallel size",
	[KV_FACT_PIPELINE_PARALLEL] = "pipeline parallel size", [KV_FACT_SPECULATIVE] = "speculative tokens",
	[KV_FACT_PADDING_LAYERS] = "padding layers", [KV_FACT_PADDING_PERCENT] = "padding share",
	[KV_FACT_SUGGESTED] = "suggested KV cache memory", [KV_FACT_SUGGESTED_FULL] = "suggestion to use all memory",
	[KV_FACT_EQUIVALENT] = "utilisation without graphs", [KV_FACT_TO_KEEP] = "utilisation to keep the KV cache",
	[KV_FACT_NEEDED] = "memory for one request", [KV_FACT_STORABLE] = "longest request that fits",
	[KV_FACT_WINDOW] = "sliding window", [KV_FACT_MICRO_BATCH] = "micro-batch", [KV_FACT_CONTEXT] = "context of all slots",
	[KV_FACT_SLOTS] = "slots", [KV_FACT_K_WIDTH] = "width of K",
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

/* Number without thousands separators; *decimals counts what stands behind the point. */
static double read_number(const char *text, size_t length, int *decimals)
{
	char plain[64];
	size_t n = 0;

	*decimals = -1;
	for (size_t i = 0; i < length && n < sizeof plain - 1; i++) {
		if (text[i] == ',')
			continue;
		*decimals += text[i] == '.' || *decimals >= 0;
		plain[n++] = text[i];
	}
	plain[n] = '\0';
	if (n && plain[n - 1] == '.')
		*decimals = 0;
	return strtod(plain, NULL);
}

static void take_groups(struct kv_log *log, const struct pattern *p, const char *line, const regmatch_t *match,
                        unsigned number, const char *rank)
{
	for (size_t i = 0; i < GROUPS_MAX && match[i + 1].rm_so >= 0; i++) {
		int decimals;
		double value;

		if (p->facts[i] == NONE)
			continue;
		value = read_number(line + match[i + 1].rm_so, (size_t)(match[i + 1].rm_eo - match[i + 1].rm_so), &decimals);
		kv_log_add(log, p->facts[i], value, decimals, number, rank);
	}
	log->engine = p->engine;
	log->graphs_subtracted |= strstr(line, "default since v0.21") != NULL;
}

static void match_line(struct kv_log *log, const char *line, unsigned number, const char *rank)
{
	regmatch_t match[GROUPS_MAX + 1];

	for (int i = 0; i < PATTERNS; i++) {
		const struct pattern *p = &patterns[i];

		if (!strstr(line, p->key))
			continue;
		if (!compiled[i].ready)
			KV_ASSERT(regcomp(&compiled[i].regex, p->regex, REG_EXTENDED) == 0, "pattern %s", p->regex);
		compiled[i].ready = true;
		if (regexec(&compiled[i].regex, line, GROUPS_MAX + 1, match, 0) == 0)
			take_groups(log, p, line, match, number, rank);
	}
}

/* What stands between `before` and the next quote, comma, blank or bracket. */
static void take_text(const char *line, const char *before, char *out, size_t size)
{
	const char *at = strstr(line, before);
	size_t length;

	if (!at)
		return;
	at += strlen(before);
	at += *at == '\'' || *at == '"';
	length = strcspn(at, "'\", )");
	snprintf(out, size, "%.*s", (int)length, at);
}

static void take_version(struct kv_log *log, const char *line)
{
	const char *at = strstr(line, "LLM engine (v");

	if (at)
		at += strlen("LLM engine (v");
	else if ((at = strstr(line, "API server version ")) != NULL)
		at += strlen("API server version ");
	else if ((at = strstr(line, "█  version ")) != NULL)
		at += strlen("█  version ");
	if (at)
		snprintf(log->version, sizeof log->version, "%.*s", (int)strcspn(at, ") ,"), at);
}

static void take_texts(struct kv_log *log, const char *line)
{
	take_version(log, line);
	if (strstr(line, "with config: ")) {
		take_text(line, "model=", log->model, sizeof log->model);
		take_text(line, " dtype=", log->dtype, sizeof log->dtype);
		take_text(line, "kv_cache_dtype=", log->kv_dtype, sizeof log->kv_dtype);
		take_text(line, " quantization=", log->quantization, sizeof log->quantization);
	}
	if (strstr(line, "server_args")) {
		take_text(line, "model_path=", log->model, sizeof log->model);
		take_text(line, "kv_cache_dtype=", log->kv_dtype, sizeof log->kv_dtype);
	}
	if (strstr(line, "KV Cache is allocated"))
		take_text(line, "dtype: ", log->kv_dtype, sizeof log->kv_dtype);
	if (strstr(line, "Using KV cache dtype: "))
		take_text(line, "Using KV cache dtype: ", log->kv_dtype, sizeof log->kv_dtype);
}

/* "llama_kv_cache: size = 4096.00 MiB (131072 cells, 8 layers, 1/1 seqs), K (f16): 2048.00 MiB, V (f16): ..." */
static void take_llama_cache(struct kv_log *log, const char *line, unsigned number)
{
	const char *at = strstr(line, "llama_kv_cache"), *size = strstr(line, "size = ");
	struct kv_log_cache cache = {0};
	double first, second, whole;

	if (!at)
		at = strstr(line, "llama_memory_recurrent");
	if (!at || !size || log->caches == KV_LOG_CACHES)
		return;
	cache.recurrent = strncmp(at, "llama_memory_recurrent", strlen("llama_memory_recurrent")) == 0;
	if (sscanf(size, "size = %lf MiB ( %lf cells, %lf layers, %lf", &whole, &cache.cells, &cache.layers, &cache.seqs) != 4)
		return;
	at = strstr(size, "), ");
	if (!at || sscanf(at, "), %*c (%15[a-z0-9_]): %lf MiB, %*c (%15[a-z0-9_]): %lf", cache.first_type, &first,
	                  cache.second_type, &second) != 4)
		return;
	cache.size = (struct kv_log_value){.number = whole, .half = 0.005, .line = number};
	cache.first = (struct kv_log_value){.number = first, .half = 0.005, .line = number};
	cache.second = (struct kv_log_value){.number = second, .half = 0.005, .line = number};
	log->cache[log->caches++] = cache;
	log->engine = KV_LOG_LLAMA_CPP;
}

/* Until 2025: "llama_kv_cache_init: kv_size = 32768, ..., n_layer = 64, ...", then "KV self size  = 4352.00 MiB, K (q8_0):
 * 2176.00 MiB, V (q8_0): 2176.00 MiB". */
static void take_old_llama_cache(struct kv_log *log, const char *line, unsigned number)
{
	const char *cells = strstr(line, "kv_size = "), *layers = strstr(line, "n_layer = "), *size = strstr(line, "KV self size");
	struct kv_log_cache cache = {.cells = log->llama_cells, .layers = log->llama_layers, .seqs = 1};

	if (cells && layers) {
		log->llama_cells = strtod(cells + strlen("kv_size = "), NULL);
		log->llama_layers = strtod(layers + strlen("n_layer = "), NULL);
	}
	if (!size || log->caches == KV_LOG_CACHES
	    || sscanf(size, "KV self size = %lf MiB, K (%15[a-z0-9_]): %lf MiB, V (%15[a-z0-9_]): %lf", &cache.size.number,
	              cache.first_type, &cache.first.number, cache.second_type, &cache.second.number) != 5)
		return;
	cache.size.half = cache.first.half = cache.second.half = 0.005;
	cache.size.line = cache.first.line = cache.second.line = number;
	log->cache[log->caches++] = cache;
	log->engine = KV_LOG_LLAMA_CPP;
}

/* "(Worker_TP1 pid=7)", "(VllmWorkerProcess pid=521)", "[2026-08-18 10:00:00 TP1]" name the process or rank. */
static void find_rank(const char *line, char rank[KV_LOG_RANK_LENGTH])
{
	const char *tp = strstr(line, "TP"), *pid = strstr(line, "Process pid=");

	rank[0] = '\0';
	if (tp && tp - line < 80 && isdigit((unsigned char)tp[2]) && (tp == line || !isalpha((unsigned char)tp[-1])))
		snprintf(rank, KV_LOG_RANK_LENGTH, "TP%d", atoi(tp + 2));
	else if (pid)
		snprintf(rank, KV_LOG_RANK_LENGTH, "pid %d", atoi(pid + strlen("Process pid=")));
}

/* Colours and cursor movements: ESC [ ... letter. */
static void strip_escapes(char *line)
{
	char *to = line;

	for (const char *from = line; *from;) {
		if (from[0] == '\033' && from[1] == '[') {
			from += 2;
			from += strspn(from, "0123456789;?");
			from += *from != '\0';
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

static void take_line(struct kv_log *log, const char *start, size_t length, unsigned number)
{
	char line[LINE_MAX_LENGTH], rank[KV_LOG_RANK_LENGTH];
	size_t n = 0;

	for (size_t i = 0; i < length && n < sizeof line - 1; i++)
		if (start[i] != '\0' && start[i] != '\r')
			line[n++] = start[i];
	line[n] = '\0';
	strip_escapes(line);
	find_rank(line, rank);
	match_line(log, line, number, rank);
	take_texts(log, line);
	take_llama_cache(log, line, number);
	take_old_llama_cache(log, line, number);
}

struct kv_log *kv_log_parse(const char *text, size_t length, const char *name, struct kv_error *err)
{
	struct kv_log *log = kv_calloc(1, sizeof *log);
	const char *end = text + length;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((stop ? stop : end) - text);

		take_line(log, text, n, ++log->lines);
		text += n + 1;
	}
	if (log->engine != KV_LOG_UNKNOWN)
		return log;
	kv_fail(err, KV_EXIT_DATA, "%s: %s%u lines, none of which vLLM, SGLang, TensorRT-LLM or llama.cpp prints about its memory "
	        "at start-up", name, length ? "" : "empty: ", log->lines);
	kv_log_free(log);
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

void kv_log_free(struct kv_log *log)
{
	for (int fact = 0; log && fact < KV_FACTS; fact++)
		free(log->value[fact]);
	free(log);
}
