/* A scenario: everything a user can set, from one table of keys.
 *
 * The table (kv_scenario_keys) yields the YAML reader, the flags, --set, the help texts and the resolved listing of the
 * manifest. A value of a higher origin replaces one of a lower, in whatever order they come; every value remembers its
 * source. kv_scenario_resolve() then fills in what the engine profile says. Errors are KV_EXIT_USAGE and name the
 * source, the key, what was found and what is allowed.
 */
#ifndef KV_SIM_SCENARIO_H
#define KV_SIM_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/base/yaml_tree.h"
#include "sim/deploy/engine_profile.h"
#include "sim/engine_config.h"
#include "sim/policy.h"

/* What fixes a value, from weak to strong. */
enum kv_origin { KV_BY_DEFAULT, KV_BY_PROFILE, KV_BY_FILE, KV_BY_FLAG, KV_BY_SET, KV_BY_VARIANT };

enum kv_key_type {
	KV_KEY_TEXT,      /* const char *, NULL = unset */
	KV_KEY_FILE,      /* the same; in a scenario file looked for beside that file, then in the current folder */
	KV_KEY_NAME,      /* the same; a file if it has a "/" or ends in .json or .yaml */
	KV_KEY_TREE,      /* the same: the file with a mapping that somebody else reads there */
	KV_KEY_LIST,      /* the same; a YAML list becomes "a,b,c" */
	KV_KEY_POLICY,    /* the same: "name" or "name,param=value,..."; in YAML also {name: ..., params: {...}} */
	KV_KEY_COUNT,     /* uint64_t */
	KV_KEY_BYTES,     /* uint64_t */
	KV_KEY_TIME,      /* kv_time */
	KV_KEY_DATE,      /* kv_time, ns since 1970 */
	KV_KEY_FRACTION,  /* double */
	KV_KEY_NUMBER,    /* double */
	KV_KEY_BOOL,      /* bool; its flag has a --no- form */
	KV_KEY_CHOICE,    /* unsigned, index into choices */
	KV_KEY_CUSTOM     /* what parse fills */
};

struct kv_key {
	const char *path;      /* "engine.block_size" */
	const char *flag;      /* "block-size"; NULL = none */
	const char *alias;     /* the same by another engine's name; NULL = none */
	const char *argument;  /* what the help calls its value; NULL for truth values */
	enum kv_key_type type;
	bool sizes;            /* acts on the memory budget or on what kvsim size makes of it */
	size_t offset, size;   /* of its field in struct kv_scenario */
	const char *fallback;  /* the built-in default as a user would write it; NULL = none */
	const char *help;
	const char *null_text; /* what null in YAML stands for; NULL = it is not allowed */
	double minimum, maximum;
	const char *const *choices;   /* KV_KEY_CHOICE, ends with NULL */
	int (*parse)(const char *text, void *field, struct kv_error *err);  /* KV_KEY_CUSTOM */
	enum kv_policy_kind policy;   /* KV_KEY_POLICY */
};

struct kv_setting {
	const struct kv_key *key;
	char *text;            /* as written; NULL = unset */
	char *source;          /* "default", "profile vllm-0.19", "base.yaml:12", "--block-size", ... */
	enum kv_origin origin;
};

enum kv_latency_backend { KV_LATENCY_ROOFLINE, KV_LATENCY_FIXED, KV_LATENCY_LINEAR, KV_LATENCY_TABLE };

struct kv_latency_choice {
	enum kv_latency_backend backend;
	kv_time duration;      /* of a step, if fixed */
};

struct kv_max_tokens_choice {
	uint32_t tokens;       /* KV_TOKENS_UNSET = max_model_len - prompt */
	bool output;           /* what the trace says will be generated: the run is an oracle */
};

/* Fields of keys without a value are zero (NULL); kv_scenario_is_set() tells. */
struct kv_scenario {
	const char *model, *hardware;
	struct {
		const char *profile;
		const char *dtype, *quantization, *kv_cache_dtype, *kv_cache_dtype_skip_layers;
		uint64_t tensor_parallel_size, pipeline_parallel_size;
		uint64_t max_model_len, max_num_seqs, max_num_batched_tokens, block_size, long_prefill_token_threshold;
		uint64_t kv_cache_memory_bytes, num_gpu_blocks_override;
		double gpu_memory_utilization, watermark;
		uint64_t swap_space;     /* bytes a GPU */
		double swap_bandwidth;   /* bytes per second */
		bool enable_prefix_caching, enable_chunked_prefill, scheduler_reserve_full_isl, refuse_impossible;
		uint64_t prefix_cache_retention_interval;
		unsigned cache_scope;  /* enum kv_cache_scope */
		unsigned step_order;   /* enum kv_step_order */
		uint64_t max_prefill_tokens;
		kv_time frontend;
	} engine;
	const char *policy[KV_POLICY_KINDS];
	struct {
		const char *trace, *generate, *format, *rows;
		const char *warm, *warm_format, *warm_rows;
		double time_scale, request_rate, burstiness;  /* the last two: INFINITY if so written */
		bool open_loop, go_on_after_refusal, skip_bad_rows;
		uint64_t retries;
		kv_time retry_backoff;
		kv_time reorder_time;
		uint64_t reorder_rows;
		uint64_t max_concurrency;
		struct kv_max_tokens_choice default_max_tokens;
	} workload;
	struct {
		const char *dir, *write, *goodput, *metric_percentiles;
		bool events, openmetrics, chrome_trace, save_result;
		kv_time timeline_interval;
	} output;
	struct kv_latency_choice latency;
	const char *latency_data;
	uint64_t seed;
	kv_time duration, warmup, start_time;
	bool check;
	struct kv_setting *settings;  /* one a key, in the table's order */
	struct kv_yaml_settings load; /* what --set changes in the described load: paths below workload.generate */
};

/* Before the paths of what lies in a described load. */
#define KV_SCENARIO_LOAD "workload.generate."

const struct kv_key *kv_scenario_keys(size_t *count);
/* NULL if there is none. */
const struct kv_key *kv_scenario_key(const char *path);

void kv_scenario_init(struct kv_scenario *scenario);
void kv_scenario_fini(struct kv_scenario *scenario);

/* Sets one key. The text is checked even where a stronger value stays. */
int kv_scenario_set(struct kv_scenario *scenario, const char *path, const char *text, enum kv_origin origin,
                    const char *source, struct kv_error *err);
/* "path.to.key=value", as --set takes it. */
int kv_scenario_set_pair(struct kv_scenario *scenario, const char *pair, struct kv_error *err);
/* Sets what a YAML file ("-" is stdin) or a text of this name says. */
int kv_scenario_read(struct kv_scenario *scenario, const char *path, struct kv_error *err);
int kv_scenario_parse(struct kv_scenario *scenario, const char *text, size_t length, const char *name,
                      struct kv_error *err);

/* Sets what a mapping of keys says, with the weight of a variant; `source` is what errors and the listing call it. */
int kv_scenario_read_variant(struct kv_scenario *scenario, const struct kv_node *mapping, const char *source,
                             struct kv_error *err);
/* A scenario of its own with all settings of another that was not resolved yet. */
void kv_scenario_copy(struct kv_scenario *copy, const struct kv_scenario *scenario);

/* Fills in the profile's defaults, those of its row for the GPU (device "" and memory 0 = none is named), and what one
 * setting implies for another; two explicit settings that contradict each other are an error, and so is a default that
 * depends on memory of an unknown size. */
int kv_scenario_resolve(struct kv_scenario *scenario, const struct kv_engine_profile *profile, const char *device,
                        uint64_t memory, struct kv_error *err);

/* The trace, or the file with the load to generate: the one that was said with more weight; NULL = neither. */
const char *kv_scenario_workload(const struct kv_scenario *scenario);

const struct kv_setting *kv_scenario_setting(const struct kv_scenario *scenario, const char *path);
/* Whether --name is an option for the key. */
bool kv_key_has_flag(const struct kv_key *key, const char *name);
bool kv_scenario_is_set(const struct kv_scenario *scenario, const char *path);
/* Puts a key's source and path in front of an error that its value caused; returns -1. */
int kv_scenario_fail_in(const struct kv_scenario *scenario, const char *path, struct kv_error *err);

#endif
