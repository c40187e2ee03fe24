#include "config.h"

#include "results/html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results/duration.h"
#include "results/facts.h"

void kv_html_text(struct kv_output *out, const char *text)
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

void kv_html_prose(struct kv_output *out, const char *text)
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
		kv_html_text(out, word);
		kv_output_text(out, option > 0 ? "</code>" : "");
		text += length;
	}
}

void kv_html_element(struct kv_output *out, const char *tag, const char *text)
{
	kv_output_printf(out, "<%s>", tag);
	kv_html_text(out, text != NULL ? text : "–");
	kv_output_printf(out, "</%s>", tag);
}

void kv_html_begin_section(struct kv_output *out, const char *id, const char *title)
{
	kv_output_printf(out, "<section id=\"%s\" aria-labelledby=\"%s-title\"><h2 id=\"%s-title\">%s</h2>\n", id, id,
	                 id, title);
}

void kv_html_end_section(struct kv_output *out)
{
	kv_output_text(out, "</section>\n");
}

void kv_html_begin_table(struct kv_output *out, const char *caption, const char *headers)
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

void kv_html_end_table(struct kv_output *out)
{
	kv_output_text(out, "</tbody></table></div>\n");
}

void kv_html_begin_row(struct kv_output *out, const char *header)
{
	kv_output_text(out, "<tr><th scope=\"row\">");
	kv_html_text(out, header != NULL ? header : "–");
	kv_output_text(out, "</th>");
}

void kv_html_end_row(struct kv_output *out)
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

void kv_html_cell(struct kv_output *out, double value, int decimals)
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

void kv_html_duration_cell(struct kv_output *out, double ms)
{
	kv_output_text(out, "<td>");
	put_duration(out, ms);
	kv_output_text(out, "</td>");
}

void kv_html_fact(struct kv_output *out, const json_t *facts, const char *path, int decimals)
{
	const json_t *value = kv_facts_at(facts, path);

	if (!json_is_number(value)) {
		kv_output_text(out, "<td>–</td>");
		return;
	}
	kv_output_printf(out, "<td data-key=\"%s\">", path);
	if (decimals == KV_HTML_AS_DURATION)
		put_duration(out, json_number_value(value));
	else
		put_number(out, json_number_value(value), decimals);
	kv_output_text(out, "</td>");
}

void kv_html_fact_row(struct kv_output *out, const json_t *facts, const char *label, const char *path, int decimals)
{
	kv_html_begin_row(out, label);
	kv_html_fact(out, facts, path, decimals);
	kv_html_end_row(out);
}

void kv_html_text_cell(struct kv_output *out, const char *text)
{
	kv_output_text(out, "<td class=\"text\">");
	kv_html_text(out, text != NULL ? text : "–");
	kv_output_text(out, "</td>");
}

void kv_html_text_row(struct kv_output *out, const char *label, const char *text)
{
	kv_html_begin_row(out, label);
	kv_html_text_cell(out, text);
	kv_html_end_row(out);
}
