#include "config.h"

#include "results/report_parts.h"

#include <string.h>

#include "results/facts.h"
#include "results/html.h"
#include "sim/base/quantity.h"

bool kv_report_has_fixed_step_time(const json_t *facts)
{
	const char *latency = kv_facts_text(facts, "kvsim/latency");

	return latency != NULL && strncmp(latency, "fixed", 5) == 0;
}

static void put_budget(struct kv_output *out, const json_t *manifest)
{
	const json_t *line;
	char bytes[KV_QUANTITY_MAX];
	size_t i;

	kv_html_begin_table(out, "Memory of a rank", "|size|from");
	json_array_foreach(kv_facts_at(manifest, "pool/budget"), i, line) {
		kv_html_begin_row(out, kv_facts_text(line, "item"));
		kv_html_element(out, "td", kv_format_bytes_short((int64_t)kv_facts_number(line, "bytes"), bytes));
		kv_html_element(out, "td", kv_facts_text(line, "source"));
		kv_html_end_row(out);
	}
	kv_html_end_table(out);
}

static void put_pool(struct kv_output *out, const json_t *facts)
{
	kv_html_begin_table(out, "The pool", "|");
	kv_html_text_row(out, "Sized from", kv_facts_text(facts, "kvsim/pool_source"));
	kv_html_fact_row(out, facts, "Blocks as the engine counts", "kvsim/num_gpu_blocks", 0);
	kv_html_fact_row(out, facts, "Usable blocks", "kvsim/usable_blocks", 0);
	kv_html_fact_row(out, facts, "Tokens a block", "kvsim/block_size", 0);
	kv_html_fact_row(out, facts, "Bytes a block", "kvsim/block_bytes", 0);
	kv_html_fact_row(out, facts, "Bytes a token", "kvsim/kv_bytes_per_token", 0);
	kv_html_fact_row(out, facts, "Longest sequence (max_model_len)", "kvsim/max_model_len", 0);
	kv_html_end_table(out);
}

static void put_policies(struct kv_output *out, const json_t *facts)
{
	const char *kind;
	json_t *name;

	kv_html_begin_table(out, "Policies", "|");
	kv_html_text_row(out, "engine profile", kv_facts_text(facts, "kvsim/engine_profile"));
	kv_html_text_row(out, "step time", kv_facts_text(facts, "kvsim/latency"));
	json_object_foreach((json_t *)kv_facts_at(facts, "kvsim/policies"), kind, name)
		kv_html_text_row(out, kind, json_string_value(name));
	kv_html_end_table(out);
}

static void put_warnings(struct kv_output *out, const json_t *manifest)
{
	const json_t *warning;
	size_t i;

	if (json_array_size(kv_facts_at(manifest, "warnings")) == 0)
		return;
	kv_output_text(out, "<h3>Warnings</h3><ul>");
	json_array_foreach(kv_facts_at(manifest, "warnings"), i, warning)
		kv_html_element(out, "li", json_string_value(warning));
	kv_output_text(out, "</ul>\n");
}

static void put_definitions(struct kv_output *out)
{
	kv_output_text(out, "<h3>Definitions</h3><dl>"
	                    "<dt>TTFT</dt><dd>First token minus sending = retrieval + front end + queue + prefill. "
	                    "What a client waits for its own concurrency cap lies before sending and is not part of "
	                    "it. The queue ends at the first admission; prefill runs from there to the first token and "
	                    "contains any preempted time. Time in the queue is charged to what the head of the queue "
	                    "lacked, for all behind it as well.</dd>"
	                    "<dt>TPOT</dt><dd>(End to end − TTFT) / (output tokens − 1), requests of at least two "
	                    "output tokens.</dd>"
	                    "<dt>ITL</dt><dd>Every gap between two tokens of a request, pooled over requests.</dd>"
	                    "<dt>Pinned, cached, free</dt><dd>Blocks held by live requests; reusable but held by "
	                    "nobody; neither. Engines print pinned only.</dd>"
	                    "<dt>Filled, reserved, waste</dt><dd>Slots of pinned blocks that hold a token; that their "
	                    "holder will fill; that nobody will fill.</dd>"
	                    "<dt>Hit</dt><dd>A prompt token whose computed state was reusable at the request's first "
	                    "admission. It is no proof that the content is current, nor that the reader was allowed to "
	                    "have it.</dd>"
	                    "<dt>Promised by division</dt><dd>Requests that would fit at once if each held all its "
	                    "tokens (prompt and output: the mean of finished ones, or max_model_len) for all its life "
	                    "and nothing were shared; at max_model_len as engines print it, with windows. Requests running beside it is what was admitted.</dd>"
	                    "<dt>Block-seconds</dt><dd>Blocks times the time they are pinned; a shared block is "
	                    "charged to its earliest holder.</dd>"
	                    "<dt>Percentiles</dt><dd>Linear interpolation, numpy's default; exact up to a million "
	                    "requests, else and for ITL within 0.1 %.</dd></dl>\n");
}

static void put_step_times(struct kv_output *out, const json_t *facts)
{
	const char *source = kv_facts_text(facts, "kvsim/latency_source");
	const char *error = kv_facts_text(facts, "kvsim/latency_error");

	kv_output_text(out, "Modelled: the time of each step. Constants of ");
	kv_html_text(out, source != NULL ? source : "an unknown source");
	kv_output_text(out, ". Error they were scored at: ");
	kv_html_text(out, error != NULL ? error : "unknown");
	kv_output_text(out, ". Near saturation queues amplify errors of step times.");
}

static void put_initial_cache(struct kv_output *out, const json_t *manifest)
{
	const char *file = kv_facts_text(manifest, "initial_cache/file");
	const char *fingerprint = kv_facts_text(manifest, "initial_cache/xxh128");

	if (file == NULL) {
		kv_output_text(out, "The cache starts cold.");
		return;
	}
	kv_output_text(out, "The cache starts warm: ");
	kv_html_text(out, file);
	if (fingerprint != NULL) {
		kv_output_text(out, " (XXH128 ");
		kv_html_text(out, fingerprint);
		kv_output_text(out, ")");
	}
	kv_output_printf(out,
	                 " was replayed before time zero; %.0f requests finished and left %.0f blocks cached. They are "
	                 "in no other number here.",
	                 kv_facts_number(manifest, "initial_cache/finished_requests"),
	                 kv_facts_number(manifest, "initial_cache/cached_blocks"));
}

static void put_assumed_values(struct kv_output *out, const json_t *manifest)
{
	const char *arrivals = kv_facts_text(manifest, "trace/arrivals");
	const json_t *value;
	size_t i;

	kv_output_text(out, "</li><li>");
	if (arrivals != NULL) {
		kv_html_text(out, arrivals);
		kv_output_text(out, "</li><li>");
	}
	put_initial_cache(out, manifest);
	kv_output_text(out, "</li><li>Assumed: what the memory table calls assumed");
	json_array_foreach(kv_facts_at(manifest, "assumptions"), i, value) {
		kv_output_text(out, i > 0 ? "; " : ". Values that nothing gave: ");
		kv_html_text(out, json_string_value(value));
	}
	kv_output_text(out, ".</li>");
}

static void put_assumptions(struct kv_output *out, const json_t *facts, const json_t *manifest)
{
	kv_output_text(out, "<h3>Exact, modelled, assumed</h3><ul>"
	                    "<li>Exact, given the step times: which request is scheduled, admitted, preempted, hit and "
	                    "evicted when, by the rules of the engine profile.</li><li>");
	if (kv_report_has_fixed_step_time(facts))
		kv_output_text(out, "Step times are given (latency fixed): times are not those of any hardware.");
	else
		put_step_times(out, facts);
	put_assumed_values(out, manifest);
	if (json_is_false(kv_facts_at(facts, "kvsim/trace_has_prefixes")))
		kv_output_text(out, "<li>The trace does not say what prompts share: all count as unique.</li>");
	kv_output_text(out, "</ul>\n");
}

static void put_command(struct kv_output *out, const json_t *manifest)
{
	kv_output_text(out, "<h3>Made by</h3><pre>");
	kv_html_text(out,
	             kv_facts_text(manifest, "command") != NULL ? kv_facts_text(manifest, "command") : "kvsim run");
	kv_output_text(out, "</pre><p>kvsim ");
	kv_html_text(out, kv_facts_text(manifest, "version"));
	kv_output_printf(out, ", seed %.0f, simulated time 0 = ", kv_facts_number(manifest, "seed"));
	kv_html_text(out, kv_facts_text(manifest, "start_time"));
	if (kv_facts_text(manifest, "trace/xxh128") != NULL) {
		kv_output_text(out, ", trace fingerprint (XXH128) ");
		kv_html_text(out, kv_facts_text(manifest, "trace/xxh128"));
	}
	kv_output_text(out, ". Every resolved setting with its source is in manifest.json.</p>\n");
}

void kv_report_basis(struct kv_output *out, const json_t *facts, const json_t *manifest)
{
	kv_html_begin_section(out, "basis", "What this stands on");
	put_warnings(out, manifest);
	kv_output_text(out, "<div class=\"columns\">\n");
	put_budget(out, manifest);
	put_pool(out, facts);
	put_policies(out, facts);
	kv_output_text(out, "</div>\n");
	put_assumptions(out, facts, manifest);
	put_definitions(out);
	put_command(out, manifest);
	kv_html_end_section(out);
}
