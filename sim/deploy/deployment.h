/* From a scenario to what runs: model, card and engine profile, the size of the KV pool, the engine's configuration. */
#ifndef KV_SIM_DEPLOYMENT_H
#define KV_SIM_DEPLOYMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/remarks.h"
#include "sim/deploy/engine_profile.h"
#include "sim/deploy/scenario.h"
#include "sim/engine_config.h"
#include "sim/model/kv_layout.h"
#include "sim/model/model.h"
#include "sim/profiles/hardware.h"
#include "sim/sizing/memory_budget.h"

struct kv_deployment {
	struct kv_model *model;
	struct kv_hardware *hardware;        /* NULL: none is named */
	struct kv_engine_profile *profile;
	struct kv_budget_question question;  /* what the budget answers */
	struct kv_budget budget;
	struct kv_engine_config config;      /* policies and latency belong to the deployment */
	bool oracle;                         /* a policy or default_max_tokens sees true output lengths */
	struct kv_remarks warnings;          /* what the user should know before believing the results */
	struct kv_remarks assumptions;       /* constants of the card that its profile leaves to defaults */
	char *latency_source;                /* where step times come from, and the
	                                        error they were scored at; NULL if fixed */
	char *latency_error;
};

/* Resolves the scenario and builds everything that it describes. On failure the deployment is as kv_deployment_fini
 * leaves it. Errors are KV_EXIT_USAGE where settings do not go together, and what model and profile files cause. */
int kv_deployment_init(struct kv_deployment *deployment, struct kv_scenario *scenario, struct kv_error *err);
void kv_deployment_fini(struct kv_deployment *deployment);

/* What --kv-cache-dtype auto is because the checkpoint has scales for it and the engine goes by them; NULL = the
 * model's type. */
const char *kv_deployment_checkpoint_cache(const struct kv_deployment *deployment);

/* What the KV cache holds, in terms of step times: elements of this width. */
enum kv_dtype kv_deployment_cache_dtype(const struct kv_deployment *deployment, const struct kv_scenario *scenario);

/* The deployment's model with its weights quantised as --quantization METHOD would; NULL where they are quantised
 * already, or where the model cannot be read again. */
struct kv_model *kv_deployment_quantized(const struct kv_deployment *deployment, const struct kv_scenario *scenario,
                                         const char *method);

/* After a run: adds to the warnings what it did to the step times' trustworthiness. */
void kv_deployment_note_run(struct kv_deployment *deployment);

/* The part of it that sizing needs: profiles, model and the budget's question, without drawing the budget. Works for
 * every engine profile and without hardware. device_memory in bytes stands in for the hardware's; 0 = none given. */
int kv_deployment_plan(struct kv_deployment *deployment, struct kv_scenario *scenario, uint64_t device_memory,
                       struct kv_error *err);

#endif
