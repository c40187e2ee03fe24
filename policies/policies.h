/* The descriptors that policies/registry.c lists. Adding a policy = a new file, a line here and in the registry, a
 * build line, a test case. */
#ifndef KV_POLICIES_POLICIES_H
#define KV_POLICIES_POLICIES_H

#include "sim/policy.h"

extern const struct kv_policy kv_allocation_paged;
extern const struct kv_policy kv_allocation_contiguous_max;
extern const struct kv_policy kv_allocation_contiguous_pow2;
extern const struct kv_policy kv_allocation_contiguous_exact;
extern const struct kv_policy kv_admission_prompt_fits;
extern const struct kv_policy kv_admission_greedy;
extern const struct kv_policy kv_admission_no_evict;
extern const struct kv_policy kv_admission_max_utilization;
extern const struct kv_policy kv_admission_growth_ratio;
extern const struct kv_policy kv_admission_reserve_fraction;
extern const struct kv_policy kv_admission_static_batch;
extern const struct kv_policy kv_admission_queue_limit;
extern const struct kv_policy kv_admission_rate_limit;
extern const struct kv_policy kv_admission_deadline;
extern const struct kv_policy kv_scheduling_fcfs;
extern const struct kv_policy kv_scheduling_priority;
extern const struct kv_policy kv_scheduling_shortest_prompt;
extern const struct kv_policy kv_scheduling_earliest_deadline;
extern const struct kv_policy kv_scheduling_longest_prefix_match;
extern const struct kv_policy kv_scheduling_fair_share;
extern const struct kv_policy kv_preemption_latest;
extern const struct kv_policy kv_preemption_priority;
extern const struct kv_policy kv_preemption_fewest_outputs;
extern const struct kv_policy kv_prefix_none;
extern const struct kv_policy kv_prefix_block_hash;
extern const struct kv_policy kv_prefix_radix;
extern const struct kv_policy kv_prefix_partial_block;
extern const struct kv_policy kv_prefix_position_independent;
extern const struct kv_policy kv_eviction_lru;
extern const struct kv_policy kv_eviction_fifo;
extern const struct kv_policy kv_eviction_lfu;
extern const struct kv_policy kv_eviction_mru;
extern const struct kv_policy kv_eviction_filo;
extern const struct kv_policy kv_eviction_slru;
extern const struct kv_policy kv_eviction_s3_fifo;
extern const struct kv_policy kv_eviction_sieve;
extern const struct kv_policy kv_eviction_arc;
extern const struct kv_policy kv_eviction_ttl;
extern const struct kv_policy kv_eviction_priority;
extern const struct kv_policy kv_eviction_cost_aware;
extern const struct kv_policy kv_eviction_tail_optimised;
extern const struct kv_policy kv_eviction_belady;

#endif
