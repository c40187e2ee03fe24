# Workloads: one file a trace format, registry.c the one list of them; samples/ ships small traces.
libkvsim_a_SOURCES += \
	%D%/azure.c \
	%D%/bailian.c \
	%D%/block_ids.c %D%/block_ids.h \
	%D%/burstgpt.c \
	%D%/csv.c %D%/csv.h \
	%D%/dependents.c %D%/dependents.h \
	%D%/document.c %D%/document.h \
	%D%/format.h \
	%D%/formats.h \
	%D%/ids.c %D%/ids.h \
	%D%/input.c %D%/input.h \
	%D%/jsonl.c %D%/jsonl.h \
	%D%/kvsim.c \
	%D%/lengths.c \
	%D%/llmservingsim.c \
	%D%/mooncake.c \
	%D%/number.c %D%/number.h \
	%D%/registry.c \
	%D%/row.c \
	%D%/row_heap.c %D%/row_heap.h \
	%D%/servegen_offline.c \
	%D%/splitwise.c \
	%D%/trace.c %D%/trace.h \
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
