#include "config.h"

#include "sim/deploy/scenario_parts.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/names.h"
#include "sim/base/quantity.h"
#include "sim/request.h"

#define FIELD(member) \
	.offset = offsetof(struct kv_scenario, member), .size = sizeof(((struct kv_scenario *)NULL)->member)
#define KEYS_MAX 128

static int parse_latency(const char *text, void *field, struct kv_error *err)
{
	static const struct {
		const char *name;
		enum kv_latency_backend backend;
	} backends[] = {
		{ "roofline", KV_LATENCY_ROOFLINE }, { "linear", KV_LATENCY_LINEAR }, { "table", KV_LATENCY_TABLE }
	};
	struct kv_latency_choice *choice = field;

	*choice = (struct kv_latency_choice){ 0 };
	for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++)
		if (strcmp(text, backends[i].name) == 0) {
			choice->backend = backends[i].backend;
			return 0;
		}
	if (strncmp(text, "fixed:", 6) != 0)
		return kv_fail(err, KV_EXIT_USAGE,
		               "unknown backend '%s': valid are roofline, linear, table, fixed:DURATION", text);
	choice->backend = KV_LATENCY_FIXED;
	return kv_parse_time(text + 6, 1, 3600 * KV_SECOND, &choice->duration, err);
}

static int parse_max_tokens(const char *text, void *field, struct kv_error *err)
{
	struct kv_max_tokens_choice *choice = field;
	uint64_t tokens;

	*choice = (struct kv_max_tokens_choice){ .tokens = KV_TOKENS_UNSET, .output = strcmp(text, "output") == 0 };
	if (choice->output || strcmp(text, "model") == 0)
		return 0;
	if (kv_parse_count(text, 1, KV_TOKENS_MAX, &tokens, err))
		return kv_fail(err, KV_EXIT_USAGE,
		               "'%s' is neither 'model' nor 'output' nor a number of tokens from 1 on", text);
	choice->tokens = (uint32_t)tokens;
	return 0;
}

/* A number above zero, or inf. */
static int parse_open_number(const char *text, void *field, struct kv_error *err)
{
	double *number = field;

	if (strcmp(text, "inf") == 0) {
		*number = INFINITY;
		return 0;
	}
	return kv_parse_double(text, 1e-9, 1e9, number, err);
}

/* vLLM's option is a number of GiB. */
static int parse_swap_space(const char *text, void *field, struct kv_error *err)
{
	char gibibytes[64];
	size_t length = strlen(text);
	bool plain = length > 0 && length < sizeof gibibytes - 3 && isdigit((unsigned char)text[length - 1]);

	snprintf(gibibytes, sizeof gibibytes, "%sGiB", plain ? text : "");
	return kv_parse_bytes(plain ? gibibytes : text, false, 1, UINT64_C(1) << 50, field, err);
}

static int parse_swap_bandwidth(const char *text, void *field, struct kv_error *err)
{
	double *rate = field;

	if (kv_parse_byte_rate(text, rate, err))
		return -1;
	if (*rate < 1e6 || *rate > 1e16)
		return kv_fail(err, KV_EXIT_USAGE, "%s is no plausible rate (1 MB/s to 10 PB/s)", text);
	return 0;
}

static int parse_retention(const char *text, void *field, struct kv_error *err)
{
	uint64_t *interval = field;

	*interval = strcmp(text, "0") == 0 ? 0 : KV_RETAIN_ALL;
	if (*interval == 0 || strcmp(text, "none") == 0)
		return 0;
	return kv_fail(err, KV_EXIT_USAGE,
	               "'%s' is not allowed: none keeps every block, 0 the ends of prompts and junctions", text);
}

static const char *const cache_scopes[] = { "global", "tenant", "request", NULL };
static const char *const step_orders[] = { "mixed", "prefill-first", NULL };

/* Order is that of the help and of the manifest. Ranges: minimum, maximum. */
static const struct kv_key keys[] = {
	{ .path = "model", .sizes = true, .flag = "model", .argument = "NAME|FILE", .type = KV_KEY_NAME, FIELD(model),
	  .help = "Model: a built-in name or a Hugging Face config.json (see kvsim list models)" },
	{ .path = "hardware", .sizes = true, .flag = "hardware", .argument = "NAME|FILE", .type = KV_KEY_NAME,
	  FIELD(hardware),
	  .help = "GPU: a built-in name or a profile file (see kvsim list hardware)" },

	{ .path = "engine.profile", .sizes = true, .flag = "engine", .argument = "PROFILE", .type = KV_KEY_NAME,
	  FIELD(engine.profile),
	  .fallback = "vllm-2026-08", .help = "Engine profile (see kvsim list engines)" },
	{ .path = "engine.dtype", .sizes = true, .flag = "dtype", .argument = "TYPE", .type = KV_KEY_TEXT,
	  FIELD(engine.dtype),
	  .help = "Type of weights and activations (default: the model's)" },
	{ .path = "engine.quantization", .sizes = true, .flag = "quantization", .argument = "TYPE", .type = KV_KEY_TEXT,
	  FIELD(engine.quantization), .help = "Quantization of the weights (default: the model's)" },
	{ .path = "engine.tensor_parallel_size", .sizes = true, .flag = "tensor-parallel-size", .argument = "N",
	  .type = KV_KEY_COUNT,
	  FIELD(engine.tensor_parallel_size), .fallback = "1", .minimum = 1, .maximum = 1024,
	  .help = "GPUs that share each layer; also -tp N" },
	{ .path = "engine.pipeline_parallel_size", .sizes = true, .flag = "pipeline-parallel-size", .argument = "N",
	  .type = KV_KEY_COUNT, FIELD(engine.pipeline_parallel_size), .fallback = "1", .minimum = 1, .maximum = 1024,
	  .help = "Stages that the layers are spread over; also -pp N" },
	{ .path = "engine.max_model_len", .sizes = true, .flag = "max-model-len", .argument = "N", .type = KV_KEY_COUNT,
	  FIELD(engine.max_model_len), .minimum = 1, .maximum = KV_TOKENS_MAX,
	  .help = "Longest prompt and output together, in tokens (default: the model's)" },
	{ .path = "engine.max_num_seqs", .sizes = true, .flag = "max-num-seqs", .argument = "N", .type = KV_KEY_COUNT,
	  FIELD(engine.max_num_seqs), .minimum = 1, .maximum = 1000000,
	  .help = "Most requests that run at once (default: the profile's for the GPU)" },
	{ .path = "engine.step_order", .flag = "step-order", .argument = "ORDER", .type = KV_KEY_CHOICE,
	  FIELD(engine.step_order), .fallback = "mixed", .choices = step_orders,
	  .help = "mixed: steps hold prompts and decodes under one budget; prefill-first: prompts alone while there are any "
	          "(SGLang without --enable-mixed-chunk)" },
	{ .path = "engine.max_num_batched_tokens", .sizes = true, .flag = "max-num-batched-tokens",
	  .alias = "chunked-prefill-size", .argument = "N", .type = KV_KEY_COUNT, FIELD(engine.max_num_batched_tokens),
	  .minimum = 1, .maximum = KV_TOKENS_MAX,
	  .help = "Token budget of a step, of prompts alone where those go first (default: the profile's for the "
	          "GPU)" },
	{ .path = "engine.max_prefill_tokens", .flag = "max-prefill-tokens", .argument = "N", .type = KV_KEY_COUNT,
	  FIELD(engine.max_prefill_tokens), .minimum = 1, .maximum = KV_TOKENS_MAX,
	  .help = "Where prompts go first: one as long as what a step has left of this waits for the next, unless it "
	          "is alone (default: the profile's, else no limit)" },
	{ .path = "engine.block_size", .sizes = true, .flag = "block-size", .argument = "N", .type = KV_KEY_COUNT,
	  FIELD(engine.block_size), .minimum = 1, .maximum = 1 << 20,
	  .help = "Tokens in a KV block (default: the profile's)" },
	{ .path = "engine.gpu_memory_utilization", .sizes = true, .flag = "gpu-memory-utilization", .argument = "F",
	  .type = KV_KEY_FRACTION, FIELD(engine.gpu_memory_utilization), .minimum = 0.01, .maximum = 1,
	  .help = "Part of the GPU's memory that the engine may use (default: the profile's)" },
	{ .path = "engine.kv_cache_dtype", .sizes = true, .flag = "kv-cache-dtype", .argument = "TYPE",
	  .type = KV_KEY_TEXT, FIELD(engine.kv_cache_dtype), .fallback = "auto",
	  .help = "Type of the KV cache; auto is the checkpoint's where the engine goes by it, else the model's" },
	{ .path = "engine.kv_cache_dtype_skip_layers", .sizes = true, .flag = "kv-cache-dtype-skip-layers",
	  .argument = "LIST",
	  .type = KV_KEY_TEXT, FIELD(engine.kv_cache_dtype_skip_layers),
	  .help = "Layers whose KV cache keeps the model's type: numbers from 0, or sliding_window for all of these" },
	{ .path = "engine.kv_cache_memory_bytes", .sizes = true, .flag = "kv-cache-memory-bytes", .argument = "BYTES",
	  .type = KV_KEY_BYTES, FIELD(engine.kv_cache_memory_bytes), .minimum = 1, .maximum = 0x1p60,
	  .help = "KV memory of each rank, instead of what the memory budget leaves" },
	{ .path = "engine.num_gpu_blocks_override", .sizes = true, .flag = "num-gpu-blocks-override", .argument = "N",
	  .type = KV_KEY_COUNT, FIELD(engine.num_gpu_blocks_override), .minimum = 1, .maximum = 4000000000.0,
	  .help = "KV blocks as the engine counts them, null block included" },
	{ .path = "engine.enable_prefix_caching", .sizes = true, .flag = "enable-prefix-caching", .type = KV_KEY_BOOL,
	  FIELD(engine.enable_prefix_caching), .help = "Keep and reuse computed blocks (default: the profile's)" },
	{ .path = "engine.enable_chunked_prefill", .sizes = true, .flag = "enable-chunked-prefill", .type = KV_KEY_BOOL,
	  FIELD(engine.enable_chunked_prefill), .help = "Split prompts over steps (default: the profile's)" },
	{ .path = "engine.long_prefill_token_threshold", .flag = "long-prefill-token-threshold", .argument = "N",
	  .type = KV_KEY_COUNT, FIELD(engine.long_prefill_token_threshold), .maximum = KV_TOKENS_MAX,
	  .help = "Most tokens of one prompt in a step; 0 is no limit" },
	{ .path = "engine.watermark", .flag = "watermark", .argument = "F", .type = KV_KEY_FRACTION,
	  FIELD(engine.watermark), .maximum = 1,
	  .help = "Part of the blocks that an admission leaves free while others run" },
	{ .path = "engine.swap_space", .flag = "swap-space", .argument = "BYTES", .type = KV_KEY_CUSTOM,
	  FIELD(engine.swap_space), .parse = parse_swap_space,
	  .help = "Host memory for each GPU that preemption with mode=swap copies to; a plain number is GiB" },
	{ .path = "engine.swap_bandwidth", .flag = "swap-bandwidth", .argument = "RATE", .type = KV_KEY_CUSTOM,
	  FIELD(engine.swap_bandwidth), .parse = parse_swap_bandwidth,
	  .help = "How fast it copies, such as 25GB/s (default: 80% of the GPU's host link)" },
	{ .path = "engine.scheduler_reserve_full_isl", .type = KV_KEY_BOOL, FIELD(engine.scheduler_reserve_full_isl),
	  .help = "Admit a request only if its whole prompt fits now" },
	{ .path = "engine.prefix_cache_retention_interval", .argument = "none|0", .type = KV_KEY_CUSTOM,
	  FIELD(engine.prefix_cache_retention_interval), .parse = parse_retention, .null_text = "none",
	  .help = "Which content of windowed layers stays reusable" },
	{ .path = "engine.cache_scope", .argument = "global|tenant|request", .type = KV_KEY_CHOICE,
	  FIELD(engine.cache_scope), .choices = cache_scopes,
	  .help = "Who may reuse whose content where the trace gives no salt" },
	{ .path = "engine.refuse_impossible", .type = KV_KEY_BOOL, FIELD(engine.refuse_impossible),
	  .help = "Refuse at arrival what the pool can never hold, instead of waiting for ever" },
	{ .path = "engine.frontend", .argument = "T", .type = KV_KEY_TIME, FIELD(engine.frontend), .maximum = 3600e9,
	  .help = "Time of each request in the engine's front end before it is queued" },

	{ .path = "policies.allocation", .flag = "allocation", .argument = "NAME[,param=value...]",
	  .type = KV_KEY_POLICY, FIELD(policy[KV_POLICY_ALLOCATION]), .policy = KV_POLICY_ALLOCATION,
	  .help = "How many blocks a request takes and when" },
	{ .path = "policies.admission", .flag = "admission", .argument = "NAME[,param=value...]", .type = KV_KEY_POLICY,
	  FIELD(policy[KV_POLICY_ADMISSION]), .policy = KV_POLICY_ADMISSION,
	  .help = "Whether the head of the queue may start" },
	{ .path = "policies.scheduling", .flag = "scheduling-policy", .argument = "NAME[,param=value...]",
	  .type = KV_KEY_POLICY, FIELD(policy[KV_POLICY_SCHEDULING]), .policy = KV_POLICY_SCHEDULING,
	  .help = "Order of the waiting queue" },
	{ .path = "policies.preemption", .flag = "preemption", .argument = "NAME[,param=value...]",
	  .type = KV_KEY_POLICY, FIELD(policy[KV_POLICY_PREEMPTION]), .policy = KV_POLICY_PREEMPTION,
	  .help = "Who gives up its blocks when there are none left" },
	{ .path = "policies.prefix", .flag = "prefix", .argument = "NAME[,param=value...]", .type = KV_KEY_POLICY,
	  FIELD(policy[KV_POLICY_PREFIX]), .policy = KV_POLICY_PREFIX, .help = "What computed content is found again" },
	{ .path = "policies.eviction", .flag = "eviction", .argument = "NAME[,param=value...]", .type = KV_KEY_POLICY,
	  FIELD(policy[KV_POLICY_EVICTION]), .policy = KV_POLICY_EVICTION, .help = "Which reusable blocks go first" },

	{ .path = "workload.trace", .sizes = true, .flag = "trace", .argument = "FILE", .type = KV_KEY_FILE,
	  FIELD(workload.trace),
	  .help = "Trace to replay; - is standard input; gzip and zstd are read as they are" },
	{ .path = "workload.generate", .argument = "MAPPING", .type = KV_KEY_TREE, FIELD(workload.generate),
	  .help = "A load to draw requests from, instead of a trace (see kvsim-trace-generate(1)); --set reaches the keys in "
	          "it" },
	{ .path = "workload.format", .sizes = true, .flag = "format", .argument = "NAME", .type = KV_KEY_TEXT,
	  FIELD(workload.format),
	  .help = "Its format (default: detected; see kvsim list formats)" },
	{ .path = "workload.rows", .sizes = true, .flag = "rows", .argument = "A:B", .type = KV_KEY_TEXT,
	  FIELD(workload.rows),
	  .help = "Replay rows A to B-1 only, counted from 0 (default: all)" },
	{ .path = "workload.warm", .flag = "warm", .argument = "FILE", .type = KV_KEY_FILE, FIELD(workload.warm),
	  .help = "Trace to replay before time zero, so that the run starts with what it leaves in the cache (default: "
	          "the cache starts cold)" },
	{ .path = "workload.warm_format", .argument = "NAME", .type = KV_KEY_TEXT, FIELD(workload.warm_format),
	  .help = "Its format (default: detected)" },
	{ .path = "workload.warm_rows", .argument = "A:B", .type = KV_KEY_TEXT, FIELD(workload.warm_rows),
	  .help = "Rows A to B-1 of it only (default: all)" },
	{ .path = "workload.time_scale", .flag = "time-scale", .argument = "F", .type = KV_KEY_NUMBER,
	  FIELD(workload.time_scale), .fallback = "1", .minimum = 1e-9, .maximum = 1e9,
	  .help = "Multiply the trace's arrival times by this" },
	{ .path = "workload.request_rate", .flag = "request-rate", .argument = "R", .type = KV_KEY_CUSTOM,
	  FIELD(workload.request_rate), .parse = parse_open_number,
	  .help = "Requests per second instead of the trace's own times; inf sends all at once. Those that "
	          "follow others come on top" },
	{ .path = "workload.burstiness", .flag = "burstiness", .argument = "G", .type = KV_KEY_CUSTOM,
	  FIELD(workload.burstiness), .fallback = "1", .parse = parse_open_number,
	  .help = "Shape of the gaps at that rate: 1 is Poisson, inf is constant" },
	{ .path = "workload.open_loop", .flag = "open-loop", .type = KV_KEY_BOOL, FIELD(workload.open_loop),
	  .fallback = "false", .help = "Requests that follow others arrive at their recorded times instead" },
	{ .path = "workload.go_on_after_refusal", .flag = "go-on-after-refusal", .type = KV_KEY_BOOL,
	  FIELD(workload.go_on_after_refusal), .fallback = "false",
	  .help = "Requests that follow a refused or dropped one are sent all the same" },
	{ .path = "workload.retries", .flag = "retries", .argument = "N", .type = KV_KEY_COUNT, FIELD(workload.retries),
	  .fallback = "0", .maximum = 1e6,
	  .help = "How often clients send a request again that was turned away (queue_full, rate, deadline)" },
	{ .path = "workload.retry_backoff", .flag = "retry-backoff", .argument = "T", .type = KV_KEY_TIME,
	  FIELD(workload.retry_backoff), .fallback = "1s", .minimum = 1, .maximum = 1e18,
	  .help = "Time before the first of these; each later one waits twice as long" },
	{ .path = "workload.skip_bad_rows", .sizes = true, .flag = "skip-bad-rows", .type = KV_KEY_BOOL,
	  FIELD(workload.skip_bad_rows),
	  .fallback = "false",
	  .help = "Leave out rows that cannot be used, and count them by reason, instead of stopping" },
	{ .path = "workload.reorder_time", .sizes = true, .argument = "T", .type = KV_KEY_TIME,
	  FIELD(workload.reorder_time),
	  .fallback = "1h", .maximum = 0x1p63, .help = "How far in trace time rows may be out of order" },
	{ .path = "workload.reorder_rows", .sizes = true, .argument = "N", .type = KV_KEY_COUNT,
	  FIELD(workload.reorder_rows),
	  .fallback = "100000", .maximum = 1e9, .help = "How many rows back they may be" },
	{ .path = "workload.max_concurrency", .flag = "max-concurrency", .argument = "N", .type = KV_KEY_COUNT,
	  FIELD(workload.max_concurrency), .minimum = 1, .maximum = 1000000000,
	  .help = "Most requests that the client has in flight (default: no limit)" },
	{ .path = "workload.default_max_tokens", .flag = "default-max-tokens", .argument = "N|model|output",
	  .type = KV_KEY_CUSTOM, FIELD(workload.default_max_tokens), .fallback = "model", .parse = parse_max_tokens,
	  .help = "max_tokens of requests that state none: what the model allows, or what the trace says will be "
	          "generated" },

	{ .path = "latency.backend", .flag = "latency", .argument = "roofline|linear|table|fixed:DURATION",
	  .type = KV_KEY_CUSTOM, FIELD(latency), .fallback = "roofline", .parse = parse_latency,
	  .help = "What says how long a step takes" },
	{ .path = "latency.data", .flag = "latency-data", .argument = "FILE", .type = KV_KEY_TEXT, FIELD(latency_data),
	  .help = "Measured steps (CSV, as kvsim calibrate reads them) that linear and table go by" },

	{ .path = "seed", .flag = "seed", .argument = "N", .type = KV_KEY_COUNT, FIELD(seed), .fallback = "0",
	  .maximum = 0x1p64, .help = "Seed of everything random" },
	{ .path = "duration", .flag = "duration", .argument = "T", .type = KV_KEY_TIME, FIELD(duration), .minimum = 1,
	  .maximum = 0x1p63, .help = "Cut the run at this simulated time (default: until everything has finished)" },
	{ .path = "warmup", .flag = "warmup", .argument = "T", .type = KV_KEY_TIME, FIELD(warmup), .fallback = "0s",
	  .maximum = 0x1p63, .help = "Leave requests that arrive before it out of the metrics" },
	{ .path = "start_time", .flag = "start-time", .argument = "DATE", .type = KV_KEY_DATE, FIELD(start_time),
	  .fallback = "2026-01-01T00:00:00Z", .help = "Date of simulated time zero, ISO 8601" },
	{ .path = "check", .flag = "check", .type = KV_KEY_BOOL, FIELD(check), .fallback = "false",
	  .help = "Check every invariant after every step (slow)" },

	{ .path = "output.dir", .flag = "out", .argument = "DIR", .type = KV_KEY_TEXT, FIELD(output.dir),
	  .fallback = "kvsim-out", .help = "Folder for the results" },
	{ .path = "output.write", .flag = "write", .argument = "LIST", .type = KV_KEY_LIST, FIELD(output.write),
	  .fallback = "summary,requests,timeline,manifest,report", .help = "Files to write" },
	{ .path = "output.events", .flag = "events", .type = KV_KEY_BOOL, FIELD(output.events), .fallback = "false",
	  .help = "Write events.csv as well" },
	{ .path = "output.openmetrics", .flag = "openmetrics", .type = KV_KEY_BOOL, FIELD(output.openmetrics),
	  .fallback = "false", .help = "Write metrics.om as well, to fill into a Prometheus" },
	{ .path = "output.chrome_trace", .flag = "chrome-trace", .type = KV_KEY_BOOL, FIELD(output.chrome_trace),
	  .fallback = "false", .help = "Write chrome-trace.json as well, for Perfetto" },
	{ .path = "output.timeline_interval", .flag = "timeline-interval", .argument = "T", .type = KV_KEY_TIME,
	  FIELD(output.timeline_interval), .minimum = 1, .maximum = 0x1p63,
	  .help = "Length of a row of timeline.csv (default: fitting the run)" },
	{ .path = "output.metric_percentiles", .flag = "metric-percentiles", .argument = "LIST", .type = KV_KEY_LIST,
	  FIELD(output.metric_percentiles), .help = "Percentiles to report (default: 50,90,95,99,99.9)" },
	{ .path = "output.goodput", .flag = "goodput", .argument = "LIST", .type = KV_KEY_LIST, FIELD(output.goodput),
	  .help = "Objectives in milliseconds, such as ttft:500,tpot:50,e2el:9000" },
	{ .path = "output.save_result", .flag = "save-result", .type = KV_KEY_BOOL, FIELD(output.save_result),
	  .fallback = "false", .help = "Write the summary under vLLM's dated file name as well" },
};

#define KEY_COUNT (sizeof keys / sizeof keys[0])
_Static_assert(KEY_COUNT <= KEYS_MAX, "more keys than the list of names holds");

const struct kv_key *kv_scenario_keys(size_t *count)
{
	*count = KEY_COUNT;
	return keys;
}

const struct kv_key *kv_scenario_key(const char *path)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (strcmp(keys[i].path, path) == 0)
			return &keys[i];
	return NULL;
}

static const char *leaf(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

int kv_scenario_fail_unknown_key(const char *path, struct kv_error *err)
{
	const char *names[KEYS_MAX];

	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (strcmp(leaf(keys[i].path), leaf(path)) == 0)
			return kv_fail(err, KV_EXIT_USAGE, "unknown key '%s': did you mean '%s'?", path, keys[i].path);
		names[i] = keys[i].path;
	}
	return kv_fail_unknown(err, KV_EXIT_USAGE, "key", path, names, KEY_COUNT);
}

bool kv_key_has_flag(const struct kv_key *key, const char *name)
{
	return (key->flag != NULL && strcmp(key->flag, name) == 0) ||
	       (key->alias != NULL && strcmp(key->alias, name) == 0);
}
