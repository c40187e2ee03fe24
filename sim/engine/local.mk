libkvsim_a_SOURCES += \
	%D%/engine.c %D%/engine.h \
	%D%/invariants.c \
	%D%/live.c \
	%D%/live_blocks.c \
	%D%/miss.c %D%/miss.h \
	%D%/running_list.c \
	%D%/seen.c %D%/seen.h \
	%D%/simulation.c \
	%D%/simulation.h \
	%D%/steady.c \
	%D%/step_wheel.c %D%/step_wheel.h
