# Fuzz targets, built on request by "make fuzz". Configured with CC=clang-14 --enable-fuzzing they are libFuzzer programs;
# otherwise they replay the files that they are given.
KV_FUZZ_TARGETS = fuzz_log fuzz_settings fuzz_trace
EXTRA_PROGRAMS += $(KV_FUZZ_TARGETS)
CLEANFILES += $(KV_FUZZ_TARGETS)
EXTRA_DIST += %D%/corpus

if LIBFUZZER
KV_FUZZ_MAIN = %D%/fuzz_file.h
KV_FUZZER_FLAGS = -fsanitize=fuzzer
else
KV_FUZZ_MAIN = %D%/fuzz_main.c %D%/fuzz_file.h
KV_FUZZER_FLAGS =
endif

fuzz_log_SOURCES = %D%/fuzz_log.c $(KV_FUZZ_MAIN)
fuzz_log_LDADD = $(KV_LIBS)
fuzz_log_LDFLAGS = $(KV_FUZZER_FLAGS)

fuzz_settings_SOURCES = %D%/fuzz_settings.c $(KV_FUZZ_MAIN)
fuzz_settings_LDADD = $(KV_LIBS)
fuzz_settings_LDFLAGS = $(KV_FUZZER_FLAGS)

fuzz_trace_SOURCES = %D%/fuzz_trace.c $(KV_FUZZ_MAIN)
fuzz_trace_LDADD = $(KV_LIBS)
fuzz_trace_LDFLAGS = $(KV_FUZZER_FLAGS)

fuzz: $(KV_FUZZ_TARGETS)

# A run of a few seconds for each target, from the corpus on; the corpus itself stays as it is.
KV_FUZZ_SECONDS = 20
fuzz-run: fuzz
	@for target in $(KV_FUZZ_TARGETS); do \
		corpus=$(srcdir)/%D%/corpus/$${target#fuzz_}; \
		mkdir -p fuzz-found/$$target; \
		echo "$$target:"; \
		./$$target -max_total_time=$(KV_FUZZ_SECONDS) -max_len=4096 -verbosity=0 -print_final_stats=1 \
			fuzz-found/$$target $$corpus || exit 1; \
	done

.PHONY: fuzz fuzz-run
