/* What the subcommands of kvsim share. */
#ifndef KV_SIM_CLI_COMMAND_H
#define KV_SIM_CLI_COMMAND_H

#include "sim/base/error.h"

/* argv[0] is what errors and help call the command. The exit status is returned. */
struct kv_command {
	const char *name;
	const char *summary;  /* one line, no full stop */
	int (*run)(int argc, char **argv);
};

/* "kvsim: text" on stderr; returns the error's exit status. */
int kv_cli_fail(const struct kv_error *err);

#endif
