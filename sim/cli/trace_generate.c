/* kvsim trace generate: writes the requests that a description of a load gives, as a native trace. */
#include "config.h"

#include "sim/cli/trace.h"

#include <argp.h>

#include "sim/base/quantity.h"
#include "sim/cli/command.h"
#include "sim/cli/trace_file.h"

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
	kv_trace_options_init(&trace_options);
	trace_options.format = "generator";
	trace_options.seed = arguments.seed;
	trace_options.own_seed = !arguments.has_seed;
	return kv_trace_file_convert(arguments.path, &trace_options, arguments.out, &err) == 0 ? KV_EXIT_OK
	                                                                                       : kv_cli_fail(&err);
}
