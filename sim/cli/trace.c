#include "config.h"

#include "sim/cli/trace.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/names.h"
#include "sim/cli/command.h"

static const struct kv_command actions[] = {
	{"validate", "read and check a trace, print counts", kv_cli_trace_validate},
	{"info", "describe a trace: load, lengths, bursts, and what a cache could reuse", kv_cli_trace_info},
	{"cache", "play it through pools of blocks without time, count hits and evictions", kv_cli_trace_cache},
	{"convert", "translate a trace into the native format", kv_cli_trace_convert},
	{"generate", "draw requests from a description of a load", kv_cli_trace_generate},
};

enum { ACTIONS = sizeof actions / sizeof *actions };

static void print_help(FILE *to)
{
	fputs("Usage: kvsim trace ACTION [ARGUMENT...]\n\nActions:\n", to);
	for (int i = 0; i < ACTIONS; i++)
		fprintf(to, "  %-10s %s\n", actions[i].name, actions[i].summary);
	fputs("\n'kvsim trace ACTION --help' tells more about each.\n", to);
}

int kv_cli_trace(int argc, char **argv)
{
	const char *names[ACTIONS];
	struct kv_error err;
	char title[64];

	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0) {
		print_help(argc < 2 ? stderr : stdout);
		return argc < 2 ? KV_EXIT_USAGE : KV_EXIT_OK;
	}
	for (int i = 0; i < ACTIONS; i++) {
		names[i] = actions[i].name;
		if (strcmp(argv[1], actions[i].name) == 0) {
			snprintf(title, sizeof title, "kvsim trace %s", actions[i].name);
			argv[1] = title;
			return actions[i].run(argc - 1, argv + 1);
		}
	}
	kv_fail_unknown(&err, KV_EXIT_USAGE, "trace action", argv[1], names, ACTIONS);
	return kv_cli_fail(&err);
}
