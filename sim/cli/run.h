/* kvsim run: one workload through one deployment into a result folder. */
#ifndef KV_SIM_CLI_RUN_H
#define KV_SIM_CLI_RUN_H

int kv_cli_run(int argc, char **argv);

#endif
