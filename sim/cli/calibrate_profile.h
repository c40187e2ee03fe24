/* The hardware profile that a calibration leaves behind. */
#ifndef KV_SIM_CLI_CALIBRATE_PROFILE_H
#define KV_SIM_CLI_CALIBRATE_PROFILE_H

#include <stdbool.h>

#include "sim/base/error.h"
#include "sim/deploy/engine_profile.h"
#include "sim/deploy/measured_set.h"
#include "sim/latency/latency.h"
#include "sim/profiles/hardware.h"

struct kv_calibrated_profile {
	const struct kv_hardware *card;        /* name, memory and rates; constants that were not fitted */
	const struct kv_engine_profile *engine;
	struct kv_latency_constants constants;
	bool narrow_products;                  /* the rows' matrix products ran on
	                                          narrow types: ec_fp8, eb_fp8, cl_fp8 */
	struct kv_validated region;            /* of the rows; its texts are not read */
	const char *error;                     /* what a cross-validation found */
	const char *data;                      /* name of the file of measurements */
};

/* The largest step, sequence count, context and rank count among the usable rows. */
void kv_calibrated_region(const struct kv_measured_set *set, struct kv_validated *region);

int kv_calibrated_profile_write(const struct kv_calibrated_profile *profile, const char *path, struct kv_error *err);

#endif
