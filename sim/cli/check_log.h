/* kvsim check-log: does what an engine printed at start-up follow from itself? */
#ifndef KV_SIM_CLI_CHECK_LOG_H
#define KV_SIM_CLI_CHECK_LOG_H

int kv_cli_check_log(int argc, char **argv);

#endif
