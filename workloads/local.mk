# Workloads: one file a trace format, registry.c the one list of them; samples/ ships small traces.
