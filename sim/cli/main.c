/* kvsim: picks the subcommand; all else is its own. */
#include "config.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gsl/gsl_errno.h>

#include "sim/base/names.h"
#include "sim/cli/calibrate.h"
#include "sim/cli/check_log.h"
#include "sim/cli/command.h"
#include "sim/cli/compare.h"
#include "sim/cli/list.h"
#include "sim/cli/report.h"
#include "sim/cli/run.h"
#include "sim/cli/size.h"
#include "sim/cli/trace.h"

const char *argp_program_version = PACKAGE_STRING;

static const struct kv_command commands[] = {
	{ "run", "replay one trace on one deployment", kv_cli_run },
	{ "compare", "one workload on several variants: what differs, and by how much", kv_cli_compare },
	{ "report", "write the page of a result folder again; --explain it", kv_cli_report },
	{ "list", "models, hardware, engines, policies, formats and keys", kv_cli_list },
	{ "size", "memory budget, KV capacity and concurrency; does it start", kv_cli_size },
	{ "check-log", "recompute what an engine's start-up log prints", kv_cli_check_log },
	{ "trace", "check a trace, describe its load, play it through a cache alone", kv_cli_trace },
	{ "calibrate", "fit step-time constants to measurements; score a profile", kv_cli_calibrate },
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* The first word and what follows it belong to a subcommand. */
static error_t parse_word(int key, char *word, struct argp_state *state)
{
	int *first = state->input;

	(void)word;
	switch (key) {
	case ARGP_KEY_ARG:
		*first = state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_state_help(state, stderr, ARGP_HELP_USAGE | ARGP_HELP_SEE | ARGP_HELP_EXIT_ERR);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static char *list_commands(int key, const char *text, void *input)
{
	char *list = NULL;
	size_t size;
	FILE *out;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	out = open_memstream(&list, &size);
	if (out == NULL)
		return NULL;
	fputs("Commands:\n", out);
	for (int i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fputs("\n'kvsim COMMAND --help' tells more about each.", out);
	fclose(out);
	return list;
}

static int run_command(int argc, char **argv)
{
	const char *names[COMMANDS];
	struct kv_error err;
	char title[64];

	for (int i = 0; i < COMMANDS; i++) {
		names[i] = commands[i].name;
		if (strcmp(argv[0], commands[i].name) == 0) {
			snprintf(title, sizeof title, "kvsim %s", commands[i].name);
			argv[0] = title;
			return commands[i].run(argc, argv);
		}
	}
	kv_fail_unknown(&err, KV_EXIT_USAGE, "command", argv[0], names, COMMANDS);
	return kv_cli_fail(&err);
}

/* argp prints help and version through stdio and looks at no error. */
static void check_standard_output(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return;
	fprintf(stderr, "kvsim: standard output: %s\n", strerror(errno));
	_exit(KV_EXIT_IO);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse_word, .args_doc = "COMMAND [ARGUMENT...]",
		.doc = "Replays LLM request traces through a simulated serving engine, "
		       "with its KV cache in the centre.\v",
		.help_filter = list_commands
	};
	int first = argc;

	gsl_set_error_handler_off();
	atexit(check_standard_output);
	argv[0] = (char *)"kvsim";
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &first);
	return run_command(argc - first, argv + first);
}
