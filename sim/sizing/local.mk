libkvsim_a_SOURCES += \
	%D%/cache_offers.c %D%/cache_offers.h \
	%D%/log_check.c %D%/log_check.h %D%/log_checker.h \
	%D%/log_engine_pools.c \
	%D%/log_facts.c %D%/log_facts.h %D%/log_lines.c %D%/log_lines.h \
	%D%/log_patterns.c %D%/log_patterns.h %D%/log_reader.c \
	%D%/log_readings.c %D%/log_readings.h \
	%D%/log_settings.c \
	%D%/log_pool_check.c \
	%D%/log_weights_check.c \
	%D%/memory_budget.c %D%/memory_budget.h \
	%D%/memory_peaks.c %D%/memory_peaks.h \
	%D%/remedies.c %D%/remedies.h \
	%D%/sizing.c %D%/sizing.h \
	%D%/window_pools.c %D%/window_pools.h
