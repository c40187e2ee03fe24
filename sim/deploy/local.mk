libkvsim_a_SOURCES += \
	%D%/deployment.c %D%/deployment.h \
	%D%/engine_profile.c %D%/engine_profile.h \
	%D%/host_memory.c %D%/host_memory.h \
	%D%/latency_trust.c %D%/latency_trust.h \
	%D%/measured_set.c %D%/measured_set.h \
	%D%/policy_pairs.c %D%/policy_pairs.h \
	%D%/scenario.c %D%/scenario.h \
	%D%/scenario_keys.c \
	%D%/scenario_parts.h \
	%D%/scenario_resolve.c \
	%D%/scenario_value.c \
	%D%/scenario_yaml.c \
	%D%/scored_error.c %D%/scored_error.h
