#include "config.h"

#include "results/report.h"

#include "results/duration.h"
#include "results/facts.h"
#include "results/html.h"
#include "results/report_assets.h"
#include "results/report_parts.h"

static void put_asset(struct kv_output *out, const struct kv_asset *asset)
{
	kv_output_bytes(out, asset->bytes, asset->size);
}

static void put_badges(struct kv_output *out, const json_t *facts)
{
	if (json_is_true(kv_facts_at(facts, "kvsim/stalled")))
		kv_output_text(out, "<p class=\"badge bad\">The run stopped: nothing could go on.</p>\n");
	if (json_is_true(kv_facts_at(facts, "kvsim/partial")))
		kv_output_text(out, "<p class=\"badge bad\">Partial: the run was interrupted.</p>\n");
	if (json_is_true(kv_facts_at(facts, "kvsim/oracle")))
		kv_output_text(out, "<p class=\"badge\">Oracle: this run uses output lengths that a real engine cannot "
		                    "know.</p>\n");
}

/* How far times can be trusted, before any is read. */
static void put_trust(struct kv_output *out, const json_t *facts)
{
	const char *error = kv_facts_text(facts, "kvsim/latency_error");

	kv_output_text(out, "<p>");
	if (kv_report_has_fixed_step_time(facts)) {
		kv_output_text(out, "Step times are given (latency fixed): times are not those of any hardware.");
	} else {
		kv_output_text(out, "Step times are modelled; their error: ");
		kv_html_text(out, error != NULL ? error : "unknown");
		kv_output_text(
			out,
			". Near saturation queues amplify errors of step times (<a href=\"#basis\">what this stands "
			"on</a>).");
	}
	kv_output_text(out, "</p>\n");
}

static void put_head(struct kv_output *out, const json_t *facts, const json_t *manifest)
{
	const char *model = kv_facts_text(facts, "model_id");
	const char *hardware = kv_facts_text(facts, "kvsim/hardware");
	char time[32];
	double gpus = kv_facts_number(facts, "kvsim/tensor_parallel_size") *
	              kv_facts_number(facts, "kvsim/pipeline_parallel_size");

	kv_output_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	                    "<meta name=\"color-scheme\" content=\"light dark\">\n"
	                    "<link rel=\"icon\" href=\"data:,\">\n<title>kvsim: ");
	kv_html_text(out, model != NULL ? model : "run");
	kv_output_text(out, "</title>\n<style>\n");
	put_asset(out, &kv_asset_dygraphs_css);
	put_asset(out, &kv_asset_report_css);
	kv_output_text(out, "</style>\n</head>\n<body>\n<header>\n<h1>");
	kv_html_text(out, model != NULL ? model : "run");
	if (hardware != NULL) {
		kv_output_printf(out, " on %.0f × ", gpus);
		kv_html_text(out, hardware);
	}
	kv_output_text(out, "</h1>\n<p>");
	kv_html_text(out, kv_facts_text(manifest, "trace/file") != NULL ? kv_facts_text(manifest, "trace/file") :
	                                                                  "standard input");
	kv_output_printf(out, ": %.0f requests in %s of simulated time; engine profile ",
	                 kv_facts_number(facts, "num_prompts"),
	                 kv_duration_text(time, 1000 * kv_facts_number(facts, "kvsim/simulated_s")));
	kv_html_text(out, kv_facts_text(facts, "kvsim/engine_profile"));
	kv_output_text(out, ". A simulation, not a measurement.</p>\n");
	put_trust(out, facts);
	put_badges(out, facts);
	kv_output_text(out, "</header>\n<main>\n");
}

static void put_list(struct kv_output *out, const json_t *list, const char *title)
{
	const json_t *line;
	size_t i;

	if (json_array_size(list) == 0)
		return;
	kv_output_printf(out, "<h4>%s</h4><ul>\n", title);
	json_array_foreach(list, i, line) {
		kv_output_text(out, "<li>");
		kv_html_prose(out, json_string_value(line));
		kv_output_text(out, "</li>\n");
	}
	kv_output_text(out, "</ul>\n");
}

static void put_verdict(struct kv_output *out, const json_t *facts)
{
	const json_t *finding;
	size_t i;

	kv_html_begin_section(out, "verdict", "What to look at");
	json_array_foreach(kv_facts_at(facts, "kvsim/what_to_look_at"), i, finding) {
		kv_output_text(out, "<article>");
		kv_html_element(out, "h3", kv_facts_text(finding, "topic"));
		kv_output_text(out, "<p class=\"verdict\">");
		kv_html_prose(out, kv_facts_text(finding, "verdict"));
		kv_output_text(out, "</p>\n");
		put_list(out, kv_facts_at(finding, "change"), "What would change it");
		if (json_array_size(kv_facts_at(finding, "evidence")) > 0) {
			kv_output_text(out, "<details open><summary>Evidence</summary>\n");
			put_list(out, kv_facts_at(finding, "evidence"), "From this run");
			kv_output_text(out, "</details>");
		}
		kv_output_text(out, "</article>\n");
	}
	kv_html_end_section(out);
}

/* What the charts need beside their own data; only numbers and names of reasons. */
static void put_page_data(struct kv_output *out, const json_t *facts)
{
	const char *reason, *separator = "";
	json_t *tokens;

	kv_output_printf(
		out,
		"<script type=\"application/json\" id=\"page\">{\"usable_blocks\": %.0f, \"block_bytes\": %.0f, "
		"\"hit\": %.0f, \"missed\": {",
		kv_facts_number(facts, "kvsim/usable_blocks"), kv_facts_number(facts, "kvsim/block_bytes"),
		kv_facts_number(facts, "kvsim/hit_tokens"));
	json_object_foreach((json_t *)kv_facts_at(facts, "kvsim/miss_tokens"), reason, tokens) {
		kv_output_printf(out, "%s\"%s\": %.0f", separator, reason, json_number_value(tokens));
		separator = ", ";
	}
	kv_output_text(out, "}}</script>\n");
}

void kv_report_begin(const json_t *facts, const json_t *manifest, struct kv_output *out)
{
	put_head(out, facts, manifest);
	put_verdict(out, facts);
	kv_report_numbers(out, facts);
	kv_report_charts(out, facts);
	kv_report_who(out, facts);
	kv_report_basis(out, facts, manifest);
	kv_output_text(out, "</main>\n");
	put_page_data(out, facts);
	kv_output_text(out, "<script type=\"application/json\" id=\"data\">\n");
}

void kv_report_end(struct kv_output *out)
{
	kv_output_text(out, "</script>\n<script>\n");
	put_asset(out, &kv_asset_dygraphs_js);
	put_asset(out, &kv_asset_synchronizer_js);
	put_asset(out, &kv_asset_report_js);
	kv_output_text(out, "</script>\n</body>\n</html>\n");
}
