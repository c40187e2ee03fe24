# Profiles, in alphabetical order of each kind.
KV_MODEL_PROFILES = \
	%D%/models/llama-3.1-8b.json
KV_HARDWARE_PROFILES =
KV_ENGINE_PROFILES =
KV_PROFILE_FILES = $(KV_ENGINE_PROFILES) $(KV_HARDWARE_PROFILES) $(KV_MODEL_PROFILES)

EXTRA_DIST += %D%/embed.awk $(KV_PROFILE_FILES)

libkvsim_a_SOURCES += %D%.c %D%.h
nodist_libkvsim_a_SOURCES = %D%_data.c
CLEANFILES += %D%_data.c

%D%_data.c: %D%/embed.awk $(KV_PROFILE_FILES)
	$(AM_V_GEN)$(MKDIR_P) %D% && \
	(for f in $(KV_PROFILE_FILES); do echo "$(srcdir)/$$f"; done | \
		LC_ALL=C xargs $(AWK) -f $(srcdir)/%D%/embed.awk) >$@.tmp && mv $@.tmp $@
