/* Any bytes as a start-up log, checked without a model and, as the first byte says, with one of several. */
#include "config.h"

#include "sim/sizing/log_check.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const models[] = { NULL, "llama-3.1-8b", "gemma-3-27b", "qwen3.5-27b", "deepseek-v2-lite" };
	const char *name = size > 0 ? models[data[0] % 5] : NULL;
	struct kv_check_given given = { 0 };
	struct kv_check_list list;
	struct kv_error err;
	struct kv_model *model = name ? kv_model_load(name, &err) : NULL;
	struct kv_log *log = size > 0 ? kv_log_parse((const char *)data + 1, size - 1, "fuzz.log", &err) : NULL;

	given.model = model;
	if (log != NULL) {
		kv_log_check(log, &given, &list);
		kv_check_list_fini(&list);
	}
	kv_log_free(log);
	kv_model_free(model);
	return 0;
}
