/* One run from a scenario to its result folder: what kvsim run does, and kvsim compare for each of its variants. */
#ifndef KV_SIM_CLI_REPLAY_H
#define KV_SIM_CLI_REPLAY_H

#include <argp.h>
#include <stdbool.h>

#include "sim/base/error.h"
#include "sim/cli/options.h"
#include "sim/deploy/scenario.h"
#include "sim/record.h"

struct kv_replay_options {
	const char *command;  /* as typed, for the manifest */
	bool force, json, quiet;
	bool summary;         /* summary.json is written even where output.write leaves it out */
	/* Told of every request, with how long its earlier sendings took; may be NULL. */
	void (*watch)(void *context, const struct kv_request_record *record, kv_time retry_wait);
	void *watch_context;
};

/* The input of kv_cli_replay_argp's parser. */
struct kv_replay_arguments {
	struct kv_scenario_options scenario;
	struct kv_replay_options replay;
};

/* What commands that replay share: the options of scenarios, --force, --json and --quiet. */
const struct argp *kv_cli_replay_argp(void);

/* Resolves and replays the scenario. The first interrupt (SIGINT, SIGTERM) cuts the run, whose files are then written
 * and marked partial; a second one ends the program. */
int kv_cli_replay(struct kv_scenario *scenario, const struct kv_replay_options *options, struct kv_error *err);

/* The arguments with blanks between; free() it. */
char *kv_cli_join(int argc, char **argv);

#endif
