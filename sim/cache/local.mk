libkvsim_a_SOURCES += \
	%D%/block_table.c %D%/block_table.h \
	%D%/block_trace.c %D%/block_trace.h \
	%D%/buddy.c %D%/buddy.h \
	%D%/cache.c %D%/cache.h \
	%D%/cache_count.c %D%/cache_count.h \
	%D%/cache_replay.c %D%/cache_replay.h \
	%D%/content.c %D%/content.h \
	%D%/eviction_order.c %D%/eviction_order.h \
	%D%/extent.c %D%/extent.h \
	%D%/ghosts.c %D%/ghosts.h \
	%D%/hash_index.c %D%/hash_index.h \
	%D%/leaves.c %D%/leaves.h \
	%D%/partial_blocks.c %D%/partial_blocks.h \
	%D%/prefix_lookup.c %D%/prefix_lookup.h \
	%D%/radix.c %D%/radix.h \
	%D%/radix_replay.c %D%/radix_replay.h \
	%D%/stretch.c %D%/stretch.h
