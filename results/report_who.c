#include "config.h"

#include "results/report_parts.h"

#include "results/facts.h"
#include "results/html.h"

static void put_hit_rate(struct kv_output *out, const json_t *crowd)
{
	double queried = kv_facts_number(crowd, "queried_tokens");

	if (queried > 0)
		kv_html_cell(out, 100 * kv_facts_number(crowd, "cached_tokens") / queried, 1);
	else
		kv_html_text_cell(out, NULL);
}

static void put_wait(struct kv_output *out, const json_t *crowd, const char *key)
{
	const json_t *ms = kv_facts_at(crowd, key);

	if (json_is_number(ms))
		kv_html_duration_cell(out, json_number_value(ms));
	else
		kv_html_text_cell(out, NULL);
}

static void put_crowds(struct kv_output *out, const json_t *crowds, const char *caption)
{
	const json_t *crowd;
	double total = 0;
	size_t i;

	json_array_foreach(crowds, i, crowd)
		total += kv_facts_number(crowd, "block_seconds");
	kv_html_begin_table(out, caption,
	                    "|requests|finished|prompt tokens|computed|hit %|output tokens|preemptions|% of "
	                    "block-seconds|block-seconds each|"
	                    "mean queue|TTFT P50|P95|P99");
	json_array_foreach(crowds, i, crowd) {
		const char *name = kv_facts_text(crowd, "name");

		kv_html_begin_row(out, name[0] != '\0' ? name : "(no tenant)");
		kv_html_cell(out, kv_facts_number(crowd, "requests"), 0);
		kv_html_cell(out, kv_facts_number(crowd, "finished"), 0);
		kv_html_cell(out, kv_facts_number(crowd, "prompt_tokens"), 0);
		kv_html_cell(out, kv_facts_number(crowd, "computed_tokens"), 0);
		put_hit_rate(out, crowd);
		kv_html_cell(out, kv_facts_number(crowd, "output_tokens"), 0);
		kv_html_cell(out, kv_facts_number(crowd, "preemptions"), 0);
		kv_html_cell(out, total > 0 ? 100 * kv_facts_number(crowd, "block_seconds") / total : 0, 1);
		kv_html_cell(out, kv_facts_number(crowd, "block_seconds") / kv_facts_number(crowd, "requests"), 0);
		put_wait(out, crowd, "mean_queue_ms");
		put_wait(out, crowd, "p50_ttft_ms");
		put_wait(out, crowd, "p95_ttft_ms");
		put_wait(out, crowd, "p99_ttft_ms");
		kv_html_end_row(out);
	}
	kv_html_end_table(out);
}

static void put_worst(struct kv_output *out, const json_t *worst)
{
	const json_t *request;
	size_t i;

	kv_html_begin_table(out, "The latest first tokens",
	                    "request|tenant|prompt tokens|hit|TTFT|retrieval|front end|queue: blocks|"
	                    "queue: slots|queue: compute|own prefill|others' prefill|preempted");
	json_array_foreach(worst, i, request) {
		static const char *const parts[] = {"ms/retrieval",          "ms/frontend",
		                                    "ms/queue_blocks",       "ms/queue_sequence_slots",
		                                    "ms/queue_token_budget", "ms/prefill_own",
		                                    "ms/prefill_others",     "ms/preempted"};

		kv_html_begin_row(out, kv_facts_text(request, "request_id"));
		kv_html_text_cell(out, kv_facts_text(request, "tenant"));
		kv_html_cell(out, kv_facts_number(request, "prompt_tokens"), 0);
		kv_html_cell(out, kv_facts_number(request, "cached_tokens"), 0);
		kv_html_duration_cell(out, kv_facts_number(request, "ttft_ms"));
		for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++)
			kv_html_duration_cell(out, kv_facts_number(request, parts[p]));
		kv_html_end_row(out);
	}
	kv_html_end_table(out);
}

static void put_largest(struct kv_output *out, const json_t *facts)
{
	const json_t *request;
	double pool = kv_facts_number(facts, "kvsim/usable_blocks");
	size_t i;

	kv_html_begin_table(out, "The largest requests at the peak of the pool",
	                    "request|tenant|prompt tokens|output tokens|"
	                    "blocks at its end|% of pool|admitted at s");
	json_array_foreach(kv_facts_at(facts, "kvsim/largest_at_peak"), i, request) {
		kv_html_begin_row(out, kv_facts_text(request, "request_id"));
		kv_html_text_cell(out, kv_facts_text(request, "tenant"));
		kv_html_cell(out, kv_facts_number(request, "prompt_tokens"), 0);
		kv_html_cell(out, kv_facts_number(request, "output_tokens"), 0);
		kv_html_cell(out, kv_facts_number(request, "blocks"), 0);
		kv_html_cell(out, pool > 0 ? 100 * kv_facts_number(request, "blocks") / pool : 0, 1);
		kv_html_cell(out, kv_facts_number(request, "admitted_s"), 1);
		kv_html_end_row(out);
	}
	kv_html_end_table(out);
}

void kv_report_who(struct kv_output *out, const json_t *facts)
{
	if (kv_facts_at(facts, "kvsim/length_classes") == NULL)
		return;
	kv_html_begin_section(out, "who", "Who");
	put_crowds(out, kv_facts_at(facts, "kvsim/length_classes"), "By prompt length");
	put_crowds(out, kv_facts_at(facts, "kvsim/tenants"), "By tenant");
	put_worst(out, kv_facts_at(facts, "kvsim/worst_ttft"));
	put_largest(out, facts);
	kv_html_end_section(out);
}
