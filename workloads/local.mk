# Workloads: one file a trace format, registry.c the one list of them; samples/ ships small traces.
libkvsim_a_SOURCES += \
	%D%/aibrix.c \
	%D%/aiperf.c \
	%D%/arrivals.c %D%/arrivals.h \
	%D%/azure.c \
	%D%/bailian.c \
	%D%/blis.c \
	%D%/block_ids.c %D%/block_ids.h \
	%D%/block_watch.c %D%/block_watch.h \
	%D%/burstgpt.c \
	%D%/chains.c %D%/chains.h \
	%D%/copilot.c \
	%D%/csv.c %D%/csv.h \
	%D%/dependents.c %D%/dependents.h \
	%D%/document.c %D%/document.h \
	%D%/doubts.c %D%/doubts.h \
	%D%/draw.c %D%/draw.h \
	%D%/files.c %D%/files.h \
	%D%/format.h \
	%D%/formats.h \
	%D%/generator.c \
	%D%/ids.c %D%/ids.h \
	%D%/input.c %D%/input.h \
	%D%/json_arena.c %D%/json_arena.h \
	%D%/jsonl.c %D%/jsonl.h \
	%D%/kv_cache_tester.c \
	%D%/kvsim.c \
	%D%/lengths.c \
	%D%/llmservingsim.c \
	%D%/llmservingsim_sessions.c \
	%D%/load.c %D%/load.h \
	%D%/load_values.c %D%/load_values.h \
	%D%/mooncake.c \
	%D%/number.c %D%/number.h \
	%D%/pool.c %D%/pool.h \
	%D%/prefix_index.c %D%/prefix_index.h \
	%D%/ragpulse.c \
	%D%/registry.c \
	%D%/row.c \
	%D%/row_heap.c %D%/row_heap.h \
	%D%/sent_rows.c %D%/sent_rows.h \
	%D%/servegen.c \
	%D%/servegen_offline.c \
	%D%/sessions.c %D%/sessions.h \
	%D%/splitwise.c \
	%D%/trace.c %D%/trace.h \
	%D%/trace_parts.h \
	%D%/trace_rows.c \
	%D%/trace_source.c \
	%D%/tracelab.c \
	%D%/tracelab_rounds.c \
	%D%/vidur.c \
	%D%/vllm_bench.c \
	%D%/vllm_timed.c \
	%D%/window.c %D%/window.h

samplesdir = $(pkgdatadir)/samples
dist_samples_DATA = \
	%D%/samples/README.md \
	%D%/samples/chat.csv \
	%D%/samples/long-documents.csv \
	%D%/samples/long-documents.yaml
