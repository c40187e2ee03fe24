# Tests: test_<module>.c are Check programs that print TAP, one line a case; cli/ holds golden scripts.
TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_COMPILER = $(SHELL)
# Cases that take a second on a quiet machine take more than Check's own four seconds on a busy one.
AM_TESTS_ENVIRONMENT = \
	CK_DEFAULT_TIMEOUT=60; export CK_DEFAULT_TIMEOUT; \
	srcdir='$(abs_top_srcdir)'; export srcdir; \
	builddir='$(abs_top_builddir)'; export builddir; \
	KVSIM_SHARED='$(SHARED_DIR)'; export KVSIM_SHARED;

# The oracle and what drives engines in memory: shared by the vector, scenario and differential tests.
noinst_LIBRARIES += liboracle.a
liboracle_a_SOURCES = \
	%D%/decisions.c %D%/decisions.h \
	%D%/oracle/admission.c \
	%D%/oracle/buddy.c %D%/oracle/buddy.h \
	%D%/oracle/cache.c %D%/oracle/cache.h \
	%D%/oracle/delivery.c \
	%D%/oracle/engine.c %D%/oracle/engine.h \
	%D%/oracle/internal.h \
	%D%/oracle/levels.c \
	%D%/oracle/list.h \
	%D%/oracle/lookup.c \
	%D%/oracle/oracle.c %D%/oracle/oracle.h \
	%D%/oracle/partial.c %D%/oracle/partial.h \
	%D%/oracle/prefill_first.c \
	%D%/oracle/queue.c \
	%D%/oracle/radix.c %D%/oracle/radix.h \
	%D%/oracle/request.c \
	%D%/oracle/running_pass.c \
	%D%/oracle/store.c \
	%D%/oracle/swap.c \
	%D%/oracle/tree.c %D%/oracle/tree.h \
	%D%/oracle/waiting_pass.c \
	%D%/random_workload.c %D%/random_workload.h \
	%D%/run_log.c %D%/run_log.h \
	%D%/workload.c %D%/workload.h

EXTRA_DIST += %D%/cli/support.sh
KV_CLI_TESTS = \
	%D%/cli/bad_scenario.sh \
	%D%/cli/calibrate.sh \
	%D%/cli/check_log.sh \
	%D%/cli/compare.sh \
	%D%/cli/engines.sh \
	%D%/cli/help.sh \
	%D%/cli/interrupt.sh \
	%D%/cli/knobs.sh \
	%D%/cli/latency_figures.sh \
	%D%/cli/list.sh \
	%D%/cli/manuals.sh \
	%D%/cli/openmetrics.sh \
	%D%/cli/pandas.sh \
	%D%/cli/presets.sh \
	%D%/cli/public_traces.sh \
	%D%/cli/queueing.sh \
	%D%/cli/readme.sh \
	%D%/cli/report.sh \
	%D%/cli/run.sh \
	%D%/cli/size.sh %D%/cli/size_knobs.sh %D%/cli/size_models.sh \
	%D%/cli/step_time.sh \
	%D%/cli/swap.sh \
	%D%/cli/trace_cache.sh \
	%D%/cli/trace_convert.sh \
	%D%/cli/trace_info.sh \
	%D%/cli/trace_validate.sh \
	%D%/cli/warm.sh
dist_check_SCRIPTS += $(KV_CLI_TESTS)
TESTS += $(KV_CLI_TESTS)

noinst_PROGRAMS += replay_vectors
replay_vectors_SOURCES = %D%/replay_vectors.c %D%/replay_radix.c %D%/replay_radix.h
dist_check_SCRIPTS += %D%/vectors.sh
TESTS += %D%/vectors.sh

check_PROGRAMS += test_scenarios
TESTS += test_scenarios
test_scenarios_SOURCES = %D%/test_scenarios.c

check_PROGRAMS += test_differential
TESTS += test_differential
test_differential_SOURCES = %D%/test_differential.c %D%/token_balance.c %D%/token_balance.h

EXTRA_DIST += \
	%D%/data/scenarios/a.json \
	%D%/data/scenarios/c.json \
	%D%/data/scenarios/g.json \
	%D%/data/scenarios/h.json \
	%D%/data/scenarios/p.json \
	%D%/data/scenarios/s.json \
	%D%/data/scenarios/t.json \
	%D%/data/scenarios/v.json

if HAVE_CHECK
KV_CHECK_TESTS =
check_PROGRAMS += $(KV_CHECK_TESTS)
TESTS += $(KV_CHECK_TESTS)

KV_CHECK_TESTS += test_pool
test_pool_SOURCES = %D%/test_pool.c %D%/support.h

KV_CHECK_TESTS += test_swap
test_swap_SOURCES = %D%/test_swap.c %D%/support.h

KV_CHECK_TESTS += test_structures
test_structures_SOURCES = %D%/test_structures.c %D%/support.h

KV_CHECK_TESTS += test_queueing
test_queueing_SOURCES = %D%/test_queueing.c %D%/support.h

KV_CHECK_TESTS += test_traps
test_traps_SOURCES = %D%/test_traps.c %D%/support.h

KV_CHECK_TESTS += test_admission
test_admission_SOURCES = %D%/test_admission.c %D%/support.h

KV_CHECK_TESTS += test_comparison
test_comparison_SOURCES = %D%/test_comparison.c %D%/support.h

KV_CHECK_TESTS += test_chrome_trace
test_chrome_trace_SOURCES = %D%/test_chrome_trace.c %D%/support.h

KV_CHECK_TESTS += test_cache_replay
test_cache_replay_SOURCES = %D%/test_cache_replay.c %D%/support.h

KV_CHECK_TESTS += test_ghosts
test_ghosts_SOURCES = %D%/test_ghosts.c %D%/support.h

KV_CHECK_TESTS += test_partial_blocks
test_partial_blocks_SOURCES = %D%/test_partial_blocks.c %D%/support.h

KV_CHECK_TESTS += test_radix
test_radix_SOURCES = %D%/test_radix.c %D%/support.h

KV_CHECK_TESTS += test_unbounded
test_unbounded_SOURCES = %D%/test_unbounded.c %D%/support.h

KV_CHECK_TESTS += test_no_evict
test_no_evict_SOURCES = %D%/test_no_evict.c %D%/support.h

KV_CHECK_TESTS += test_guide
test_guide_SOURCES = %D%/test_guide.c %D%/support.h
nodist_test_guide_SOURCES = %D%/guide_policy.c
test_guide_CPPFLAGS = $(AM_CPPFLAGS) -Itests
CLEANFILES += %D%/guide_policy.c %D%/guide_cases.h

# The first and the second block of C in the guide.
%D%/guide_policy.c: policies/README.md
	$(AM_V_GEN)$(MKDIR_P) %D% && \
	$(AWK) '/^```/ { n += /c$$/; c = /c$$/; next } c && n == 1' $(srcdir)/policies/README.md >$@
%D%/guide_cases.h: policies/README.md
	$(AM_V_GEN)$(MKDIR_P) %D% && \
	$(AWK) '/^```/ { n += /c$$/; c = /c$$/; next } c && n == 2' $(srcdir)/policies/README.md >$@
%D%/test_guide-test_guide.$(OBJEXT): %D%/guide_cases.h

KV_CHECK_TESTS += test_distribution
test_distribution_SOURCES = %D%/test_distribution.c %D%/support.h

KV_CHECK_TESTS += test_duration
test_duration_SOURCES = %D%/test_duration.c %D%/support.h

KV_CHECK_TESTS += test_explain
test_explain_SOURCES = %D%/test_explain.c %D%/support.h

KV_CHECK_TESTS += test_first_token
test_first_token_SOURCES = %D%/test_first_token.c %D%/support.h

KV_CHECK_TESTS += test_miss
test_miss_SOURCES = %D%/test_miss.c %D%/support.h

KV_CHECK_TESTS += test_number_text
test_number_text_SOURCES = %D%/test_number_text.c %D%/support.h

KV_CHECK_TESTS += test_output_file
test_output_file_SOURCES = %D%/test_output_file.c %D%/support.h

KV_CHECK_TESTS += test_progress
test_progress_SOURCES = %D%/test_progress.c %D%/support.h sim/cli/progress.c sim/cli/progress.h

KV_CHECK_TESTS += test_results
test_results_SOURCES = %D%/test_results.c %D%/support.h

KV_CHECK_TESTS += test_yaml_tree
test_yaml_tree_SOURCES = %D%/test_yaml_tree.c %D%/support.h

KV_CHECK_TESTS += test_policy
test_policy_SOURCES = %D%/test_policy.c %D%/support.h

KV_CHECK_TESTS += test_engine_profile
test_engine_profile_SOURCES = %D%/test_engine_profile.c %D%/support.h

KV_CHECK_TESTS += test_scenario
test_scenario_SOURCES = %D%/test_scenario.c %D%/support.h

KV_CHECK_TESTS += test_deployment
test_deployment_SOURCES = %D%/test_deployment.c %D%/support.h

KV_CHECK_TESTS += test_memory
test_memory_SOURCES = %D%/test_memory.c %D%/support.h

KV_CHECK_TESTS += test_profiles
test_profiles_SOURCES = %D%/test_profiles.c %D%/support.h

KV_CHECK_TESTS += test_latency
test_latency_SOURCES = %D%/test_latency.c %D%/support.h

KV_CHECK_TESTS += test_quantity
test_quantity_SOURCES = %D%/test_quantity.c %D%/support.h

KV_CHECK_TESTS += test_hardware
test_hardware_SOURCES = %D%/test_hardware.c %D%/support.h

KV_CHECK_TESTS += test_model
test_model_SOURCES = %D%/test_model.c %D%/model_facts.h %D%/support.h

KV_CHECK_TESTS += test_kv_layout
test_kv_layout_SOURCES = %D%/test_kv_layout.c %D%/model_facts.h %D%/support.h

KV_CHECK_TESTS += test_weights
test_weights_SOURCES = %D%/test_weights.c %D%/model_facts.h %D%/support.h

EXTRA_DIST += %D%/data/architectures.json
KV_CHECK_TESTS += test_architectures
test_architectures_SOURCES = %D%/test_architectures.c %D%/support.h

KV_CHECK_TESTS += test_number
test_number_SOURCES = %D%/test_number.c %D%/support.h

KV_CHECK_TESTS += test_formats
test_formats_SOURCES = %D%/test_formats.c %D%/support.h %D%/trace_file.h

KV_CHECK_TESTS += test_draw
test_draw_SOURCES = %D%/test_draw.c %D%/support.h

KV_CHECK_TESTS += test_generator
test_generator_SOURCES = %D%/test_generator.c %D%/support.h %D%/trace_file.h

KV_CHECK_TESTS += test_dependents
test_dependents_SOURCES = %D%/test_dependents.c %D%/support.h

KV_CHECK_TESTS += test_window
test_window_SOURCES = %D%/test_window.c %D%/support.h

KV_CHECK_TESTS += test_input
test_input_SOURCES = %D%/test_input.c %D%/support.h %D%/trace_file.h

KV_CHECK_TESTS += test_trace
test_trace_SOURCES = %D%/test_trace.c %D%/support.h %D%/trace_file.h

KV_CHECK_TESTS += test_trace_errors
test_trace_errors_SOURCES = %D%/test_trace_errors.c %D%/support.h %D%/trace_file.h

KV_CHECK_TESTS += test_memory_budget
test_memory_budget_SOURCES = %D%/test_memory_budget.c %D%/support.h

KV_CHECK_TESTS += test_latency_setup
test_latency_setup_SOURCES = %D%/test_latency_setup.c %D%/support.h

EXTRA_DIST += %D%/data/activation-peaks.csv
KV_CHECK_TESTS += test_memory_peaks
test_memory_peaks_SOURCES = %D%/test_memory_peaks.c %D%/support.h

EXTRA_DIST += %D%/data/sizing-cases.csv
KV_CHECK_TESTS += test_sizing_cases
test_sizing_cases_SOURCES = %D%/test_sizing_cases.c %D%/support.h

KV_CHECK_TESTS += test_log
test_log_SOURCES = %D%/test_log.c %D%/support.h

KV_CHECK_TESTS += test_sizing
test_sizing_SOURCES = %D%/test_sizing.c %D%/support.h
KV_CHECK_TESTS += test_calibration
test_calibration_SOURCES = %D%/test_calibration.c %D%/support.h

KV_CHECK_TESTS += test_measurement
test_measurement_SOURCES = %D%/test_measurement.c %D%/support.h

KV_CHECK_TESTS += test_latency_backends
test_latency_backends_SOURCES = %D%/test_latency_backends.c %D%/support.h
endif
