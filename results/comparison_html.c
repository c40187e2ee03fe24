#include "config.h"

#include <inttypes.h>

#include "results/comparison.h"
#include "results/html.h"

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>kvsim comparison</title>\n"
	"<style>\n"
	"body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 84em; padding: 0 1em; "
	"color: #222; }\n"
	"table { border-collapse: collapse; margin: 1em 0; }\n"
	"th, td { border-bottom: 1px solid #ccc; padding: .25em .6em; text-align: right; }\n"
	"th { overflow-wrap: break-word; }\n"
	"th:first-child, td:first-child, .verdicts td:last-child, .verdicts th:last-child { text-align: left; }\n"
	".better { color: #14682f; } .worse { color: #a11; } .none { color: #777; }\n</style>\n</head>\n<body>\n";

static void write_verdict(struct kv_output *out, const struct kv_difference *found, int wanted)
{
	const char *verdict = kv_comparison_verdict(found, wanted);

	kv_output_printf(out, "<td class=\"%s\">%s</td>", found->verdict < KV_DIFFERENCE_LOWER ? "none" : verdict,
	                 verdict);
}

/* Numbers and their percent signs stay in one piece. */
static void write_cell(struct kv_output *out, const char *text)
{
	kv_output_text(out, "<td>");
	kv_html_prose(out, text);
	kv_output_text(out, "</td>");
}

static void write_metrics(struct kv_output *out, const struct kv_comparison *comparison, size_t i)
{
	const struct kv_variant_comparison *variant = &comparison->variant[i];
	char cell[KV_CELL_MAX];

	kv_output_text(out, "<table class=\"verdicts\">\n<tr><th></th>");
	kv_html_element(out, "th", comparison->run[0].name);
	kv_html_element(out, "th", comparison->run[i + 1].name);
	kv_output_text(out, "<th>difference</th><th>95 % interval</th><th>verdict</th></tr>\n");
	for (size_t r = 0; r < variant->rows; r++) {
		const struct kv_comparison_row *row = &variant->row[r];

		kv_output_text(out, "<tr>");
		kv_html_element(out, "td", row->label);
		kv_html_element(out, "td", kv_comparison_value(row->found.baseline, row->unit, cell));
		kv_html_element(out, "td", kv_comparison_value(row->found.variant, row->unit, cell));
		write_cell(out, kv_comparison_change(&row->found, row->unit, cell));
		kv_html_element(out, "td", kv_comparison_interval(&row->found, row->unit, cell));
		write_verdict(out, &row->found, row->wanted);
		kv_output_text(out, "</tr>\n");
	}
	kv_output_text(out, "</table>\n");
}

static void write_classes(struct kv_output *out, const struct kv_variant_comparison *variant)
{
	char cell[KV_CELL_MAX];

	kv_output_text(
		out,
		"<table class=\"verdicts\">\n<tr><th>who</th><th>requests</th><th>TTFT mean, change (ms)</th>"
		"<th>95 % interval</th>"
		"<th>verdict</th><th>E2EL mean, change (ms)</th><th>95 % interval</th>"
		"<th>faster / equal / slower</th><th>verdict</th></tr>\n");
	for (size_t c = 0; c < variant->classes; c++) {
		const struct kv_comparison_class *class = &variant->class[c];

		kv_output_printf(out, "<tr><td>%s ", class->kind);
		kv_html_text(out, class->label);
		kv_output_printf(out, "</td><td>%zu</td>", class->requests);
		write_cell(out, kv_comparison_change(&class->ttft, "ms", cell));
		kv_html_element(out, "td", kv_comparison_interval(&class->ttft, "ms", cell));
		write_verdict(out, &class->ttft, -1);
		write_cell(out, kv_comparison_change(&class->e2el, "ms", cell));
		kv_html_element(out, "td", kv_comparison_interval(&class->e2el, "ms", cell));
		kv_output_printf(out, "<td>%zu / %zu / %zu</td>", class->faster, class->equal, class->slower);
		write_verdict(out, &class->e2el, -1);
		kv_output_text(out, "</tr>\n");
	}
	kv_output_text(out, "</table>\n");
}

static void write_overview(struct kv_output *out, const struct kv_comparison *comparison)
{
	size_t columns = kv_comparison_overview_columns(comparison);
	char cell[KV_CELL_MAX];

	kv_output_text(out, "<table>\n<tr><th></th>");
	for (size_t c = 0; c < columns; c++)
		kv_html_element(out, "th", kv_comparison_overview_label(comparison, c));
	kv_output_text(out, "</tr>\n");
	for (size_t i = 0; i < comparison->runs; i++) {
		kv_output_text(out, "<tr>");
		kv_html_element(out, "td", comparison->run[i].name);
		for (size_t c = 0; c < columns; c++)
			write_cell(out, kv_comparison_overview_cell(comparison, i, c, cell));
		kv_output_text(out, "</tr>\n");
	}
	kv_output_text(out, "</table>\n<p>Of each variant " KV_OVERVIEW_LEGEND ".</p>\n");
}

static void write_tenants(struct kv_output *out, const struct kv_comparison *comparison)
{
	char cell[KV_CELL_MAX];

	kv_output_text(out, "<table>\n<tr><th>TTFT P99 (ms) of tenant</th><th>requests</th>");
	for (size_t i = 0; i < comparison->runs; i++)
		kv_html_element(out, "th", comparison->run[i].name);
	kv_output_text(out, "</tr>\n");
	for (size_t t = 0; t < comparison->tenants; t++) {
		const struct kv_compared_tenant *tenant = &comparison->tenant[t];

		kv_output_text(out, "<tr>");
		kv_html_element(out, "td", tenant->name);
		kv_html_element(out, "td", kv_comparison_value((double)tenant->requests, "", cell));
		for (size_t i = 0; i < comparison->runs; i++)
			kv_html_element(out, "td", kv_comparison_value(tenant->p99_ttft[i], "ms", cell));
		kv_output_text(out, "</tr>\n");
	}
	kv_output_text(out, "</table>\n<p>Of each run over what it finished.</p>\n");
}

static void write_run(struct kv_output *out, const struct kv_compared_run *run)
{
	kv_output_text(out, "<li><b>");
	kv_html_text(out, run->name);
	kv_output_text(out, "</b>: ");
	kv_html_text(out, *run->settings != '\0' ? run->settings : "the scenario as it is");
	kv_output_printf(out, "%s%s%s", run->stalled ? " (STALLED)" : "", run->partial ? " (PARTIAL)" : "",
	                 run->oracle ? " (an oracle: it uses output lengths that a real engine cannot know)" : "");
	for (size_t i = 0; i < run->warnings.count; i++) {
		kv_output_text(out, i == 0 ? "\n<ul class=\"none\">" : "");
		kv_html_element(out, "li", run->warnings.text[i]);
		kv_output_text(out, i + 1 == run->warnings.count ? "</ul>" : "");
	}
	kv_output_text(out, "</li>\n");
}

void kv_comparison_write_html(const struct kv_comparison *comparison, struct kv_output *out)
{
	kv_output_text(out, head);
	kv_output_printf(out, "<h1>One workload, %zu variants</h1>\n<p>Workload: ", comparison->runs);
	kv_html_text(out, comparison->workload);
	kv_output_printf(out, ", %zu requests.</p>\n<ul>\n", comparison->run[0].requests);
	for (size_t i = 0; i < comparison->runs; i++)
		write_run(out, &comparison->run[i]);
	kv_output_text(out, "</ul>\n");
	if (comparison->runs > 2)
		write_overview(out, comparison);
	if (comparison->tenants > 0)
		write_tenants(out, comparison);
	for (size_t i = 0; i + 1 < comparison->runs; i++) {
		kv_output_text(out, "<h2>");
		kv_html_text(out, comparison->run[i + 1].name);
		kv_output_text(out, " against ");
		kv_html_text(out, comparison->run[0].name);
		kv_output_printf(out, "</h2>\n<p>Latencies are of the %zu requests that both finished.%s</p>\n",
		                 comparison->variant[i].finished_in_both,
		                 comparison->waited ? KV_WAITED_LEGEND : "");
		write_metrics(out, comparison, i);
		write_classes(out, &comparison->variant[i]);
	}
	kv_output_printf(
		out,
		"<p>Intervals: paired bootstrap over requests, %zu replicates, seed %" PRIu64 ". They tell how "
		"far a difference hangs on single requests of this workload; requests that queue together are not "
		"independent, and figures of a whole run have no interval.</p>\n</body>\n</html>\n",
		comparison->replicates, comparison->seed);
}
