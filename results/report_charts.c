#include "config.h"

#include "results/report_parts.h"

#include "results/facts.h"
#include "results/html.h"

static void put_chart(struct kv_output *out, const char *id, const char *title, const char *text)
{
	kv_output_printf(out, "<figure><figcaption><h3>%s</h3><p>%s</p></figcaption>"
	                      "<div class=\"legend\" id=\"%s-legend\" aria-hidden=\"true\"></div>"
	                      "<div class=\"chart\" id=\"%s\" role=\"img\" aria-label=\"%s. %s\"></div></figure>\n",
	                 title, text, id, id, title, text);
}

void kv_report_charts(struct kv_output *out, const json_t *facts)
{
	kv_html_begin_section(out, "charts", "Charts");
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
	put_chart(out, "occupancy", "Blocks of the pool",
	          "Time-weighted means, stacked: filled, reserved and wasted slots of live requests, cached blocks, "
	          "free blocks.");
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
	kv_html_end_section(out);
}
