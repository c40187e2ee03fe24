/* How far modelled times of a model under an engine were from measured ones on that card, as the hardware profile says:
 * the model's own figure where it was measured, else whose figures there are. */
#ifndef KV_SIM_SCORED_ERROR_H
#define KV_SIM_SCORED_ERROR_H

#include "sim/base/remarks.h"
#include "sim/deploy/engine_profile.h"
#include "sim/model/model.h"
#include "sim/profiles/hardware.h"

/* One sentence; to be released with free(). */
char *kv_latency_scored_error(const struct kv_hardware *hardware, const struct kv_model *model,
                              const struct kv_engine_profile *engine);

/* Warns if the model's own figure is bad, or there is none and others of its kind (mixture of experts, latent attention,
 * under SGLang) were far off wherever they were compared. */
void kv_latency_warn_far_off(const struct kv_hardware *hardware, const struct kv_model *model,
                             const struct kv_engine_profile *engine, struct kv_remarks *warnings);

#endif
