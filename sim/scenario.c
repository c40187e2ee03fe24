#include "config.h"

#include "sim/scenario.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/memory.h"
#include "sim/names.h"
#include "sim/quantity.h"
#include "sim/request.h"
#include "sim/yaml_tree.h"

#define FIELD(member) offsetof(struct kv_scenario, member), sizeof(((struct kv_scenario *)NULL)->member)
#define FIELD_MAX 64
#define KEYS_MAX 128

static int parse_latency(const char *text, void *field, struct kv_error *err)
{
	struct kv_latency_choice *choice = field;

	*choice = (struct kv_latency_choice){ 0 };
	if (strcmp(text, "roofline") == 0)
		return 0;
	if (strncmp(text, "fixed:", 6) != 0)
		return kv_fail(err, KV_EXIT_USAGE, "unknown backend '%s': valid are roofline, fixed:DURATION", text);
	choice->fixed = true;
	return kv_parse_time(text + 6, 1, 3600 * KV_SECOND, &choice->duration, err);
}

static int parse_max_tokens(const char *text, void *field, struct kv_error *err)
{
	struct kv_max_tokens_choice *choice = field;
	uint64_t tokens;

	*choice = (struct kv_max_tokens_choice){ .tokens = KV_TOKENS_UNSET, .output = strcmp(text, "output") == 0 };
	if (choice->output || strcmp(text, "model") == 0)
		return 0;
	if (kv_parse_count(text, 0, KV_TOKENS_MAX, &tokens, err))
		return kv_fail(err, KV_EXIT_USAGE, "'%s' is neither 'model' nor 'output' nor a number of tokens", text);
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

static int parse_retention(const char *text, void *field, struct kv_error *err)
{
	uint64_t *interval = field;

	*interval = strcmp(text, "0") == 0 ? 0 : KV_RETAIN_ALL;
	if (*interval == 0 || strcmp(text, "none") == 0)
		return 0;
	return kv_fail(err, KV_EXIT_USAGE, "'%s' is not allowed: none keeps every block, 0 the ends of prompts and junctions",
	               text);
}

static const char *const cache_scopes[] = { "global", "tenant", "request", NULL };

/* Order is that of the help and of the manifest. Ranges: minimum, maximum. */
static const struct kv_key keys[] = {
	{ "model", "model", "NAME|FILE", KV_KEY_NAME, FIELD(model), NULL,
	  "Model: a built-in name or a Hugging Face config.json (see kvsim list models)", 0, 0, NULL, NULL, 0 },
	{ "hardware", "hardware", "NAME|FILE", KV_KEY_NAME, FIELD(hardware), NULL,
	  "GPU: a built-in name or a profile file (see kvsim list hardware)", 0, 0, NULL, NULL, 0 },

	{ "engine.profile", "engine", "PROFILE", KV_KEY_NAME, FIELD(engine.profile), "vllm-2026-08",
	  "Engine profile (see kvsim list engines)", 0, 0, NULL, NULL, 0 },
	{ "engine.dtype", "dtype", "TYPE", KV_KEY_TEXT, FIELD(engine.dtype), NULL,
	  "Type of weights and activations (default: the model's)", 0, 0, NULL, NULL, 0 },
	{ "engine.quantization", "quantization", "TYPE", KV_KEY_TEXT, FIELD(engine.quantization), NULL,
	  "Quantization of the weights (default: the model's)", 0, 0, NULL, NULL, 0 },
	{ "engine.tensor_parallel_size", "tensor-parallel-size", "N", KV_KEY_COUNT, FIELD(engine.tensor_parallel_size), "1",
	  "GPUs that share each layer; also -tp N", 1, 1024, NULL, NULL, 0 },
	{ "engine.pipeline_parallel_size", "pipeline-parallel-size", "N", KV_KEY_COUNT,
	  FIELD(engine.pipeline_parallel_size), "1", "Stages that the layers are spread over; also -pp N", 1, 1024, NULL,
	  NULL, 0 },
	{ "engine.max_model_len", "max-model-len", "N", KV_KEY_COUNT, FIELD(engine.max_model_len), NULL,
	  "Longest prompt and output together, in tokens (default: the model's)", 1, KV_TOKENS_MAX, NULL, NULL, 0 },
	{ "engine.max_num_seqs", "max-num-seqs", "N", KV_KEY_COUNT, FIELD(engine.max_num_seqs), NULL,
	  "Most requests that run at once (default: the profile's for the GPU)", 1, 1000000, NULL, NULL, 0 },
	{ "engine.max_num_batched_tokens", "max-num-batched-tokens", "N", KV_KEY_COUNT,
	  FIELD(engine.max_num_batched_tokens), NULL, "Token budget of a step (default: the profile's for the GPU)", 1,
	  KV_TOKENS_MAX, NULL, NULL, 0 },
	{ "engine.block_size", "block-size", "N", KV_KEY_COUNT, FIELD(engine.block_size), NULL,
	  "Tokens in a KV block (default: the profile's)", 1, 1 << 20, NULL, NULL, 0 },
	{ "engine.gpu_memory_utilization", "gpu-memory-utilization", "F", KV_KEY_FRACTION,
	  FIELD(engine.gpu_memory_utilization), NULL, "Part of the GPU's memory that the engine may use (default: the profile's)",
	  0.01, 1, NULL, NULL, 0 },
	{ "engine.kv_cache_dtype", "kv-cache-dtype", "TYPE", KV_KEY_TEXT, FIELD(engine.kv_cache_dtype), "auto",
	  "Type of the KV cache; auto is the model's", 0, 0, NULL, NULL, 0 },
	{ "engine.kv_cache_memory_bytes", "kv-cache-memory-bytes", "BYTES", KV_KEY_BYTES, FIELD(engine.kv_cache_memory_bytes),
	  NULL, "KV memory of each rank, instead of what the memory budget leaves", 1, 0x1p60, NULL, NULL, 0 },
	{ "engine.num_gpu_blocks_override", "num-gpu-blocks-override", "N", KV_KEY_COUNT,
	  FIELD(engine.num_gpu_blocks_override), NULL, "KV blocks as the engine counts them, null block included", 1,
	  4000000000.0, NULL, NULL, 0 },
	{ "engine.enable_prefix_caching", "enable-prefix-caching", NULL, KV_KEY_BOOL, FIELD(engine.enable_prefix_caching),
	  NULL, "Keep and reuse computed blocks (default: the profile's)", 0, 0, NULL, NULL, 0 },
	{ "engine.enable_chunked_prefill", "enable-chunked-prefill", NULL, KV_KEY_BOOL, FIELD(engine.enable_chunked_prefill),
	  NULL, "Split prompts over steps (default: the profile's)", 0, 0, NULL, NULL, 0 },
	{ "engine.long_prefill_token_threshold", "long-prefill-token-threshold", "N", KV_KEY_COUNT,
	  FIELD(engine.long_prefill_token_threshold), NULL, "Most tokens of one prompt in a step; 0 is no limit", 0,
	  KV_TOKENS_MAX, NULL, NULL, 0 },
	{ "engine.watermark", "watermark", "F", KV_KEY_FRACTION, FIELD(engine.watermark), NULL,
	  "Part of the blocks that an admission leaves free while others run", 0, 1, NULL, NULL, 0 },
	{ "engine.scheduler_reserve_full_isl", NULL, NULL, KV_KEY_BOOL, FIELD(engine.scheduler_reserve_full_isl), NULL,
	  "Admit a request only if its whole prompt fits now", 0, 0, NULL, NULL, 0 },
	{ "engine.prefix_cache_retention_interval", NULL, "none|0", KV_KEY_CUSTOM,
	  FIELD(engine.prefix_cache_retention_interval), NULL, "Which content of windowed layers stays reusable", 0, 0, NULL,
	  parse_retention, 0 },
	{ "engine.cache_scope", NULL, "global|tenant|request", KV_KEY_CHOICE, FIELD(engine.cache_scope), NULL,
	  "Who may reuse whose content where the trace gives no salt", 0, 0, cache_scopes, NULL, 0 },
	{ "engine.refuse_impossible", NULL, NULL, KV_KEY_BOOL, FIELD(engine.refuse_impossible), NULL,
	  "Refuse at arrival what the pool can never hold, instead of waiting for ever", 0, 0, NULL, NULL, 0 },
	{ "engine.frontend", NULL, "T", KV_KEY_TIME, FIELD(engine.frontend), NULL,
	  "Time of each request in the engine's front end before it is queued", 0, 3600e9, NULL, NULL, 0 },

	{ "policies.allocation", "allocation", "NAME[,param=value...]", KV_KEY_POLICY, FIELD(policy[KV_POLICY_ALLOCATION]),
	  NULL, "How many blocks a request takes and when", 0, 0, NULL, NULL, KV_POLICY_ALLOCATION },
	{ "policies.admission", "admission", "NAME[,param=value...]", KV_KEY_POLICY, FIELD(policy[KV_POLICY_ADMISSION]), NULL,
	  "Whether the head of the queue may start", 0, 0, NULL, NULL, KV_POLICY_ADMISSION },
	{ "policies.scheduling", "scheduling-policy", "NAME[,param=value...]", KV_KEY_POLICY,
	  FIELD(policy[KV_POLICY_SCHEDULING]), NULL, "Order of the waiting queue", 0, 0, NULL, NULL, KV_POLICY_SCHEDULING },
	{ "policies.preemption", "preemption", "NAME[,param=value...]", KV_KEY_POLICY, FIELD(policy[KV_POLICY_PREEMPTION]),
	  NULL, "Who gives up its blocks when there are none left", 0, 0, NULL, NULL, KV_POLICY_PREEMPTION },
	{ "policies.prefix", "prefix", "NAME[,param=value...]", KV_KEY_POLICY, FIELD(policy[KV_POLICY_PREFIX]), NULL,
	  "What computed content is found again", 0, 0, NULL, NULL, KV_POLICY_PREFIX },
	{ "policies.eviction", "eviction", "NAME[,param=value...]", KV_KEY_POLICY, FIELD(policy[KV_POLICY_EVICTION]), NULL,
	  "Which reusable blocks go first", 0, 0, NULL, NULL, KV_POLICY_EVICTION },

	{ "workload.trace", "trace", "FILE", KV_KEY_FILE, FIELD(workload.trace), NULL,
	  "Trace to replay; - is standard input; gzip and zstd are read as they are", 0, 0, NULL, NULL, 0 },
	{ "workload.format", "format", "NAME", KV_KEY_TEXT, FIELD(workload.format), NULL,
	  "Its format (default: detected; see kvsim list formats)", 0, 0, NULL, NULL, 0 },
	{ "workload.rows", "rows", "A:B", KV_KEY_TEXT, FIELD(workload.rows), NULL,
	  "Replay rows A to B-1 only, counted from 0 (default: all)", 0, 0, NULL, NULL, 0 },
	{ "workload.time_scale", "time-scale", "F", KV_KEY_NUMBER, FIELD(workload.time_scale), "1",
	  "Multiply the trace's arrival times by this", 1e-9, 1e9, NULL, NULL, 0 },
	{ "workload.request_rate", "request-rate", "R", KV_KEY_CUSTOM, FIELD(workload.request_rate), NULL,
	  "Requests per second instead of the trace's own times; inf sends all at once", 0, 0, NULL, parse_open_number, 0 },
	{ "workload.burstiness", "burstiness", "G", KV_KEY_CUSTOM, FIELD(workload.burstiness), "1",
	  "Shape of the gaps at that rate: 1 is Poisson, inf is constant", 0, 0, NULL, parse_open_number, 0 },
	{ "workload.skip_bad_rows", "skip-bad-rows", NULL, KV_KEY_BOOL, FIELD(workload.skip_bad_rows), "false",
	  "Leave out rows that cannot be used, and count them by reason, instead of stopping", 0, 0, NULL, NULL, 0 },
	{ "workload.reorder_time", NULL, "T", KV_KEY_TIME, FIELD(workload.reorder_time), "1h",
	  "How far in trace time rows may be out of order", 0, 0x1p63, NULL, NULL, 0 },
	{ "workload.reorder_rows", NULL, "N", KV_KEY_COUNT, FIELD(workload.reorder_rows), "100000",
	  "How many rows back they may be", 0, 1e9, NULL, NULL, 0 },
	{ "workload.max_concurrency", "max-concurrency", "N", KV_KEY_COUNT, FIELD(workload.max_concurrency), NULL,
	  "Most requests that the client has in flight (default: no limit)", 1, 1000000000, NULL, NULL, 0 },
	{ "workload.default_max_tokens", "default-max-tokens", "N|model|output", KV_KEY_CUSTOM,
	  FIELD(workload.default_max_tokens), "model",
	  "max_tokens of requests that state none: what the model allows, or what the trace says will be generated", 0, 0,
	  NULL, parse_max_tokens, 0 },

	{ "latency.backend", "latency", "roofline|fixed:DURATION", KV_KEY_CUSTOM, FIELD(latency), "roofline",
	  "What says how long a step takes", 0, 0, NULL, parse_latency, 0 },

	{ "seed", "seed", "N", KV_KEY_COUNT, FIELD(seed), "0", "Seed of everything random", 0, 0x1p64, NULL, NULL, 0 },
	{ "duration", "duration", "T", KV_KEY_TIME, FIELD(duration), NULL,
	  "Cut the run at this simulated time (default: until everything has finished)", 1, 0x1p63, NULL, NULL, 0 },
	{ "warmup", "warmup", "T", KV_KEY_TIME, FIELD(warmup), "0s", "Leave requests that arrive before it out of the metrics",
	  0, 0x1p63, NULL, NULL, 0 },
	{ "start_time", "start-time", "DATE", KV_KEY_DATE, FIELD(start_time), "2026-01-01T00:00:00Z",
	  "Date of simulated time zero, ISO 8601", 0, 0, NULL, NULL, 0 },
	{ "check", "check", NULL, KV_KEY_BOOL, FIELD(check), "false", "Check every invariant after every step (slow)", 0, 0,
	  NULL, NULL, 0 },

	{ "output.dir", "out", "DIR", KV_KEY_TEXT, FIELD(output.dir), "kvsim-out", "Folder for the results", 0, 0, NULL, NULL,
	  0 },
	{ "output.write", "write", "LIST", KV_KEY_LIST, FIELD(output.write), "summary,requests,timeline,manifest",
	  "Files to write", 0, 0, NULL, NULL, 0 },
	{ "output.events", "events", NULL, KV_KEY_BOOL, FIELD(output.events), "false", "Write events.csv as well", 0, 0, NULL,
	  NULL, 0 },
	{ "output.timeline_interval", "timeline-interval", "T", KV_KEY_TIME, FIELD(output.timeline_interval), NULL,
	  "Length of a row of timeline.csv (default: fitting the run)", 1, 0x1p63, NULL, NULL, 0 },
	{ "output.metric_percentiles", "metric-percentiles", "LIST", KV_KEY_LIST, FIELD(output.metric_percentiles), NULL,
	  "Percentiles to report (default: 50,90,95,99,99.9)", 0, 0, NULL, NULL, 0 },
	{ "output.goodput", "goodput", "LIST", KV_KEY_LIST, FIELD(output.goodput), NULL,
	  "Objectives in milliseconds, such as ttft:500,tpot:50,e2el:9000", 0, 0, NULL, NULL, 0 },
	{ "output.save_result", "save-result", NULL, KV_KEY_BOOL, FIELD(output.save_result), "false",
	  "Write the summary under vLLM's dated file name as well", 0, 0, NULL, NULL, 0 },
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

static int fail_unknown_key(const char *path, struct kv_error *err)
{
	const char *names[KEYS_MAX];

	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (strcmp(leaf(keys[i].path), leaf(path)) == 0)
			return kv_fail(err, KV_EXIT_USAGE, "unknown key '%s': did you mean '%s'?", path, keys[i].path);
		names[i] = keys[i].path;
	}
	return kv_fail_unknown(err, KV_EXIT_USAGE, "key", path, names, KEY_COUNT);
}

static int parse_choice(const struct kv_key *key, const char *text, unsigned *out, struct kv_error *err)
{
	size_t count = 0;

	for (; key->choices[count] != NULL; count++) {
		if (strcmp(key->choices[count], text) == 0) {
			*out = (unsigned)count;
			return 0;
		}
	}
	return kv_fail_unknown(err, KV_EXIT_USAGE, "value", text, key->choices, count);
}

static int parse_policy(const struct kv_key *key, const char *text, struct kv_error *err)
{
	struct kv_policy_use use;

	if (kv_policy_parse(key->policy, text, &use, err))
		return -1;
	kv_policy_use_fini(&use);
	return 0;
}

static int parse_text(const char *text, const char **field, struct kv_error *err)
{
	if (*text == '\0')
		return kv_fail(err, KV_EXIT_USAGE, "an empty value is not allowed");
	*field = text;
	return 0;
}

static uint64_t whole_limit(double limit)
{
	return limit >= 0x1p64 ? UINT64_MAX : (uint64_t)limit;
}

static kv_time time_limit(double limit)
{
	return limit >= 0x1p63 ? KV_TIME_MAX : (kv_time)limit;
}

/* Texts are kept by reference: field then points into text. */
static int parse_value(const struct kv_key *key, const char *text, void *field, struct kv_error *err)
{
	switch (key->type) {
	case KV_KEY_TEXT:
	case KV_KEY_FILE:
	case KV_KEY_NAME:
	case KV_KEY_LIST:
		return parse_text(text, field, err);
	case KV_KEY_POLICY:
		return parse_text(text, field, err) || parse_policy(key, text, err) ? -1 : 0;
	case KV_KEY_COUNT:
		return kv_parse_count(text, whole_limit(key->minimum), whole_limit(key->maximum), field, err);
	case KV_KEY_BYTES:
		return kv_parse_bytes(text, true, whole_limit(key->minimum), whole_limit(key->maximum), field, err);
	case KV_KEY_TIME:
		return kv_parse_time(text, time_limit(key->minimum), time_limit(key->maximum), field, err);
	case KV_KEY_DATE:
		return kv_parse_date(text, field, err);
	case KV_KEY_FRACTION:
		return kv_parse_fraction(text, key->minimum, key->maximum, field, err);
	case KV_KEY_NUMBER:
		return kv_parse_double(text, key->minimum, key->maximum, field, err);
	case KV_KEY_BOOL:
		return kv_parse_bool(text, field, err);
	case KV_KEY_CHOICE:
		return parse_choice(key, text, field, err);
	case KV_KEY_CUSTOM:
		return key->parse(text, field, err);
	}
	return kv_fail(err, KV_EXIT_BUG, "a key of no known type");
}

static void clear_setting(struct kv_setting *setting)
{
	free(setting->text);
	free(setting->source);
	setting->text = NULL;
	setting->source = NULL;
}

static int set_key(struct kv_scenario *scenario, const struct kv_key *key, const char *text, enum kv_origin origin,
                   const char *source, struct kv_error *err)
{
	struct kv_setting *setting = &scenario->settings[key - keys];
	_Alignas(max_align_t) char value[FIELD_MAX] = { 0 };
	char *copy = kv_strdup(text);

	if (parse_value(key, copy, value, err)) {
		free(copy);
		return -1;
	}
	if (origin < setting->origin) {
		free(copy);
		return 0;
	}
	clear_setting(setting);
	setting->text = copy;
	setting->source = kv_strdup(source);
	setting->origin = origin;
	memcpy((char *)scenario + key->offset, value, key->size);
	return 0;
}

void kv_scenario_init(struct kv_scenario *scenario)
{
	struct kv_error err;

	memset(scenario, 0, sizeof *scenario);
	scenario->settings = kv_calloc(KEY_COUNT, sizeof *scenario->settings);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		scenario->settings[i].key = &keys[i];
		KV_ASSERT(keys[i].fallback == NULL ||
		          !set_key(scenario, &keys[i], keys[i].fallback, KV_BY_DEFAULT, "default", &err),
		          "default of %s: %s", keys[i].path, err.text);
	}
}

void kv_scenario_fini(struct kv_scenario *scenario)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		clear_setting(&scenario->settings[i]);
	free(scenario->settings);
	memset(scenario, 0, sizeof *scenario);
}

int kv_scenario_set(struct kv_scenario *scenario, const char *path, const char *text, enum kv_origin origin,
                    const char *source, struct kv_error *err)
{
	const struct kv_key *key = kv_scenario_key(path);

	if (key == NULL)
		return fail_unknown_key(path, err);
	return set_key(scenario, key, text, origin, source, err);
}

int kv_scenario_set_pair(struct kv_scenario *scenario, const char *pair, struct kv_error *err)
{
	char *path = kv_strdup(pair);
	char *value = strchr(path, '=');
	int failed;

	if (value == NULL) {
		free(path);
		return kv_fail(err, KV_EXIT_USAGE, "--set: write path.to.key=value, found '%s'", pair);
	}
	*value++ = '\0';
	failed = kv_scenario_set(scenario, path, value, KV_BY_SET, "--set", err);
	if (failed)
		kv_fail_in(err, "--set %s", path);
	free(path);
	return failed;
}

struct tree_reader {
	struct kv_scenario *scenario;
	enum kv_origin origin;
	const char *source;  /* NULL: file and line of each node */
	struct kv_error *err;
};

static int fail_node(const struct kv_node *node, const char *path, struct kv_error *err)
{
	return kv_fail_in(err, "%s:%u: %s", node->file, node->line, path);
}

static char *append(char *text, const char *more)
{
	size_t length = text ? strlen(text) : 0;

	text = kv_realloc(text, length + strlen(more) + 1, 1);
	strcpy(text + length, more);
	return text;
}

/* "a,b,c", or NULL with err filled. */
static char *join_list(const struct kv_node *node, struct kv_error *err)
{
	char *text = kv_strdup("");

	for (size_t i = 0; i < node->children; i++) {
		if (kv_node_expect(&node->child[i], KV_NODE_SCALAR, KV_EXIT_USAGE, err)) {
			free(text);
			return NULL;
		}
		text = append(text, i ? "," : "");
		text = append(text, node->child[i].text);
	}
	return text;
}

/* {name: ..., params: {...}} as "name,param=value,...", or NULL with err filled. */
static char *join_policy(const struct kv_node *node, struct kv_error *err)
{
	static const char *const names[] = { "name", "params" };
	const struct kv_node *name = kv_node_get(node, "name"), *params = kv_node_get(node, "params");
	char *text;

	if (kv_node_expect_keys(node, names, 2, KV_EXIT_USAGE, err))
		return NULL;
	if (name == NULL) {
		kv_node_fail(node, KV_EXIT_USAGE, err, "name is missing");
		return NULL;
	}
	if (kv_node_expect(name, KV_NODE_SCALAR, KV_EXIT_USAGE, err) ||
	    (params != NULL && kv_node_expect(params, KV_NODE_MAPPING, KV_EXIT_USAGE, err)))
		return NULL;
	text = kv_strdup(name->text);
	for (size_t i = 0; params != NULL && i < params->children; i++) {
		const struct kv_node *param = &params->child[i];

		if (kv_node_expect(param, KV_NODE_SCALAR, KV_EXIT_USAGE, err)) {
			free(text);
			return NULL;
		}
		text = append(append(append(append(text, ","), param->key), "="), param->text);
	}
	return text;
}

/* The value's text, to be freed; NULL with err filled. */
static char *node_text(const struct kv_key *key, const struct kv_node *node, struct kv_error *err)
{
	if (node->kind == KV_NODE_SEQUENCE && key->type == KV_KEY_LIST)
		return join_list(node, err);
	if (node->kind == KV_NODE_MAPPING && key->type == KV_KEY_POLICY)
		return join_policy(node, err);
	if (kv_node_expect(node, KV_NODE_SCALAR, KV_EXIT_USAGE, err))
		return NULL;
	if (kv_node_is_null(node) && key->parse != parse_retention) {
		kv_node_fail(node, KV_EXIT_USAGE, err, "a value is missing: write one or leave the key out");
		return NULL;
	}
	return kv_strdup(kv_node_is_null(node) ? "none" : node->text);
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), ending = strlen(end);

	return length >= ending && strcmp(text + length - ending, end) == 0;
}

/* The path of a file that lies beside the scenario file; otherwise the text as it is. Takes and returns ownership. */
static char *beside(const struct kv_key *key, const struct kv_node *node, char *text)
{
	const char *slash = strrchr(node->file, '/');
	bool file = key->type == KV_KEY_FILE || (key->type == KV_KEY_NAME && (strchr(text, '/') != NULL ||
	            ends_with(text, ".json") || ends_with(text, ".yaml")));
	char *path;

	if (!file || slash == NULL || *text == '/')
		return text;
	path = kv_strdup(node->file);
	path[slash - node->file + 1] = '\0';
	path = append(path, text);
	if (access(path, F_OK) == 0) {
		free(text);
		return path;
	}
	free(path);
	return text;
}

static int read_value(struct tree_reader *r, const struct kv_key *key, const struct kv_node *node)
{
	char *text = node_text(key, node, r->err);
	char place[512];
	int failed;

	if (text == NULL)
		return -1;
	if (r->origin == KV_BY_FILE)
		text = beside(key, node, text);
	snprintf(place, sizeof place, "%s:%u", node->file, node->line);
	failed = set_key(r->scenario, key, text, r->origin, r->source ? r->source : place, r->err);
	free(text);
	return failed ? fail_node(node, key->path, r->err) : 0;
}

static bool is_section(const char *path)
{
	size_t length = strlen(path);

	for (size_t i = 0; i < KEY_COUNT; i++)
		if (strncmp(keys[i].path, path, length) == 0 && keys[i].path[length] == '.')
			return true;
	return false;
}

static int read_mapping(struct tree_reader *r, const struct kv_node *mapping, const char *prefix)
{
	if (kv_node_expect(mapping, KV_NODE_MAPPING, KV_EXIT_USAGE, r->err))
		return -1;
	for (size_t i = 0; i < mapping->children; i++) {
		const struct kv_node *node = &mapping->child[i];
		const struct kv_key *key;
		char path[256];

		snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", node->key);
		key = kv_scenario_key(path);
		if (key != NULL) {
			if (read_value(r, key, node))
				return -1;
		} else if (is_section(path)) {
			if (read_mapping(r, node, path))
				return -1;
		} else {
			fail_unknown_key(path, r->err);
			return kv_fail_in(r->err, "%s:%u", node->file, node->line);
		}
	}
	return 0;
}

static int read_file_tree(struct kv_scenario *scenario, struct kv_node *root, struct kv_error *err)
{
	struct tree_reader r = { scenario, KV_BY_FILE, NULL, err };
	int failed;

	if (root == NULL)
		return -1;
	failed = read_mapping(&r, root, "");
	kv_yaml_free(root);
	return failed;
}

int kv_scenario_read(struct kv_scenario *scenario, const char *path, struct kv_error *err)
{
	return read_file_tree(scenario, kv_yaml_read(path, err), err);
}

int kv_scenario_parse(struct kv_scenario *scenario, const char *text, size_t length, const char *name,
                      struct kv_error *err)
{
	return read_file_tree(scenario, kv_yaml_parse(text, length, name, err), err);
}

const struct kv_setting *kv_scenario_setting(const struct kv_scenario *scenario, const char *path)
{
	const struct kv_key *key = kv_scenario_key(path);

	KV_ASSERT(key != NULL, "no key %s", path);
	return &scenario->settings[key - keys];
}

bool kv_scenario_is_set(const struct kv_scenario *scenario, const char *path)
{
	return kv_scenario_setting(scenario, path)->text != NULL;
}

int kv_scenario_fail_in(const struct kv_scenario *scenario, const char *path, struct kv_error *err)
{
	const struct kv_setting *setting = kv_scenario_setting(scenario, path);

	switch (setting->origin) {
	case KV_BY_FLAG:
		return kv_fail_in(err, "%s", setting->source);
	case KV_BY_SET:
		return kv_fail_in(err, "%s %s", setting->source, path);
	case KV_BY_FILE:
		return kv_fail_in(err, "%s: %s", setting->source, path);
	default:
		return kv_fail_in(err, "%s", path);
	}
}

static bool is_explicit(const struct kv_setting *setting)
{
	return setting->text != NULL && setting->origin >= KV_BY_FILE;
}

/* Does the setting have this value? Truth has several spellings, and parameters of a policy do not matter. */
static bool has_value(const struct kv_setting *setting, const char *text)
{
	struct kv_error ignored;
	bool ours, theirs;

	if (setting->text == NULL)
		return false;
	if (setting->key->type == KV_KEY_BOOL)
		return !kv_parse_bool(setting->text, &ours, &ignored) && !kv_parse_bool(text, &theirs, &ignored) &&
		       ours == theirs;
	if (setting->key->type == KV_KEY_POLICY)
		return strcspn(setting->text, ",") == strlen(text) && strncmp(setting->text, text, strlen(text)) == 0;
	return strcmp(setting->text, text) == 0;
}

static struct kv_setting *split_pair(struct kv_scenario *scenario, const char *pair, char *path, size_t size,
                                     const char **value)
{
	const struct kv_key *key;
	size_t length = strcspn(pair, "=");

	snprintf(path, size, "%.*s", (int)length, pair);
	*value = pair + length + 1;
	key = kv_scenario_key(path);
	return key ? &scenario->settings[key - keys] : NULL;
}

static int contradiction(const struct kv_setting *cause, const struct kv_setting *target, const char *wanted,
                         struct kv_error *err)
{
	return kv_fail(err, KV_EXIT_USAGE, "%s: %s=%s asks for %s=%s, but %s=%s is given (%s): leave one of them out",
	               cause->source, cause->key->path, cause->text, target->key->path, wanted, target->key->path,
	               target->text, target->source);
}

/* Only one of two settings that say the same thing differently is left in the listing. */
static void replace(struct kv_scenario *scenario, struct kv_setting *weaker, const struct kv_setting *stronger)
{
	char source[512];

	snprintf(source, sizeof source, "replaced by %s", stronger->key->path);
	clear_setting(weaker);
	weaker->source = kv_strdup(source);
	memset((char *)scenario + weaker->key->offset, 0, weaker->key->size);
}

static int apply_implication(struct kv_scenario *scenario, const struct kv_node *row, struct kv_error *err)
{
	const struct kv_node *condition = kv_node_get(row, "if"), *consequence = kv_node_get(row, "then");
	bool unless_given = kv_node_get(row, "unless_given") != NULL;
	char path[128], source[512];
	const char *value, *wanted;
	struct kv_setting *cause = split_pair(scenario, condition->text, path, sizeof path, &value);
	struct kv_setting *target;

	if (cause == NULL) {
		fail_unknown_key(path, err);
		return kv_node_fail_in(condition, err);
	}
	target = split_pair(scenario, consequence->text, path, sizeof path, &wanted);
	if (target == NULL) {
		fail_unknown_key(path, err);
		return kv_node_fail_in(consequence, err);
	}
	if (!has_value(cause, value) || has_value(target, wanted))
		return 0;
	if (is_explicit(target)) {
		if (unless_given)
			return 0;
		if (is_explicit(cause))
			return contradiction(cause, target, wanted, err);
		replace(scenario, cause, target);
		return 0;
	}
	snprintf(source, sizeof source, "implied by %s (%s)", cause->key->path, cause->source);
	if (set_key(scenario, target->key, wanted, cause->origin, source, err))
		return kv_node_fail_in(consequence, err);
	return 0;
}

/* Fails unless the user has set every key of a row that may not be the GPU's. */
static int require_given(const struct kv_scenario *scenario, const struct kv_node *row, const char *device,
                         struct kv_error *err)
{
	char missing[256] = "";

	for (size_t i = 0; i < row->children; i++) {
		size_t used = strlen(missing);
		char path[256];
		const struct kv_key *key;

		snprintf(path, sizeof path, "engine.%s", row->child[i].key);
		key = kv_scenario_key(path);
		if (key != NULL && !kv_scenario_is_set(scenario, path))
			snprintf(missing + used, sizeof missing - used, "%s--%s", used ? " and " : "", key->flag);
	}
	if (*missing == '\0')
		return 0;
	return kv_fail(err, KV_EXIT_USAGE, "defaults depend on the memory of %s, which is not known: give %s", device, missing);
}

static int apply_device(struct kv_scenario *scenario, const struct kv_engine_profile *profile, const char *device,
                        uint64_t memory, struct kv_error *err)
{
	bool unsure;
	const struct kv_node *row = kv_engine_profile_device(profile, device, memory, &unsure);
	char source[512];
	struct tree_reader r = { scenario, KV_BY_PROFILE, source, err };

	if (row == NULL)
		return 0;
	snprintf(source, sizeof source, "profile %s for %s", profile->name, *device ? device : "a small GPU: none is named");
	if (unsure && *device && require_given(scenario, row, device, err))
		return -1;
	return read_mapping(&r, row, "engine");
}

int kv_scenario_resolve(struct kv_scenario *scenario, const struct kv_engine_profile *profile, const char *device,
                        uint64_t memory, struct kv_error *err)
{
	char source[512];
	struct tree_reader r = { scenario, KV_BY_PROFILE, source, err };

	snprintf(source, sizeof source, "profile %s", profile->name);
	if (read_mapping(&r, profile->engine, "engine") || read_mapping(&r, profile->policies, "policies") ||
	    apply_device(scenario, profile, device, memory, err))
		return -1;
	for (size_t i = 0; i < profile->implies->children; i++)
		if (apply_implication(scenario, &profile->implies->child[i], err))
			return -1;
	return 0;
}
