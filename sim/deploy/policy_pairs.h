/* Which policies go together, and with which models. */
#ifndef KV_SIM_POLICY_PAIRS_H
#define KV_SIM_POLICY_PAIRS_H

#include "sim/base/error.h"
#include "sim/model/kv_layout.h"
#include "sim/policy.h"

/* KV_EXIT_USAGE where policies do not go together or not with the model's KV groups; the text says why. */
int kv_policies_check(const struct kv_policy_use policy[KV_POLICY_KINDS], const struct kv_layout *layout,
                      struct kv_error *err);

/* The part of it that prefix and eviction policy settle between them; the others may be missing. */
int kv_policies_check_leaves(const struct kv_policy_use policy[KV_POLICY_KINDS], struct kv_error *err);

#endif
