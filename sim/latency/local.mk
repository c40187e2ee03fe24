libkvsim_a_SOURCES += \
	%D%/calibration.c %D%/calibration.h \
	%D%/iteration_log.c %D%/iteration_log.h \
	%D%/latency.c %D%/latency.h \
	%D%/latency_data.c %D%/latency_data.h \
	%D%/latency_linear.c %D%/latency_linear.h \
	%D%/latency_roofline.c %D%/latency_roofline.h \
	%D%/latency_setup.c %D%/latency_setup.h \
	%D%/latency_table.c %D%/latency_table.h \
	%D%/measurement.c %D%/measurement.h
