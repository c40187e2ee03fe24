# Results: recorders and writers.
libkvsim_a_SOURCES += \
	%D%/distribution.c %D%/distribution.h \
	%D%/number_text.c %D%/number_text.h \
	%D%/output_file.c %D%/output_file.h \
	%D%/results.h
