/* kvsim trace: what is in a trace file. */
#ifndef KV_SIM_CLI_TRACE_H
#define KV_SIM_CLI_TRACE_H

/* argv[0] is the command's own name. Returns the exit status. */
int kv_cli_trace(int argc, char **argv);

#endif
