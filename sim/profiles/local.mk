# Profiles, in alphabetical order of each kind.
KV_MODEL_PROFILES = \
	%D%/models/bloom-176b.json \
	%D%/models/codellama-34b.json \
	%D%/models/deepseek-v2.json \
	%D%/models/deepseek-v2-lite.json \
	%D%/models/deepseek-v3.json \
	%D%/models/deepseek-v4-flash.json \
	%D%/models/deepseek-v4-pro.json \
	%D%/models/falcon-40b.json \
	%D%/models/falcon-7b.json \
	%D%/models/gemma-2-27b.json \
	%D%/models/gemma-2-9b.json \
	%D%/models/gemma-3-12b.json \
	%D%/models/gemma-3-27b.json \
	%D%/models/gemma-4-31b.json \
	%D%/models/gpt-oss-120b.json \
	%D%/models/gpt-oss-20b.json \
	%D%/models/internlm-20b.json \
	%D%/models/jamba-v0.1.json \
	%D%/models/kimi-k2.json \
	%D%/models/llama-2-13b.json \
	%D%/models/llama-2-70b.json \
	%D%/models/llama-2-7b.json \
	%D%/models/llama-3.1-405b.json \
	%D%/models/llama-3.1-70b.json \
	%D%/models/llama-3.1-8b.json \
	%D%/models/llama-3.2-1b.json \
	%D%/models/llama-3.2-3b.json \
	%D%/models/llama-4-scout.json \
	%D%/models/minimax-m2.5.json \
	%D%/models/mistral-7b-v0.1.json \
	%D%/models/mistral-7b-v0.2.json \
	%D%/models/mistral-nemo-12b.json \
	%D%/models/mixtral-8x22b.json \
	%D%/models/mixtral-8x7b.json \
	%D%/models/opt-13b.json \
	%D%/models/phi-2.json \
	%D%/models/phi-3-medium.json \
	%D%/models/phi-3-mini.json \
	%D%/models/phi-4.json \
	%D%/models/phi-4-mini.json \
	%D%/models/qwen-72b.json \
	%D%/models/qwen-7b.json \
	%D%/models/qwen1.5-14b.json \
	%D%/models/qwen1.5-72b.json \
	%D%/models/qwen2.5-14b.json \
	%D%/models/qwen2.5-32b.json \
	%D%/models/qwen2.5-72b.json \
	%D%/models/qwen2.5-7b.json \
	%D%/models/qwen3-14b.json \
	%D%/models/qwen3-235b-a22b.json \
	%D%/models/qwen3-30b-a3b.json \
	%D%/models/qwen3-32b.json \
	%D%/models/qwen3-4b.json \
	%D%/models/qwen3-8b.json \
	%D%/models/qwen3-next-80b-a3b.json \
	%D%/models/qwen3.5-27b.json \
	%D%/models/yi-34b.json
KV_HARDWARE_PROFILES = \
	%D%/hardware/a100-40gb.yaml \
	%D%/hardware/a100-80gb.yaml \
	%D%/hardware/a100-pcie-80gb.yaml \
	%D%/hardware/a10g.yaml \
	%D%/hardware/a40.yaml \
	%D%/hardware/b200.yaml \
	%D%/hardware/b300.yaml \
	%D%/hardware/gb200.yaml \
	%D%/hardware/gb300.yaml \
	%D%/hardware/h100-pcie.yaml \
	%D%/hardware/h100-sxm.yaml \
	%D%/hardware/h200.yaml \
	%D%/hardware/l4.yaml \
	%D%/hardware/l40s.yaml \
	%D%/hardware/mi300x.yaml \
	%D%/hardware/rtx-4090.yaml \
	%D%/hardware/rtx-pro-6000.yaml
KV_ENGINE_PROFILES = \
	%D%/engines/eager-2023.yaml \
	%D%/engines/llama.cpp-2026-08.yaml \
	%D%/engines/orca-max.yaml \
	%D%/engines/orca-oracle.yaml \
	%D%/engines/orca-pow2.yaml \
	%D%/engines/sglang-2026-07.yaml \
	%D%/engines/static-batching.yaml \
	%D%/engines/trtllm-2024.yaml \
	%D%/engines/trtllm-2026-08.yaml \
	%D%/engines/trtllm-guaranteed-no-evict.yaml \
	%D%/engines/trtllm-max-utilization.yaml \
	%D%/engines/vllm-0.11.yaml \
	%D%/engines/vllm-0.19.yaml \
	%D%/engines/vllm-0.5.yaml \
	%D%/engines/vllm-2026-08.yaml
KV_PRESETS = \
	workloads/presets/agents.yaml \
	workloads/presets/chat.yaml \
	workloads/presets/few-huge-among-many-small.yaml \
	workloads/presets/long-documents.yaml \
	workloads/presets/noisy-neighbour.yaml \
	workloads/presets/policy-revision.yaml \
	workloads/presets/rag.yaml \
	workloads/presets/summarise.yaml
KV_PROFILE_FILES = $(KV_ENGINE_PROFILES) $(KV_HARDWARE_PROFILES) $(KV_MODEL_PROFILES) $(KV_PRESETS)

EXTRA_DIST += %D%/embed.awk $(KV_PROFILE_FILES)

libkvsim_a_SOURCES += \
	%D%/hardware.c %D%/hardware.h \
	%D%/profiles.c %D%/profiles.h \
	%D%/served_figures.c %D%/served_figures.h
nodist_libkvsim_a_SOURCES = %D%/profiles_data.c
CLEANFILES += %D%/profiles_data.c

%D%/profiles_data.c: %D%/embed.awk $(KV_PROFILE_FILES)
	$(AM_V_GEN)$(MKDIR_P) %D% && \
	(for f in $(KV_PROFILE_FILES); do echo "$(srcdir)/$$f"; done | \
		LC_ALL=C xargs $(AWK) -f $(srcdir)/%D%/embed.awk) >$@.tmp && mv $@.tmp $@
