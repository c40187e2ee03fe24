libkvsim_a_SOURCES += \
	%D%/deployment.c %D%/deployment.h \
	%D%/engine_profile.c %D%/engine_profile.h \
	%D%/hardware.c %D%/hardware.h \
	%D%/scenario.c %D%/scenario.h
