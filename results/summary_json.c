#include "config.h"

#include "results/summary.h"

#include <string.h>

#include "results/json_text.h"

/* Per-request arrays: every request of the metrics in order of arrival, as vLLM has them; failed ones have
 * latency 0. */
static void write_times(struct kv_json *json, const struct kv_summary *summary)
{
	if (!summary->keeps_times)
		return;
	kv_json_begin_array(json, "latencies");
	for (size_t i = 0; i < summary->times_count; i++)
		if (summary->times[i].present)
			kv_json_seconds(json, NULL, (kv_time)summary->times[i].latency);
	kv_json_end_array(json);
	kv_json_begin_array(json, "queue_times");
	for (size_t i = 0; i < summary->times_count; i++)
		if (summary->times[i].present)
			kv_json_seconds(json, NULL, (kv_time)summary->times[i].wait);
	kv_json_end_array(json);
}

void kv_summary_write_json(const struct kv_summary *summary, json_t *facts, struct kv_output *out)
{
	struct kv_json json;
	const char *key;
	json_t *value;

	kv_json_start(&json, out);
	json_object_foreach(facts, key, value) {
		if (strcmp(key, "max_output_tokens_per_s") == 0)
			write_times(&json, summary);
		kv_json_value(&json, key, value);
	}
	kv_json_finish(&json);
}
