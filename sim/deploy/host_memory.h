/* Host memory of preemption by swap: how many blocks of the pool's size it has, and how fast they get there. */
#ifndef KV_SIM_HOST_MEMORY_H
#define KV_SIM_HOST_MEMORY_H

#include "sim/deploy/deployment.h"

/* Fills config.swap, once policies are parsed and the budget is drawn. KV_EXIT_USAGE where mode=swap lacks memory or a
 * link of known speed. */
int kv_host_memory_fill(struct kv_deployment *deployment, const struct kv_scenario *scenario, struct kv_error *err);

#endif
