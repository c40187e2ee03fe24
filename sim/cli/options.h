/* Scenario keys as options: an argp parser made from the key table, for every command that builds a deployment. */
#ifndef KV_SIM_CLI_OPTIONS_H
#define KV_SIM_CLI_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "sim/base/error.h"
#include "sim/deploy/scenario.h"

/* The input of kv_cli_scenario_argp's parser. */
struct kv_scenario_options {
	struct kv_scenario *scenario;
	bool sizes;  /* --set takes keys that act on kvsim size only */
	struct kv_error err;
	int failed;  /* err holds the first error; the rest was not read */
};

/* --scenario, --set and one option a key. The same object every time. */
const struct argp *kv_cli_scenario_argp(void);

/* The same with the keys alone that act on kvsim size. */
const struct argp *kv_cli_sizing_argp(void);

/* Prepares the arguments (argv[0] aside) for argp: options may have "_" for "-", and -tp and -pp become the long
 * options. An option that argp and its children do not have is an error that suggests the nearest. */
int kv_cli_prepare(int argc, char **argv, const struct argp *argp, struct kv_error *err);

/* Prepares and parses the arguments of a command with kv_cli_scenario_argp among its children, whose input is options;
 * input is that of argp itself. */
int kv_cli_parse(int argc, char **argv, const struct argp *argp, void *input, const struct kv_scenario_options *options,
                 struct kv_error *err);

#endif
