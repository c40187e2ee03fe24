#include "config.h"

#include "sim/cli/run.h"

#include <stdlib.h>

#include "sim/cli/command.h"
#include "sim/cli/options.h"
#include "sim/cli/replay.h"
#include "sim/deploy/scenario.h"

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	if (key == ARGP_KEY_INIT)
		state->child_inputs[0] = state->input;
	else if (key == ARGP_KEY_ARG)
		argp_error(state, "unexpected argument '%s' (a trace is named with --trace)", value);
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static int read_arguments(struct kv_replay_arguments *arguments, int argc, char **argv, struct kv_error *err)
{
	struct argp_child children[] = { { .argp = kv_cli_replay_argp() }, { 0 } };
	const struct argp argp = {
		.parser = parse_option,
		.children = children,
		.doc = "Replays one trace on one deployment, prints a summary and writes a folder of results.\n\n"
		       "  kvsim run --trace chat.csv --model llama-3.1-70b --hardware h100-sxm -tp 4\v"
		       "Values may carry units: 80GiB, 512MiB, 250ms, 1.5s, 32k. What is not given comes from the "
		       "engine profile and the model; the manifest lists every value with its source."
	};

	return kv_cli_parse(argc, argv, &argp, arguments, &arguments->scenario, err);
}

int kv_cli_run(int argc, char **argv)
{
	struct kv_replay_arguments arguments = { 0 };
	struct kv_scenario scenario;
	struct kv_error err;
	char *command = kv_cli_join(argc, argv);
	int failed;

	kv_scenario_init(&scenario);
	arguments.scenario.scenario = &scenario;
	arguments.replay.command = command;
	failed = read_arguments(&arguments, argc, argv, &err) || kv_cli_replay(&scenario, &arguments.replay, &err);
	kv_scenario_fini(&scenario);
	free(command);
	return failed ? kv_cli_fail(&err) : KV_EXIT_OK;
}
