# Benchmarks: built and run by `make bench`, never by `make check`.
EXTRA_PROGRAMS += bench_runs
bench_runs_SOURCES = %D%/bench.c
bench_runs_LDADD = $(KV_LIBS)

bench: kvsim bench_runs
	KVSIM_SHARED='$(SHARED_DIR)' $(abs_builddir)/bench_runs $(BENCH_FLAGS) $(abs_builddir)/kvsim
.PHONY: bench
