/* How far step times can be believed: where their constants come from, and which term of the model a deployment or a run
 * takes beyond what was compared with measurements. What error they were scored at: sim/deploy/scored_error.h.
 */
#ifndef KV_SIM_LATENCY_TRUST_H
#define KV_SIM_LATENCY_TRUST_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/remarks.h"
#include "sim/deploy/engine_profile.h"
#include "sim/latency/latency.h"
#include "sim/profiles/hardware.h"

/* To be released with free(). */
char *kv_latency_provenance(const struct kv_hardware *hardware, const struct kv_engine_profile *engine);

/* Warns where ranks or weights (narrow: of 8 bits or less) leave what was validated, and watches the steps of a run. */
void kv_latency_trust_setting(const struct kv_hardware *hardware, uint64_t tensor_parallel, bool narrow_weights,
                              struct kv_latency *latency, struct kv_remarks *warnings);

/* Warns of the steps that left the watched region. */
void kv_latency_trust_run(const struct kv_latency *latency, struct kv_remarks *warnings);

#endif
