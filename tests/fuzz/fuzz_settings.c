/* Any bytes as a scenario, an engine profile, a hardware profile or a model's config.json, as the first byte says. What
 * is accepted must be fit for use: a scenario is resolved, a model is laid out. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/base/yaml_tree.h"
#include "sim/deploy/deployment.h"
#include "tests/fuzz/fuzz_file.h"

static void try_scenario(const char *text, size_t size)
{
	struct kv_engine_profile *profile;
	struct kv_scenario scenario;
	struct kv_error err;

	kv_scenario_init(&scenario);
	if (kv_scenario_parse(&scenario, text, size, "fuzz.yaml", &err) == 0) {
		profile = kv_engine_profile_load("vllm-2026-08", &err);
		if (kv_scenario_resolve(&scenario, profile, "h100-sxm", UINT64_C(80) << 30, &err) == 0)
			for (int kind = 0; kind < KV_POLICY_KINDS; kind++)
				KV_ASSERT(scenario.policy[kind] != NULL, "no policy");
		kv_engine_profile_free(profile);
	}
	kv_scenario_fini(&scenario);
}

static void try_model(const char *text)
{
	struct kv_layout_options options = { .block_size = 16, .tensor_parallel = 1 };
	struct kv_layout layout;
	struct kv_error err;
	struct kv_model *model = kv_model_parse(text, "fuzz.json", &err);

	options.cache = kv_cache_format_find("auto", &err);
	if (model != NULL && kv_layout_plan(model, &options, &layout, &err) == 0)
		KV_ASSERT(layout.groups <= KV_MAX_GROUPS, "groups");
	kv_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kv_error err;
	char *text;

	if (size < 1)
		return 0;
	text = kv_calloc(size, 1);
	memcpy(text, data + 1, size - 1);
	switch (data[0] % 4) {
	case 0:
		try_scenario(text, size - 1);
		break;
	case 1:
		kv_engine_profile_free(kv_engine_profile_parse(text, "fuzz.yaml", &err));
		break;
	case 2:
		kv_hardware_free(kv_hardware_parse(text, "fuzz.yaml", &err));
		break;
	default:
		try_model(text);
	}
	free(text);
	return 0;
}
