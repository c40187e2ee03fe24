/* BurstGPT (CC BY 4.0, HPMLL/BurstGPT) in both layouts, whose columns go by name: _3 inserts two in the middle. */
#include "config.h"

#include "workloads/formats.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "workloads/csv.h"

struct burstgpt_params {
	char model[KV_PARAM_TEXT_MAX];
};

struct burstgpt {
	const struct burstgpt_params *params;
	bool other_model;
};

static void read_model(void *owner, struct kv_row *row, const char *text, size_t length)
{
	struct burstgpt *self = owner;

	(void)row;
	(void)length;
	self->other_model = *self->params->model != '\0' && strcmp(text, self->params->model) != 0;
}

static void finish(void *owner, struct kv_row *row)
{
	const struct burstgpt *self = owner;

	if (row->output_tokens == 0)
		kv_row_leave_out(row, KV_FAULT_FAILED);
	else if (self->other_model)
		kv_row_leave_out(row, KV_FAULT_FILTERED);
}

static const struct kv_field fields[] = {
	{.name = "Timestamp", .type = KV_FIELD_TIME, .digits = 9, .offset = offsetof(struct kv_row, arrival),
	 .required = true},
	{.name = "Model", .read_text = read_model},
	{.name = "Request tokens", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, prompt_tokens),
	 .required = true},
	{.name = "Response tokens", .type = KV_FIELD_TOKENS, .offset = offsetof(struct kv_row, output_tokens),
	 .required = true},
	{.name = "Session ID", .type = KV_FIELD_IGNORED},
	{.name = "Elapsed time", .type = KV_FIELD_IGNORED},
	{.name = "Total tokens", .type = KV_FIELD_IGNORED},
	{.name = "Log Type", .type = KV_FIELD_IGNORED},
	{0}
};

static const struct kv_table table = {.fields = fields, .finish = finish, .close = free};

static const struct kv_param params[] = {
	{"model", KV_PARAM_TEXT, offsetof(struct burstgpt_params, model), 0, 0, "", "",
	 "only rows of this model (ChatGPT, GPT-4)"},
	{0}
};

static const char *const keys[] = {"Timestamp", "Request tokens", "Response tokens", NULL};

static bool detect(const struct kv_sniff *sniff)
{
	return kv_sniff_has_fields(sniff, keys);
}

static struct kv_reader *open_burstgpt(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                       struct kv_error *err)
{
	struct burstgpt *self = kv_calloc(1, sizeof *self);

	(void)sniff;
	(void)err;
	self->params = values;
	kv_trace_declare(trace, KV_TRACE_CLOCK_FROM_FIRST);
	return kv_csv_open(trace, &table, self);
}

const struct kv_format kv_format_burstgpt = {
	.name = "burstgpt",
	.summary = "BurstGPT CSV, both layouts: seconds and token counts, no prefix identity",
	.rules = "Times are seconds (as text like 19440110.0 in the third release) and count from the first row. "
	         "Columns go by name. Rows without response tokens are failed requests: they are left out and counted "
	         "as failed_request. Session ID, Elapsed time and Log Type are not used.",
	.keys = keys,
	.detect = detect,
	.open = open_burstgpt,
	.params_size = sizeof(struct burstgpt_params),
	.params = params
};
