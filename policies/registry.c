#include "config.h"

#include "policies/policies.h"

const struct kv_policy *const kv_policy_registry[] = {
	&kv_allocation_paged,
	&kv_allocation_contiguous_max,
	&kv_allocation_contiguous_pow2,
	&kv_allocation_contiguous_exact,
	&kv_admission_prompt_fits,
	&kv_admission_greedy,
	&kv_admission_no_evict,
	&kv_scheduling_fcfs,
	&kv_scheduling_priority,
	&kv_scheduling_shortest_prompt,
	&kv_preemption_latest,
	&kv_preemption_priority,
	&kv_prefix_none,
	&kv_prefix_block_hash,
	&kv_eviction_lru,
	&kv_eviction_fifo,
	&kv_eviction_lfu,
	&kv_eviction_mru,
	&kv_eviction_filo,
	&kv_eviction_slru,
	&kv_eviction_s3_fifo,
	&kv_eviction_sieve,
	&kv_eviction_arc,
	&kv_eviction_ttl,
	&kv_eviction_priority,
	&kv_eviction_cost_aware,
	&kv_eviction_tail_optimised,
	NULL
};
