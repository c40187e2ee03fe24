#include "config.h"

#include "results/manifest.h"

#include <inttypes.h>
#include <stdio.h>

#include "results/json_text.h"
#include "sim/quantity.h"

static void write_trace(struct kv_json *json, const struct kv_run_info *info)
{
	char fingerprint[33];

	kv_json_begin_object(json, "trace");
	kv_json_string(json, "file", info->trace);
	kv_json_string(json, "format", info->trace_format);
	snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64 "%016" PRIx64, info->fingerprint[0],
	         info->fingerprint[1]);
	if (info->fingerprint[0] != 0 || info->fingerprint[1] != 0)
		kv_json_string(json, "xxh128", fingerprint);
	else
		kv_json_null(json, "xxh128");
	kv_json_bool(json, "has_prefixes", info->trace_has_prefixes);
	kv_json_begin_object(json, "skipped_rows");
	for (size_t i = 0; i < info->skipped_rows_count; i++)
		kv_json_u64(json, info->skipped_rows[i].name, info->skipped_rows[i].count);
	kv_json_end_object(json);
	kv_json_end_object(json);
}

static void write_pool(struct kv_json *json, const struct kv_run_info *info)
{
	kv_json_begin_object(json, "pool");
	kv_json_string(json, "source", info->pool_source);
	kv_json_u64(json, "num_gpu_blocks", info->num_gpu_blocks);
	kv_json_u64(json, "usable_blocks", info->usable_blocks);
	kv_json_u64(json, "block_size", info->block_size);
	kv_json_u64(json, "block_bytes", info->block_bytes);
	kv_json_u64(json, "kv_cache_bytes", info->kv_cache_bytes);
	kv_json_begin_array(json, "budget");
	for (size_t i = 0; i < info->budget_count; i++) {
		kv_json_begin_object(json, NULL);
		kv_json_string(json, "item", info->budget[i].item);
		kv_json_i64(json, "bytes", info->budget[i].bytes);
		kv_json_string(json, "source", info->budget[i].source);
		kv_json_end_object(json);
	}
	kv_json_end_array(json);
	kv_json_end_object(json);
}

static void write_policies(struct kv_json *json, const struct kv_run_info *info)
{
	kv_json_begin_object(json, "policies");
	for (int i = 0; i < KV_POLICY_KINDS; i++)
		kv_json_string(json, kv_policy_kind_name(i), info->policies[i]);
	kv_json_end_object(json);
}

static void write_texts(struct kv_json *json, const char *key, const char *const *texts, size_t count)
{
	kv_json_begin_array(json, key);
	for (size_t i = 0; i < count; i++)
		kv_json_string(json, NULL, texts[i]);
	kv_json_end_array(json);
}

void kv_manifest_write(const struct kv_run_info *info, const struct kv_run_outcome *outcome, struct kv_output *out)
{
	struct kv_json json;
	char date[KV_QUANTITY_MAX];

	kv_json_start(&json, out);
	kv_json_string(&json, "generator", "kvsim");
	kv_json_string(&json, "version", PACKAGE_VERSION);
	kv_json_string(&json, "command", info->command);
	kv_json_bool(&json, "partial", outcome->partial);
	kv_json_u64(&json, "seed", info->seed);
	kv_json_string(&json, "start_time", kv_format_date(info->start_time, date));
	kv_json_string(&json, "model", info->model);
	kv_json_string(&json, "hardware", info->hardware);
	kv_json_string(&json, "engine_profile", info->engine_profile);
	kv_json_string(&json, "latency", info->latency);
	write_policies(&json, info);
	write_pool(&json, info);
	write_trace(&json, info);
	if (info->scenario != NULL)
		kv_json_value(&json, "scenario", info->scenario);
	else
		kv_json_null(&json, "scenario");
	write_texts(&json, "warnings", info->warnings, info->warning_count);
	write_texts(&json, "assumptions", info->assumptions, info->assumption_count);
	kv_json_finish(&json);
}
