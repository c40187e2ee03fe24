/* Plain length lists: two columns, prompt tokens and output tokens, with a header or without. */
#include "config.h"

#include "workloads/formats.h"

#include <string.h>

#include "workloads/csv.h"
#include "workloads/number.h"

static const struct kv_field fields[] = {
	{.name = "prompt tokens", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, prompt_tokens),
	 .required = true},
	{.name = "output tokens", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens),
	 .required = true},
	{0}
};

static const struct kv_table table = {.fields = fields, .positional = true};

static bool is_number(const char *text)
{
	int64_t ignored;

	return kv_number_parse(text, strlen(text), 0, INT64_MAX, &ignored) == KV_NUMBER_OK;
}

static bool names_one_of(const char *text, const char *const *words)
{
	for (; *words != NULL; words++)
		if (strcasestr(text, *words) != NULL)
			return true;
	return false;
}

static bool detect(const struct kv_sniff *sniff)
{
	static const char *const prompt[] = {"input", "prompt", "context", "prefill", "request", NULL};
	static const char *const output[] = {"output", "generated", "decode", "response", "completion", NULL};

	if (sniff->field_count != 2)
		return false;
	return (is_number(sniff->fields[0]) && is_number(sniff->fields[1])) ||
	       (names_one_of(sniff->fields[0], prompt) && names_one_of(sniff->fields[1], output));
}

static struct kv_reader *open_lengths(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                      struct kv_error *err)
{
	(void)sniff;
	(void)values;
	(void)err;
	return kv_csv_open(trace, &table, NULL);
}

const struct kv_format kv_format_lengths = {
	.name = "lengths",
	.summary = "two columns: prompt tokens and output tokens, no times",
	.rules = "The first column is the prompt's length, the second the output's; a first row that does not begin "
	         "with a number is a header. There are no times: all requests are there at 0 (give --request-rate to "
	         "spread them).",
	.detect = detect,
	.open = open_lengths
};
