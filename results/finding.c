#include "config.h"

#include "results/finding.h"

#include <stdarg.h>
#include <stdio.h>

#include "results/facts.h"
#include "sim/base/quantity.h"

json_t *kv_finding_new(const char *topic)
{
	return json_pack("{ss s[] s[]}", "topic", topic, "evidence", "change");
}

static void append(json_t *finding, const char *list, const char *format, va_list args)
{
	json_array_append_new(json_object_get(finding, list), json_vsprintf(format, args));
}

void kv_finding_evidence(json_t *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	append(finding, "evidence", format, args);
	va_end(args);
}

void kv_finding_advice(json_t *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	append(finding, "change", format, args);
	va_end(args);
}

void kv_finding_verdict(json_t *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	json_object_set_new(finding, "verdict", json_vsprintf(format, args));
	va_end(args);
}

void kv_finding_extend_verdict(json_t *finding, const char *format, ...)
{
	va_list args;
	json_t *more;

	va_start(args, format);
	more = json_vsprintf(format, args);
	va_end(args);
	if (kv_facts_text(finding, "verdict") == NULL)
		kv_finding_verdict(finding, "%s", json_string_value(more));
	else
		kv_finding_verdict(finding, "%s %s", kv_facts_text(finding, "verdict"), json_string_value(more));
	json_decref(more);
}

double kv_percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

const char *kv_setting_text(char text[KV_SETTING_ROOM], const json_t *facts, const char *name)
{
	char path[64], digits[KV_QUANTITY_MAX];

	snprintf(path, sizeof path, "kvsim/%s", name);
	if (json_is_number(kv_facts_at(facts, path)))
		snprintf(text, KV_SETTING_ROOM, " (here %s)", kv_format_double(kv_facts_number(facts, path), digits));
	else
		text[0] = '\0';
	return text;
}
