#include "config.h"

#include "sim/deploy/latency_trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

static bool is_validated(const struct kv_hardware *hw)
{
	return hw->validated.tensor_parallel > 0;
}

char *kv_latency_provenance(const struct kv_hardware *hw, const struct kv_engine_profile *engine)
{
	char text[1024];

	snprintf(text, sizeof text, "%s: %s; overheads: %s", hw->name, *hw->source ? hw->source : "source not stated",
	         hw->has_overheads ? "calibrated with the card" : engine->name);
	return kv_strdup(text);
}

static bool covers_weights(const char *validated, bool narrow)
{
	return !validated || !strcmp(validated, "both") || !strcmp(validated, narrow ? "narrow" : "wide");
}

void kv_latency_trust_setting(const struct kv_hardware *hw, uint64_t tensor_parallel, bool narrow_weights,
                              struct kv_latency *latency, struct kv_remarks *warnings)
{
	const struct kv_validated *v = &hw->validated;
	struct kv_latency_region region = {v->sequences, v->step_tokens, v->sequence_context};

	if (!is_validated(hw))
		return;
	if (tensor_parallel > v->tensor_parallel)
		kv_remark(warnings,
		          "step times of %s were validated on up to %u ranks, not %llu: the all-reduce term (c1, en) "
		          "is extrapolated",
		          hw->name, v->tensor_parallel, (unsigned long long)tensor_parallel);
	if (!covers_weights(v->weights, narrow_weights))
		kv_remark(warnings, "step times of %s were not validated with weights of %s: the matrix terms (%s) are "
		          "extrapolated", hw->name, narrow_weights ? "8 bits or less" : "16 bits",
		          narrow_weights ? "ec_fp8, eb_fp8, cl_fp8" : "ec, eb, cl");
	kv_latency_watch(latency, &region);
}

static void tell(struct kv_remarks *warnings, uint64_t outside, uint64_t steps, const char *what, const char *terms)
{
	if (outside > 0)
		kv_remark(warnings,
		          "%llu of %llu steps have %s than the step times were compared with: %s is extrapolated",
		          (unsigned long long)outside, (unsigned long long)steps, what, terms);
}

void kv_latency_trust_run(const struct kv_latency *latency, struct kv_remarks *warnings)
{
	const struct kv_latency_outside *o = kv_latency_outside(latency);

	if (!o)
		return;
	tell(warnings, o->sequences, o->steps, "more sequences", "the per-sequence term (cs)");
	tell(warnings, o->step_tokens, o->steps, "more tokens", "the matrix term (ec)");
	tell(warnings, o->sequence_context, o->steps, "longer contexts", "the attention and KV term (ea, ek)");
}
