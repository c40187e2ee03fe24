/* The Azure LLM inference traces of 2023 (CC BY 4.0, Azure/AzurePublicDataset): TIMESTAMP,ContextTokens,GeneratedTokens.
 *
 * Times are dates of up to nine fraction digits (the files have seven), without a zone in 2023, with one in 2024; a row on
 * a whole second may have no fraction. They count from the first row. Nothing says which prompts share content.
 */
#include "config.h"

#include "workloads/formats.h"

#include "sim/quantity.h"
#include "workloads/csv.h"

static void read_timestamp(void *owner, struct kv_row *row, const char *text, size_t length)
{
	struct kv_error err;

	(void)owner;
	if (!kv_row_check_text(row, "TIMESTAMP", text, length))
		return;
	if (kv_parse_date(text, &row->arrival, &err) != 0)
		kv_row_fault(row, KV_FAULT_NUMBER, "TIMESTAMP: %s", err.text);
}

static const struct kv_field fields[] = {
	{.name = "TIMESTAMP", .read_text = read_timestamp, .required = true},
	{.name = "ContextTokens", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, prompt_tokens),
	 .required = true},
	{.name = "GeneratedTokens", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens),
	 .required = true},
	{0}
};

static const struct kv_table table = {.fields = fields};

static bool detect(const struct kv_sniff *sniff)
{
	return kv_sniff_has_field(sniff, "TIMESTAMP") && kv_sniff_has_field(sniff, "ContextTokens") &&
	       kv_sniff_has_field(sniff, "GeneratedTokens");
}

static struct kv_reader *open_azure(struct kv_trace *trace, const struct kv_sniff *sniff, struct kv_error *err)
{
	(void)sniff;
	(void)err;
	return kv_csv_open(trace, &table, NULL);
}

const struct kv_format kv_format_azure = {
	.name = "azure",
	.summary = "Azure LLM inference traces: dates and token counts, no prefix identity",
	.clock_from_first = true,
	.detect = detect,
	.open = open_azure
};
