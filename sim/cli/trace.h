/* kvsim trace and its actions, one file each. */
#ifndef KV_SIM_CLI_TRACE_H
#define KV_SIM_CLI_TRACE_H

/* argv[0] is the command's own name. Each returns the exit status. */
int kv_cli_trace(int argc, char **argv);
int kv_cli_trace_validate(int argc, char **argv);
int kv_cli_trace_info(int argc, char **argv);
int kv_cli_trace_cache(int argc, char **argv);
int kv_cli_trace_convert(int argc, char **argv);
int kv_cli_trace_generate(int argc, char **argv);

#endif
