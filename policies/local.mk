# Policies: one folder a kind, one file a policy, registry.c the one list of them.
