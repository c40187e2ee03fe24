#include "config.h"

#include "results/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results/duration.h"
#include "results/explain.h"
#include "results/facts.h"
#include "results/report_assets.h"
#include "sim/base/quantity.h"
#include "sim/record.h"

/* --- HTML --------------------------------------------------------------------------------------------------------- */

static void put_text(struct kv_output *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '&')
			kv_output_text(out, "&amp;");
		else if (*text == '<')
			kv_output_text(out, "&lt;");
		else if (*text == '>')
			kv_output_text(out, "&gt;");
		else if (*text == '"')
			kv_output_text(out, "&quot;");
		else
			kv_output_bytes(out, text, 1);
	}
}

/* Prose with options in it, which stay in one piece, as numbers and their percent signs do. */
static void put_prose(struct kv_output *out, const char *text)
{
	char word[128];

	while (*text != '\0') {
		size_t option = strncmp(text, "--", 2) == 0 ? strspn(text, "-abcdefghijklmnopqrstuvwxyz") : 0;
		size_t length = option > 0 ? option : 1 + strcspn(text + 1, "- ");

		if (strncmp(text, " %", 2) == 0) {
			kv_output_text(out, "&nbsp;%");
			text += 2;
			continue;
		}
		length = length < sizeof word ? length : sizeof word - 1;
		snprintf(word, length + 1, "%s", text);
		kv_output_text(out, option > 0 ? "<code>" : "");
		put_text(out, word);
		kv_output_text(out, option > 0 ? "</code>" : "");
		text += length;
	}
}

static void put_element(struct kv_output *out, const char *tag, const char *text)
{
	kv_output_printf(out, "<%s>", tag);
	put_text(out, text != NULL ? text : "–");
	kv_output_printf(out, "</%s>", tag);
}

static void put_asset(struct kv_output *out, const struct kv_asset *asset)
{
	kv_output_bytes(out, asset->bytes, asset->size);
}

static void begin_section(struct kv_output *out, const char *id, const char *title)
{
	kv_output_printf(out, "<section id=\"%s\" aria-labelledby=\"%s-title\"><h2 id=\"%s-title\">%s</h2>\n", id, id,
	                 id, title);
}

static void end_section(struct kv_output *out)
{
	kv_output_text(out, "</section>\n");
}

/* headers is "a|b|c"; the first column is text. */
static void begin_table(struct kv_output *out, const char *caption, const char *headers)
{
	kv_output_printf(
		out,
		"<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table><caption>%s</caption>"
		"<thead><tr>",
		caption, caption);
	while (*headers != '\0') {
		size_t length = strcspn(headers, "|");

		kv_output_printf(out, "<th scope=\"col\">%.*s</th>", (int)length, headers);
		headers += length + (headers[length] == '|');
	}
	kv_output_text(out, "</tr></thead><tbody>\n");
}

static void end_table(struct kv_output *out)
{
	kv_output_text(out, "</tbody></table></div>\n");
}

static void begin_row(struct kv_output *out, const char *header)
{
	kv_output_text(out, "<tr><th scope=\"row\">");
	put_text(out, header != NULL ? header : "–");
	kv_output_text(out, "</th>");
}

static void end_row(struct kv_output *out)
{
	kv_output_text(out, "</tr>\n");
}

/* Groups of three digits, by a thin space. */
static void put_grouped(struct kv_output *out, const char *digits)
{
	size_t whole = strspn(digits, "0123456789");

	for (size_t i = 0; i < whole; i++) {
		if (i > 0 && (whole - i) % 3 == 0)
			kv_output_text(out, "\u2009");
		kv_output_bytes(out, digits + i, 1);
	}
	kv_output_text(out, digits + whole);
}

static void put_number(struct kv_output *out, double value, int decimals)
{
	char digits[64];

	snprintf(digits, sizeof digits, "%.*f", decimals, fabs(value));
	if (value < 0)
		kv_output_text(out, "\u2212");
	put_grouped(out, digits);
}

static void put_cell(struct kv_output *out, double value, int decimals)
{
	kv_output_text(out, "<td>");
	put_number(out, value, decimals);
	kv_output_text(out, "</td>");
}

static void put_duration(struct kv_output *out, double ms)
{
	struct kv_duration_unit unit = kv_duration_unit_of(ms);

	put_number(out, ms / unit.ms, 2);
	kv_output_printf(out, "\u00a0%s", unit.name);
}

static void put_duration_cell(struct kv_output *out, double ms)
{
	kv_output_text(out, "<td>");
	put_duration(out, ms);
	kv_output_text(out, "</td>");
}

/* Instead of a number of decimals: the fact is in ms and is shown in the unit that suits it. */
enum { AS_DURATION = -1 };

/* The number of summary.json at `path`, which scripts and tests find by its name. */
static void put_fact(struct kv_output *out, const json_t *facts, const char *path, int decimals)
{
	const json_t *value = kv_facts_at(facts, path);

	if (!json_is_number(value)) {
		kv_output_text(out, "<td>–</td>");
		return;
	}
	kv_output_printf(out, "<td data-key=\"%s\">", path);
	if (decimals == AS_DURATION)
		put_duration(out, json_number_value(value));
	else
		put_number(out, json_number_value(value), decimals);
	kv_output_text(out, "</td>");
}

static void put_fact_row(struct kv_output *out, const json_t *facts, const char *label, const char *path, int decimals)
{
	begin_row(out, label);
	put_fact(out, facts, path, decimals);
	end_row(out);
}

static void put_text_row(struct kv_output *out, const char *label, const char *text)
{
	begin_row(out, label);
	kv_output_text(out, "<td class=\"text\">");
	put_text(out, text != NULL ? text : "–");
	kv_output_text(out, "</td>");
	end_row(out);
}

/* --- head and verdict --------------------------------------------------------------------------------------------- */

static void put_badges(struct kv_output *out, const json_t *facts)
{
	if (json_is_true(kv_facts_at(facts, "kvsim/stalled")))
		kv_output_text(out, "<p class=\"badge bad\">The run stopped: nothing could go on.</p>\n");
	if (json_is_true(kv_facts_at(facts, "kvsim/partial")))
		kv_output_text(out, "<p class=\"badge bad\">Partial: the run was interrupted.</p>\n");
	if (json_is_true(kv_facts_at(facts, "kvsim/oracle")))
		kv_output_text(
			out,
			"<p class=\"badge\">Oracle: this run uses output lengths that a real engine cannot know.</p>\n");
}

static bool has_fixed_step_time(const json_t *facts)
{
	const char *latency = kv_facts_text(facts, "kvsim/latency");

	return latency != NULL && strncmp(latency, "fixed", 5) == 0;
}

/* How far times can be trusted, before any is read. */
static void put_trust(struct kv_output *out, const json_t *facts)
{
	const char *error = kv_facts_text(facts, "kvsim/latency_error");

	kv_output_text(out, "<p>");
	if (has_fixed_step_time(facts)) {
		kv_output_text(out, "Step times are given (latency fixed): times are not those of any hardware.");
	} else {
		kv_output_text(out, "Step times are modelled; their error: ");
		put_text(out, error != NULL ? error : "unknown");
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
	put_text(out, model != NULL ? model : "run");
	kv_output_text(out, "</title>\n<style>\n");
	put_asset(out, &kv_asset_dygraphs_css);
	put_asset(out, &kv_asset_report_css);
	kv_output_text(out, "</style>\n</head>\n<body>\n<header>\n<h1>");
	put_text(out, model != NULL ? model : "run");
	if (hardware != NULL) {
		kv_output_printf(out, " on %.0f × ", gpus);
		put_text(out, hardware);
	}
	kv_output_text(out, "</h1>\n<p>");
	put_text(out, kv_facts_text(manifest, "trace/file") != NULL ? kv_facts_text(manifest, "trace/file") :
	                                                              "standard input");
	kv_output_printf(out, ": %.0f requests in %s of simulated time; engine profile ",
	                 kv_facts_number(facts, "num_prompts"),
	                 kv_duration_text(time, 1000 * kv_facts_number(facts, "kvsim/simulated_s")));
	put_text(out, kv_facts_text(facts, "kvsim/engine_profile"));
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
		put_prose(out, json_string_value(line));
		kv_output_text(out, "</li>\n");
	}
	kv_output_text(out, "</ul>\n");
}

static void put_verdict(struct kv_output *out, const json_t *facts)
{
	const json_t *finding;
	size_t i;

	begin_section(out, "verdict", "What to look at");
	json_array_foreach(kv_facts_at(facts, "kvsim/what_to_look_at"), i, finding) {
		kv_output_text(out, "<article>");
		put_element(out, "h3", kv_facts_text(finding, "topic"));
		kv_output_text(out, "<p class=\"verdict\">");
		put_prose(out, kv_facts_text(finding, "verdict"));
		kv_output_text(out, "</p>\n");
		put_list(out, kv_facts_at(finding, "change"), "What would change it");
		kv_output_text(out, "<details open><summary>Evidence</summary>\n");
		put_list(out, kv_facts_at(finding, "evidence"), "From this run");
		kv_output_text(out, "</details></article>\n");
	}
	end_section(out);
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static const struct {
	const char *key, *header;
} percentile_columns[] = {{"p50", "P50"}, {"p90", "P90"}, {"p95", "P95"}, {"p99", "P99"}, {"p99.9", "P99.9"}};

enum { PERCENTILE_COLUMNS = sizeof percentile_columns / sizeof percentile_columns[0] };

/* prefix and suffix around "mean" and "p99". */
static void put_latency_row(struct kv_output *out, const json_t *facts, const char *label, const char *prefix,
                            const char *suffix)
{
	char path[128];

	begin_row(out, label);
	snprintf(path, sizeof path, "%smean%s", prefix, suffix);
	put_fact(out, facts, path, AS_DURATION);
	for (int i = 0; i < PERCENTILE_COLUMNS; i++) {
		snprintf(path, sizeof path, "%s%s%s", prefix, percentile_columns[i].key, suffix);
		put_fact(out, facts, path, AS_DURATION);
	}
	end_row(out);
}

static void put_latencies(struct kv_output *out, const json_t *facts)
{
	begin_table(out, "Latencies of finished requests", "|mean|P50|P90|P95|P99|P99.9");
	put_latency_row(out, facts, "Time to first token (TTFT), from sending", "", "_ttft_ms");
	put_latency_row(out, facts, "  retrieval", "kvsim/ttft_parts/retrieval/", "_ms");
	put_latency_row(out, facts, "  + front end", "kvsim/ttft_parts/frontend/", "_ms");
	put_latency_row(out, facts, "  + queue", "kvsim/ttft_parts/queue/", "_ms");
	put_latency_row(out, facts, "  + prefill", "kvsim/ttft_parts/prefill/", "_ms");
	put_latency_row(out, facts, "    of which preempted", "kvsim/ttft_parts/preempted/", "_ms");
	put_latency_row(out, facts, "Client wait, before sending", "kvsim/ttft_parts/client_wait/", "_ms");
	if (kv_facts_at(facts, "kvsim/ttft_from_arrival") != NULL) {
		put_latency_row(out, facts, "Retries, before this sending", "kvsim/ttft_parts/retry_wait/", "_ms");
		put_latency_row(out, facts, "First token after the first arrival, all these", "kvsim/ttft_from_arrival/",
		                "_ms");
	}
	put_latency_row(out, facts, "Time per output token (TPOT)", "", "_tpot_ms");
	put_latency_row(out, facts, "Inter-token latency (ITL)", "", "_itl_ms");
	put_latency_row(out, facts, "End to end (E2EL), from sending", "", "_e2el_ms");
	end_table(out);
}

static void put_load(struct kv_output *out, const json_t *facts)
{
	begin_table(out, "Requests and throughput", "|");
	put_fact_row(out, facts, "Requests", "num_prompts", 0);
	put_fact_row(out, facts, "Finished", "completed", 0);
	put_fact_row(out, facts, "Refused", "kvsim/refused", 0);
	if (json_integer_value(kv_facts_at(facts, "kvsim/sent_again")) > 0)
		put_fact_row(out, facts, "Sent again after refusals", "kvsim/sent_again", 0);
	put_fact_row(out, facts, "Dropped", "kvsim/dropped", 0);
	put_fact_row(out, facts, "Unfinished", "kvsim/unfinished", 0);
	put_fact_row(out, facts, "Measured time (s)", "duration", 2);
	put_fact_row(out, facts, "Prompt tokens", "total_input_tokens", 0);
	put_fact_row(out, facts, "Output tokens", "total_output_tokens", 0);
	put_fact_row(out, facts, "Requests a second", "request_throughput", 2);
	if (json_is_number(kv_facts_at(facts, "request_goodput")))
		put_fact_row(out, facts, "Goodput, requests a second", "request_goodput", 2);
	put_fact_row(out, facts, "Output tokens a second", "output_throughput", 2);
	put_fact_row(out, facts, "Most output tokens in a second", "max_output_tokens_per_s", 0);
	put_fact_row(out, facts, "Most requests in flight", "max_concurrent_requests", 0);
	put_fact_row(out, facts, "Most requests running", "kvsim/peak_running", 0);
	put_fact_row(out, facts, "Promised by division: pool / max_model_len", "kvsim/concurrency/by_max_model_len", 2);
	put_fact_row(out, facts, "Promised by division: pool / mean length", "kvsim/concurrency/by_mean_length", 2);
	put_fact_row(out, facts, "x share of the pool pinned", "kvsim/concurrency/pinned_share", 3);
	put_fact_row(out, facts, "x unequal lengths: long requests run longer", "kvsim/concurrency/unequal_lengths", 3);
	put_fact_row(out, facts, "x growth: they do not hold all of it yet", "kvsim/concurrency/growth", 3);
	put_fact_row(out, facts, "x sharing of blocks, and windows", "kvsim/concurrency/sharing", 3);
	put_fact_row(out, facts, "x allocation: reserved and wasted slots", "kvsim/concurrency/allocation", 3);
	put_fact_row(out, facts, "= requests running, mean", "kvsim/concurrency/mean_running", 2);
	put_fact_row(out, facts, "Engine steps", "kvsim/steps", 0);
	end_table(out);
}

static void put_occupancy_row(struct kv_output *out, const json_t *facts, const char *label, const char *name)
{
	double pool = kv_facts_number(facts, "kvsim/usable_blocks");
	double gib = kv_facts_number(facts, "kvsim/block_bytes") / 1073741824.0;
	char path[64];
	double mean;

	snprintf(path, sizeof path, "kvsim/mean_%s_blocks", name);
	mean = kv_facts_number(facts, path);
	begin_row(out, label);
	put_fact(out, facts, path, 1);
	put_cell(out, pool > 0 ? 100 * mean / pool : 0, 1);
	put_cell(out, mean * gib, 2);
	snprintf(path, sizeof path, "kvsim/peak_%s_blocks", name);
	put_fact(out, facts, path, 1);
	end_row(out);
}

static void put_occupancy(struct kv_output *out, const json_t *facts)
{
	begin_table(out, "The pool over the measured time (a rank)", "|mean blocks|% of pool|mean GiB|peak blocks");
	put_occupancy_row(out, facts, "Pinned by live requests", "pinned");
	put_occupancy_row(out, facts, "  filled", "filled");
	put_occupancy_row(out, facts, "  reserved, to be filled", "reserved");
	put_occupancy_row(out, facts, "  waste, never filled", "waste");
	put_occupancy_row(out, facts, "Cached, reusable", "cached");
	put_occupancy_row(out, facts, "Free", "free");
	end_table(out);
}

static void put_misses(struct kv_output *out, const json_t *facts)
{
	double queried = kv_facts_number(facts, "kvsim/queried_tokens");
	const char *reason;
	json_t *tokens;

	begin_table(out, "Prompt tokens looked up in the prefix cache", "|tokens|%");
	begin_row(out, "Looked up at first admission");
	put_fact(out, facts, "kvsim/queried_tokens", 0);
	put_cell(out, queried > 0 ? 100 : 0, 1);
	end_row(out);
	begin_row(out, "Hit");
	put_fact(out, facts, "kvsim/hit_tokens", 0);
	put_cell(out, queried > 0 ? 100 * kv_facts_number(facts, "kvsim/hit_tokens") / queried : 0, 1);
	end_row(out);
	json_object_foreach((json_t *)kv_facts_at(facts, "kvsim/miss_tokens"), reason, tokens) {
		char path[64];

		snprintf(path, sizeof path, "Missed: %s", reason);
		begin_row(out, path);
		snprintf(path, sizeof path, "kvsim/miss_tokens/%s", reason);
		put_fact(out, facts, path, 0);
		put_cell(out, 100 * json_number_value(tokens) / queried, 1);
		end_row(out);
	}
	put_fact_row(out, facts, "Evicted blocks", "kvsim/evicted_blocks", 0);
	put_fact_row(out, facts, "Preemptions", "kvsim/preemptions", 0);
	if (kv_facts_at(facts, "kvsim/swap") != NULL) {
		put_fact_row(out, facts, "  by swap to host memory", "kvsim/swap/preemptions_by_swap", 0);
		put_fact_row(out, facts, "  by recompute, host memory full", "kvsim/swap/preemptions_by_recompute", 0);
		put_fact_row(out, facts, "Blocks copied to host memory", "kvsim/swap/out_blocks", 0);
		put_fact_row(out, facts, "Blocks copied back", "kvsim/swap/in_blocks", 0);
		put_fact_row(out, facts, "Seconds that copies added to steps", "kvsim/swap/copy_s", 3);
		put_fact_row(out, facts, "Blocks of host memory at the peak", "kvsim/swap/peak_blocks", 0);
		put_fact_row(out, facts, "Blocks of host memory", "kvsim/swap/space_blocks", 0);
	}
	put_fact_row(out, facts, "Tokens computed again after preemptions", "kvsim/recomputed_tokens", 0);
	end_table(out);
}

static void put_numbers(struct kv_output *out, const json_t *facts)
{
	begin_section(out, "numbers", "Numbers");
	put_latencies(out, facts);
	kv_output_text(out, "<div class=\"columns\">\n");
	put_load(out, facts);
	kv_output_text(out, "<div>\n");
	put_occupancy(out, facts);
	put_misses(out, facts);
	kv_output_text(out, "</div></div>\n");
	end_section(out);
}

/* --- charts ------------------------------------------------------------------------------------------------------- */

static void put_chart(struct kv_output *out, const char *id, const char *title, const char *text)
{
	kv_output_printf(out, "<figure><figcaption><h3>%s</h3><p>%s</p></figcaption>"
	                      "<div class=\"legend\" id=\"%s-legend\" aria-hidden=\"true\"></div>"
	                      "<div class=\"chart\" id=\"%s\" role=\"img\" aria-label=\"%s. %s\"></div></figure>\n",
	                 title, text, id, id, title, text);
}

static void put_charts(struct kv_output *out, const json_t *facts)
{
	begin_section(out, "charts", "Charts");
	kv_output_text(
		out,
		"<noscript><p>The charts need JavaScript; every number that matters is in the tables.</p></noscript>\n"
		"<div class=\"tools\" role=\"toolbar\" aria-label=\"Time axis of all charts over time\">"
		"<button type=\"button\" data-zoom=\"in\">Zoom in</button>"
		"<button type=\"button\" data-zoom=\"out\">Zoom out</button>"
		"<button type=\"button\" data-zoom=\"left\">Earlier</button>"
		"<button type=\"button\" data-zoom=\"right\">Later</button>"
		"<button type=\"button\" data-zoom=\"reset\">Whole run</button>"
		"<span>or drag in a chart; a double click shows the whole run. Charts over time move together.</span>"
		"</div>\n<h3 class=\"group\">Over time</h3>\n<div class=\"charts\">\n");
	put_chart(
		out, "occupancy", "Blocks of the pool",
		"Time-weighted means, stacked: filled, reserved and wasted slots of live requests, cached blocks, free blocks.");
	put_chart(out, "pinned", "Pinned blocks", "Mean, with the smallest and largest value of each interval.");
	put_chart(out, "requests", "Requests running and waiting", "Stacked: running, and waiting by reason.");
	put_chart(out, "bound", "What the queue waits for",
	          "Share of the time in which the head of the queue lacked each resource.");
	put_chart(out, "tokens", "Tokens computed a second", "Prefill and decode tokens.");
	put_chart(out, "pressure", "Evicted blocks and preemptions a second", "Memory pressure.");
	if (kv_facts_number(facts, "kvsim/swap/peak_blocks") > 0)
		put_chart(out, "host", "Swapped out to host memory",
		          "Blocks of host memory in use, and the requests that hold them.");
	put_chart(out, "hits", "Prefix cache", "Prompt tokens looked up and hit, a second.");
	put_chart(out, "ttft-time", "Time to first token by arrival",
	          "Mean parts, stacked, of requests that arrived in each interval.");
	put_chart(out, "ttft-range", "Range of time to first token by arrival",
	          "Mean, with the shortest and longest of each interval.");
	kv_output_text(out, "</div>\n<h3 class=\"group\">Distributions</h3>\n<div class=\"charts\">\n");
	put_chart(out, "ttft-cdf", "Time to first token and its parts", "Share of requests up to a time.");
	put_chart(out, "token-cdf", "Time per output token and between tokens",
	          "Share of requests (TPOT) and of gaps (ITL) up to a time.");
	put_chart(out, "grid", "Time to first token by prompt length",
	          "Each dot stands for the requests of a quarter octave either way; larger is more.");
	put_chart(out, "misses", "Hit and missed prompt tokens by reason", "Share of the tokens that were looked up.");
	kv_output_text(out, "</div>\n");
	end_section(out);
}

/* --- who ---------------------------------------------------------------------------------------------------------- */

static void put_crowds(struct kv_output *out, const json_t *crowds, const char *caption)
{
	const json_t *crowd;
	double total = 0;
	size_t i;

	json_array_foreach(crowds, i, crowd)
		total += kv_facts_number(crowd, "block_seconds");
	begin_table(
		out, caption,
		"|requests|finished|prompt tokens|hit %|output tokens|preemptions|% of block-seconds|block-seconds each|"
		"mean queue|TTFT P50|P95|P99");
	json_array_foreach(crowds, i, crowd) {
		const char *name = kv_facts_text(crowd, "name");
		double prompt = kv_facts_number(crowd, "prompt_tokens");

		begin_row(out, name[0] != '\0' ? name : "(no tenant)");
		put_cell(out, kv_facts_number(crowd, "requests"), 0);
		put_cell(out, kv_facts_number(crowd, "finished"), 0);
		put_cell(out, prompt, 0);
		put_cell(out, prompt > 0 ? 100 * kv_facts_number(crowd, "cached_tokens") / prompt : 0, 1);
		put_cell(out, kv_facts_number(crowd, "output_tokens"), 0);
		put_cell(out, kv_facts_number(crowd, "preemptions"), 0);
		put_cell(out, total > 0 ? 100 * kv_facts_number(crowd, "block_seconds") / total : 0, 1);
		put_cell(out, kv_facts_number(crowd, "block_seconds") / kv_facts_number(crowd, "requests"), 0);
		put_duration_cell(out, kv_facts_number(crowd, "mean_queue_ms"));
		put_duration_cell(out, kv_facts_number(crowd, "p50_ttft_ms"));
		put_duration_cell(out, kv_facts_number(crowd, "p95_ttft_ms"));
		put_duration_cell(out, kv_facts_number(crowd, "p99_ttft_ms"));
		end_row(out);
	}
	end_table(out);
}

static void put_worst(struct kv_output *out, const json_t *worst)
{
	const json_t *request;
	size_t i;

	begin_table(out, "The latest first tokens",
	            "request|tenant|prompt tokens|hit|TTFT|retrieval|front end|queue: blocks|"
	            "queue: slots|queue: compute|own prefill|others' prefill|preempted");
	json_array_foreach(worst, i, request) {
		static const char *const parts[] = {
			"ms/retrieval", "ms/frontend", "ms/queue_blocks", "ms/queue_sequence_slots", "ms/queue_token_budget",
			"ms/prefill_own", "ms/prefill_others", "ms/preempted"
		};

		begin_row(out, kv_facts_text(request, "request_id"));
		kv_output_text(out, "<td class=\"text\">");
		put_text(out, kv_facts_text(request, "tenant"));
		kv_output_text(out, "</td>");
		put_cell(out, kv_facts_number(request, "prompt_tokens"), 0);
		put_cell(out, kv_facts_number(request, "cached_tokens"), 0);
		put_duration_cell(out, kv_facts_number(request, "ttft_ms"));
		for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++)
			put_duration_cell(out, kv_facts_number(request, parts[p]));
		end_row(out);
	}
	end_table(out);
}

static void put_largest(struct kv_output *out, const json_t *facts)
{
	const json_t *request;
	double pool = kv_facts_number(facts, "kvsim/usable_blocks");
	size_t i;

	begin_table(out, "The largest requests at the peak of the pool", "request|tenant|prompt tokens|output tokens|"
	                                                               "blocks at its end|% of pool|admitted at s");
	json_array_foreach(kv_facts_at(facts, "kvsim/largest_at_peak"), i, request) {
		begin_row(out, kv_facts_text(request, "request_id"));
		kv_output_text(out, "<td class=\"text\">");
		put_text(out, kv_facts_text(request, "tenant"));
		kv_output_text(out, "</td>");
		put_cell(out, kv_facts_number(request, "prompt_tokens"), 0);
		put_cell(out, kv_facts_number(request, "output_tokens"), 0);
		put_cell(out, kv_facts_number(request, "blocks"), 0);
		put_cell(out, pool > 0 ? 100 * kv_facts_number(request, "blocks") / pool : 0, 1);
		put_cell(out, kv_facts_number(request, "admitted_s"), 1);
		end_row(out);
	}
	end_table(out);
}

static void put_who(struct kv_output *out, const json_t *facts)
{
	if (kv_facts_at(facts, "kvsim/length_classes") == NULL)
		return;
	begin_section(out, "who", "Who");
	put_crowds(out, kv_facts_at(facts, "kvsim/length_classes"), "By prompt length");
	put_crowds(out, kv_facts_at(facts, "kvsim/tenants"), "By tenant");
	put_worst(out, kv_facts_at(facts, "kvsim/worst_ttft"));
	put_largest(out, facts);
	end_section(out);
}

/* --- what it stands on -------------------------------------------------------------------------------------------- */

static void put_budget(struct kv_output *out, const json_t *manifest)
{
	const json_t *line;
	char bytes[KV_QUANTITY_MAX];
	size_t i;

	begin_table(out, "Memory of a rank", "|size|from");
	json_array_foreach(kv_facts_at(manifest, "pool/budget"), i, line) {
		begin_row(out, kv_facts_text(line, "item"));
		put_element(out, "td", kv_format_bytes_short((int64_t)kv_facts_number(line, "bytes"), bytes));
		put_element(out, "td", kv_facts_text(line, "source"));
		end_row(out);
	}
	end_table(out);
}

static void put_pool(struct kv_output *out, const json_t *facts)
{
	begin_table(out, "The pool", "|");
	put_text_row(out, "Sized from", kv_facts_text(facts, "kvsim/pool_source"));
	put_fact_row(out, facts, "Blocks as the engine counts", "kvsim/num_gpu_blocks", 0);
	put_fact_row(out, facts, "Usable blocks", "kvsim/usable_blocks", 0);
	put_fact_row(out, facts, "Tokens a block", "kvsim/block_size", 0);
	put_fact_row(out, facts, "Bytes a block", "kvsim/block_bytes", 0);
	put_fact_row(out, facts, "Bytes a token", "kvsim/kv_bytes_per_token", 0);
	put_fact_row(out, facts, "Longest sequence (max_model_len)", "kvsim/max_model_len", 0);
	end_table(out);
}

static void put_policies(struct kv_output *out, const json_t *facts)
{
	const char *kind;
	json_t *name;

	begin_table(out, "Policies", "|");
	put_text_row(out, "engine profile", kv_facts_text(facts, "kvsim/engine_profile"));
	put_text_row(out, "step time", kv_facts_text(facts, "kvsim/latency"));
	json_object_foreach((json_t *)kv_facts_at(facts, "kvsim/policies"), kind, name)
		put_text_row(out, kind, json_string_value(name));
	end_table(out);
}

static void put_warnings(struct kv_output *out, const json_t *manifest)
{
	const json_t *warning;
	size_t i;

	if (json_array_size(kv_facts_at(manifest, "warnings")) == 0)
		return;
	kv_output_text(out, "<h3>Warnings</h3><ul>");
	json_array_foreach(kv_facts_at(manifest, "warnings"), i, warning)
		put_element(out, "li", json_string_value(warning));
	kv_output_text(out, "</ul>\n");
}

static void put_definitions(struct kv_output *out)
{
	kv_output_text(
		out,
		"<h3>Definitions</h3><dl>"
		"<dt>TTFT</dt><dd>First token minus sending = retrieval + front end + queue + prefill. What a client waits for its "
		"own concurrency cap lies before sending and is not part of it. The queue ends at the first admission; prefill runs "
		"from there to the first token and contains any preempted time. Time in the queue is charged to what the head of the "
		"queue lacked, for all behind it as well.</dd>"
		"<dt>TPOT</dt><dd>(End to end − TTFT) / (output tokens − 1), requests of at least two output tokens.</dd>"
		"<dt>ITL</dt><dd>Every gap between two tokens of a request, pooled over requests.</dd>"
		"<dt>Pinned, cached, free</dt><dd>Blocks held by live requests; reusable but held by nobody; neither. Engines print "
		"pinned only.</dd>"
		"<dt>Filled, reserved, waste</dt><dd>Slots of pinned blocks that hold a token; that their holder will fill; that "
		"nobody will fill.</dd>"
		"<dt>Hit</dt><dd>A prompt token whose computed state was reusable at the request's first admission. It is no proof "
		"that the content is current, nor that the reader was allowed to have it.</dd>"
		"<dt>Promised by division</dt><dd>Requests that would fit at once if each held all its tokens (prompt and output: "
		"the mean of finished ones, or max_model_len) for all its life and nothing were shared. Requests running beside it "
		"is what was admitted.</dd>"
		"<dt>Block-seconds</dt><dd>Blocks times the time they are pinned; a shared block is charged to its "
		"earliest holder.</dd>"
		"<dt>Percentiles</dt><dd>Linear interpolation, numpy's default; exact up to a million requests, else and for ITL "
		"within 0.1 %.</dd></dl>\n");
}

static void put_step_times(struct kv_output *out, const json_t *facts)
{
	const char *source = kv_facts_text(facts, "kvsim/latency_source");
	const char *error = kv_facts_text(facts, "kvsim/latency_error");

	kv_output_text(out, "Modelled: the time of each step. Constants of ");
	put_text(out, source != NULL ? source : "an unknown source");
	kv_output_text(out, ". Error they were scored at: ");
	put_text(out, error != NULL ? error : "unknown");
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
	put_text(out, file);
	if (fingerprint != NULL) {
		kv_output_text(out, " (XXH128 ");
		put_text(out, fingerprint);
		kv_output_text(out, ")");
	}
	kv_output_printf(out,
	                 " was replayed before time zero; %.0f requests finished and left %.0f blocks cached. "
	                 "They are in no other number here.",
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
		put_text(out, arrivals);
		kv_output_text(out, "</li><li>");
	}
	put_initial_cache(out, manifest);
	kv_output_text(out, "</li><li>Assumed: what the memory table calls assumed");
	json_array_foreach(kv_facts_at(manifest, "assumptions"), i, value) {
		kv_output_text(out, i > 0 ? "; " : ". Values that nothing gave: ");
		put_text(out, json_string_value(value));
	}
	kv_output_text(out, ".</li>");
}

static void put_assumptions(struct kv_output *out, const json_t *facts, const json_t *manifest)
{
	kv_output_text(
		out,
		"<h3>Exact, modelled, assumed</h3><ul>"
		"<li>Exact, given the step times: which request is scheduled, admitted, preempted, hit and evicted when, "
		"by the rules of the engine profile.</li><li>");
	if (has_fixed_step_time(facts))
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
	put_text(out, kv_facts_text(manifest, "command") != NULL ? kv_facts_text(manifest, "command") : "kvsim run");
	kv_output_text(out, "</pre><p>kvsim ");
	put_text(out, kv_facts_text(manifest, "version"));
	kv_output_printf(out, ", seed %.0f, simulated time 0 = ", kv_facts_number(manifest, "seed"));
	put_text(out, kv_facts_text(manifest, "start_time"));
	if (kv_facts_text(manifest, "trace/xxh128") != NULL) {
		kv_output_text(out, ", trace fingerprint (XXH128) ");
		put_text(out, kv_facts_text(manifest, "trace/xxh128"));
	}
	kv_output_text(out, ". Every resolved setting with its source is in manifest.json.</p>\n");
}

static void put_basis(struct kv_output *out, const json_t *facts, const json_t *manifest)
{
	begin_section(out, "basis", "What this stands on");
	put_warnings(out, manifest);
	kv_output_text(out, "<div class=\"columns\">\n");
	put_budget(out, manifest);
	put_pool(out, facts);
	put_policies(out, facts);
	kv_output_text(out, "</div>\n");
	put_assumptions(out, facts, manifest);
	put_definitions(out);
	put_command(out, manifest);
	end_section(out);
}

/* --- the page ----------------------------------------------------------------------------------------------------- */

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
	put_numbers(out, facts);
	put_charts(out, facts);
	put_who(out, facts);
	put_basis(out, facts, manifest);
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
