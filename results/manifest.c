#include "config.h"

#include "results/manifest.h"

#include <inttypes.h>
#include <stdio.h>

#include "results/json_text.h"
#include "sim/base/quantity.h"

static json_t *fingerprint_value(const uint64_t half[2])
{
	char text[33];

	if (half[0] == 0 && half[1] == 0)
		return json_null();
	snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, half[0], half[1]);
	return json_string(text);
}

static json_t *counts_value(const struct kv_count_line *lines, size_t count)
{
	json_t *counts = json_object();

	for (size_t i = 0; i < count; i++)
		json_object_set_new(counts, lines[i].name, json_integer((json_int_t)lines[i].count));
	return counts;
}

static json_t *trace_value(const struct kv_run_info *info, uint64_t sent_again)
{
	return json_pack("{so ss? so sb ss? so sI}", "file", kv_json_text(info->trace), "format", info->trace_format,
	                 "xxh128", fingerprint_value(info->fingerprint), "has_prefixes", info->trace_has_prefixes,
	                 "arrivals", info->arrivals, "skipped_rows",
	                 counts_value(info->skipped_rows, info->skipped_rows_count), "sent_again",
	                 (json_int_t)sent_again);
}

static json_t *initial_cache_value(const struct kv_run_info *info, const struct kv_run_outcome *outcome)
{
	if (info->warm_trace == NULL)
		return json_pack("{ss}", "state", "cold");
	return json_pack("{ss so ss so so sI sI}", "state", "warm", "file", kv_json_text(info->warm_trace), "format",
	                 info->warm_format, "xxh128", fingerprint_value(info->warm_fingerprint), "skipped_rows",
	                 counts_value(info->warm_skipped_rows, info->warm_skipped_rows_count), "finished_requests",
	                 (json_int_t)outcome->warm_requests, "cached_blocks", (json_int_t)outcome->warm_blocks);
}

static json_t *pool_value(const struct kv_run_info *info)
{
	json_t *budget = json_array();

	for (size_t i = 0; i < info->budget_count; i++)
		json_array_append_new(budget, json_pack("{ss sI ss}", "item", info->budget[i].item, "bytes",
		                                        (json_int_t)info->budget[i].bytes, "source",
		                                        info->budget[i].source));
	return json_pack("{ss? sI sI sI sI sI so}", "source", info->pool_source, "num_gpu_blocks",
	                 (json_int_t)info->num_gpu_blocks, "usable_blocks", (json_int_t)info->usable_blocks,
	                 "block_size", (json_int_t)info->block_size, "block_bytes", (json_int_t)info->block_bytes,
	                 "kv_cache_bytes", (json_int_t)info->kv_cache_bytes, "budget", budget);
}

static json_t *policies_value(const struct kv_run_info *info)
{
	json_t *policies = json_object();

	for (int i = 0; i < KV_POLICY_KINDS; i++)
		json_object_set_new(policies, kv_policy_kind_name(i),
		                    kv_json_text(info->policies[i]));
	return policies;
}

static json_t *texts_value(const char *const *texts, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, kv_json_text(texts[i]));
	return array;
}

json_t *kv_manifest_build(const struct kv_run_info *info, const struct kv_summary *summary)
{
	const struct kv_run_outcome *outcome = &summary->outcome;
	char date[KV_QUANTITY_MAX];
	json_t *manifest = json_pack(
		"{ss ss so sb sI ss so so ss? ss?}", "generator", "kvsim", "version", PACKAGE_VERSION, "command",
		kv_json_text(info->command), "partial", outcome->partial, "seed", (json_int_t)info->seed, "start_time",
		kv_format_date(info->start_time, date), "model", kv_json_text(info->model), "hardware",
		kv_json_text(info->hardware),
		"engine_profile", info->engine_profile, "latency", info->latency);

	json_object_set_new(manifest, "policies", policies_value(info));
	json_object_set_new(manifest, "pool", pool_value(info));
	json_object_set_new(manifest, "trace", trace_value(info, kv_summary_sent_again(summary)));
	json_object_set_new(manifest, "initial_cache", initial_cache_value(info, outcome));
	json_object_set(manifest, "scenario", info->scenario != NULL ? info->scenario : json_null());
	json_object_set_new(manifest, "latency_source", kv_json_text(info->latency_source));
	json_object_set_new(manifest, "latency_error", kv_json_text(info->latency_error));
	json_object_set_new(manifest, "assumptions", texts_value(info->assumptions, info->assumption_count));
	json_object_set_new(manifest, "warnings", texts_value(info->warnings, info->warning_count));
	return manifest;
}

void kv_manifest_write(const json_t *manifest, struct kv_output *out)
{
	struct kv_json json;
	const char *key;
	json_t *value;

	kv_json_start(&json, out);
	json_object_foreach((json_t *)manifest, key, value)
		kv_json_value(&json, key, value);
	kv_json_finish(&json);
}
