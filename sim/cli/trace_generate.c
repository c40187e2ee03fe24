/* kvsim trace generate: writes the requests that a description of a load gives, as a native trace. */
#include "config.h"

#include "sim/cli/trace.h"

#include <argp.h>
#include <string.h>

#include "sim/base/quantity.h"
#include "sim/base/yaml_tree.h"
#include "sim/cli/command.h"
#include "sim/cli/trace_file.h"
#include "sim/profiles.h"

struct arguments {
	const char *path, *out;
	uint64_t seed;
	bool has_seed;
};

enum { SEED = 256 };

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

/* The seed of a scenario, as kvsim run takes it. */
static int find_seed(struct arguments *arguments, struct kv_error *err)
{
	const char *preset;
	int found = kv_preset_find(arguments->path, &preset, err), status = 0;
	const struct kv_node *seed;
	struct kv_node *root;

	if (found < 0)
		return -1;
	root = found > 0 ? kv_yaml_parse(preset, strlen(preset), arguments->path, err)
	                 : kv_yaml_read(arguments->path, err);
	if (root == NULL)
		return -1;
	seed = kv_node_get(root, "seed");
	if (seed != NULL && kv_node_expect(seed, KV_NODE_SCALAR, KV_EXIT_USAGE, err) != 0)
		status = -1;
	else if (seed != NULL && kv_parse_count(seed->text, 0, UINT64_MAX, &arguments->seed, err) != 0)
		status = kv_node_fail_in(seed, err);
	kv_yaml_free(root);
	return status;
}

int kv_cli_trace_generate(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{.name = "output", .key = 'o', .arg = "FILE", .doc = "Where to write (default: standard output)"},
		{.name = "seed", .key = SEED, .arg = "N",
		 .doc = "Seed of everything random (default: the scenario's, or 0)"}, {0}
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

	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	if (!arguments.has_seed && find_seed(&arguments, &err) != 0)
		return kv_cli_fail(&err);
	kv_trace_options_init(&trace_options);
	trace_options.format = "generator";
	trace_options.seed = arguments.seed;
	return kv_trace_file_convert(arguments.path, &trace_options, arguments.out, &err) == 0 ? KV_EXIT_OK
	                                                                                       : kv_cli_fail(&err);
}
