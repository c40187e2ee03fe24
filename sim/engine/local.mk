libkvsim_a_SOURCES += \
	%D%/delivery.c \
	%D%/engine.c %D%/engine.h \
	%D%/invariants.c \
	%D%/live.c %D%/live.h \
	%D%/miss.c %D%/miss.h \
	%D%/prefill_first.c %D%/prefill_first.h \
	%D%/reorder.c %D%/reorder.h \
	%D%/running_list.c %D%/running_list.h \
	%D%/running_pass.c %D%/running_pass.h \
	%D%/seen.c %D%/seen.h \
	%D%/simulation.c %D%/simulation.h \
	%D%/steady.c %D%/steady.h \
	%D%/step_wheel.c %D%/step_wheel.h \
	%D%/store.c %D%/store.h \
	%D%/store_contiguous.c \
	%D%/store_paged.c \
	%D%/store_partial.c \
	%D%/store_radix.c \
	%D%/store_tables.c %D%/store_tables.h \
	%D%/swap.c %D%/swap.h \
	%D%/waiting_pass.c %D%/waiting_pass.h
