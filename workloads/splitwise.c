/* SplitwiseSim's traces (MIT, Mutinifni/splitwise-sim). */
#include "config.h"

#include "workloads/formats.h"

#include "workloads/csv.h"

static const struct kv_field fields[] = {
	{.name = "arrival_timestamp", .type = KV_FIELD_TIME, .digits = 9, .offset = offsetof(struct kv_row, arrival),
	 .required = true},
	{.name = "prompt_size", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, prompt_tokens),
	 .required = true},
	{.name = "token_size", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens),
	 .required = true},
	{.name = "request_id", .type = KV_FIELD_IGNORED},
	{.name = "request_type", .type = KV_FIELD_IGNORED},
	{.name = "application_id", .type = KV_FIELD_IGNORED},
	{.name = "batch_size", .type = KV_FIELD_IGNORED},
	{0}
};

static const struct kv_table table = {.fields = fields};

static const char *const keys[] = {"arrival_timestamp", "prompt_size", "token_size", NULL};

static bool detect(const struct kv_sniff *sniff)
{
	return kv_sniff_has_fields(sniff, keys);
}

static struct kv_reader *open_splitwise(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                        struct kv_error *err)
{
	(void)sniff;
	(void)values;
	(void)err;
	return kv_csv_open(trace, &table, NULL);
}

const struct kv_format kv_format_splitwise = {
	.name = "splitwise",
	.summary = "SplitwiseSim CSV: seconds, prompt_size and token_size, no prefix identity",
	.rules = "Times are seconds from the file's own zero. Request ids, types, applications and batch sizes are not "
	         "used.",
	.keys = keys,
	.detect = detect,
	.open = open_splitwise
};
