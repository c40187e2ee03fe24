# Results: recorders and writers.
libkvsim_a_SOURCES += \
	%D%/bootstrap.c %D%/bootstrap.h \
	%D%/charts.c %D%/charts.h \
	%D%/chrome_trace.c %D%/chrome_trace.h \
	%D%/compared_run.c %D%/compared_run.h \
	%D%/comparison.c %D%/comparison.h \
	%D%/comparison_cells.c \
	%D%/comparison_html.c \
	%D%/comparison_json.c \
	%D%/comparison_text.c \
	%D%/concurrency.c %D%/concurrency.h \
	%D%/csv_text.c %D%/csv_text.h \
	%D%/distribution.c %D%/distribution.h \
	%D%/duration.c %D%/duration.h \
	%D%/events_csv.c %D%/events_csv.h \
	%D%/explain.c %D%/explain.h \
	%D%/explain_exhausted.c \
	%D%/explain_first_tokens.c \
	%D%/explain_misses.c \
	%D%/explain_unanswered.c \
	%D%/explain_questions.h \
	%D%/facts.c %D%/facts.h \
	%D%/finding.c %D%/finding.h \
	%D%/html.c %D%/html.h \
	%D%/insight.c %D%/insight.h \
	%D%/json_text.c %D%/json_text.h \
	%D%/level_sums.h \
	%D%/manifest.c %D%/manifest.h \
	%D%/metrics_om.c %D%/metrics_om.h \
	%D%/number_text.c %D%/number_text.h \
	%D%/output_file.c %D%/output_file.h \
	%D%/report.c %D%/report.h \
	%D%/report_again.c \
	%D%/report_assets.h \
	%D%/report_basis.c \
	%D%/report_charts.c \
	%D%/report_numbers.c \
	%D%/report_parts.h \
	%D%/report_who.c \
	%D%/requests_csv.c %D%/requests_csv.h \
	%D%/result_folder.c %D%/result_folder.h \
	%D%/results.c %D%/results.h \
	%D%/results_options.c \
	%D%/retries.c %D%/retries.h \
	%D%/summary.c %D%/summary.h \
	%D%/summary_json.c \
	%D%/summary_text.c \
	%D%/timeline.c %D%/timeline.h
nodist_libkvsim_a_SOURCES += %D%/report_assets.c
EXTRA_DIST += %D%/README.md %D%/report/embed.sh %D%/report/report.css %D%/report/report.js
CLEANFILES += %D%/report_assets.c

# What report.html contains, as arrays of bytes.
%D%/report_assets.c: %D%/report/embed.sh %D%/report/report.css %D%/report/report.js Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && $(SHELL) $(srcdir)/%D%/report/embed.sh \
		dygraphs_css=$(DYGRAPHS_DIR)/dygraph.min.css dygraphs_js=$(DYGRAPHS_DIR)/dygraph.min.js \
		synchronizer_js=$(DYGRAPHS_DIR)/extras/synchronizer.js \
		report_css=$(srcdir)/%D%/report/report.css report_js=$(srcdir)/%D%/report/report.js >$@.tmp && mv $@.tmp $@

# Published experiments, each with its script, inputs' names and outputs.
EXTRA_DIST += \
	%D%/studies/eviction/README.md \
	%D%/studies/eviction/eviction.sh \
	%D%/studies/eviction/hits.csv \
	%D%/studies/eviction/hits.svg \
	%D%/studies/latency/README.md \
	%D%/studies/latency/scoreboard.csv \
	%D%/studies/latency/scoreboard.sh \
	%D%/studies/latency/served.csv \
	%D%/studies/latency/served.sh \
	%D%/studies/memory-waste/README.md \
	%D%/studies/memory-waste/alpaca-like.yaml \
	%D%/studies/memory-waste/figure.svg \
	%D%/studies/memory-waste/paper.csv \
	%D%/studies/memory-waste/sharegpt-like.yaml \
	%D%/studies/memory-waste/study.sh \
	%D%/studies/memory-waste/table.csv \
	%D%/studies/reserve-or-preempt/README.md \
	%D%/studies/reserve-or-preempt/figure.svg \
	%D%/studies/reserve-or-preempt/study.sh \
	%D%/studies/reserve-or-preempt/sweep.csv \
	%D%/studies/reserve-or-preempt/table.csv \
	%D%/studies/support.sh
