/* kvsim report: the page of a result folder again, or what there is to look at. */
#ifndef KV_SIM_CLI_REPORT_H
#define KV_SIM_CLI_REPORT_H

int kv_cli_report(int argc, char **argv);

#endif
