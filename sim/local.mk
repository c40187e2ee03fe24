bin_PROGRAMS += kvsim
kvsim_SOURCES = \
	%D%/cli/calibrate.c %D%/cli/calibrate.h \
	%D%/cli/calibrate_against.c \
	%D%/cli/calibrate_fit.c \
	%D%/cli/calibrate_profile.c %D%/cli/calibrate_profile.h \
	%D%/cli/calibrate_score.c \
	%D%/cli/calibrate_served.c %D%/cli/calibrate_served.h \
	%D%/cli/command.c %D%/cli/command.h \
	%D%/cli/compare.c %D%/cli/compare.h \
	%D%/cli/list.c %D%/cli/list.h \
	%D%/cli/main.c \
	%D%/cli/measured_run.c %D%/cli/measured_run.h \
	%D%/cli/options.c %D%/cli/options.h \
	%D%/cli/progress.c %D%/cli/progress.h \
	%D%/cli/replay.c %D%/cli/replay.h \
	%D%/cli/report.c %D%/cli/report.h \
	%D%/cli/run.c %D%/cli/run.h \
	%D%/cli/size.c %D%/cli/size.h \
	%D%/cli/size_explain.c \
	%D%/cli/size_json.c \
	%D%/cli/size_sensitivity.c \
	%D%/cli/size_text.c \
	%D%/cli/score_report.c %D%/cli/score_report.h \
	%D%/cli/trace.c %D%/cli/trace.h \
	%D%/cli/variant.c %D%/cli/variant.h
kvsim_LDADD = $(KV_LIBS)

# Manual pages: made by help2man from the program's own help and a file of what help cannot say, and shipped.
KV_MANUALS = \
	%D%/cli/kvsim.1 \
	%D%/cli/kvsim-calibrate.1 \
	%D%/cli/kvsim-compare.1 \
	%D%/cli/kvsim-list.1 \
	%D%/cli/kvsim-report.1 \
	%D%/cli/kvsim-run.1 \
	%D%/cli/kvsim-size.1 \
	%D%/cli/kvsim-trace.1 \
	%D%/cli/kvsim-trace-validate.1
dist_man_MANS += $(KV_MANUALS)
EXTRA_DIST += $(KV_MANUALS:.1=.x) %D%/cli/manual.sh %D%/cli/manual.x
MAINTAINERCLEANFILES += $(KV_MANUALS)
SUFFIXES += .x .1

$(KV_MANUALS): configure.ac %D%/cli/manual.sh %D%/cli/manual.x $(kvsim_SOURCES) $(libkvsim_a_SOURCES) | kvsim$(EXEEXT)
.x.1:
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	$(SHELL) $(srcdir)/sim/cli/manual.sh '$(HELP2MAN)' ./kvsim$(EXEEXT) '$(VERSION)' $< $@.tmp && mv $@.tmp $@

libkvsim_a_SOURCES += \
	%D%/block_table.c \
	%D%/buddy.c %D%/buddy.h \
	%D%/cache.c %D%/cache.h \
	%D%/content.c %D%/content.h \
	%D%/eviction_order.c \
	%D%/extent.c \
	%D%/config_fields.c %D%/config_fields.h \
	%D%/calibration.c %D%/calibration.h \
	%D%/csv_table.c %D%/csv_table.h \
	%D%/deployment.c %D%/deployment.h \
	%D%/engine_config.h \
	%D%/engine_profile.c %D%/engine_profile.h \
	%D%/engine.c %D%/engine.h \
	%D%/error.c %D%/error.h \
	%D%/heap.c %D%/heap.h \
	%D%/invariants.c \
	%D%/live.c \
	%D%/live_blocks.c \
	%D%/hardware.c %D%/hardware.h \
	%D%/kv_layout.c %D%/kv_layout.h \
	%D%/latency.c %D%/latency.h \
	%D%/latency_data.c %D%/latency_data.h \
	%D%/latency_linear.c %D%/latency_linear.h \
	%D%/latency_roofline.c %D%/latency_roofline.h \
	%D%/latency_setup.c %D%/latency_setup.h \
	%D%/latency_table.c %D%/latency_table.h \
	%D%/latency_trust.c %D%/latency_trust.h \
	%D%/measured_set.c %D%/measured_set.h \
	%D%/measurement.c %D%/measurement.h \
	%D%/memory.c %D%/memory.h \
	%D%/memory_budget.c %D%/memory_budget.h \
	%D%/memory_peaks.c %D%/memory_peaks.h \
	%D%/miss.c %D%/miss.h \
	%D%/model.c %D%/model.h \
	%D%/model_config.c %D%/model_config.h \
	%D%/model_family.c %D%/model_family.h \
	%D%/model_layers.c \
	%D%/model_quantization.c \
	%D%/names.c %D%/names.h \
	%D%/param.c %D%/param.h \
	%D%/policy.c %D%/policy.h \
	%D%/quantity.c %D%/quantity.h \
	%D%/prefix_lookup.c \
	%D%/random.c %D%/random.h \
	%D%/record.c %D%/record.h \
	%D%/remarks.c %D%/remarks.h \
	%D%/request.h \
	%D%/running_list.c \
	%D%/scenario.c %D%/scenario.h \
	%D%/simulation.h \
	%D%/seen.c %D%/seen.h \
	%D%/sizing.c %D%/sizing.h \
	%D%/simulation.c \
	%D%/steady.c \
	%D%/step_wheel.c %D%/step_wheel.h \
	%D%/units.h \
	%D%/weights.c %D%/weights.h \
	%D%/yaml_tree.c %D%/yaml_tree.h

include %D%/profiles/local.mk
