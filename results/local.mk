# Results: recorders and writers.
libkvsim_a_SOURCES += \
	%D%/csv_text.c %D%/csv_text.h \
	%D%/distribution.c %D%/distribution.h \
	%D%/events_csv.c %D%/events_csv.h \
	%D%/json_text.c %D%/json_text.h \
	%D%/level_sums.h \
	%D%/manifest.c %D%/manifest.h \
	%D%/number_text.c %D%/number_text.h \
	%D%/output_file.c %D%/output_file.h \
	%D%/requests_csv.c %D%/requests_csv.h \
	%D%/result_folder.c %D%/result_folder.h \
	%D%/results.c %D%/results.h \
	%D%/results_options.c \
	%D%/summary.c %D%/summary.h \
	%D%/summary_json.c \
	%D%/summary_text.c \
	%D%/timeline.c %D%/timeline.h
