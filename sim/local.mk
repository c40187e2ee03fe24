bin_PROGRAMS += kvsim
kvsim_SOURCES = \
	%D%/cli/calibrate.c %D%/cli/calibrate.h \
	%D%/cli/calibrate_against.c \
	%D%/cli/calibrate_fit.c \
	%D%/cli/calibrate_profile.c %D%/cli/calibrate_profile.h \
	%D%/cli/calibrate_run.c \
	%D%/cli/calibrate_score.c \
	%D%/cli/calibrate_served.c %D%/cli/calibrate_served.h \
	%D%/cli/check_log.c %D%/cli/check_log.h \
	%D%/cli/command.c %D%/cli/command.h \
	%D%/cli/compare.c %D%/cli/compare.h \
	%D%/cli/list.c %D%/cli/list.h \
	%D%/cli/main.c \
	%D%/cli/measured_deployment.c %D%/cli/measured_deployment.h \
	%D%/cli/measured_run.c %D%/cli/measured_run.h \
	%D%/cli/options.c %D%/cli/options.h \
	%D%/cli/progress.c %D%/cli/progress.h \
	%D%/cli/refused_rows.c %D%/cli/refused_rows.h \
	%D%/cli/replay.c %D%/cli/replay.h \
	%D%/cli/report.c %D%/cli/report.h \
	%D%/cli/run.c %D%/cli/run.h \
	%D%/cli/score_report.c %D%/cli/score_report.h \
	%D%/cli/size.c %D%/cli/size.h \
	%D%/cli/size_cards.c \
	%D%/cli/size_drafter.c \
	%D%/cli/size_explain.c \
	%D%/cli/size_explain_memory.c \
	%D%/cli/size_json.c \
	%D%/cli/size_remedies.c \
	%D%/cli/size_sensitivity.c \
	%D%/cli/size_text.c \
	%D%/cli/size_trace.c \
	%D%/cli/trace.c %D%/cli/trace.h \
	%D%/cli/trace_cache.c \
	%D%/cli/trace_convert.c \
	%D%/cli/trace_file.c %D%/cli/trace_file.h \
	%D%/cli/trace_generate.c \
	%D%/cli/trace_info.c \
	%D%/cli/trace_validate.c \
	%D%/cli/trace_writer.c %D%/cli/trace_writer.h \
	%D%/cli/variant.c %D%/cli/variant.h
kvsim_LDADD = $(KV_LIBS)
kvsim_LDFLAGS = $(KV_LTO)

# Manual pages: made by help2man from the program's own help and a file of what help cannot say, and shipped.
KV_MANUALS = \
	%D%/cli/kvsim.1 \
	%D%/cli/kvsim-calibrate.1 \
	%D%/cli/kvsim-check-log.1 \
	%D%/cli/kvsim-compare.1 \
	%D%/cli/kvsim-list.1 \
	%D%/cli/kvsim-report.1 \
	%D%/cli/kvsim-run.1 \
	%D%/cli/kvsim-size.1 \
	%D%/cli/kvsim-trace.1 \
	%D%/cli/kvsim-trace-cache.1 \
	%D%/cli/kvsim-trace-convert.1 \
	%D%/cli/kvsim-trace-generate.1 \
	%D%/cli/kvsim-trace-info.1 \
	%D%/cli/kvsim-trace-validate.1
dist_man_MANS += $(KV_MANUALS)
EXTRA_DIST += $(KV_MANUALS:.1=.x) %D%/cli/manual.sh %D%/cli/manual.x
MAINTAINERCLEANFILES += $(KV_MANUALS)
SUFFIXES += .x .1

$(KV_MANUALS): configure.ac %D%/cli/manual.sh %D%/cli/manual.x $(kvsim_SOURCES) $(libkvsim_a_SOURCES) | kvsim$(EXEEXT)
.x.1:
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	$(SHELL) $(srcdir)/sim/cli/manual.sh '$(HELP2MAN)' ./kvsim$(EXEEXT) '$(VERSION)' $< $@.tmp && mv $@.tmp $@

dist_man_MANS += %D%/cli/kvsim-formats.5
EXTRA_DIST += %D%/cli/formats.sh
MAINTAINERCLEANFILES += %D%/cli/kvsim-formats.5

%D%/cli/kvsim-formats.5: configure.ac %D%/cli/formats.sh $(kvsim_SOURCES) $(libkvsim_a_SOURCES) | kvsim$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(SHELL) $(srcdir)/sim/cli/formats.sh ./kvsim$(EXEEXT) '$(VERSION)' $@.tmp && mv $@.tmp $@

libkvsim_a_SOURCES += \
	%D%/engine_config.h \
	%D%/policy.c %D%/policy.h \
	%D%/record.c %D%/record.h \
	%D%/request.h

include %D%/base/local.mk
include %D%/cache/local.mk
include %D%/deploy/local.mk
include %D%/engine/local.mk
include %D%/latency/local.mk
include %D%/model/local.mk
include %D%/profiles/local.mk
include %D%/sizing/local.mk
