#include "config.h"

#include "sim/cli/size.h"

#include <string.h>

#include "sim/base/config_fields.h"
#include "sim/base/names.h"
#include "sim/model/drafter.h"

enum { DRAFTS_MAX = 64 };

static int check_keys(json_t *object, struct kv_error *err)
{
	static const char *const keys[] = { "model", "method", "num_speculative_tokens", "draft_tensor_parallel_size" };
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value) {
		bool known = false;

		for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
			known |= strcmp(key, keys[i]) == 0;
		if (!known)
			return kv_fail_unknown(err, KV_EXIT_USAGE, "key", key, keys, sizeof keys / sizeof keys[0]);
	}
	return 0;
}

static int load(struct kv_size_report *report, const char *name, const char *method, struct kv_error *err)
{
	const struct kv_budget_question *b = &report->question.budget;

	report->draft = kv_model_load(name, err);
	if (report->draft == NULL || kv_drafter_read(report->draft, method, &report->drafter, err))
		return -1;
	if (b->rule.engine != KV_SIZING_VLLM)
		return kv_fail(err, KV_EXIT_USAGE, "what a drafter of another model takes is known for vLLM only");
	if (b->pipeline_parallel > 1)
		return kv_fail(err, KV_EXIT_USAGE, "a drafter of another model does not go with pipeline parallelism");
	return kv_model_check_tp(report->draft, b->layout.tensor_parallel, err);
}

static int apply(struct kv_size_report *report, struct kv_fields *f)
{
	uint32_t ranks = report->question.budget.layout.tensor_parallel;
	const char *name = kv_field_text(f, "model", NULL), *method = kv_field_text(f, "method", NULL);
	bool own = name == NULL && (method == NULL || strcmp(method, "mtp") == 0);

	report->arguments.speculative_tokens = kv_field_count(f, "num_speculative_tokens", 1, DRAFTS_MAX, KV_FIELD_REQUIRED);
	if (kv_field_count(f, "draft_tensor_parallel_size", 1, 1024, ranks) != ranks)
		kv_field_fail(f, "draft_tensor_parallel_size", "must be tensor_parallel_size, %u: others are not sized",
		              ranks);
	if (f->failed) {
		f->err->status = KV_EXIT_USAGE;
		return -1;
	}
	if (name != NULL)
		return load(report, name, method, f->err);
	return own ? 0 :
	             kv_fail(f->err, KV_EXIT_USAGE,
	                     "method %s has no model: give one, or leave the option out if it takes no "
	                     "memory of the GPU",
	                     method);
}

int kv_size_read_drafter(struct kv_size_report *report, struct kv_error *err)
{
	json_error_t where;
	json_t *object;
	struct kv_fields f = { .label = "speculative_config", .err = err };
	int failed;

	if (report->arguments.speculative_config == NULL)
		return 0;
	object = json_loads(report->arguments.speculative_config, JSON_REJECT_DUPLICATES, &where);
	f.object = object;
	if (!json_is_object(object))
		failed = kv_fail(
			err, KV_EXIT_USAGE,
			"not a JSON object such as {\"model\": \"config.json\", \"num_speculative_tokens\": 3}");
	else
		failed = check_keys(object, err) || apply(report, &f) ? -1 : 0;
	json_decref(object);
	return failed ? kv_fail_in(err, "--speculative-config") : 0;
}
