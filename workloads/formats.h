/* Descriptors of all trace formats, for the registry. */
#ifndef KV_WORKLOADS_FORMATS_H
#define KV_WORKLOADS_FORMATS_H

#include "workloads/format.h"

extern const struct kv_format kv_format_azure;
extern const struct kv_format kv_format_kvsim;
extern const struct kv_format kv_format_mooncake;

#endif
