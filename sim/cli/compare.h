/* kvsim compare: one workload on several variants of a deployment, and what differs. */
#ifndef KV_SIM_CLI_COMPARE_H
#define KV_SIM_CLI_COMPARE_H

int kv_cli_compare(int argc, char **argv);

#endif
