/* The backends that live on measurements: rows of one card, model and number of ranks. */
#ifndef KV_SIM_LATENCY_DATA_H
#define KV_SIM_LATENCY_DATA_H

#include "sim/base/error.h"
#include "sim/latency/latency.h"
#include "sim/model/model.h"
#include "sim/profiles/hardware.h"

enum kv_data_backend { KV_DATA_LINEAR, KV_DATA_TABLE };

/* NULL with err filled: the file cannot be used, or has too few rows of that card, model and tensor_parallel. */
struct kv_latency *kv_latency_from_data(enum kv_data_backend backend, const char *path, const struct kv_model *model,
                                        const struct kv_hardware *hardware, uint32_t tensor_parallel,
                                        struct kv_error *err);

#endif
