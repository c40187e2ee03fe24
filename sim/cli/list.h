/* kvsim list: the names that a scenario may use, and what stands behind them. */
#ifndef KV_SIM_CLI_LIST_H
#define KV_SIM_CLI_LIST_H

int kv_cli_list(int argc, char **argv);

#endif
