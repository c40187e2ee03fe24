# Profiles, in alphabetical order of each kind.
KV_MODEL_PROFILES = \
	%D%/models/llama-3.1-8b.json
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
	%D%/engines/vllm-0.11.yaml \
	%D%/engines/vllm-0.19.yaml \
	%D%/engines/vllm-2026-08.yaml
KV_PROFILE_FILES = $(KV_ENGINE_PROFILES) $(KV_HARDWARE_PROFILES) $(KV_MODEL_PROFILES)

EXTRA_DIST += %D%/embed.awk $(KV_PROFILE_FILES)

libkvsim_a_SOURCES += %D%.c %D%.h
nodist_libkvsim_a_SOURCES = %D%_data.c
CLEANFILES += %D%_data.c

%D%_data.c: %D%/embed.awk $(KV_PROFILE_FILES)
	$(AM_V_GEN)$(MKDIR_P) %D% && \
	(for f in $(KV_PROFILE_FILES); do echo "$(srcdir)/$$f"; done | \
		LC_ALL=C xargs $(AWK) -f $(srcdir)/%D%/embed.awk) >$@.tmp && mv $@.tmp $@
