/* kvsim trace generate: writes the requests that a description of a load gives, as a native trace. */
#include "config.h"

#include "sim/cli/trace.h"

#include <argp.h>
#include <string.h>

#include "sim/base/quantity.h"
#include "sim/cli/command.h"
#include "sim/cli/trace_file.h"
#include "sim/deploy/scenario.h"

struct arguments {
	const char *path, *out;
	uint64_t seed;
	bool has_seed;
	struct kv_yaml_settings load;
};

enum { SEED = 256, SET };

/* As --set of kvsim run, which has other keys too. */
static int add_setting(struct arguments *arguments, const char *pair, struct kv_error *err)
{
	struct kv_scenario scenario;
	int failed;

	if (strncmp(pair, KV_SCENARIO_LOAD, strlen(KV_SCENARIO_LOAD)) != 0)
		return kv_fail(err, KV_EXIT_USAGE, "--set reaches the keys of the load alone here: write " KV_SCENARIO_LOAD
		               "KEY=VALUE, not '%s'", pair);
	kv_scenario_init(&scenario);
	failed = kv_scenario_set_pair(&scenario, pair, err);
	for (size_t i = 0; i < scenario.load.count; i++)
		kv_yaml_settings_add(&arguments->load, scenario.load.setting[i].path, scenario.load.setting[i].text);
	kv_scenario_fini(&scenario);
	return failed;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct kv_error err;

	switch (key) {
	case 'o':
		arguments->out = value;
		return 0;
	case SEED:
		if (kv_parse_count(value, 0, UINT64_MAX, &arguments->seed, &err) != 0)
			argp_error(state, "--seed: %s", err.text);
		arguments->has_seed = true;
		return 0;
	case SET:
		if (add_setting(arguments, value, &err) != 0)
			argp_error(state, "%s", err.text);
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->path != NULL)
			argp_error(state, "one FILE only, '%s' is a second one", value);
		arguments->path = value;
		return 0;
	case ARGP_KEY_END:
		if (arguments->path == NULL)
			argp_error(state, "FILE is missing (a scenario with workload.generate, or preset:NAME)");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int kv_cli_trace_generate(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{.name = "output", .key = 'o', .arg = "FILE", .doc = "Where to write (default: standard output)"},
		{.name = "seed", .key = SEED, .arg = "N",
		 .doc = "Seed of everything random (default: the scenario's, or 0)"},
		{.name = "set", .key = SET, .arg = "KEY=VALUE",
		 .doc = "Change a key of the load, such as workload.generate.requests=500; may be repeated"},
		{0}
	};
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "FILE",
		.doc = "Draws requests from a description of a load and writes them as a native trace, the same that "
		       "kvsim run replays. FILE is a scenario with workload.generate, that mapping alone, or "
		       "preset:NAME (see kvsim list presets)."
	};
	struct arguments arguments = {.out = "-"};
	struct kv_trace_options trace_options;
	struct kv_error err;
	int failed;

	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	kv_trace_options_init(&trace_options);
	trace_options.format = "generator";
	trace_options.seed = arguments.seed;
	trace_options.own_seed = !arguments.has_seed;
	trace_options.load = &arguments.load;
	failed = kv_trace_file_convert(arguments.path, &trace_options, arguments.out, &err);
	kv_yaml_settings_fini(&arguments.load);
	return failed ? kv_cli_fail(&err) : KV_EXIT_OK;
}
