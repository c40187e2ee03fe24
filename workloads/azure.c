/* The Azure LLM inference traces (CC BY 4.0, Azure/AzurePublicDataset) of 2023, 2024 and 2025: TIMESTAMP, ContextTokens
 * and GeneratedTokens; inference-perf replays the same columns. */
#include "config.h"

#include "workloads/formats.h"

#include "sim/base/quantity.h"
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
	{.name = "NumImages", .type = KV_FIELD_IGNORED},
	{0}
};

static const struct kv_table table = {.fields = fields};

static const char *const keys[] = {"TIMESTAMP", "ContextTokens", "GeneratedTokens", NULL};

static bool detect(const struct kv_sniff *sniff)
{
	return kv_sniff_has_fields(sniff, keys);
}

static struct kv_reader *open_azure(struct kv_trace *trace, const struct kv_sniff *sniff, const void *params,
                                     struct kv_error *err)
{
	(void)sniff;
	(void)params;
	(void)err;
	kv_trace_declare(trace, KV_TRACE_CLOCK_FROM_FIRST);
	return kv_csv_open(trace, &table, NULL);
}

const struct kv_format kv_format_azure = {
	.name = "azure",
	.summary = "Azure LLM inference traces: dates and token counts, no prefix identity",
	.rules = "Times are dates and count from the first row: 2023 has seven fraction digits and no zone, 2024 six "
	         "and a zone or no fraction at all, 2025 (multimodal) T, Z and three digits; all forms may be mixed. "
	         "ContextTokens is taken as it is; images are not counted again. Nothing says which prompts share "
	         "content.",
	.keys = keys,
	.detect = detect,
	.open = open_azure
};
