#include "config.h"

#include "sim/cli/report.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "results/report.h"
#include "sim/cli/command.h"

enum { OPTION_EXPLAIN = 256 };

struct arguments {
	const char *dir;
	bool explain;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case OPTION_EXPLAIN:
		arguments->explain = true;
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->dir != NULL)
			argp_error(state, "unexpected argument '%s': one folder is expected", value);
		arguments->dir = value;
		return 0;
	case ARGP_KEY_END:
		if (arguments->dir == NULL)
			argp_error(state, "no folder: name one that kvsim run has written");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int kv_cli_report(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ .name = "explain",
		  .key = OPTION_EXPLAIN,
		  .doc = "Print what was exhausted, why prompts were not hit and why first tokens came late, each "
		         "with its evidence and what would change it; write nothing" },
		{ 0 }
	};
	const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "DIR",
		.doc = "Writes report.html of a result folder again, from its summary.json, manifest.json and "
		       "charts.json."
	};
	struct arguments arguments = {0};
	struct kv_error err;

	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	if (arguments.explain ? kv_report_explain(arguments.dir, &err) : kv_report_render_again(arguments.dir, &err))
		return kv_cli_fail(&err);
	return KV_EXIT_OK;
}
