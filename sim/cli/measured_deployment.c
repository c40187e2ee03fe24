#include "config.h"

#include "sim/cli/measured_deployment.h"

#include <stdio.h>

#include "sim/profiles/profiles.h"

struct setting {
	const struct kv_measured_run *run;
	const struct kv_calibrate_arguments *arguments;
	struct kv_scenario *scenario;
};

static int set(const struct setting *s, const char *key, const char *text, struct kv_error *err)
{
	return text ? kv_scenario_set(s->scenario, key, text, KV_BY_FLAG, s->run->prefix, err) : 0;
}

static int set_count(const struct setting *s, const char *key, uint64_t value, struct kv_error *err)
{
	char text[32];

	snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	return value ? set(s, key, text, err) : 0;
}

/* The profile of the run's own release, where there is one. */
static const char *engine_of(const struct setting *s, char text[64])
{
	unsigned major, minor;

	if (s->arguments->engine)
		return s->arguments->engine;
	if (s->run->engine_version && sscanf(s->run->engine_version, "%u.%u", &major, &minor) == 2) {
		snprintf(text, 64, "vllm-%u.%u", major, minor);
		if (kv_profile_text("engines", text))
			return text;
	}
	return KV_CALIBRATE_DEFAULT_ENGINE;
}

/* What the user says goes before what the run says. */
static int set_engine(const struct setting *s, struct kv_error *err)
{
	const struct kv_measured_run *run = s->run;
	const struct kv_calibrate_arguments *a = s->arguments;
	uint64_t blocks = a->blocks ? a->blocks : run->num_gpu_blocks;
	char text[64];

	if (!blocks)
		return kv_fail(err, KV_EXIT_USAGE,
		               "%s does not say how many blocks it had: give --num-gpu-blocks-override N", run->prefix);
	return set(s, "engine.profile", engine_of(s, text), err) ||
	               set_count(s, "engine.tensor_parallel_size", a->tp ? a->tp : run->tensor_parallel, err) ||
	               set_count(s, "engine.max_num_seqs", run->max_num_seqs, err) ||
	               set_count(s, "engine.max_num_batched_tokens", run->max_num_batched_tokens, err) ||
	               set_count(s, "engine.max_model_len", run->max_model_len, err) ||
	               set_count(s, "engine.block_size", run->block_size, err) ||
	               set_count(s, "engine.num_gpu_blocks_override", blocks, err) ||
	               set(s, "engine.quantization", a->quantization, err) ||
	               set(s, "engine.kv_cache_dtype",
	                   a->kv_cache_dtype ? a->kv_cache_dtype : run->kv_cache_dtype, err) ||
	               (run->prefix_caching >= 0 &&
	                set(s, "engine.enable_prefix_caching", run->prefix_caching ? "true" : "false", err))
	               ? -1 : 0;
}

int kv_measured_run_deploy(const struct kv_measured_run *run, const struct kv_calibrate_arguments *arguments,
                           struct kv_scenario *scenario, struct kv_deployment *deployment, struct kv_error *err)
{
	struct setting s = {run, arguments, scenario};
	const char *hardware = arguments->hardware ? arguments->hardware : run->device;
	const char *model = arguments->model ? arguments->model : run->model;

	if (!hardware)
		return kv_fail(err, KV_EXIT_USAGE, "%s does not name its GPU: give --hardware NAME|FILE", run->prefix);
	if (!model)
		return kv_fail(err, KV_EXIT_DATA, "%s_meta.json: model: missing", run->prefix);
	if (set(&s, "model", model, err) || set(&s, "hardware", hardware, err) || set_engine(&s, err))
		return -1;
	return kv_deployment_init(deployment, scenario, err);
}
