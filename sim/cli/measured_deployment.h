/* The deployment that a measured run had: its settings and pool, on a card with the constants that are to be judged. */
#ifndef KV_SIM_CLI_MEASURED_DEPLOYMENT_H
#define KV_SIM_CLI_MEASURED_DEPLOYMENT_H

#include "sim/base/error.h"
#include "sim/cli/calibrate.h"
#include "sim/cli/measured_run.h"
#include "sim/deploy/deployment.h"
#include "sim/deploy/scenario.h"

/* Fills an initialised scenario and the deployment; both are the caller's to release, whatever comes back. */
int kv_measured_run_deploy(const struct kv_measured_run *run, const struct kv_calibrate_arguments *arguments,
                           struct kv_scenario *scenario, struct kv_deployment *deployment, struct kv_error *err);

#endif
