/* Descriptors of all trace formats, for the registry. */
#ifndef KV_WORKLOADS_FORMATS_H
#define KV_WORKLOADS_FORMATS_H

#include "workloads/format.h"

extern const struct kv_format kv_format_aibrix;
extern const struct kv_format kv_format_aiperf;
extern const struct kv_format kv_format_azure;
extern const struct kv_format kv_format_bailian;
extern const struct kv_format kv_format_blis;
extern const struct kv_format kv_format_burstgpt;
extern const struct kv_format kv_format_copilot;
extern const struct kv_format kv_format_generator;
extern const struct kv_format kv_format_kv_cache_tester;
extern const struct kv_format kv_format_kvsim;
extern const struct kv_format kv_format_lengths;
extern const struct kv_format kv_format_llmservingsim;
extern const struct kv_format kv_format_llmservingsim_sessions;
extern const struct kv_format kv_format_mooncake;
extern const struct kv_format kv_format_ragpulse;
extern const struct kv_format kv_format_servegen;
extern const struct kv_format kv_format_servegen_offline;
extern const struct kv_format kv_format_splitwise;
extern const struct kv_format kv_format_tracelab;
extern const struct kv_format kv_format_tracelab_rounds;
extern const struct kv_format kv_format_vidur;
extern const struct kv_format kv_format_vllm_bench;
extern const struct kv_format kv_format_vllm_timed;

#endif
