#include "config.h"

#include "sim/cli/run.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/cli/command.h"
#include "sim/cli/options.h"
#include "sim/cli/replay.h"
#include "sim/deploy/scenario.h"

struct arguments {
	struct kv_scenario_options options;
	struct kv_replay_options replay;
};

enum { OPTION_FORCE = 0x300, OPTION_JSON, OPTION_QUIET };

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->options;
		return 0;
	case OPTION_FORCE:
		arguments->replay.force = true;
		return 0;
	case OPTION_JSON:
		arguments->replay.json = true;
		return 0;
	case OPTION_QUIET:
		arguments->replay.quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s' (a trace is named with --trace)", value);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int read_arguments(struct arguments *arguments, int argc, char **argv, struct kv_error *err)
{
	static const struct argp_option own[] = {
		{ .name = "force", .key = OPTION_FORCE, .doc = "Write into a folder that kvsim did not write", .group = 10 },
		{ .name = "json", .key = OPTION_JSON, .doc = "Print summary.json instead of the text", .group = 10 },
		{ .name = "quiet", .key = OPTION_QUIET, .doc = "Print nothing but errors", .group = 10 },
		{ 0 }
	};
	struct argp_child children[] = { { .argp = kv_cli_scenario_argp() }, { 0 } };
	const struct argp argp = {
		.options = own,
		.parser = parse_option,
		.children = children,
		.doc = "Replays one trace on one deployment, prints a summary and writes a folder of results.\n\n"
		       "  kvsim run --trace chat.csv --model llama-3.1-70b --hardware h100-sxm -tp 4\v"
		       "Values may carry units: 80GiB, 512MiB, 250ms, 1.5s, 32k. What is not given comes from the "
		       "engine profile and the model; the manifest lists every value with its source."
	};

	if (kv_cli_prepare(argc, argv, &argp, err))
		return -1;
	argp_parse(&argp, argc, argv, 0, NULL, arguments);
	if (arguments->options.failed) {
		*err = arguments->options.err;
		return -1;
	}
	return 0;
}

int kv_cli_run(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct kv_scenario scenario;
	struct kv_error err;
	char *command = kv_cli_join(argc, argv);
	int failed;

	kv_scenario_init(&scenario);
	arguments.options.scenario = &scenario;
	arguments.replay.command = command;
	failed = read_arguments(&arguments, argc, argv, &err) || kv_cli_replay(&scenario, &arguments.replay, &err);
	kv_scenario_fini(&scenario);
	free(command);
	return failed ? kv_cli_fail(&err) : KV_EXIT_OK;
}
