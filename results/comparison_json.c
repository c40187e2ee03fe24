#include "config.h"

#include "results/comparison.h"
#include "results/json_text.h"

static void write_difference(struct kv_json *json, const struct kv_difference *found, int wanted)
{
	kv_json_double(json, "baseline", found->baseline);
	kv_json_double(json, "variant", found->variant);
	kv_json_double(json, "difference", found->difference);
	if (found->verdict == KV_DIFFERENCE_BARE)
		return;
	kv_json_begin_array(json, "interval");
	kv_json_double(json, NULL, found->interval.low);
	kv_json_double(json, NULL, found->interval.high);
	kv_json_end_array(json);
	kv_json_string(json, "verdict", kv_comparison_verdict(found, wanted));
	kv_json_u64(json, "pairs", found->pairs);
}

static void write_class(struct kv_json *json, const struct kv_comparison_class *class)
{
	kv_json_begin_object(json, NULL);
	kv_json_string(json, "kind", class->kind);
	kv_json_string(json, "class", class->label);
	kv_json_u64(json, "requests", class->requests);
	kv_json_begin_object(json, "mean_ttft_ms");
	write_difference(json, &class->ttft, -1);
	kv_json_end_object(json);
	kv_json_begin_object(json, "mean_e2el_ms");
	write_difference(json, &class->e2el, -1);
	kv_json_end_object(json);
	kv_json_u64(json, "faster", class->faster);
	kv_json_u64(json, "equal", class->equal);
	kv_json_u64(json, "slower", class->slower);
	kv_json_end_object(json);
}

static void write_variant(struct kv_json *json, const struct kv_variant_comparison *variant,
                          const struct kv_compared_run *run)
{
	kv_json_begin_object(json, NULL);
	kv_json_string(json, "variant", run->name);
	kv_json_u64(json, "paired_requests", variant->paired);
	kv_json_u64(json, "finished_in_both", variant->finished_in_both);
	kv_json_begin_object(json, "metrics");
	for (size_t r = 0; r < variant->rows; r++) {
		kv_json_begin_object(json, variant->row[r].key);
		write_difference(json, &variant->row[r].found, variant->row[r].wanted);
		kv_json_end_object(json);
	}
	kv_json_end_object(json);
	kv_json_begin_array(json, "classes");
	for (size_t c = 0; c < variant->classes; c++)
		write_class(json, &variant->class[c]);
	kv_json_end_array(json);
	kv_json_end_object(json);
}

/* One value a run, in the order of runs. */
static void write_tenant(struct kv_json *json, const struct kv_compared_tenant *tenant, size_t runs)
{
	kv_json_begin_object(json, NULL);
	kv_json_string(json, "tenant", tenant->name);
	kv_json_u64(json, "requests", tenant->requests);
	kv_json_begin_array(json, "p99_ttft_ms");
	for (size_t i = 0; i < runs; i++)
		kv_json_double(json, NULL, tenant->p99_ttft[i]);
	kv_json_end_array(json);
	kv_json_end_object(json);
}

static void write_run(struct kv_json *json, const struct kv_compared_run *run)
{
	size_t with[KV_UNFINISHED + 1];

	kv_compared_run_count(run, with);
	kv_json_begin_object(json, NULL);
	kv_json_string(json, "name", run->name);
	kv_json_string(json, "settings", run->settings);
	kv_json_string(json, "folder", run->name);
	kv_json_u64(json, "requests", run->requests);
	for (int status = 0; status <= KV_UNFINISHED; status++)
		kv_json_u64(json, kv_status_name(status), with[status]);
	kv_json_u64(json, "never_sent", (uint64_t)run->never_sent);
	kv_json_bool(json, "stalled", run->stalled);
	kv_json_bool(json, "partial", run->partial);
	kv_json_bool(json, "oracle", run->oracle);
	kv_json_begin_array(json, "warnings");
	for (size_t i = 0; i < run->warnings.count; i++)
		kv_json_string(json, NULL, run->warnings.text[i]);
	kv_json_end_array(json);
	kv_json_end_object(json);
}

void kv_comparison_write_json(const struct kv_comparison *comparison, struct kv_output *out)
{
	struct kv_json json;

	kv_json_start(&json, out);
	kv_json_string(&json, "workload", comparison->workload);
	kv_json_string(&json, "baseline", comparison->run[0].name);
	kv_json_double(&json, "confidence", 0.95);
	kv_json_u64(&json, "replicates", comparison->replicates);
	kv_json_u64(&json, "seed", comparison->seed);
	kv_json_begin_array(&json, "runs");
	for (size_t i = 0; i < comparison->runs; i++)
		write_run(&json, &comparison->run[i]);
	kv_json_end_array(&json);
	kv_json_begin_array(&json, "tenants");
	for (size_t t = 0; t < comparison->tenants; t++)
		write_tenant(&json, &comparison->tenant[t], comparison->runs);
	kv_json_end_array(&json);
	kv_json_begin_array(&json, "comparisons");
	for (size_t i = 0; i + 1 < comparison->runs; i++)
		write_variant(&json, &comparison->variant[i], &comparison->run[i + 1]);
	kv_json_end_array(&json);
	kv_json_finish(&json);
}
