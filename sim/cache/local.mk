libkvsim_a_SOURCES += \
	%D%/block_table.c \
	%D%/buddy.c %D%/buddy.h \
	%D%/cache.c %D%/cache.h \
	%D%/content.c %D%/content.h \
	%D%/eviction_order.c \
	%D%/extent.c \
	%D%/ghosts.c %D%/ghosts.h \
	%D%/prefix_lookup.c
