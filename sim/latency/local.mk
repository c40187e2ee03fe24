libkvsim_a_SOURCES += \
	%D%/calibration.c %D%/calibration.h \
	%D%/latency.c %D%/latency.h \
	%D%/latency_roofline.c %D%/latency_roofline.h \
	%D%/latency_setup.c %D%/latency_setup.h \
	%D%/measured_set.c %D%/measured_set.h \
	%D%/measurement.c %D%/measurement.h
