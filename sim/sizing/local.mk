libkvsim_a_SOURCES += \
	%D%/memory_budget.c %D%/memory_budget.h \
	%D%/memory_peaks.c %D%/memory_peaks.h \
	%D%/sizing.c %D%/sizing.h
