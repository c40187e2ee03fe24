# Policies: one folder a kind, one file a policy, registry.c the one list of them.
libkvsim_a_SOURCES += \
	%D%/admission/deadline.c \
	%D%/admission/gate.h \
	%D%/admission/greedy.c \
	%D%/admission/growth_ratio.c \
	%D%/admission/max_utilization.c \
	%D%/admission/no_evict.c \
	%D%/admission/prompt_fits.c \
	%D%/admission/queue_limit.c \
	%D%/admission/rate_limit.c \
	%D%/admission/reserve_fraction.c \
	%D%/admission/static_batch.c \
	%D%/allocation/contiguous_exact.c \
	%D%/allocation/contiguous_max.c \
	%D%/allocation/contiguous_pow2.c \
	%D%/allocation/paged.c \
	%D%/eviction/arc.c \
	%D%/eviction/belady.c \
	%D%/eviction/cost_aware.c \
	%D%/eviction/fifo.c \
	%D%/eviction/filo.c \
	%D%/eviction/history.h \
	%D%/eviction/lfu.c \
	%D%/eviction/lru.c \
	%D%/eviction/mru.c \
	%D%/eviction/priority.c \
	%D%/eviction/s3_fifo.c \
	%D%/eviction/sieve.c \
	%D%/eviction/slru.c \
	%D%/eviction/tail_optimised.c \
	%D%/eviction/ttl.c \
	%D%/policies.h \
	%D%/preemption/fewest_outputs.c \
	%D%/preemption/latest.c \
	%D%/preemption/mode.h \
	%D%/preemption/priority.c \
	%D%/prefix/block_hash.c \
	%D%/prefix/none.c \
	%D%/prefix/radix.c \
	%D%/registry.c \
	%D%/scheduling/earliest_deadline.c \
	%D%/scheduling/fair_share.c \
	%D%/scheduling/fcfs.c \
	%D%/scheduling/longest_prefix_match.c \
	%D%/scheduling/priority.c \
	%D%/scheduling/shortest_prompt.c
EXTRA_DIST += %D%/README.md
